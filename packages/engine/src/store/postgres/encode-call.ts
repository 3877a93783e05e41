/** Encodes a call of the commit function as its parameters: distinct keys in locking order, and the preconditions that refer to them. */
import { unreachable } from '../../errors.ts'
import type { KeyPlacement, Segment } from '../key-placement.ts'
import { releaseRows, releaseValues } from '../packed-rows.ts'
import { sortSteps } from '../sort-in-pieces.ts'
import type { Bytes, Precondition, UnchangedRange } from '../store.ts'
import { ArrayWriter, bufferOf, byteaArray, int2Array, int4Array, textArray } from './binary-array.ts'
import { type CommitCall, isRangePrecondition, isWithin, type Located } from './commit-call.ts'
import { type KeyLock, lockStrength, type PlacedRows } from './commit-locks.ts'
import { type CommitParameters, lockFlags, preconditionKind, procedureFlags } from './commit-parameters.ts'
import { isUnnumbered } from './unnumbered.ts'

/** How a driver passes the rows of a call to its commit function. */
export interface CallLayout {
  /** Whether packed rows are sent without conversion. */
  readonly takesPacked: boolean
  /** The arrays that have the row. */
  groupOf(lock: KeyLock): 'locked' | 'added' | 'blind'
  /** The uses of the locked rows, with the flags of the statements that lock them. */
  wantsOf(locked: readonly KeyLock[]): number[]
  /** The tasks of the function for these rows, in addition to the tasks common to all drivers. */
  stepsOf(rows: CallRows, call: CommitCall): number
}

export interface CallRows {
  readonly locked: readonly KeyLock[]
  readonly added: readonly KeyLock[]
  readonly blind: readonly KeyLock[]
}

/** The layout for one table on one node. */
export function plainLayout({ appendPlacement }: KeyPlacement): CallLayout {
  return {
    takesPacked: true,
    groupOf: (lock) => (isNew(lock) ? 'added' : isUnconditional(lock) ? 'blind' : 'locked'),
    wantsOf: flagsInRuns,
    stepsOf: ({ locked, added, blind }) => {
      let steps = 0
      for (const { wants } of locked) {
        if ((wants & lockFlags.put) !== 0) steps |= procedureFlags.put
        else if ((wants & (lockFlags.delete | lockFlags.absent)) !== 0) steps |= procedureFlags.delete
      }
      if (added.some(({ value }) => value === null)) steps |= procedureFlags.absentOnly
      for (const { key, placement, value } of blind) {
        if (value === null) steps |= procedureFlags.blindDelete
        else steps |= isUnnumbered(key, placement, appendPlacement) ? procedureFlags.append : procedureFlags.blindPut
      }
      return steps
    },
  }
}

/** Most runs of keys in a call: for each, the function copies the arrays. */
const runsMax = 16

/** Adjacent keys with the same lock are locked by one statement if there are many of them, compared with all. */
function flagsInRuns(locked: readonly KeyLock[]): number[] {
  const wants = locked.map((lock) => lock.wants)
  let start = 0
  for (let end = 1; end <= locked.length; end++) {
    const [first, next] = [locked[start] as KeyLock, locked[end]]
    if (next !== undefined && !mayBeAbsent(first) && !mayBeAbsent(next) && lockStrength(first) === lockStrength(next)) {
      continue
    }
    if ((end - start) * runsMax >= locked.length) {
      for (let i = start + 1; i < end; i++) wants[i] = (wants[i] as number) | lockFlags.continues
    }
    start = end
  }
  return wants
}

/** Required to be absent, without a contradictory requirement: its insertion decides. */
function isNew({ wants, hasToExist }: KeyLock): boolean {
  return (wants & ~lockFlags.put) === lockFlags.absent && !hasToExist
}

/** Written regardless of its state, and not required. */
function isUnconditional({ wants, isRequired }: KeyLock): boolean {
  return !isRequired && (wants === lockFlags.put || wants === lockFlags.delete)
}

/** The function inserts such rows one by one. */
function mayBeAbsent({ wants, hasToExist }: KeyLock): boolean {
  return (wants & lockFlags.absent) !== 0 || ((wants & lockFlags.put) !== 0 && !hasToExist)
}

/** Rows encoded, or bytes copied, without a yield: about a millisecond of work. */
const stepRows = 1_024
const stepBytes = 1_048_576

