/** Encodes commits as parameters of one call of the commit function, with distinct keys in locking order. Small commits share a call. */
import { unreachable } from '../../errors.ts'
import type { KeyPlacement, Segment } from '../key-placement.ts'
import { packedKeys, releaseRows, releaseValues } from '../packed-rows.ts'
import { sortSteps } from '../sort-in-pieces.ts'
import type { Bytes, CommitOutcome, Precondition, UnchangedRange } from '../store.ts'
import {
  bufferOf,
  byteaArray,
  byteaArraySteps,
  int2Array,
  int4Array,
  int4ArraySteps,
  newArray,
  setInt32,
  textArray,
} from './binary-array.ts'
import {
  type CommitLocks,
  isNew,
  isShared,
  isUnconditional,
  type KeyLock,
  type PlacedRows,
  type RequiredKey,
} from './commit-locks.ts'
import { type CommitParameters, lockFlags, preconditionKind, procedureFlags } from './commit-parameters.ts'
import { isUnnumbered } from './unnumbered.ts'

type RangePrecondition = Extract<Precondition, { kind: 'range' }>

/** A precondition, its position within the call, from 1, and its commit. */
interface Located<T extends Precondition = Precondition> {
  readonly precondition: T
  readonly position: number
  readonly owner: number
  readonly lock: KeyLock | undefined
}

// A call holds its locks until it ends, and fails as a whole.
const commitsMax = 64
const bytesMax = 524_288
/** Most unchanged ranges of a grouped commit: each is compared with every key that other commits of the group write. */
const groupedRangesMax = 32

/** How rows are locked and changed: on one node together; on a distributed table individually, or adjacent rows of one placement per statement. */
export type RowsOfCommit = 'together' | 'one by one' | 'in runs'

const stepOf = { 'one by one': procedureFlags.byRow, 'in runs': procedureFlags.byPlacement } as const

// Bounds of one statement, whose text grows with its keys.
const runKeysMax = 256
const runBytesMax = 131_072

/** Steps of a microsecond or two without a yield. */
const stepsPerYield = 1_024

export class CommitCall {
  private readonly keys: KeyPlacement
  private readonly members: CommitLocks[] = []
  private locks: Map<string, KeyLock> = new Map()
  /** Preconditions to be sent, by position: except the version and implied ones. */
  private readonly located: Located[] = []
  private bytes = 0
  /** For one large commit: all new rows must be absent, which one flag says for all of them. */
  private newAreAbsent = false
  /** The new rows, in the order sent. */
  private added: readonly KeyLock[] = []
  /** Number of sent preconditions before the ones of new rows. */
  private sentBefore = 0

  constructor(keys: KeyPlacement) {
    this.keys = keys
  }

  /** A call of one large commit, built in steps with yields; nothing can be added. `newAreAbsent`: whether the function supports that flag. */
  static *forOne(
    member: CommitLocks,
    keys: KeyPlacement,
    newAreAbsent: boolean,
  ): Generator<undefined, CommitCall, undefined> {
    const call = new CommitCall(keys)
    call.members.push(member)
    call.locks = member.locks
    call.newAreAbsent = newAreAbsent
    let steps = 0
    let newRows = 0
    for (const lock of member.locks.values()) {
      lock.owner = isShared(lock) ? 0 : 1
      if (newAreAbsent && isNew(lock)) newRows++
      if (++steps % stepsPerYield === 0) yield
    }
    const ranges: RequiredKey[] = []
    for (const one of member.expected) {
      const { precondition, lock } = one
      const isImplied = newAreAbsent && precondition.kind === 'absent' && lock !== undefined && isNew(lock)
      if (newAreAbsent && isRangePrecondition(precondition)) ranges.push(one)
      else if (!isImplied) call.located.push({ ...one, position: call.located.length + 1, owner: 1 })
      if (++steps % stepsPerYield === 0) yield
    }
    call.sentBefore = call.located.length
    for (const one of ranges) call.located.push({ ...one, position: call.located.length + newRows + 1, owner: 1 })
    return call
  }

