/** Encodes a commit of packed rows as the parameters of one call of the commit function: rows are copied as they lie, not one by one. */
import { unreachable } from '../../errors.ts'
import type { KeyPlacement } from '../key-placement.ts'
import {
  letGoOf,
  letGoOfValues,
  PackedChanges,
  PackedPreconditions,
  type PackedRows,
  packedAt,
  packedKeys,
  packedPuts,
} from '../packed-rows.ts'
import type { Bytes, Commit, CommitOutcome, Precondition } from '../store.ts'
import { begunArray, setInt32 } from './binary-array.ts'
import { noNumbers, parametersBeside, type RequiredBeside, type Revision } from './bulk-commit.ts'
import { addPrecondition, isSame, type KeyLock, type RequiredKey } from './commit-locks.ts'
import { unnumberedPuts } from './unnumbered.ts'

interface PlacedRows {
  readonly placement: number
  readonly rows: PackedRows
}

export interface PackedCommit extends RequiredBeside {
  /** In the order in which rows are locked. */
  readonly added: readonly PlacedRows[]
  readonly blind: readonly PlacedRows[]
  /** Some of `blind` wait for their numbers. */
  readonly hasUnnumbered: boolean
}

/** Undefined where it is not of that kind: its rows are not packed, or it requires more than a version and keys that are there. */
export function packedCommit({ changes, preconditions, append }: Commit, keys: KeyPlacement): PackedCommit | undefined {
  if (!(changes instanceof PackedChanges) || !(preconditions instanceof PackedPreconditions)) return undefined
  const locks = new Map<string, KeyLock>()
  const expected: RequiredKey[] = []
  let version: Revision | undefined
  for (const precondition of preconditions.others) {
    if (precondition.kind === 'range' || precondition.kind === 'absent') return undefined
    if (precondition.kind === 'revision' && version === undefined && isSame(precondition.key, keys.versionKey)) {
      version = precondition
    } else expected.push({ precondition, lock: addPrecondition(locks, precondition, keys) })
  }
  const all = changes.all.map((rows) => ({ rows, placement: keys.placementOf(packedAt(rows.keys, 0)) }))
  const hasUnnumbered = append !== undefined && append.values.length > 0
  if (hasUnnumbered) all.push({ rows: packedPuts(unnumberedPuts(append)), placement: keys.appendPlacement })
  all.sort((one, other) => one.placement - other.placement)
  const [added, blind] = [all.filter(({ rows }) => rows.areNew), all.filter(({ rows }) => !rows.areNew)]
  return { locks, version, expected, added, blind, hasUnnumbered }
}

/** What is sent for one of them, as `BulkCall` is for other large ones. */
export class PackedCall {
  readonly size = 1
  readonly isExclusive = false
  /** It is only made where the table is on one node. */
  readonly proofPlacement = 0
  private readonly packed: PackedCommit

  constructor(packed: PackedCommit) {
    this.packed = packed
  }

  /** In the order of the function's parameters after slot and number. In pieces, between which others may have their turn; of few and short rows there is one. */
  *toParameters(): Generator<undefined, unknown[], undefined> {
    const { added, blind, hasUnnumbered } = this.packed
    const { locks, expected } = yield* parametersBeside(this.packed, blind.length > 0, hasUnnumbered)
    const [addedRows, blindRows] = [yield* arraysOf(added), yield* arraysOf(blind)]
    return [...locks, ...addedRows, noNumbers, ...blindRows, noNumbers, ...expected]
  }

  /** `failed`: what the function has returned. */
  outcomes([position]: readonly number[]): CommitOutcome[] {
    return [
      position === undefined ? { isCommitted: true } : { isCommitted: false, failed: this.preconditionAt(position) },
    ]
  }

  private preconditionAt(position: number): Precondition {
    const { version, expected, added } = this.packed
    if (position === 0) return version as Precondition
    if (position <= expected.length) return (expected[position - 1] as RequiredKey).precondition
    return { kind: 'absent', key: keyAt(added, position - expected.length - 1) }
  }
}

function keyAt(all: readonly PlacedRows[], position: number): Bytes {
  let at = 0
  for (const { rows } of all) for (const key of packedKeys(rows)) if (at++ === position) return key
  return unreachable('a precondition that does not hold is one of those that were sent')
}

/** Placements, keys and values: rows are packed as the elements of binary arrays are. Many are let go of, but for new keys, which a failure names. */
function* arraysOf(all: readonly PlacedRows[]): Generator<undefined, [Buffer, Buffer, Buffer], undefined> {
  let [count, keyBytes, valueBytes] = [0, 0, 0]
  for (const { rows } of all) {
    count += rows.count
    keyBytes += rows.keys.length
    valueBytes += rows.values.length
  }
  const isLarge = keyBytes + valueBytes > pieceBytes
  const placements = begunArray(count, 'int4', count * placementElementBytes)
  const keys = begunArray(count, 'bytea', keyBytes)
  const values = begunArray(count, 'bytea', valueBytes)
  let placementAt = placements.length - count * placementElementBytes
  let keyAt = keys.length - keyBytes
  let valueAt = values.length - valueBytes
  const element = Buffer.alloc(placementElementBytes)
  for (const { placement, rows } of all) {
    setInt32(element, placement, setInt32(element, 4, 0))
    const end = placementAt + rows.count * placementElementBytes
    placements.fill(element, placementAt, end)
    placementAt = end
    keyAt = yield* copied(rows.keys, keys, keyAt)
    valueAt = yield* copied(rows.values, values, valueAt)
    if (!isLarge) continue
    if (rows.areNew) letGoOfValues(rows)
    else letGoOf(rows)
  }
  return [placements, keys, values]
}

/** Returns where the next ones follow. */
function* copied(from: Buffer, to: Buffer, at: number): Generator<undefined, number, undefined> {
  for (let start = 0; start < from.length; start += pieceBytes) {
    if (start > 0) yield
    from.copy(to, at + start, start, start + pieceBytes)
  }
  return at + from.length
}

/** What is copied in one piece: less than a millisecond of work. */
const pieceBytes = 1_048_576

/** Of an element: its length, and itself. */
const placementElementBytes = 8