/** Yields between steps; few keys take one step. */
export function* encodeCall(call: CommitCall, layout: CallLayout): Generator<undefined, CommitParameters, undefined> {
  const { members, located, keys } = call
  const [locked, added, blind] = [new RowGroup(), new RowGroup(), new RowGroup()]
  const groups = { locked, added, blind }
  let rows = 0
  for (const lock of yield* sortSteps([...call.locks.values()], inLockOrder)) {
    groups[layout.groupOf(lock)].add(lock)
    if (++rows % stepRows === 0) yield
  }
  for (const [i, lock] of [...locked.locks, ...added.locks].entries()) lock.place = i + 1
  const [first] = members
  const packed = first?.packed
  if (packed !== undefined) {
    added.addPacked(packed.added)
    blind.addPacked(packed.blind)
  }
  let steps = layout.stepsOf({ locked: locked.locks, added: added.locks, blind: blind.locks }, call)
  if (call.isExclusive) steps |= procedureFlags.exclusive
  if (call.hasRanges) steps |= procedureFlags.unchangedRanges
  if (packed !== undefined) steps |= procedureFlags.newAreAbsent
  if (packed?.blind.length) steps |= procedureFlags.blindPut
  if (packed?.hasUnnumbered) steps |= procedureFlags.append
  const [lockedColumns, newColumns, blindColumns] = [
    yield* locked.encode(),
    yield* added.encode(),
    yield* blind.encode(),
  ]
  return {
    steps,
    catalog: first?.version === undefined ? null : bufferOf(first.version.prefix),
    placements: lockedColumns.placements,
    keys: lockedColumns.keys,
    wants: int2Array(layout.wantsOf(locked.locks)),
    lengths: int4Array(locked.locks.map(({ prefixBytes }) => prefixBytes)),
    values: lockedColumns.values,
    owners: lockedColumns.owners,
    new_placements: newColumns.placements,
    new_keys: newColumns.keys,
    new_values: newColumns.values,
    new_owners: newColumns.owners,
    blind_placements: blindColumns.placements,
    blind_keys: blindColumns.keys,
    blind_values: blindColumns.values,
    blind_owners: blindColumns.owners,
    ...(yield* keyPreconditions(located)),
    ...(yield* rangePreconditions(located, keys)),
  }
}

function inLockOrder(one: KeyLock, other: KeyLock): number {
  return one.placement - other.placement || (one.name < other.name ? -1 : 1)
}

type RowColumns = Readonly<Record<'placements' | 'keys' | 'values' | 'owners', Buffer>>

/** Rows of a call that are sent in the same arrays: of locks, or packed. */
class RowGroup {
  readonly locks: KeyLock[] = []
  private packed: readonly PlacedRows[] = []
  private count = 0
  private keyBytes = 0
  private valueBytes = 0

  add(lock: KeyLock): void {
    this.locks.push(lock)
    this.count++
    this.keyBytes += lock.key.length
    this.valueBytes += lock.value?.length ?? 0
  }

  addPacked(all: readonly PlacedRows[]): void {
    this.packed = all
    for (const { rows } of all) {
      const lengths = 4 * rows.count
      this.count += rows.count
      this.keyBytes += rows.keys.length - lengths
      this.valueBytes += rows.values.length - lengths
    }
  }

  *encode(): Generator<undefined, RowColumns, undefined> {
    const { locks, count, keyBytes, valueBytes } = this
    const placements = new ArrayWriter('int4', count, 4 * count)
    const keys = new ArrayWriter('bytea', count, keyBytes)
    const values = new ArrayWriter('bytea', count, valueBytes)
    const owners = new ArrayWriter('int4', locks.length, 4 * locks.length)
    let [rows, bytes] = [0, 0]
    for (const { placement, key, value, owner } of locks) {
      placements.int4(placement)
      keys.bytes(key)
      values.bytes(value)
      owners.int4(owner)
      bytes += value?.length ?? 0
      if (++rows % stepRows !== 0 && bytes < stepBytes) continue
      bytes = 0
      yield
    }
    for (const { placement, rows } of this.packed) {
      placements.repeatedInt4(placement, rows.count)
      yield* copyElements(rows.keys, keys)
      yield* copyElements(rows.values, values)
      // Many rows are released, except new keys, which failures refer to.
      if (keyBytes + valueBytes <= stepBytes) continue
      if (rows.areNew) releaseValues(rows)
      else releaseRows(rows)
    }
    return { placements: placements.array, keys: keys.array, values: values.array, owners: owners.array }
  }
}

/** Packed rows have the format of elements. */
function* copyElements(from: Buffer, to: ArrayWriter): Generator<undefined, void, undefined> {
  for (let start = 0; start < from.length; start += stepBytes) {
    if (start > 0) yield
    to.elements(from, start, start + stepBytes)
  }
}

type KeyPreconditions = Pick<CommitParameters, 'kinds' | 'subjects' | 'prefixes' | 'positions' | 'expecters'>

