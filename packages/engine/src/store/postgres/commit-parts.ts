/** What a commit is to each of its keys, and how that goes together with other commits of one group. */
import { catalogVersionKey } from '../../bytes/key-space.ts'
import type { Bytes, Change, Commit, Expectation } from '../store.ts'
import { wants } from './commit-parameters.ts'
import { placementOf } from './placement.ts'

export interface KeyPart {
  readonly name: string
  readonly key: Bytes
  readonly placement: number
  wants: number
  isExpected: boolean
  /** It loses its commit when it is not there. */
  hasToExist: boolean
  /** Bytes of the longest revision expected; -1 with none. */
  headBytes: number
  value: Bytes | null
  /** The number of the commit, from 1; 0 where several expect the key alike. */
  owner: number
  /** Where it is among the keys sent, from 1. */
  place: number
}

/** Of a range, the part is that of its guard. */
export interface ExpectedKey {
  readonly expectation: Expectation
  readonly part: KeyPart
}

export interface CommitParts {
  readonly commit: Commit
  /** By key. */
  readonly parts: ReadonlyMap<string, KeyPart>
  /** All but the one below. */
  readonly expected: readonly ExpectedKey[]
  /** The version of the catalog that is expected, and not changed; it is looked at for a whole group at once. */
  readonly catalog: Extract<Expectation, { kind: 'revision' }> | undefined
  /** It changes the version of the catalog, or has it as the guard of a range. */
  readonly isExclusive: boolean
  /** Of keys and values. */
  readonly bytes: number
}

const catalogName = textOf(catalogVersionKey)

function isGuardedByCatalog(expectation: Expectation): boolean {
  return expectation.kind === 'range' && isCatalogVersion(expectation.guard)
}

function isCatalogVersion(key: Bytes): boolean {
  return key.length === catalogVersionKey.length && catalogVersionKey.equals(key)
}

export function commitParts(commit: Commit): CommitParts {
  const parts = new Map<string, KeyPart>()
  const expected: ExpectedKey[] = []
  let catalog: CommitParts['catalog']
  for (const change of commit.changes) addChange(parts, change)
  const isExclusive = parts.has(catalogName) || commit.expectations.some(isGuardedByCatalog)
  for (const expectation of commit.expectations) {
    const isOfCatalog = expectation.kind === 'revision' && !isExclusive && isCatalogVersion(expectation.key)
    if (isOfCatalog && catalog === undefined) catalog = expectation
    else expected.push({ expectation, part: addExpectation(parts, expectation) })
  }
  let bytes = 0
  for (const { key, value } of parts.values()) bytes += key.length + (value?.length ?? 0)
  return { commit, parts, expected, catalog, isExclusive, bytes }
}

/** Whether others may expect the same of the key, in one call. */
export function isShared(part: KeyPart): boolean {
  return (part.wants & ~wants.revision) === 0
}

/** Expected to be absent, and nothing that contradicts it: what holds of it is known once it is inserted. */
export function isNew(part: KeyPart): boolean {
  return (part.wants & ~wants.put) === wants.absent && !part.hasToExist
}

/** Written whatever is there, and expected by nothing. */
export function isBlind(part: KeyPart): boolean {
  return !part.isExpected && (part.wants === wants.put || part.wants === wants.delete)
}

function textOf(bytes: Bytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

function partOf(parts: Map<string, KeyPart>, key: Bytes): KeyPart {
  const name = textOf(key)
  let part = parts.get(name)
  if (part === undefined) {
    part = {
      name,
      key,
      placement: placementOf(key),
      wants: 0,
      isExpected: false,
      hasToExist: false,
      headBytes: -1,
      value: null,
      owner: 0,
      place: 0,
    }
    parts.set(name, part)
  }
  return part
}

/** Of several changes of one key the last counts. */
function addChange(parts: Map<string, KeyPart>, change: Change): void {
  const part = partOf(parts, change.key)
  const isPut = change.kind === 'put'
  part.wants = isPut ? wants.put : wants.delete
  part.value = isPut ? change.value : null
}

function addExpectation(parts: Map<string, KeyPart>, expectation: Expectation): KeyPart {
  if (expectation.kind === 'range') {
    const guard = partOf(parts, expectation.guard)
    guard.wants |= wants.guard
    return guard
  }
  const part = partOf(parts, expectation.key)
  part.isExpected = true
  if (expectation.kind === 'absent') part.wants |= wants.absent
  else part.hasToExist = true
  if (expectation.kind !== 'revision') return part
  part.wants |= wants.revision
  part.headBytes = Math.max(part.headBytes, expectation.prefix.length)
  return part
}
