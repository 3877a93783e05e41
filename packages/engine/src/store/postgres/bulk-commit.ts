/**
 * Encodes a commit that writes very many keys, most of them new, as the parameters of one call of the commit function.
 * What it does to each key is derived from sorted changes and preconditions, instead of from a map of all keys with an
 * object and a string for each.
 */
import { assert } from '../../errors.ts'
import type { KeyPlacement } from '../key-placement.ts'
import { sortInPieces } from '../sort-in-pieces.ts'
import type { Bytes, Commit, CommitOutcome, Precondition, Put } from '../store.ts'
import {
  bufferOf,
  byteaArray,
  byteaArrayInPieces,
  int2Array,
  int4Array,
  int4ArrayInPieces,
  textArray,
} from './binary-array.ts'
import { inLockOrder, lockStep } from './commit-group.ts'
import { addPrecondition, isSame, type KeyLock, type RequiredKey, textOf } from './commit-locks.ts'
import { preconditionKind, procedureFlags } from './commit-parameters.ts'
import { rowArrays } from './row-arrays.ts'
import { isUnnumbered } from './unnumbered.ts'

export type Revision = Extract<Precondition, { kind: 'revision' }>

/** From so many on it is worth a group of its own. */
const changesMin = 128

/** What is written in one placement, in the order of keys. */
interface Bucket {
  readonly placement: number
  /** Required to be absent. */
  added: Put[]
  /** Written whatever is there. */
  blind: Put[]
}

/** What is required, but for the absence of new rows. */
export interface RequiredBeside {
  /** By key: what is required and not written. */
  readonly locks: ReadonlyMap<string, KeyLock>
  readonly version: Revision | undefined
  /** Those of `locks`. */
  readonly expected: readonly RequiredKey[]
}

export interface BulkCommit extends RequiredBeside {
  readonly buckets: readonly Readonly<Bucket>[]
  /** Some of what is written waits for its number. */
  readonly hasUnnumbered: boolean
  /** In the order of the changes. */
  readonly absent: readonly Precondition[]
}

/** Steps of less than a microsecond in one piece. */
const pieceSteps = 4_096

/**
 * Undefined where it is not of that kind: few changes, a deletion, a key that is written and required in another way than to be absent, a range. In
 * pieces, between which others may have their turn; of a small commit there is one piece alone.
 */
export function* bulkCommit(
  { changes, preconditions }: Commit,
  keys: KeyPlacement,
): Generator<undefined, BulkCommit | undefined, undefined> {
  if (changes.length < changesMin) return undefined
  const locks = new Map<string, KeyLock>()
  const expected: RequiredKey[] = []
  const absent: Precondition[] = []
  let version: Revision | undefined
  let steps = 0
  for (const precondition of preconditions) {
    if (precondition.kind === 'range') return undefined
    if (precondition.kind === 'absent') absent.push(precondition)
    else if (precondition.kind === 'revision' && version === undefined && isSame(precondition.key, keys.versionKey)) {
      version = precondition
    } else expected.push({ precondition, lock: addPrecondition(locks, precondition, keys) })
    if (++steps % pieceSteps === 0) yield
  }
  const buckets = yield* bucketsOf(changes, absent, locks, keys)
  if (buckets === undefined) return undefined
  const { appendPlacement } = keys
  const hasUnnumbered = buckets.some(({ placement, blind }) => {
    return placement === appendPlacement && blind.some(({ key }) => isUnnumbered(key, placement, appendPlacement))
  })
  return { locks, buckets, version, expected, absent, hasUnnumbered }
}

