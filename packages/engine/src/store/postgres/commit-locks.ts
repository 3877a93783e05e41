/** The effect of a commit on each of its keys, and its compatibility with other commits of a group. */
import type { KeyPlacement } from '../key-placement.ts'
import { keyText } from '../key-text.ts'
import { PackedChanges, PackedPreconditions, type PackedRows, packedAt, packedPuts } from '../packed-rows.ts'
import { hasSome } from '../sequence.ts'
import type { Bytes, Change, Commit, Precondition, UnchangedRange } from '../store.ts'
import { lockFlags } from './commit-parameters.ts'
import { unnumberedPuts, withUnnumbered } from './unnumbered.ts'

export interface KeyLock {
  /** The key as text, one character per byte, which preserves order. */
  readonly name: string
  readonly key: Bytes
  readonly placement: number
  wants: number
  isRequired: boolean
  /** The commit fails if the key is absent. */
  hasToExist: boolean
  /** Bytes of the longest revision required; -1 with none. */
  prefixBytes: number
  value: Bytes | null
  /** The number of the commit, from 1; 0 if several commits have the same precondition of the key. */
  owner: number
  /** Position among the keys sent, from 1. */
  place: number
}

/** The lock of a range is that of its range lock key; an unchanged range has none. */
export interface RequiredKey {
  readonly precondition: Precondition
  readonly lock: KeyLock | undefined
}

export interface PlacedRows {
  readonly placement: number
  readonly rows: PackedRows
}

/** All writes of a commit, in locking order; their keys have no locks. */
export interface PackedWrites {
  readonly added: readonly PlacedRows[]
  readonly blind: readonly PlacedRows[]
  /** Some keys of `blind` contain placeholders for numbers. */
  readonly hasUnnumbered: boolean
}

export interface CommitLocks {
  /** Present if the commit writes packed rows and otherwise requires only a version, and present keys. */
  readonly packed: PackedWrites | undefined
  readonly locks: Map<string, KeyLock>
  readonly expected: readonly RequiredKey[]
  /** The requirement of the `versionKey`, if that is not changed; checked once for a whole group. */
  readonly version: Extract<Precondition, { kind: 'revision' }> | undefined
  readonly unchanged: readonly UnchangedRange[]
  /** It changes the `versionKey`, or uses it as the range lock key of a range. */
  readonly isExclusive: boolean
  readonly bytes: number
}

/** Steps of about a microsecond without a yield. */
const stepsPerYield = 1_024

/** Yields between steps; a small commit takes one. `takesPacked`: whether to avoid iterating packed rows. */
export function* commitLocks(
  commit: Commit,
  keys: KeyPlacement,
  takesPacked: boolean,
): Generator<undefined, CommitLocks, undefined> {
  const packed = takesPacked ? packedWrites(commit, keys) : undefined
  const { changes, preconditions } = packed === undefined ? withUnnumbered(commit) : withoutPacked(commit)
  const { versionKey } = keys
  let steps = 0
  const locks = new Map<string, KeyLock>()
  const expected: RequiredKey[] = []
  const unchanged: UnchangedRange[] = []
  let version: CommitLocks['version']
  for (const change of changes) {
    addChange(locks, change, keys)
    if (++steps % stepsPerYield === 0) yield
  }
  const isExclusive = locks.has(keyText(versionKey)) || hasSome(preconditions, (one) => isGuardedBy(one, versionKey))
  for (const precondition of preconditions) {
    const isVersion = precondition.kind === 'revision' && !isExclusive && isSame(precondition.key, versionKey)
    if (isVersion && version === undefined) version = precondition
    else if (precondition.kind === 'unchanged') {
      unchanged.push(precondition)
      expected.push({ precondition, lock: undefined })
    } else expected.push({ precondition, lock: addPrecondition(locks, precondition, keys) })
    if (++steps % stepsPerYield === 0) yield
  }
  let bytes = 0
  for (const { key, value } of locks.values()) {
    bytes += key.length + (value?.length ?? 0)
    if (++steps % stepsPerYield === 0) yield
  }
  return { packed, locks, expected, version, unchanged, isExclusive, bytes }
}

function packedWrites({ changes, preconditions, append }: Commit, keys: KeyPlacement): PackedWrites | undefined {
  if (!(changes instanceof PackedChanges) || !(preconditions instanceof PackedPreconditions)) return undefined
  if (hasSome(preconditions.others, ({ kind }) => kind !== 'revision' && kind !== 'present')) return undefined
  const all = changes.all.map((rows) => ({ rows, placement: keys.placementOf(packedAt(rows.keys, 0)) }))
  const hasUnnumbered = append !== undefined && append.values.length > 0
  if (hasUnnumbered) all.push({ rows: packedPuts(unnumberedPuts(append)), placement: keys.appendPlacement })
  all.sort((one, other) => one.placement - other.placement)
  const [added, blind] = [all.filter(({ rows }) => rows.areNew), all.filter(({ rows }) => !rows.areNew)]
  return { added, blind, hasUnnumbered }
}

function withoutPacked({ preconditions }: Commit): Commit {
  return { changes: [], preconditions: preconditions instanceof PackedPreconditions ? preconditions.others : [] }
}

function isGuardedBy(precondition: Precondition, key: Bytes): boolean {
  return precondition.kind === 'range' && isSame(precondition.rangeLockKey, key)
}

function isSame(one: Bytes, other: Bytes): boolean {
  return one.length === other.length && Buffer.compare(one, other) === 0
}

/** Whether several commits of one call may require the key like this. */
export function isShared(lock: KeyLock): boolean {
  return (lock.wants & ~lockFlags.revision) === 0
}

/** The strength of the lock that the uses of the row require, as in the commit function. */
export function lockStrength({ wants }: KeyLock): number {
  if ((wants & (lockFlags.delete | lockFlags.rangeLock)) !== 0) return 3
  if ((wants & lockFlags.put) !== 0) return 2
  return (wants & lockFlags.revision) !== 0 ? 1 : 0
}

function lockOf(locks: Map<string, KeyLock>, key: Bytes, { placementOf }: KeyPlacement): KeyLock {
  const name = keyText(key)
  let lock = locks.get(name)
  if (lock === undefined) {
    lock = {
      name,
      key,
      placement: placementOf(key),
      wants: 0,
      isRequired: false,
      hasToExist: false,
      prefixBytes: -1,
      value: null,
      owner: 0,
      place: 0,
    }
    locks.set(name, lock)
  }
  return lock
}

/** The last of several changes of one key counts. */
function addChange(locks: Map<string, KeyLock>, change: Change, keys: KeyPlacement): void {
  const lock = lockOf(locks, change.key, keys)
  const isPut = change.kind === 'put'
  lock.wants = isPut ? lockFlags.put : lockFlags.delete
  lock.value = isPut ? change.value : null
}

function addPrecondition(
  locks: Map<string, KeyLock>,
  precondition: Exclude<Precondition, UnchangedRange>,
  keys: KeyPlacement,
): KeyLock {
  if (precondition.kind === 'range') {
    const rangeLockKey = lockOf(locks, precondition.rangeLockKey, keys)
    rangeLockKey.wants |= lockFlags.rangeLock
    return rangeLockKey
  }
  const lock = lockOf(locks, precondition.key, keys)
  lock.isRequired = true
  if (precondition.kind === 'absent') lock.wants |= lockFlags.absent
  else lock.hasToExist = true
  if (precondition.kind !== 'revision') return lock
  lock.wants |= lockFlags.revision
  lock.prefixBytes = Math.max(lock.prefixBytes, precondition.prefix.length)
  return lock
}
