/** Who refers to an object by an attribute, and what an object refers to by one: read for its deletion, and required to stay so. */
import { elementOfReferrer, referrersRange, sourceOfReferrerKey } from '../indexes/referrer-entries.ts'
import { inverseIn } from '../links/relationships.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { linkKind, linkRange, targetOfKey } from '../records/link-keys.ts'
import type { Bytes, KeyRange } from '../store/store.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { ObjectState } from '../write/working-set.ts'
import { type DeletionRule, tellingInverse } from './deletion-rules.ts'

export interface Referrer {
  readonly source: Oid
  /** Of the entry that tells; undefined where the target itself does. */
  readonly key: Buffer | undefined
  /** Of a collection kept as links: what the key of its entry is made of. */
  readonly element: Buffer
}

const nothing = Buffer.alloc(0)

/** In parts. The commit requires that they are these, once all of them were read. */
export async function* referrersOf(
  unit: UnitOfWork,
  target: ObjectState,
  rule: DeletionRule,
): AsyncGenerator<readonly Referrer[]> {
  const { transaction } = unit
  const inverse = tellingInverse(rule)
  if (inverse === null) {
    const range = entriesRange(rule, target.oid)
    yield* transaction.scanAndRequireRange(range, target.key, (key, value) => {
      return { source: sourceOfReferrerKey(key), key: Buffer.from(key), element: Buffer.from(elementOfReferrer(value)) }
    })
    return
  }
  const format = inverseIn(target.format, inverse, target.oid)
  if (format.linkStorage === undefined) {
    const source = target.values[format.index] as Oid
    unit.requireUnchanged(target)
    if (source !== noOid) yield [{ source, key: undefined, element: nothing }]
    return
  }
  const isSet = format.linkStorage === 'set'
  const range = linkRange(target.oid, inverse, isSet ? linkKind.target : linkKind.position)
  yield* transaction.scanAndRequireRange(range, target.key, (key, value) => {
    return { source: isSet ? targetOfKey(key) : oidFromBytes(value, 0), key: Buffer.from(key), element: nothing }
  })
}

function entriesRange({ attribute: { referrers } }: DeletionRule, target: Oid): KeyRange {
  return referrers === undefined ? { from: nothing, to: nothing } : referrersRange(referrers, target)
}

/** That it goes on to refer to the target is what a decision rests on. */
export function requireReferrer(unit: UnitOfWork, target: ObjectState, { key }: Referrer): void {
  if (key === undefined) unit.requireUnchanged(target)
  else unit.transaction.requirePresent(key)
}

/** Without `0-0-0-0`; one may be there several times. */
export async function targetsOf(unit: UnitOfWork, source: ObjectState, attribute: AttributeFormat): Promise<Oid[]> {
  const targets = await heldBy(unit, source, attribute)
  return targets.filter((target) => target !== noOid)
}

async function heldBy(unit: UnitOfWork, source: ObjectState, attribute: AttributeFormat): Promise<readonly Oid[]> {
  const { linkStorage, index } = attribute
  if (linkStorage === undefined) {
    unit.requireUnchanged(source)
    const value = source.values[index]
    return Array.isArray(value) ? (value as readonly Oid[]) : [value as Oid]
  }
  const { number } = attribute.attribute
  const kind = { set: linkKind.target, list: linkKind.position, map: linkKind.name }[linkStorage]
  const targets: Oid[] = []
  const use = (key: Bytes, value: Bytes): Oid => (linkStorage === 'set' ? targetOfKey(key) : oidFromBytes(value, 0))
  const range = linkRange(source.oid, number, kind)
  for await (const part of unit.transaction.scanAndRequireRange(range, source.key, use)) {
    for (const target of part) targets.push(target)
  }
  return targets
}
