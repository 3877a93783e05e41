/**
 * A commit that writes very many keys, most of them new, as the parameters of one call of the function that commits. What it is to each key is told
 * by the order of its changes and preconditions, instead of a map of all keys with an object and a text for each.
 */
import { assert } from '../../errors.ts'
import type { KeyPlacement } from '../key-placement.ts'
import type { Bytes, Change, Commit, CommitOutcome, Precondition } from '../store.ts'
import { bufferOf, byteaArray, int2Array, int4Array, textArray } from './binary-array.ts'
import { inLockOrder, lockStep } from './commit-group.ts'
import { addPrecondition, isSame, type KeyLock, type RequiredKey, textOf } from './commit-locks.ts'
import { preconditionKind, procedureFlags } from './commit-parameters.ts'

type Put = Extract<Change, { kind: 'put' }>
type Revision = Extract<Precondition, { kind: 'revision' }>

/** From so many on it is worth a group of its own. */
const changesMin = 128

/** What is written in one placement, in the order of keys. */
interface Bucket {
  readonly placement: number
  /** Required to be absent. */
  readonly added: Put[]
  /** Written whatever is there. */
  readonly blind: Put[]
}

export interface BulkCommit {
  /** By key: what is required and not written. */
  readonly locks: ReadonlyMap<string, KeyLock>
  readonly buckets: readonly Bucket[]
  readonly version: Revision | undefined
  /** Those of `locks`. */
  readonly expected: readonly RequiredKey[]
  /** In the order of the changes. */
  readonly absent: readonly Precondition[]
}

/** Undefined where it is not of that kind: few changes, a deletion, a key that is written and required in another way than to be absent, a range. */
export function bulkCommit({ changes, preconditions }: Commit, keys: KeyPlacement): BulkCommit | undefined {
  if (changes.length < changesMin) return undefined
  const locks = new Map<string, KeyLock>()
  const expected: RequiredKey[] = []
  const absent: Precondition[] = []
  let version: Revision | undefined
  for (const precondition of preconditions) {
    if (precondition.kind === 'range') return undefined
    if (precondition.kind === 'absent') absent.push(precondition)
    else if (precondition.kind === 'revision' && version === undefined && isSame(precondition.key, keys.versionKey)) {
      version = precondition
    } else expected.push({ precondition, lock: addPrecondition(locks, precondition, keys) })
  }
  const buckets = bucketsOf(changes, absent, locks, keys)
  return buckets === undefined ? undefined : { locks, buckets, version, expected, absent }
}

/** In the order in which rows are locked. */
function bucketsOf(
  changes: Commit['changes'],
  absent: readonly Precondition[],
  locks: ReadonlyMap<string, KeyLock>,
  { placementOf, versionKey }: KeyPlacement,
): Bucket[] | undefined {
  const buckets = new Map<number, Bucket>()
  const required = new Set(Array.from(locks.values(), ({ placement }) => placement))
  const versionPlacement = placementOf(versionKey)
  let added = 0
  for (const change of changes) {
    if (change.kind !== 'put') return undefined
    const { key } = change
    const placement = placementOf(key)
    if (required.has(placement) && locks.has(textOf(key))) return undefined
    if (placement === versionPlacement && isSame(key, versionKey)) return undefined
    let bucket = buckets.get(placement)
    if (bucket === undefined) {
      bucket = { placement, added: [], blind: [] }
      buckets.set(placement, bucket)
    }
    const next = absent[added]
    if (next !== undefined && next.kind !== 'range' && next.key === key) {
      bucket.added.push(change)
      added++
    } else bucket.blind.push(change)
  }
  // One that is required to be absent and not written, or written in another order.
  if (added < absent.length) return undefined
  const sorted = [...buckets.values()].sort((one, other) => one.placement - other.placement)
  return sorted.every(sortKeys) ? sorted : undefined
}

/** False where a key is there twice. */
function sortKeys(bucket: Bucket): boolean {
  const { added, blind } = bucket
  const isEachOnce = sortPuts(added) && sortPuts(blind)
  return isEachOnce && (added.length === 0 || blind.length === 0 || sortPuts([...added, ...blind]))
}

/** False where a key is there twice. Mostly they ascend already. */
function sortPuts(puts: Put[]): boolean {
  if (isAscending(puts)) return true
  puts.sort((one, other) => compareKeys(one.key, other.key))
  return isAscending(puts)
}