  /** False if the commit is incompatible with this group and must wait for another. */
  add(member: CommitLocks): boolean {
    if (this.members.length > 0 && !this.hasRoomFor(member)) return false
    this.members.push(member)
    this.bytes += member.bytes
    const owner = this.members.length
    for (const lock of member.locks.values()) this.merge(lock, owner)
    for (const { precondition, lock } of member.expected) {
      this.located.push({
        precondition,
        position: this.located.length + 1,
        owner,
        lock: lock && (this.locks.get(lock.name) ?? lock),
      })
    }
    return true
  }

  get isLarge(): boolean {
    return this.members[0]?.packed !== undefined
  }

  get size(): number {
    return this.members.length
  }

  /** The placement whose slot table records the call: one that it changes, so that Citus can commit a change of one placement in one phase. */
  get proofPlacement(): number {
    let first: KeyLock | undefined
    for (const lock of this.locks.values()) {
      const isChanged = (lock.wants & (lockFlags.put | lockFlags.delete)) !== 0
      if (isChanged && (first === undefined || lock.placement < first.placement)) first = lock
    }
    return first?.placement ?? 0
  }

  get hasRanges(): boolean {
    return this.members.some(({ unchanged }) => unchanged.length > 0)
  }

  get isExclusive(): boolean {
    return this.members[0]?.isExclusive === true
  }

  /** Yields between steps; few keys take one step. */
  *toParameters(rows: RowsOfCommit): Generator<undefined, CommitParameters, undefined> {
    const locked: KeyLock[] = []
    const added: KeyLock[] = []
    const blind: KeyLock[] = []
    let steps = 0
    for (const lock of yield* sortSteps([...this.locks.values()], inLockOrder)) {
      if (rows !== 'together') locked.push(lock)
      else if (isNew(lock)) added.push(lock)
      else if (isUnconditional(lock)) blind.push(lock)
      else locked.push(lock)
      if (++steps % stepsPerYield === 0) yield
    }
    for (const [i, lock] of locked.entries()) lock.place = i + 1
    for (const [i, lock] of added.entries()) lock.place = locked.length + i + 1
    if (this.locks.size > stepsPerYield) yield
    const first = this.members[0]
    const packed = first?.packed
    if (this.newAreAbsent) this.added = added
    const lockedArrays = yield* rowArrays(locked)
    const addedArrays = packed === undefined ? yield* rowArrays(added) : yield* packedArrays(packed.added)
    const blindArrays = packed === undefined ? yield* rowArrays(blind) : yield* packedArrays(packed.blind)
    return {
      steps: this.stepsOf(rows, locked, added, blind),
      catalog: first?.version === undefined ? null : bufferOf(first.version.prefix),
      placements: lockedArrays.placements,
      keys: lockedArrays.keys,
      wants: int2Array(rows === 'in runs' ? flagsInRuns(locked) : locked.map((lock) => lock.wants)),
      lengths: yield* int4ArraySteps(locked, ({ prefixBytes }) => prefixBytes),
      values: lockedArrays.values,
      owners: yield* ownersOf(locked),
      new_placements: addedArrays.placements,
      new_keys: addedArrays.keys,
      new_values: addedArrays.values,
      new_owners: this.newAreAbsent ? noNumbers : yield* ownersOf(added),
      blind_placements: blindArrays.placements,
      blind_keys: blindArrays.keys,
      blind_values: blindArrays.values,
      blind_owners: this.newAreAbsent ? noNumbers : yield* ownersOf(blind),
      ...(yield* keyPreconditions(this.located)),
      ...rangePreconditions(this.located, this.keys),
    }
  }

