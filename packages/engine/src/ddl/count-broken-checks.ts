/** Counts stored objects that fail the new checks of a class (contract 10.6.17). */
import { type CheckSource, constraintsOf } from '../records/constraints.ts'
import { type Container, listContainers } from '../records/container-registry.ts'
import { containerExtent, oidOfObjectKey } from '../records/object-key.ts'
import { recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { NewCheck } from '../schema/extent-checks.ts'
import { classesHolding } from '../schema/retype.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { Violations } from './violations.ts'

/** The referenceable classes whose objects the checks affect. `catalog`: contains the checks. */
export function classesOfChecks(catalog: Catalog, checks: readonly NewCheck[]): Set<ClassNumber> {
  const owners = new Set(checks.map(({ owner }) => owner))
  const holding = [...owners].flatMap((owner) => {
    return classesHolding(catalog.classByNumber(owner) as SchemaClass, catalog.classes)
  })
  return new Set(holding.map(({ number }) => number))
}

/** Reads all objects of these classes. */
export async function countBrokenChecks(
  snapshot: Snapshot,
  catalog: Catalog,
  checks: readonly NewCheck[],
  source: CheckSource,
  newContainers: readonly Container[],
): Promise<Violations> {
  const violations = new Violations()
  const formats = recordFormats(catalog)
  const count = (key: Bytes, record: Bytes): void => {
    const shape = shapeNumberOf(record)
    const format = formats.forShape(shape)
    const { values } = format.readValues(record, recordHeaderBytes, record.length, shape)
    const broken = new Set<NewCheck>()
    for (const violation of constraintsOf(format, formats, source)?.violations(values, undefined, undefined) ?? []) {
      if (violation.check === undefined) continue
      const { check, className } = violation
      const added = checks.find(({ name, owner }) => {
        return name === check.name && catalog.classByName(className)?.isOrInherits(owner) === true
      })
      if (added !== undefined) broken.add(added)
    }
    for (const { name, owner } of broken) {
      violations.addCheck(catalog.classByNumber(owner)?.name ?? '', name, oidOfObjectKey(key))
    }
  }
  const slice = openTimeSlice()
  for (const { database, container } of await listContainers(
    snapshot,
    classesOfChecks(catalog, checks),
    newContainers,
  )) {
    for await (const _ of snapshot.scan(containerExtent(database, container), count)) {
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
  return violations
}
