/**
 * Encodes several commits as the parameters of one call of the commit function: keys in the order in which they are
 * locked, each once.
 */
import type { KeyPlacement } from '../key-placement.ts'
import { sortInPieces } from '../sort-in-pieces.ts'
import type { Bytes, CommitOutcome, Precondition } from '../store.ts'
import {
  bufferOf,
  byteaArray,
  byteaArrayInPieces,
  int2Array,
  int4Array,
  int4ArrayInPieces,
  textArray,
} from './binary-array.ts'
import { type CommitLocks, isNew, isShared, isUnconditional, type KeyLock } from './commit-locks.ts'
import { lockFlags, preconditionKind, procedureFlags } from './commit-parameters.ts'
import { isUnnumbered } from './unnumbered.ts'

type RangePrecondition = Extract<Precondition, { kind: 'range' }>
type KeyPrecondition = Exclude<Precondition, RangePrecondition>

/** A precondition, where it stands among all of the group, from 1, and whose it is. */
interface Located<T extends Precondition = Precondition> {
  readonly precondition: T
  readonly position: number
  readonly owner: number
  readonly lock: KeyLock
}

// A call holds its locks until it is done, and is given up as a whole.
const commitsMax = 64
const bytesMax = 524_288

/**
 * How the rows of a commit are locked and changed: on one node all together; where the table is distributed, one after the other, or
 * those of one placement that stand beside each other by one statement.
 */
export type RowsOfCommit = 'together' | 'one by one' | 'in runs'

const stepOf = { 'one by one': procedureFlags.byRow, 'in runs': procedureFlags.byPlacement } as const

// What one statement takes: its text grows with it.
const runKeysMax = 256
const runBytesMax = 131_072

/** Steps of a microsecond or two in one piece. */
const pieceSteps = 1_024

export class CommitGroup {
  private readonly keys: KeyPlacement
  private readonly members: CommitLocks[] = []
  private readonly locks = new Map<string, KeyLock>()
  private readonly located: Located[] = []
  private bytes = 0

  constructor(keys: KeyPlacement) {
    this.keys = keys
  }

  /** Of one commit, to which no other is added. In pieces, as it is large. */
  static *ofOne(member: CommitLocks, keys: KeyPlacement): Generator<undefined, CommitGroup, undefined> {
    const group = new CommitGroup(keys)
    group.members.push(member)
    let steps = 0
    for (const lock of member.locks.values()) {
      group.merge(lock, 1)
      if (++steps % pieceSteps === 0) yield
    }
    for (const { precondition, lock } of member.expected) {
      group.located.push({ precondition, position: group.located.length + 1, owner: 1, lock })
      if (++steps % pieceSteps === 0) yield
    }
    return group
  }

  /** False where it has to wait for another group: what it needs of some key does not go together with the others. */
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
        lock: this.locks.get(lock.name) ?? lock,
      })
    }
    return true
  }

  get size(): number {
    return this.members.length
  }

  /**
   * Where the call is noted as done: with a placement that it changes. If that is all it changes, Citus commits both on one node in one
   * phase; else in two, with all others.
   */
  get proofPlacement(): number {
    let first: KeyLock | undefined
    for (const lock of this.locks.values()) {
      const isChanged = (lock.wants & (lockFlags.put | lockFlags.delete)) !== 0
      if (isChanged && (first === undefined || lock.placement < first.placement)) first = lock
    }
    return first?.placement ?? 0
  }

  get isExclusive(): boolean {
    return this.members[0]?.isExclusive === true
  }

  /** In the order of the function's parameters after slot and number. In pieces, between which others may have their turn; of few keys there is one. */
  *toParameters(rows: RowsOfCommit): Generator<undefined, unknown[], undefined> {
    const locked: KeyLock[] = []
    const added: KeyLock[] = []
    const blind: KeyLock[] = []
    let steps = 0
    for (const lock of yield* sortInPieces([...this.locks.values()], inLockOrder)) {
      if (rows !== 'together') locked.push(lock)
      else if (isNew(lock)) added.push(lock)
      else if (isUnconditional(lock)) blind.push(lock)
      else locked.push(lock)
      if (++steps % pieceSteps === 0) yield
    }
    for (const [i, lock] of locked.entries()) lock.place = i + 1
    for (const [i, lock] of added.entries()) lock.place = locked.length + i + 1
    const isLong = this.locks.size > pieceSteps
    if (isLong) yield
    const first = this.members[0]
    const does =
      rows !== 'together'
        ? stepOf[rows]
        : lockStep(locked) | changeSteps(locked, added, blind, this.keys.appendPlacement)
    if (isLong) yield
    const flags = int2Array(rows === 'in runs' ? flagsInRuns(locked) : locked.map((lock) => lock.wants))
    const ofLocked = yield* rowParameters(locked)
    return [
      does | (first?.isExclusive === true ? procedureFlags.exclusive : 0),
      first?.version === undefined ? null : bufferOf(first.version.prefix),
      ofLocked.placements,
      ofLocked.keys,
      flags,
      yield* int4ArrayInPieces(locked, ({ prefixBytes }) => prefixBytes),
      ofLocked.values,
      ofLocked.owners,
      ...Object.values(yield* rowParameters(added)),
      ...Object.values(yield* rowParameters(blind)),
      ...(yield* preconditionParameters(this.located)),
      ...rangeParameters(this.located, this.keys),
    ]
  }

  /** Of each commit, in order. `failed`: what the function has returned. */
  outcomes(failed: readonly number[]): CommitOutcome[] {
    if (failed[0] === 0) {
      return this.members.map(({ version }) => ({ isCommitted: false, failed: version as Precondition }))
    }
    const outcomes: CommitOutcome[] = this.members.map(() => ({ isCommitted: true }))
    for (const position of failed) {
      const { owner, precondition } = this.located[position - 1] as Located
      outcomes[owner - 1] = { isCommitted: false, failed: precondition }
    }
    return outcomes
  }

  private hasRoomFor({ locks, version, isExclusive, bytes }: CommitLocks): boolean {
    const first = this.members[0]
    if (isExclusive || first?.isExclusive === true || !isSameVersion(version, first?.version)) return false
    if (this.members.length >= commitsMax || this.bytes + bytes > bytesMax) return false
    for (const [name, lock] of locks) {
      const other = this.locks.get(name)
      if (other !== undefined && !(isShared(lock) && isShared(other))) return false
    }
    return true
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

function isSameVersion(one: CommitLocks['version'], other: CommitLocks['version']): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one.prefix, other.prefix) === 0
}

