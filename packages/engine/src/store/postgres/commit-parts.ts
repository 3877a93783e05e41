/** What a commit is to each of its keys, and how that goes together with other commits of one group. */
import { catalogVersionKey } from '../../bytes/key-space.ts'
import type { Bytes, Change, Commit, Precondition } from '../store.ts'
import { lockFlags } from './commit-parameters.ts'
import { placementOf } from './placement.ts'

export interface KeyLock {
  readonly name: string
  readonly key: Bytes
  readonly placement: number
  flags: number
  isRequired: boolean
  /** It loses its commit when it is not there. */
  hasToExist: boolean
  /** Bytes of the longest revision required; -1 with none. */
  prefixBytes: number
  value: Bytes | null
  /** The number of the commit, from 1; 0 where several expect the key alike. */
  owner: number
  /** Where it is among the keys sent, from 1. */
  place: number
}

/** Of a range, the lock is that of its range lock key. */
export interface RequiredKey {
  readonly precondition: Precondition
  readonly lock: KeyLock
}

export interface CommitLocks {
  readonly commit: Commit
  /** By key. */
  readonly locks: ReadonlyMap<string, KeyLock>
  /** All but the one below. */
  readonly required: readonly RequiredKey[]
  /** The version of the catalog that is required, and not changed; it is looked at for a whole group at once. */
  readonly catalog: Extract<Precondition, { kind: 'revision' }> | undefined
  /** It changes the version of the catalog, or has it as the range lock key of a range. */
  readonly isExclusive: boolean
  /** Of keys and values. */
  readonly bytes: number
}

const catalogName = textOf(catalogVersionKey)

function isGuardedByCatalog(precondition: Precondition): boolean {
  return precondition.kind === 'range' && isCatalogVersion(precondition.rangeLockKey)
}

function isCatalogVersion(key: Bytes): boolean {
  return key.length === catalogVersionKey.length && catalogVersionKey.equals(key)
}

export function commitLocks(commit: Commit): CommitLocks {
  const locks = new Map<string, KeyLock>()
  const required: RequiredKey[] = []
  let catalog: CommitLocks['catalog']
  for (const change of commit.changes) addChange(locks, change)
  const isExclusive = locks.has(catalogName) || commit.preconditions.some(isGuardedByCatalog)
  for (const precondition of commit.preconditions) {
    const isOfCatalog = precondition.kind === 'revision' && !isExclusive && isCatalogVersion(precondition.key)
    if (isOfCatalog && catalog === undefined) catalog = precondition
    else required.push({ precondition, lock: addPrecondition(locks, precondition) })
  }
  let bytes = 0
  for (const { key, value } of locks.values()) bytes += key.length + (value?.length ?? 0)
  return { commit, locks, required, catalog, isExclusive, bytes }
}

/** Whether others may require the same of the key, in one call. */
export function isShared(lock: KeyLock): boolean {
  return (lock.flags & ~lockFlags.revision) === 0
}

/** Required to be absent, and nothing that contradicts it: what holds of it is known once it is inserted. */
export function isNew(lock: KeyLock): boolean {
  return (lock.flags & ~lockFlags.put) === lockFlags.absent && !lock.hasToExist
}

/** Written whatever is there, and required by nothing. */
export function isUnconditional(lock: KeyLock): boolean {
  return !lock.isRequired && (lock.flags === lockFlags.put || lock.flags === lockFlags.delete)
}

function textOf(bytes: Bytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

function lockOf(locks: Map<string, KeyLock>, key: Bytes): KeyLock {
  const name = textOf(key)
  let lock = locks.get(name)
  if (lock === undefined) {
    lock = {
      name,
      key,
      placement: placementOf(key),
      flags: 0,
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

/** Of several changes of one key the last counts. */
function addChange(locks: Map<string, KeyLock>, change: Change): void {
  const lock = lockOf(locks, change.key)
  const isPut = change.kind === 'put'
  lock.flags = isPut ? lockFlags.put : lockFlags.delete
  lock.value = isPut ? change.value : null
}

function addPrecondition(locks: Map<string, KeyLock>, precondition: Precondition): KeyLock {
  if (precondition.kind === 'range') {
    const rangeLockKey = lockOf(locks, precondition.rangeLockKey)
    rangeLockKey.flags |= lockFlags.rangeLock
    return rangeLockKey
  }
  const lock = lockOf(locks, precondition.key)
  lock.isRequired = true
  if (precondition.kind === 'absent') lock.flags |= lockFlags.absent
  else lock.hasToExist = true
  if (precondition.kind !== 'revision') return lock
  lock.flags |= lockFlags.revision
  lock.prefixBytes = Math.max(lock.prefixBytes, precondition.prefix.length)
  return lock
}