function* keyPreconditions(all: readonly Located[]): Generator<undefined, KeyPreconditions, undefined> {
  const located = all.filter(({ precondition }) => !isRangePrecondition(precondition))
  const { length } = located
  const prefixBytes = located.reduce((sum, { precondition }) => sum + (prefixOf(precondition)?.length ?? 0), 0)
  const kinds = new ArrayWriter('int2', length, 2 * length)
  const prefixes = new ArrayWriter('bytea', length, prefixBytes)
  const [subjects, positions, expecters] = [0, 1, 2].map(() => new ArrayWriter('int4', length, 4 * length)) as [
    ArrayWriter,
    ArrayWriter,
    ArrayWriter,
  ]
  let rows = 0
  for (const { precondition, position, owner, lock } of located) {
    kinds.int2(kindOf(precondition))
    subjects.int4(lock?.place ?? 0)
    prefixes.bytes(prefixOf(precondition))
    positions.int4(position)
    expecters.int4(owner)
    if (++rows % stepRows === 0) yield
  }
  return {
    kinds: kinds.array,
    subjects: subjects.array,
    prefixes: prefixes.array,
    positions: positions.array,
    expecters: expecters.array,
  }
}

function prefixOf(precondition: Precondition): Bytes | null {
  return precondition.kind === 'revision' ? precondition.prefix : null
}

function kindOf({ kind }: Precondition): number {
  return kind === 'range' || kind === 'unchanged'
    ? unreachable('a range is no precondition of a key')
    : preconditionKind[kind]
}

type RangePreconditions = Pick<CommitParameters, Extract<keyof CommitParameters, `range_${string}`>>

function* rangePreconditions(
  all: readonly Located[],
  keys: KeyPlacement,
): Generator<undefined, RangePreconditions, undefined> {
  const segments: (RangePart & Omit<Located, 'precondition'>)[] = []
  let steps = 0
  for (const { precondition, ...place } of all) {
    if (!isRangePrecondition(precondition)) continue
    for (const part of rangeParts(precondition, keys)) segments.push({ ...part, ...place })
    steps += rangeSteps + (precondition.kind === 'range' ? precondition.keys.length : 0)
    if (steps < stepRows) continue
    steps = 0
    yield
  }
  const columns = {
    range_positions: () => int4Array(segments.map(({ position }) => position)),
    range_owners: () => int4Array(segments.map(({ owner }) => owner)),
    range_first: () => int4Array(segments.map(({ segment }) => segment.firstPlacement)),
    range_last: () => int4Array(segments.map(({ segment }) => segment.lastPlacement)),
    range_from: () => byteaArray(segments.map(({ segment }) => segment.from)),
    range_to: () => byteaArray(segments.map(({ segment }) => segment.to ?? null)),
    range_holds: () => textArray(segments.map(({ holds }) => holds)),
  }
  const encoded: [string, Buffer][] = []
  for (const [name, column] of Object.entries(columns)) {
    encoded.push([name, column()])
    if (segments.length * rangeSteps > stepRows) yield
  }
  return Object.fromEntries(encoded) as RangePreconditions
}

/** A range takes as long as some rows. */
const rangeSteps = 4

interface RangePart {
  readonly segment: Segment
  readonly holds: string
}

/** A requirement without any segment fails with the last one. */
function rangeParts(
  precondition: Extract<Precondition, { kind: 'range' }> | UnchangedRange,
  { segmentsOf }: KeyPlacement,
): readonly RangePart[] {
  const segments = segmentsOf(precondition.range)
  const nowhere = { firstPlacement: 0, lastPlacement: -1, from: Buffer.alloc(0), to: undefined }
  if (precondition.kind === 'unchanged') {
    const { valueBytes, content, count } = precondition
    if (segments.length === 0)
      return count === 0 ? [] : [{ segment: nowhere, holds: `#${valueBytes}:${hexOf(content)}` }]
    const [only] = segments
    if (segments.length === 1 && only?.firstPlacement === only?.lastPlacement)
      return [{ segment: only as Segment, holds: `=${valueBytes}:${hexOf(content)}` }]
    return segments.map((segment, i) => {
      const isLast = i === segments.length - 1
      return { segment, holds: `#${valueBytes}:${isLast ? hexOf(content) : '+'}` }
    })
  }
  const { keys } = precondition
  if (segments.length === 0) return keys.length === 0 ? [] : [{ segment: nowhere, holds: 'none' }]
  let at = 0
  return segments.map((segment, i) => {
    const start = at
    const isLast = i === segments.length - 1
    while (at < keys.length && (isLast || isWithin(keys[at] as Bytes, segment.to))) at++
    return { segment, holds: keys.slice(start, at).map(hexOf).join(',') }
  })
}

function hexOf(bytes: Bytes): string {
  return bufferOf(bytes).toString('hex')
}