  private stepsOf(
    rows: RowsOfCommit,
    locked: readonly KeyLock[],
    added: readonly KeyLock[],
    blind: readonly KeyLock[],
  ): number {
    const packed = this.members[0]?.packed
    let steps = this.isExclusive ? procedureFlags.exclusive : 0
    if (this.hasRanges) steps |= procedureFlags.unchangedRanges
    if (this.newAreAbsent) steps |= procedureFlags.newAreAbsent
    if (packed?.blind.length) steps |= procedureFlags.blindPut
    if (packed?.hasUnnumbered) steps |= procedureFlags.append
    if (rows !== 'together') return steps | stepOf[rows]
    return steps | lockStep(locked) | changeSteps(locked, added, blind, this.keys.appendPlacement)
  }

  /** One outcome per commit, in order. `failed`: the function's result. */
  outcomes(failed: readonly number[]): CommitOutcome[] {
    if (failed[0] === 0) {
      return this.members.map(({ version }) => ({ isCommitted: false, failed: version as Precondition }))
    }
    const outcomes: CommitOutcome[] = this.members.map(() => ({ isCommitted: true }))
    for (const position of failed) {
      const { owner, precondition } = this.requiredAt(position)
      outcomes[owner - 1] = { isCommitted: false, failed: precondition }
    }
    return outcomes
  }

  /** Preconditions of new rows have the positions after those sent with other keys, in order; ranges follow. */
  private requiredAt(position: number): Pick<Located, 'owner' | 'precondition'> {
    const { located, added, sentBefore, newAreAbsent } = this
    if (!newAreAbsent || position <= sentBefore) return located[position - 1] as Located
    if (position > sentBefore + added.length && located.length > sentBefore) {
      return located[position - added.length - 1] as Located
    }
    return { owner: 1, precondition: this.absentAt(position - sentBefore) }
  }

  /** The precondition of the nth new row, from 1. */
  private absentAt(nth: number): Precondition {
    const [member] = this.members
    const lock = this.added[nth - 1]
    const required = lock && member?.expected.find((one) => one.lock === lock && one.precondition.kind === 'absent')
    if (required !== undefined) return required.precondition
    let left = nth
    for (const { rows } of member?.packed?.added ?? []) {
      for (const key of packedKeys(rows)) if (--left === 0) return { kind: 'absent', key }
    }
    return unreachable('a precondition that does not hold is one of those that were sent')
  }

  private hasRoomFor(member: CommitLocks): boolean {
    const { locks, version, isExclusive, bytes } = member
    const first = this.members[0]
    if (isExclusive || first?.isExclusive === true || !isSameVersion(version, first?.version)) return false
    if (this.members.length >= commitsMax || this.bytes + bytes > bytesMax) return false
    for (const [name, lock] of locks) {
      const other = this.locks.get(name)
      if (other !== undefined && !(isShared(lock) && isShared(other))) return false
    }
    return !this.disturbsRanges(member)
  }

  /** All commits of a call are checked before any is applied, so none may change what another has read. */
  private disturbsRanges({ locks, unchanged }: CommitLocks): boolean {
    if (unchanged.length > groupedRangesMax || unchanged.some((range) => changesSome(this.locks, range))) return true
    return this.members.some((other) => {
      return other.unchanged.length > groupedRangesMax || other.unchanged.some((range) => changesSome(locks, range))
    })
  }

  private merge(lock: KeyLock, owner: number): void {
    const other = this.locks.get(lock.name)
    if (other === undefined) {
      lock.owner = isShared(lock) ? 0 : owner
      this.locks.set(lock.name, lock)
      return
    }
    other.wants |= lock.wants
    other.prefixBytes = Math.max(other.prefixBytes, lock.prefixBytes)
  }
}

/** Whether a written key lies in the range. */
function changesSome(locks: ReadonlyMap<string, KeyLock>, { range: { from, to } }: UnchangedRange): boolean {
  for (const lock of locks.values()) {
    if (isShared(lock)) continue
    if ((from === undefined || Buffer.compare(lock.key, from) >= 0) && isWithin(lock.key, to)) return true
  }
  return false
}

