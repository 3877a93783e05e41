/** The version of the storage format: its entry in every store, and the handling of stores of other versions. */
import { soleKey } from '../bytes/key-layout.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import { type AshlarError, assert, fatalFailure } from '../errors.ts'
import { copyCommand } from '../store/copy-command.ts'
import { hasSome } from '../store/sequence.ts'
import type { Bytes, Change, Commit, CommitOutcome, Precondition, Snapshot, Store } from '../store/store.ts'
import { onSnapshot } from '../store/with-snapshot.ts'
import { addressOfDirectory } from './store-address.ts'

/**
 * The meaning of keys and values. Their physical layout (files, tables, checksums) is up to the driver, which must detect it before a key can be
 * read. A change of the format raises the version, and adds a migration from the previous one.
 */
export interface StorageFormat {
  readonly version: number
  /** By resulting version, without gaps, up to `version`; a store older than the first must be copied. */
  readonly migrations: readonly Migration[]
}

export interface Migration {
  readonly to: number
  /**
   * Returns the changes of one commit, of bounded size; only processes that run the same migration write meanwhile. `last`: `reached` of the previous
   * step, undefined for the first one. A step without `reached` is the last.
   */
  step(snapshot: Snapshot, last: string | undefined): Promise<MigrationStep>
}

export interface MigrationStep {
  readonly changes: readonly Change[]
  readonly reached?: string
}

/**
 * A format that only adds content, which earlier programs must not process. 2: references to edge objects, and to objects of any class; 3: a log of
 * commits; 4: log entries for several commits; 5: sequences.
 */
const additive = (to: number): Migration => ({ to, step: async () => ({ changes: [] }) })

export const storageFormat: StorageFormat = { version: 5, migrations: [2, 3, 4, 5].map(additive) }

/** Content has the same meaning since this format: such stores are checked without migration. */
export const earliestAlike = 1

/** Stores made before formats had versions have the content of version 1, but no version entry. */
const unmarkedVersion = 1

export const formatVersionKey = soleKey('formatVersion')
const migrationKey = soleKey('migration')
const unfinishedCopyKey = soleKey('unfinishedCopy')

/** State of a migration in progress: its resulting version and its position. */
interface MigrationState {
  readonly to: number
  readonly reached?: string
}

/** Four bytes, in this and every later version. */
export function encodeFormatVersion(version: number): Buffer {
  const value = Buffer.alloc(4)
  value.writeUInt32BE(version)
  return value
}

export function decodeFormatVersion(value: Bytes): number {
  return Buffer.from(value.buffer, value.byteOffset, value.length).readUInt32BE(0)
}

/** The format of a store; undefined without one, as for an empty store. */
export async function formatOf(store: Store): Promise<number | undefined> {
  return (await storedVersion(store)).stored
}

/**
 * Gives an empty store its version, and refuses one that this program cannot read, without writing to it. Commits before its migration must require
 * the returned precondition, and claim the format again if it fails. Throws an `Error` for the operator.
 */
export async function claimFormat(store: Store, { version, migrations }: StorageFormat): Promise<Precondition> {
  for (;;) {
    const { stored, isEmpty } = await storedVersion(store)
    if (stored !== undefined) {
      if (stored > version) throw new Error(newerSentence(store, stored, version))
      const oldest = version - migrations.length
      if (stored < oldest) throw new Error(copySentence(store, `has storage format ${stored}`))
      return formatPrecondition(stored)
    }
    if (!isEmpty) throw new Error(copySentence(store, 'was made before stores had a format version'))
    await store.commit({
      changes: [{ kind: 'put', key: formatVersionKey, value: encodeFormatVersion(version) }],
      // A concurrent copy may be first.
      preconditions: [
        { kind: 'absent', key: formatVersionKey },
        { kind: 'absent', key: unfinishedCopyKey },
      ],
    })
  }
}

/** The version for a copy of the store. Throws an `Error` for the operator if this program does not know the format. */
export async function formatOfCopy(source: Store): Promise<number> {
  const { stored } = await storedVersion(source)
  const version = stored ?? unmarkedVersion
  if (version > storageFormat.version) throw new Error(newerSentence(source, version, storageFormat.version))
  return version
}

/**
 * Migrates a claimed store to the version of `format`; an interrupted migration is continued. The first commit raises the format version and the
 * catalog version: processes that serve the store in its earlier format cannot write any more (see `guardFormat`). `nextCommitId`: for the catalog
 * version.
 */
export async function migrateStore(store: Store, format: StorageFormat, nextCommitId: () => Bytes): Promise<void> {
  if (await isMigrated(store, format)) return
  while ((await migrateFurther(store, format, nextCommitId)) !== 'done');
}

/** Uses a plain snapshot, so that a server starts while a node is down: the first commit of a migration changes only these entries. */
async function isMigrated(store: Store, { version }: StorageFormat): Promise<boolean> {
  const { values } = await onSnapshot(store, (snapshot) => snapshot.read([formatVersionKey, migrationKey]))
  const [stored, migration] = values
  return stored !== undefined && decodeFormatVersion(stored) === version && migration === undefined
}

