/** Reads the objects that refer to a deleted one, and those that it refers to; the commit requires them to be unchanged. */
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
  /** The key of the referrer entry; undefined if the reference is read from the target itself. */
  readonly key: Buffer | undefined
  /** For collections stored as links: the element part of the entry's key. */
  readonly element: Buffer
}

const nothing = Buffer.alloc(0)

/** Yields them in parts. When all are read, the commit requires the set to be unchanged. */
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

/** The commit requires the reference to exist, because a decision depends on it. */
export function requireReferrer(unit: UnitOfWork, target: ObjectState, { key }: Referrer): void {
  if (key === undefined) unit.requireUnchanged(target)
  else unit.transaction.requirePresent(key)
}

/** Excludes `0-0-0-0`; may contain duplicates. */
export async function targetsOf(unit: UnitOfWork, source: ObjectState, attribute: AttributeFormat): Promise<Oid[]> {
  const targets = await readTargets(unit, source, attribute)
  return targets.filter((target) => target !== noOid)
}

async function readTargets(unit: UnitOfWork, source: ObjectState, attribute: AttributeFormat): Promise<readonly Oid[]> {
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
