/** Probes of an object's record: the constraints of its class, its container, its index entries, and the other side of its to-one links. */

import { extractKeyValues, makeIndexKey } from '../indexes/index-key.ts'
import { indexFormatsOf } from '../indexes/maintain.ts'
import { referrersOfList } from '../indexes/referrer-entries.ts'
import { type AttributeFormat, type ClassFormat, embeddedIn } from '../records/class-format.ts'
import { isUnstored } from '../records/computed.ts'
import { validatedConstraintsOf } from '../records/constraints.ts'
import { positionKey, targetKey } from '../records/link-keys.ts'
import { containerKey, objectKey, oidOfObjectKey } from '../records/object-key.ts'
import { decodeRecord, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { RecordValues } from '../records/record-values.ts'
import { isSameValue } from '../records/same-value.ts'
import { visitValues } from '../records/visit-values.ts'
import { isPairing } from '../schema/pairing.ts'
import type { Bytes } from '../store/store.ts'
import { noOid, type Oid, oidBytes } from '../types/oid.ts'
import { mustExist, mustHold, type Probe, type VerifyContext } from './probe.ts'
import { verdictOn } from './verdict-on.ts'

export function probeObject(context: VerifyContext, key: Bytes, record: Bytes): Probe[] {
  const oid = oidOfObjectKey(key)
  const format = recordFormats(context.catalog).forShape(shapeNumberOf(record))
  const content = decodeRecord(format, record)
  const [database, container] = oid.split('-').map(Number) as [number, number]
  const probes: Probe[] = [
    {
      key: containerKey(database, container),
      evaluate: (row) =>
        row !== undefined && Buffer.from(row).readUInt32BE(0) === format.cls.number
          ? undefined
          : `object ${oid} of class ${format.cls.name} is not in a container of its class`,
    },
  ]
  const { all, referrers: referrerIndexes, lists } = indexFormatsOf(format)
  for (const keyFormat of all) {
    if (keyFormat.index.state !== 'ready') continue
    // Objects older than the attribute refer to nothing by it, and have no entry.
    if (referrerIndexes.includes(keyFormat) && extractKeyValues(keyFormat, content.values)[0] === noOid) continue
    const { key: entryKey } = makeIndexKey(keyFormat, content.values, oid)
    probes.push(
      mustHold(entryKey, oidBytes(oid), `object ${oid} has no entry of its own in index ${keyFormat.index.name}`),
    )
  }
  const constraints = validatedConstraintsOf(format, recordFormats(context.catalog), context.checks)
  for (const violation of constraints?.violations(content.values, undefined, undefined) ?? []) {
    const broken =
      violation.check === undefined
        ? `${violation.constraint} of attribute ${violation.attribute.attribute.name}`
        : `check ${violation.check.name}`
    const problem = `object ${oid} of class ${format.cls.name} violates ${broken}`
    probes.push({ key: objectKey(oid), evaluate: () => problem })
  }
  for (const problem of obsoleteValues(format, content.values, context)) {
    probes.push({ key: objectKey(oid), evaluate: () => `object ${oid} of class ${format.cls.name} ${problem}` })
  }
  for (const { attribute, index, isBuilding } of lists) {
    if (isBuilding) continue
    const referrers = referrersOfList(index, content.values[attribute.index] as readonly Oid[], oid)
    for (const [target, entryKey] of referrers) {
      const problem = `object ${oid} is not among those that refer to ${target} by ${attribute.attribute.name}`
      probes.push(mustHold(entryKey, oidBytes(oid), problem))
    }
  }
  for (const attribute of format.attributes) {
    const probe = probeToOne(context, format, attribute, oid, content)
    if (probe !== undefined) probes.push(probe)
  }
  return probes
}

/** Stored values of computed attributes, also of embedded objects, that are not those of their expressions. */
function obsoleteValues(
  format: ClassFormat,
  values: readonly unknown[],
  { catalog }: VerifyContext,
): readonly string[] {
  const problems: string[] = []
  const compare = (owner: ClassFormat, object: readonly unknown[]): void => {
    for (const { attribute, codec, index } of owner.computedAttributes) {
      if (isUnstored(attribute) || isSameValue(codec, object[index], owner.valueIn(object, index))) continue
      problems.push(`has a value of computed attribute ${attribute.name} that is not that of its expression`)
    }
  }
  compare(format, values)
  if (format.evaluatedWithin.length === 0) return problems
  visitValues(format, values, recordFormats(catalog), (_owner, attribute, value) => {
    const embedded = embeddedIn(attribute)
    if (embedded === undefined || embedded.computedAttributes.length === 0) return
    const objects = attribute.embedded === undefined ? value : [value]
    for (const object of objects as readonly (readonly unknown[])[]) compare(embedded, object)
  })
  return problems
}

/** A bidirectional to-one reference must have a matching reference in its partner. */
function probeToOne(
  context: VerifyContext,
  format: ClassFormat,
  attribute: AttributeFormat,
  oid: Oid,
  content: RecordValues,
): Probe | undefined {
  const { spec, name, becoming } = attribute.attribute
  if (spec.logicalType !== 'reference' || spec.inverseAttribute === null || !format.cls.isReferenceable)
    return undefined
  // The inverse is still being built.
  if (isPairing(becoming)) return undefined
  const partner = content.values[attribute.index] as Oid
  if (partner === noOid) return undefined
  const inverse = spec.inverseAttribute
  const partnerAttribute = recordFormats(context.catalog).byNumber(spec.referencedClass).attribute(inverse)
  const problem = `object ${oid} refers to ${partner} by ${name}, which does not answer`
  if (partnerAttribute.linkStorage === 'set') return mustExist(targetKey(partner, inverse, oid), problem)
  if (partnerAttribute.linkStorage === 'list') {
    const position = content.positions[attribute.index]
    if (position === undefined) return mustExist(positionKey(partner, inverse, Buffer.alloc(12)), problem)
    return mustHold(positionKey(partner, inverse, position), oidBytes(oid), problem)
  }
  return {
    key: objectKey(partner),
    evaluate: (record) =>
      record === undefined
        ? problem
        : verdictOn(context, record, (format, { values }) =>
            values[format.attribute(inverse).index] === oid ? undefined : problem,
          ),
  }
}
