/** The commits of one call of the commit function: which can share it, and the outcome of each. */
import { unreachable } from '../../errors.ts'
import type { KeyPlacement } from '../key-placement.ts'
import { packedKeys } from '../packed-rows.ts'
import type { Bytes, CommitOutcome, Precondition, UnchangedRange } from '../store.ts'
import { runToEnd } from '../time-slice.ts'
import { type CommitLocks, isShared, type KeyLock } from './commit-locks.ts'
import { lockFlags } from './commit-parameters.ts'

type RangePrecondition = Extract<Precondition, { kind: 'range' }>

/** A precondition, its position within the call, from 1, and its commit. */
export interface Located {
  readonly precondition: Precondition
  readonly position: number
  readonly owner: number
  readonly lock: KeyLock | undefined
}

// A call holds its locks until it ends, and fails as a whole.
const commitsMax = 64
const bytesMax = 524_288
/** Most unchanged ranges of a grouped commit: each is compared with every key that other commits of the group write. */
const groupedRangesMax = 32

/** Steps of a microsecond or two without a yield. */
const stepsPerYield = 1_024

export class CommitCall {
  readonly keys: KeyPlacement
  readonly members: CommitLocks[] = []
  readonly locks: Map<string, KeyLock> = new Map()
  /** Preconditions to be sent: except the version, and those of packed rows. */
  readonly located: Located[] = []
  private bytes = 0

  constructor(keys: KeyPlacement) {
    this.keys = keys
  }

  /** False if the commit is incompatible with this group and must wait for another. */
  add(member: CommitLocks): boolean {
    if (this.members.length > 0 && !this.hasRoomFor(member)) return false
    runToEnd(this.adding(member))
    return true
  }

  /** Adds a commit, with yields, that has the call to itself or is compatible. */
  *adding(member: CommitLocks): Generator<undefined, void, undefined> {
    this.members.push(member)
    this.bytes += member.bytes
    const owner = this.members.length
    let steps = 0
    for (const lock of member.locks.values()) {
      this.merge(lock, owner)
      if (++steps % stepsPerYield === 0) yield
    }
    for (const { precondition, lock } of member.expected) {
      const merged = lock && (this.locks.get(lock.name) ?? lock)
      this.located.push({ precondition, position: this.located.length + 1, owner, lock: merged })
      if (++steps % stepsPerYield === 0) yield
    }
  }

  /** Its rows are not retained for another attempt. */
  get isPacked(): boolean {
    return this.members[0]?.packed !== undefined
  }

  get size(): number {
    return this.members.length
  }

  get hasRanges(): boolean {
    return this.members.some(({ unchanged }) => unchanged.length > 0)
  }

  get isExclusive(): boolean {
    return this.members[0]?.isExclusive === true
  }

  /** The lowest placement that it changes. */
  get firstChangedPlacement(): number | undefined {
    let first: number | undefined
    for (const { wants, placement } of this.locks.values()) {
      const isChanged = (wants & (lockFlags.put | lockFlags.delete)) !== 0
      if (isChanged && (first === undefined || placement < first)) first = placement
    }
    return first
  }

  /** One outcome per commit, in order. `failed`: the function's result. */
  outcomes(failed: readonly number[]): CommitOutcome[] {
    if (failed[0] === 0) {
      return this.members.map(({ version }) => ({ isCommitted: false, failed: version as Precondition }))
    }
    const outcomes: CommitOutcome[] = this.members.map(() => ({ isCommitted: true }))
    for (const position of failed) {
      const located = this.located[position - 1]
      const precondition = located?.precondition ?? this.absentAt(position - this.located.length)
      outcomes[(located?.owner ?? 1) - 1] = { isCommitted: false, failed: precondition }
    }
    return outcomes
  }

  /** The precondition of the nth new row, from 1, of the packed ones. */
  private absentAt(nth: number): Precondition {
    let left = nth
    for (const { rows } of this.members[0]?.packed?.added ?? []) {
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

export function isRangePrecondition(precondition: Precondition): precondition is RangePrecondition | UnchangedRange {
  return precondition.kind === 'range' || precondition.kind === 'unchanged'
}

export function isWithin(key: Bytes, to: Bytes | undefined): boolean {
  return to === undefined || Buffer.compare(key, to) < 0
}
