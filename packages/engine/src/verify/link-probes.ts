/** Probes of a link entry: its owner and, for bidirectional links, the other side. */
import { referrerOfLink } from '../indexes/referrer-entries.ts'
import { inverseOf } from '../links/relationships.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import {
  attributeOfKey,
  kindOfKey,
  linkKind,
  ownerOfKey,
  positionKey,
  positionOfKey,
  targetKey,
  targetOfKey,
} from '../records/link-keys.ts'
import { objectKey } from '../records/object-key.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes } from '../store/store.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import { mustExist, mustHold, type Probe, type VerifyContext } from './probe.ts'
import { verdictOn } from './verdict-on.ts'

interface LinkEntry {
  readonly owner: Oid
  readonly number: AttributeNumber
  readonly kind: number
  readonly target: Oid
  /** Set for list entries and for the entries that index them by target. */
  readonly position: Buffer | undefined
}

export function probeLinkEntry(context: VerifyContext, key: Bytes, value: Bytes): Probe[] {
  const entry = readEntry(key, value)
  const { owner, number, kind, target } = entry
  const attribute = findAttribute(context, number)
  if (attribute === undefined && context.droppedLinkAttributes.has(number)) return []
  if (attribute === undefined) {
    context.problems.push(`a link entry of object ${owner} names attribute number ${number}, which does not exist`)
    return []
  }
  const { name } = attribute.attribute
  const probes = [
    mustExist(objectKey(owner), `a link entry of ${name} belongs to object ${owner}, which does not exist`),
  ]
  const isElementSetting = kind !== linkKind.target || attribute.linkStorage === 'set'
  const hasReferrerEntry = isElementSetting && attribute.attribute.referrers !== undefined
  const referrer = hasReferrerEntry ? referrerOfLink(attribute, owner, target, { key }) : undefined
  if (referrer !== undefined) {
    const problem = `object ${owner} is not among those that refer to ${target} by ${name}`
    probes.push(mustHold(Buffer.from(referrer.key), referrer.value, problem))
  }
  const inverse = attribute.linkStorage === 'map' ? null : inverseOf(attribute)
  if (inverse === null) return probes
  const partner = findAttribute(context, inverse)
  const problem = `object ${owner} has ${target} in ${name}, which does not answer`
  if (partner === undefined) return [...probes, mustExist(objectKey(target), problem)]
  if (partner.linkStorage === undefined) return [...probes, answersToOne(context, entry, inverse, problem)]
  probes.push(mustExist(targetKey(target, inverse, owner), problem))
  if (attribute.linkStorage === 'list') probes.push(hasItsOtherKey(entry, name))
  else if (kind !== linkKind.target) context.problems.push(`object ${owner} has an entry of another form in ${name}`)
  return probes
}

function readEntry(key: Bytes, value: Bytes): LinkEntry {
  const kind = kindOfKey(key)
  const common = { owner: ownerOfKey(key), number: attributeOfKey(key), kind }
  if (kind === linkKind.position) return { ...common, target: oidFromBytes(value, 0), position: positionOfKey(key) }
  if (kind === linkKind.name) return { ...common, target: oidFromBytes(value, 0), position: undefined }
  return { ...common, target: targetOfKey(key), position: value.length === 0 ? undefined : Buffer.from(value) }
}

/** A list entry and its index entry by target must match each other. */
function hasItsOtherKey({ owner, number, kind, target, position }: LinkEntry, name: string): Probe {
  const at = position ?? Buffer.alloc(0)
  return kind === linkKind.position
    ? mustHold(targetKey(owner, number, target), at, `object ${owner} cannot find ${target} in ${name} by value`)
    : mustHold(
        positionKey(owner, number, at),
        oidBytes(target),
        `object ${owner} has lost the place of ${target} in ${name}`,
      )
}

function answersToOne(context: VerifyContext, entry: LinkEntry, inverse: AttributeNumber, problem: string): Probe {
  return {
    key: objectKey(entry.target),
    evaluate: (record) =>
      record === undefined
        ? problem
        : verdictOn(context, record, (format, content) => {
            const { index } = format.attribute(inverse)
            if (content.values[index] !== entry.owner) return problem
            const position = content.positions[index]
            const isSamePlace =
              entry.position === undefined || (position !== undefined && entry.position.equals(position as Buffer))
            return isSamePlace ? undefined : `object ${entry.target} has another place in ${entry.owner} than it knows`
          }),
  }
}

const attributesOf = new WeakMap<Catalog, Map<AttributeNumber, AttributeFormat | undefined>>()

/** The attribute as seen from any class that has it. Cached, since every entry needs it. */
function findAttribute({ catalog }: VerifyContext, number: AttributeNumber): AttributeFormat | undefined {
  let cached = attributesOf.get(catalog)
  if (cached === undefined) {
    cached = new Map()
    attributesOf.set(catalog, cached)
  }
  if (!cached.has(number)) cached.set(number, searchAttribute(catalog, number))
  return cached.get(number)
}

function searchAttribute(catalog: Catalog, number: AttributeNumber): AttributeFormat | undefined {
  for (const cls of catalog.classes) {
    if (cls.attributes.some((attribute) => attribute.number === number))
      return recordFormats(catalog).of(cls).attribute(number)
  }
  return undefined
}
