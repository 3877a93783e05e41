/** Counts the stored objects that violate constraints (contract 10.5). */
import { type CheckSource, constraintKey, selectedConstraints, type Violation } from '../records/constraints.ts'
import { type Container, listContainers } from '../records/container-registry.ts'
import { containerExtent, oidOfObjectKey } from '../records/object-key.ts'
import { isLongRecord, recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { countObjects } from '../records/scan-objects.ts'
import type { StoredConstraints } from '../schema/alter-plan.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes, Entry, Snapshot } from '../store/store.ts'
import { openTimeSlice, stepsPerClockCheck } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import { countLinkViolations, LinkCounter, linksCountedBy } from './count-link-violations.ts'
import { Violations } from './violations.ts'

export interface ViolationCountOptions {
  readonly expressions: CheckSource
  readonly newContainers?: readonly Container[]
  /** Called after each part with the number of objects read, of how many; may throw to abort the count. */
  readonly onProgress?: (objects: number, total: number) => void
}

/**
 * `catalog`: defines the constraints; may be a future catalog, by which earlier shapes are read. `constraints`: those that are
 * counted, declared by classes of objects or by embedded classes.
 */
export async function countViolations(
  snapshot: Snapshot,
  catalog: Catalog,
  constraints: StoredConstraints,
  { expressions, newContainers = [], onProgress }: ViolationCountOptions,
): Promise<Violations> {
  const violations = new Violations()
  const { attributes, checks } = constraints
  if (attributes.size === 0 && checks.length === 0) return violations
  const formats = recordFormats(catalog)
  const constraintsOf = selectedConstraints(constraints, expressions)
  const classes = catalog.classes.filter((cls) => {
    return cls.isReferenceable && constraintsOf(formats.of(cls), formats) !== undefined
  })
  const count = ({ key, value: record }: Entry, links: ReadonlyMap<AttributeNumber, number> | undefined): void => {
    const shape = shapeNumberOf(record)
    const format = formats.forShape(shape)
    const { values } = format.readValues(record, recordHeaderBytes, record.length, shape)
    if (links !== undefined) {
      for (const { index, attribute } of format.linkAttributes) values[index] = links.get(attribute.number) ?? 0
    }
    const found = constraintsOf(format, formats)?.violations(values, undefined, undefined) ?? []
    if (found.length > 0) addAll(violations, found, catalog, oidOfObjectKey(key))
  }
  // Evaluating a check or matching a pattern may be slow, so the loop yields between objects; entries are copied because borrowed ones do not survive a yield.
  const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
  const slice = openTimeSlice()
  let objects = 0
  const numbers = new Set<ClassNumber>(classes.map(({ number }) => number))
  const total = onProgress === undefined ? 0 : await countObjects(snapshot, numbers, newContainers)
  for (const container of await listContainers(snapshot, numbers, newContainers)) {
    const format = formats.byNumber(container.classNumber)
    const counted = linksCountedBy(constraintsOf(format, formats), format)
    const counter = counted.length === 0 ? undefined : new LinkCounter(snapshot, container, counted)
    for await (const batch of snapshot.scan(containerExtent(container.database, container.container), copy)) {
      for (const [position, entry] of batch.entries()) {
        count(entry, counter && (await counter.countsOf(oidOfObjectKey(entry.key))))
        const isCheckDue = checks.length > 0 || position % stepsPerClockCheck === 0 || isLongRecord(entry.value)
        const pause = isCheckDue ? slice.yieldIfDue() : undefined
        if (pause !== undefined) await pause
      }
      objects += batch.length
      onProgress?.(objects, total)
    }
  }
  await countLinkViolations(snapshot, catalog, attributes, newContainers, violations)
  return violations
}

function addAll(violations: Violations, found: readonly Violation[], catalog: Catalog, oid: Oid): void {
  const seen = new Set<string>()
  for (const violation of found) {
    const key = constraintKey(violation)
    if (seen.has(key)) continue
    seen.add(key)
    if (violation.check !== undefined) {
      const { check } = violation
      violations.addCheck(catalog.classByNumber(check.owner)?.name ?? '', check, oid)
      continue
    }
    const { attribute, constraint } = violation
    violations.add(attribute.attribute.declaringClass.name, attribute.attribute, constraint, oid)
  }
}