function isSameVersion(one: CommitLocks['version'], other: CommitLocks['version']): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one.prefix, other.prefix) === 0
}

function inLockOrder(one: KeyLock, other: KeyLock): number {
  return one.placement - other.placement || (one.name < other.name ? -1 : 1)
}

/** 0 if locks differ in strength, or a row may have to be created: they are then acquired one by one. */
function lockStep(locked: readonly KeyLock[]): number {
  const [first] = locked
  if (first === undefined || strengthOf(first) === 0) return 0
  return locked.every((lock) => strengthOf(lock) === strengthOf(first)) ? strengthOf(first) : 0
}

function strengthOf(lock: KeyLock): number {
  if ((lock.wants & lockFlags.absent) !== 0) return 0
  if ((lock.wants & lockFlags.put) !== 0 && !lock.hasToExist) return 0
  if ((lock.wants & (lockFlags.delete | lockFlags.rangeLock)) !== 0) return procedureFlags.lockDelete
  if ((lock.wants & lockFlags.put) !== 0) return procedureFlags.lockPut
  return (lock.wants & lockFlags.revision) !== 0 ? procedureFlags.lockRevision : procedureFlags.lockPresent
}

function flagsInRuns(locked: readonly KeyLock[]): number[] {
  let [keys, bytes] = [0, 0]
  return locked.map((lock, i) => {
    const before = locked[i - 1]
    const lockBytes = lock.key.length + (lock.value?.length ?? 0)
    const isNext = before !== undefined && before.placement === lock.placement && isLockedAlike(before, lock)
    const continues = isNext && keys < runKeysMax && bytes + lockBytes <= runBytesMax
    keys = continues ? keys + 1 : 1
    bytes = continues ? bytes + lockBytes : lockBytes
    return lock.wants | (mayBeMade(lock) ? lockFlags.mayBeMade : 0) | (continues ? lockFlags.continues : 0)
  })
}

/** Rows that may have to be created are locked like puts. A range lock key, or a key with a required revision, is locked otherwise. */
function mayBeMade({ wants, hasToExist }: KeyLock): boolean {
  return (wants & ~(lockFlags.absent | lockFlags.put)) === 0 && !hasToExist
}

function isLockedAlike(one: KeyLock, other: KeyLock): boolean {
  if (mayBeMade(one) || mayBeMade(other)) return mayBeMade(one) && mayBeMade(other)
  return strengthOf(one) > 0 && strengthOf(one) === strengthOf(other)
}

function changeSteps(
  locked: readonly KeyLock[],
  added: readonly KeyLock[],
  blind: readonly KeyLock[],
  appendPlacement: number,
): number {
  let does = 0
  for (const lock of locked) {
    if ((lock.wants & lockFlags.put) !== 0) does |= procedureFlags.put
    else if ((lock.wants & (lockFlags.delete | lockFlags.absent)) !== 0) does |= procedureFlags.delete
  }
  if (added.some(({ value }) => value === null)) does |= procedureFlags.absentOnly
  for (const { key, placement, value } of blind) {
    if (value === null) does |= procedureFlags.blindDelete
    else does |= isUnnumbered(key, placement, appendPlacement) ? procedureFlags.append : procedureFlags.blindPut
  }
  return does
}

interface RowArrays {
  readonly placements: Buffer
  readonly keys: Buffer
  readonly values: Buffer
}

function* rowArrays(locks: readonly KeyLock[]): Generator<undefined, RowArrays, undefined> {
  return {
    placements: yield* int4ArraySteps(locks, ({ placement }) => placement),
    keys: yield* byteaArraySteps(locks, ({ key }) => key),
    values: yield* byteaArraySteps(locks, ({ value }) => value),
  }
}

function ownersOf(locks: readonly KeyLock[]): Generator<undefined, Buffer, undefined> {
  return int4ArraySteps(locks, ({ owner }) => owner)
}

const noNumbers = int4Array([])