function isAscending(puts: readonly Put[]): boolean {
  for (let i = 1; i < puts.length; i++) {
    if (compareKeys((puts[i - 1] as Put).key, (puts[i] as Put).key) >= 0) return false
  }
  return true
}

/** Keys are short, and a call of `Buffer.compare` costs more than their bytes. */
function compareKeys(one: Bytes, other: Bytes): number {
  const length = Math.min(one.length, other.length)
  for (let i = 0; i < length; i++) {
    const difference = (one[i] as number) - (other[i] as number)
    if (difference !== 0) return difference
  }
  return one.length - other.length
}

/** What is sent for one of them, as `CommitGroup` is for several others. */
export class BulkCall {
  readonly size = 1
  readonly isExclusive = false
  /** It is only made where the table is on one node. */
  readonly proofPlacement = 0
  private readonly bulk: BulkCommit

  constructor(bulk: BulkCommit) {
    this.bulk = bulk
  }

  /** In the order of the function's parameters after slot and number. */
  toParameters(): unknown[] {
    const { version, locks, expected, buckets } = this.bulk
    const locked = [...locks.values()].sort(inLockOrder)
    for (const [i, lock] of locked.entries()) lock.place = i + 1
    const hasBlind = buckets.some(({ blind }) => blind.length > 0)
    return [
      lockStep(locked) | (hasBlind ? procedureFlags.blindPut : 0),
      version === undefined ? null : bufferOf(version.prefix),
      int4Array(locked.map(({ placement }) => placement)),
      byteaArray(locked.map(({ key }) => key)),
      int2Array(locked.map((lock) => lock.wants)),
      int4Array(locked.map(({ prefixBytes }) => prefixBytes)),
      byteaArray(locked.map(() => null)),
      int4Array(locked.map(() => 0)),
      ...rowParameters(buckets, 'added'),
      ...rowParameters(buckets, 'blind'),
      ...preconditionParameters(expected, locked.length, countOf(buckets, 'added')),
      ...noRanges,
    ]
  }

  /** `failed`: what the function has returned. */
  outcomes(failed: readonly number[]): CommitOutcome[] {
    const [position] = failed
    return [
      position === undefined ? { isCommitted: true } : { isCommitted: false, failed: this.preconditionAt(position) },
    ]
  }

  private preconditionAt(position: number): Precondition {
    const { version, expected, buckets, absent } = this.bulk
    if (position === 0) return version as Precondition
    if (position <= expected.length) return (expected[position - 1] as RequiredKey).precondition
    const put = buckets.flatMap(({ added }) => added)[position - expected.length - 1]
    return absent.find((one) => one.kind === 'absent' && one.key === put?.key) as Precondition
  }
}

function countOf(buckets: readonly Bucket[], which: 'added' | 'blind'): number {
  return buckets.reduce((sum, bucket) => sum + bucket[which].length, 0)
}

function rowParameters(buckets: readonly Bucket[], which: 'added' | 'blind'): Buffer[] {
  const placements: number[] = []
  const keys: Bytes[] = []
  const values: Bytes[] = []
  for (const bucket of buckets) {
    for (const { key, value } of bucket[which]) {
      placements.push(bucket.placement)
      keys.push(key)
      values.push(value)
    }
  }
  return [int4Array(placements), byteaArray(keys), byteaArray(values), int4Array(repeated(1, keys.length))]
}

/** First those of what is locked, then those of what is added, as it is sorted. */
function preconditionParameters(expected: readonly RequiredKey[], locked: number, added: number): Buffer[] {
  const subjects = expected.map(({ lock }) => lock.place)
  for (let i = 1; i <= added; i++) subjects.push(locked + i)
  return [
    int2Array([
      ...expected.map(({ precondition }) => kindOf(precondition)),
      ...repeated(preconditionKind.absent, added),
    ]),
    int4Array(subjects),
    byteaArray([
      ...expected.map(({ precondition }) => (precondition.kind === 'revision' ? precondition.prefix : null)),
      ...repeated(null, added),
    ]),
    int4Array(subjects.map((_, i) => i + 1)),
    int4Array(repeated(1, subjects.length)),
  ]
}

function kindOf({ kind }: Precondition): number {
  assert(kind !== 'range', 'a commit that requires a range is no bulk commit')
  return preconditionKind[kind]
}

const noNumbers = int4Array([])
const noBytes = byteaArray([])
const noRanges = [noNumbers, noNumbers, noNumbers, noNumbers, noBytes, noBytes, textArray([])]

function repeated<T>(value: T, length: number): T[] {
  return new Array<T>(length).fill(value)
}