/** In the order in which rows are locked. */
function* bucketsOf(
  changes: Commit['changes'],
  absent: readonly Precondition[],
  locks: ReadonlyMap<string, KeyLock>,
  { placementOf, versionKey }: KeyPlacement,
): Generator<undefined, Bucket[] | undefined, undefined> {
  const buckets = new Map<number, Bucket>()
  const required = new Set(Array.from(locks.values(), ({ placement }) => placement))
  const versionPlacement = placementOf(versionKey)
  let added = 0
  let steps = 0
  for (const change of changes) {
    if (change.kind !== 'put') return undefined
    if (++steps % pieceSteps === 0) yield
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
  for (const bucket of sorted) if (!(yield* sortKeys(bucket))) return undefined
  return sorted
}

/** False where a key is there twice. */
function* sortKeys(bucket: Bucket): Generator<undefined, boolean, undefined> {
  const added = yield* sortedPuts(bucket.added)
  const blind = yield* sortedPuts(bucket.blind)
  if (added === undefined || blind === undefined) return false
  bucket.added = added
  bucket.blind = blind
  return added.length === 0 || blind.length === 0 || (yield* sortedPuts([...added, ...blind])) !== undefined
}

/** Undefined where a key is there twice. Mostly they ascend already. */
function* sortedPuts(puts: Put[]): Generator<undefined, Put[] | undefined, undefined> {
  if (yield* areAscending(puts)) return puts
  const sorted = yield* sortInPieces(puts, (one, other) => compareKeys(one.key, other.key))
  return (yield* areAscending(sorted)) ? sorted : undefined
}

function* areAscending(puts: readonly Put[]): Generator<undefined, boolean, undefined> {
  for (let i = 1; i < puts.length; i++) {
    if (compareKeys((puts[i - 1] as Put).key, (puts[i] as Put).key) >= 0) return false
    if (i % pieceSteps === 0) yield
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

  /** In the order of the function's parameters after slot and number. In pieces, as the commit was made. */
  *toParameters(): Generator<undefined, unknown[], undefined> {
    const { buckets, hasUnnumbered } = this.bulk
    const hasBlind = buckets.some(({ blind }) => blind.length > 0)
    const { locks, expected } = yield* parametersBeside(this.bulk, hasBlind, hasUnnumbered)
    return [
      ...locks,
      // Without their owners, as there is one.
      ...(yield* rowArrays(buckets.map(({ placement, added }) => ({ placement, puts: added })))),
      noNumbers,
      ...(yield* rowArrays(buckets.map(({ placement, blind }) => ({ placement, puts: blind })))),
      noNumbers,
      ...expected,
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

/** What is required beside new rows, in the order of the function's parameters: those before the new rows, and those after the unconditional ones. */
export function* parametersBeside(
  { version, locks, expected }: RequiredBeside,
  hasBlind: boolean,
  hasUnnumbered: boolean,
): Generator<undefined, { readonly locks: unknown[]; readonly expected: unknown[] }, undefined> {
  const locked = yield* sortInPieces([...locks.values()], inLockOrder)
  const placements: number[] = []
  const keys: Bytes[] = []
  const wants: number[] = []
  const prefixBytes: number[] = []
  for (let i = 0; i < locked.length; i++) {
    const lock = locked[i] as KeyLock
    lock.place = i + 1
    placements.push(lock.placement)
    keys.push(lock.key)
    wants.push(lock.wants)
    prefixBytes.push(lock.prefixBytes)
  }
  return {
    locks: [
      procedureFlags.newAreAbsent |
        lockStep(locked) |
        (hasBlind ? procedureFlags.blindPut : 0) |
        (hasUnnumbered ? procedureFlags.append : 0),
      version === undefined ? null : bufferOf(version.prefix),
      int4Array(placements),
      byteaArray(keys),
      int2Array(wants),
      int4Array(prefixBytes),
      byteaArray(new Array<null>(locked.length).fill(null)),
      int4Array(new Array<number>(locked.length).fill(0)),
    ],
    expected: [...(yield* preconditionParameters(expected)), ...noRanges],
  }
}

/** Of what is locked alone: that what is added is to be absent goes without saying. */
function* preconditionParameters(expected: readonly RequiredKey[]): Generator<undefined, Buffer[], undefined> {
  const kinds = int2Array(expected.map(({ precondition }) => kindOf(precondition)))
  const subjects = yield* int4ArrayInPieces(expected, ({ lock }) => lock.place)
  const prefixes = yield* byteaArrayInPieces(expected, ({ precondition }) => {
    return precondition.kind === 'revision' ? precondition.prefix : null
  })
  let position = 0
  const positions = yield* int4ArrayInPieces(expected, () => ++position)
  return [kinds, subjects, prefixes, positions, yield* int4ArrayInPieces(expected, () => 1)]
}

function kindOf({ kind }: Precondition): number {
  assert(kind !== 'range', 'a commit that requires a range is no bulk commit')
  return preconditionKind[kind]
}

export const noNumbers = int4Array([])
const noBytes = byteaArray([])
const noRanges = [noNumbers, noNumbers, noNumbers, noNumbers, noBytes, noBytes, textArray([])]