/** Bytes copied without a yield: less than a millisecond of work. */
const copyBytesMax = 1_048_576
/** Bytes of the length and the value of an element. */
const placementElementBytes = 8

/** Copies packed rows into binary arrays, whose elements have the same format. Releases many rows afterwards, except new keys, for failures. */
function* packedArrays(all: readonly PlacedRows[]): Generator<undefined, RowArrays, undefined> {
  let [count, keyBytes, valueBytes] = [0, 0, 0]
  for (const { rows } of all) {
    count += rows.count
    keyBytes += rows.keys.length
    valueBytes += rows.values.length
  }
  const isLarge = keyBytes + valueBytes > copyBytesMax
  const placements = newArray(count, 'int4', count * placementElementBytes)
  const keys = newArray(count, 'bytea', keyBytes)
  const values = newArray(count, 'bytea', valueBytes)
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
    if (rows.areNew) releaseValues(rows)
    else releaseRows(rows)
  }
  return { placements, keys, values }
}

/** Returns the end offset. */
function* copied(from: Buffer, to: Buffer, at: number): Generator<undefined, number, undefined> {
  for (let start = 0; start < from.length; start += copyBytesMax) {
    if (start > 0) yield
    from.copy(to, at + start, start, start + copyBytesMax)
  }
  return at + from.length
}

type KeyPreconditions = Pick<CommitParameters, 'kinds' | 'subjects' | 'prefixes' | 'positions' | 'expecters'>

function* keyPreconditions(all: readonly Located[]): Generator<undefined, KeyPreconditions, undefined> {
  const located = all.filter(({ precondition }) => !isRangePrecondition(precondition))
  return {
    kinds: int2Array(located.map(kindOf)),
    subjects: yield* int4ArraySteps(located, ({ lock }) => lock?.place ?? 0),
    prefixes: yield* byteaArraySteps(located, ({ precondition }) => {
      return precondition.kind === 'revision' ? precondition.prefix : null
    }),
    positions: yield* int4ArraySteps(located, ({ position }) => position),
    expecters: yield* int4ArraySteps(located, ({ owner }) => owner),
  }
}

function kindOf({ precondition: { kind } }: Located): number {
  return kind === 'range' || kind === 'unchanged'
    ? unreachable('a range is no precondition of a key')
    : preconditionKind[kind]
}

type RangePreconditions = Pick<CommitParameters, Extract<keyof CommitParameters, `range_${string}`>>

function rangePreconditions(all: readonly Located[], keys: KeyPlacement): RangePreconditions {
  const segments = all.flatMap(({ precondition, ...place }) => {
    return isRangePrecondition(precondition)
      ? rangeParts(precondition, keys).map((part) => ({ ...part, ...place }))
      : []
  })
  return {
    range_positions: int4Array(segments.map(({ position }) => position)),
    range_owners: int4Array(segments.map(({ owner }) => owner)),
    range_first: int4Array(segments.map(({ segment }) => segment.firstPlacement)),
    range_last: int4Array(segments.map(({ segment }) => segment.lastPlacement)),
    range_from: byteaArray(segments.map(({ segment }) => segment.from)),
    range_to: byteaArray(segments.map(({ segment }) => segment.to ?? null)),
    range_holds: textArray(segments.map(({ holds }) => holds)),
  }
}

function isRangePrecondition(precondition: Precondition): precondition is RangePrecondition | UnchangedRange {
  return precondition.kind === 'range' || precondition.kind === 'unchanged'
}

/** A requirement without any segment fails with the last one. */
function rangeParts(precondition: RangePrecondition | UnchangedRange, { segmentsOf }: KeyPlacement) {
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
      return { segment, holds: `#${valueBytes}:${isLast ? hexOf(content) : ''}${isLast ? '' : '+'}` }
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

function isWithin(key: Bytes, to: Bytes | undefined): boolean {
  return to === undefined || Buffer.compare(key, to) < 0
}

function hexOf(bytes: Bytes): string {
  return bufferOf(bytes).toString('hex')
}