export function inLockOrder(one: KeyLock, other: KeyLock): number {
  return one.placement - other.placement || (one.name < other.name ? -1 : 1)
}

/** 0 where the locks differ in strength, or a row may have to be made: they are taken one by one then. */
export function lockStep(locked: readonly KeyLock[]): number {
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
    const ownBytes = lock.key.length + (lock.value?.length ?? 0)
    const isNext = before !== undefined && before.placement === lock.placement && isLockedAlike(before, lock)
    const continues = isNext && keys < runKeysMax && bytes + ownBytes <= runBytesMax
    keys = continues ? keys + 1 : 1
    bytes = continues ? bytes + ownBytes : ownBytes
    return lock.wants | (mayBeMade(lock) ? lockFlags.mayBeMade : 0) | (continues ? lockFlags.continues : 0)
  })
}

/** What may have to be made is locked as what is put. A range lock key, or what is compared, is locked otherwise. */
function mayBeMade({ wants: wanted, hasToExist }: KeyLock): boolean {
  return (wanted & ~(lockFlags.absent | lockFlags.put)) === 0 && !hasToExist
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

interface RowParameters {
  readonly placements: Buffer
  readonly keys: Buffer
  readonly values: Buffer
  readonly owners: Buffer
}

/** In the order in which the function has them of what is added and of what is written blindly. */
function* rowParameters(locks: readonly KeyLock[]): Generator<undefined, RowParameters, undefined> {
  return {
    placements: yield* int4ArrayInPieces(locks, ({ placement }) => placement),
    keys: yield* byteaArrayInPieces(locks, ({ key }) => key),
    values: yield* byteaArrayInPieces(locks, ({ value }) => value),
    owners: yield* int4ArrayInPieces(locks, ({ owner }) => owner),
  }
}

function* preconditionParameters(placed: readonly Located[]): Generator<undefined, Buffer[], undefined> {
  const ofKeys = placed.filter(isOfKey)
  const kinds = int2Array(ofKeys.map(({ precondition }) => preconditionKind[precondition.kind]))
  const places = yield* int4ArrayInPieces(ofKeys, ({ lock }) => lock.place)
  const prefixes = yield* byteaArrayInPieces(ofKeys, ({ precondition }) => {
    return precondition.kind === 'revision' ? precondition.prefix : null
  })
  const positions = yield* int4ArrayInPieces(ofKeys, ({ position }) => position)
  return [kinds, places, prefixes, positions, yield* int4ArrayInPieces(ofKeys, ({ owner }) => owner)]
}

function isOfKey(placed: Located): placed is Located<KeyPrecondition> {
  return placed.precondition.kind !== 'range'
}

function rangeParameters(placed: readonly Located[], keys: KeyPlacement): Buffer[] {
  const segments = placed.flatMap(({ precondition, ...place }) => {
    return precondition.kind === 'range' ? rangeParts(precondition, keys).map((lock) => ({ ...lock, ...place })) : []
  })
  return [
    int4Array(segments.map(({ position }) => position)),
    int4Array(segments.map(({ owner }) => owner)),
    int4Array(segments.map(({ segment }) => segment.firstPlacement)),
    int4Array(segments.map(({ segment }) => segment.lastPlacement)),
    byteaArray(segments.map(({ segment }) => segment.from)),
    byteaArray(segments.map(({ segment }) => segment.to ?? null)),
    textArray(segments.map(({ holds }) => holds)),
  ]
}

/** What is required in no segment makes the last one fail. */
function rangeParts({ range, keys }: RangePrecondition, { segmentsOf }: KeyPlacement) {
  const segments = segmentsOf(range)
  const nowhere = { firstPlacement: 0, lastPlacement: -1, from: Buffer.alloc(0), to: undefined }
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