/** Makes one commit, continuing from the state left by this or another process. */
async function migrateFurther(
  store: Store,
  format: StorageFormat,
  nextCommitId: () => Bytes,
): Promise<'done' | 'more'> {
  // The snapshot blocks commits, and has to end before the commit.
  const commit = await onSnapshot(store, (snapshot) => nextOfMigration(snapshot, store, format, nextCommitId), {
    isolation: 'consistent',
  })
  if (commit === undefined) return 'done'
  await store.commit(commit)
  return 'more'
}

/** Undefined if the migration is complete. */
async function nextOfMigration(
  snapshot: Snapshot,
  store: Store,
  format: StorageFormat,
  nextCommitId: () => Bytes,
): Promise<Commit | undefined> {
  const [version, stored, catalogVersion] = (await snapshot.read([formatVersionKey, migrationKey, catalogVersionKey]))
    .values
  if (version === undefined) throw new Error(copySentence(store, 'has lost its format version'))
  const current = decodeFormatVersion(version)
  if (current > format.version) throw new Error(newerSentence(store, current, format.version))
  if (stored === undefined) {
    return current === format.version ? undefined : beginning(version, catalogVersion, current + 1, nextCommitId())
  }
  const state = JSON.parse(Buffer.from(stored).toString()) as MigrationState
  const { changes, reached } = await migrationTo(format, state.to).step(snapshot, state.reached)
  const left: Change =
    reached === undefined
      ? { kind: 'delete', key: migrationKey }
      : { kind: 'put', key: migrationKey, value: encodeState({ to: state.to, reached }) }
  // Each state differs from the previous one, so only one of several processes makes the step.
  const preconditions: Precondition[] = [{ kind: 'revision', key: migrationKey, prefix: stored }]
  return { changes: [...changes, left], preconditions }
}

function beginning(
  version: Bytes,
  catalogVersion: Bytes | undefined,
  to: number,
  commitId: Bytes,
): { changes: Change[]; preconditions: Precondition[] } {
  const changes: Change[] = [
    { kind: 'put', key: formatVersionKey, value: encodeFormatVersion(to) },
    { kind: 'put', key: migrationKey, value: encodeState({ to }) },
  ]
  const preconditions: Precondition[] = [{ kind: 'revision', key: formatVersionKey, prefix: version }]
  if (catalogVersion === undefined) {
    preconditions.push({ kind: 'absent', key: catalogVersionKey })
  } else {
    changes.push({ kind: 'put', key: catalogVersionKey, value: commitId })
    preconditions.push({ kind: 'revision', key: catalogVersionKey, prefix: catalogVersion })
  }
  return { changes, preconditions }
}

function encodeState(state: MigrationState): Buffer {
  return Buffer.from(JSON.stringify(state))
}

function migrationTo({ migrations }: StorageFormat, to: number): Migration {
  const migration = migrations.find((one) => one.to === to)
  assert(migration !== undefined, `there is a migration to storage format ${to}`)
  return migration
}

/** The error, for clients and the operator, of a process whose open store was migrated by another. */
export function formatChanged(found: number | undefined, version: number): AshlarError {
  const now = found === undefined ? 'has no storage format any more' : `has storage format ${found} now`
  return fatalFailure(`The database ${now}, and this server reads format ${version}: it no longer serves the database.`)
}

/**
 * The store for a process that has claimed it: a commit that does not require the catalog version, which every migration raises, requires the format
 * version. Commits throw StoreUnavailable once that has changed.
 */
export function guardFormat(store: Store, version: number): Store {
  const formatUnchanged = formatPrecondition(version)
  return {
    ...store,
    commit: (commit) =>
      hasSome(commit.preconditions, requiresCatalogVersion) ? store.commit(commit) : commitGuarded(commit),
  }

  async function commitGuarded(commit: Commit): Promise<CommitOutcome> {
    const guarded = { ...commit, preconditions: [...commit.preconditions, formatUnchanged] }
    for (;;) {
      const outcome = await store.commit(guarded)
      if (outcome.isCommitted || outcome.failed !== formatUnchanged) return outcome
      const { stored } = await storedVersion(store)
      if (stored !== version) throw formatChanged(stored, version)
    }
  }
}

function formatPrecondition(version: number): Precondition {
  return { kind: 'revision', key: formatVersionKey, prefix: encodeFormatVersion(version) }
}

function requiresCatalogVersion(precondition: Precondition): boolean {
  return precondition.kind === 'revision' && Buffer.compare(precondition.key, catalogVersionKey) === 0
}

function storedVersion(store: Store): Promise<{ stored: number | undefined; isEmpty: boolean }> {
  return onSnapshot(store, async (snapshot) => {
    const stored = await snapshot.view(formatVersionKey, decodeFormatVersion)
    return { stored, isEmpty: stored === undefined && (await isEmptySnapshot(snapshot)) }
  })
}

export async function isEmptySnapshot(snapshot: Snapshot): Promise<boolean> {
  return (await snapshot.read([], [{ limit: 1 }])).ranges[0]?.length === 0
}

function newerSentence({ capabilities }: Store, found: number, version: number): string {
  return `The store ${capabilities.location} has storage format ${found}, and this program reads formats up to ${version}: use the version of Ashlar that wrote it, or a newer one.`
}

/** `what`: the problem of the store. */
function copySentence({ capabilities }: Store, what: string): string {
  const address = capabilities.kind === 'lmdb' ? addressOfDirectory(capabilities.location) : capabilities.location
  return `The store ${capabilities.location} ${what}; bring it over to this version with: ${copyCommand(address)}`
}
