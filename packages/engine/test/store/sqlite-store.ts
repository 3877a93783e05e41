/**
 * An example of a store driver, on SQLite: see docs/store-drivers.md. It keeps every promise of a store, and uses the file from one process.
 * SQLite's write-ahead log gives each connection that reads a state of its own; so a snapshot is a read transaction on a connection from a pool.
 * A driver of the program would also divide large commits into slices of time, since this one holds the event loop for as long as they take.
 */
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite'
import { AshlarError } from '../../src/errors.ts'
import { appendedNumber, appendedPuts, appendedRange } from '../../src/store/append.ts'
import { checkedCommitBytes } from '../../src/store/check-commit.ts'
import { type CurrentState, failedPrecondition } from '../../src/store/check-preconditions.ts'
import { countGroup, newCommitCounts } from '../../src/store/commit-counts.ts'
import { type EntrySource, type LocalSnapshot, openLocalSnapshot } from '../../src/store/local-snapshot.ts'
import { trackOpenSnapshots } from '../../src/store/open-snapshots.ts'
import type { Bytes, Commit, CommitOutcome, Entry, Store, StoreCapabilities } from '../../src/store/store.ts'

const limits = { keyBytesMax: 1_978, valueBytesMax: 16_777_216 }

export async function openSqliteStore(file: string): Promise<Store> {
  const snapshots = trackOpenSnapshots<LocalSnapshot>()
  const counts = newCommitCounts()
  const writer = new Connection(file)
  const idle: Connection[] = []
  const capabilities: StoreCapabilities = {
    ...limits,
    kind: 'sqlite',
    location: file,
    isDurable: true,
    hasSynchronousReads: true,
    hasConsistentSnapshots: true,
    isDistributed: false,
    canAppend: true,
  }
  let waiting: Waiting[] = []
  let committing: Promise<void> | undefined
  let isClosed = false

  function checkOpen(): void {
    if (isClosed) throw new Error('The store is closed.')
  }

  /** Commits that are sent in the same turn of the event loop are one transaction of SQLite, which waits for the disk once. */
  function commitTogether(): void {
    const members = waiting
    waiting = []
    committing = undefined
    try {
      const outcomes = writer.write(() => members.map(({ commit }) => writer.apply(commit)))
      countGroup(counts, outcomes)
      for (const [i, { resolve }] of members.entries()) resolve(outcomes[i] as CommitOutcome)
    } catch (error) {
      const message = `SQLite has not written to ${file}: ${(error as Error).message}`
      for (const { reject } of members) reject(new AshlarError('StoreUnavailable', message))
    }
  }

  return {
    capabilities,
    snapshot(options) {
      checkOpen()
      const reader = idle.pop() ?? new Connection(file)
      reader.begin()
      return openLocalSnapshot(reader, snapshots, options, () => {
        reader.end()
        idle.push(reader)
      })
    },
    ...snapshots.storeMethods,
    async commit(commit) {
      checkOpen()
      checkedCommitBytes(commit, limits)
      const outcome = new Promise<CommitOutcome>((resolve, reject) => waiting.push({ commit, resolve, reject }))
      committing ??= new Promise((resolve) => setImmediate(resolve)).then(commitTogether)
      return outcome
    },
    counts,
    async stats() {
      checkOpen()
      return writer.size()
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await committing
      snapshots.releaseAll()
      for (const connection of [...idle, writer]) connection.close()
    },
  }
}

interface Waiting {
  readonly commit: Commit
  resolve(outcome: CommitOutcome): void
  reject(error: unknown): void
}

const noBytes = Buffer.alloc(0)
const zero = Buffer.of(0)
const aboveAllKeys = Buffer.alloc(limits.keyBytesMax + 1, 0xff)

/** SQLite compares keys byte by byte, as a store is to do. */
const isInRange = 'key >= :from AND key < :to'

/** One connection, with its statements. Within a transaction it shows one state of the database. */
class Connection implements EntrySource {
  private readonly database: DatabaseSyncInstance
  private readonly statements = new Map<string, StatementSyncInstance>()

  constructor(file: string) {
    this.database = new DatabaseSync(file)
    this.database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    this.database.exec('CREATE TABLE IF NOT EXISTS entry (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID')
  }

  /** The first read decides which state is shown. */
  begin(): void {
    this.prepared('BEGIN').run()
  }

  end(): void {
    this.prepared('COMMIT').run()
  }

  write<T>(act: () => T): T {
    this.prepared('BEGIN IMMEDIATE').run()
    try {
      const result = act()
      this.end()
      return result
    } catch (error) {
      if (this.database.isTransaction) this.prepared('ROLLBACK').run()
      throw error
    }
  }

  get(key: Bytes): Bytes | undefined {
    return (this.prepared('SELECT value FROM entry WHERE key = :key').get({ key }) as { value: Bytes } | undefined)
      ?.value
  }

  /** One statement for each entry: none is open while the caller does something else. */
  *entries(range: { from?: Bytes; to?: Bytes }, isReverse: boolean): Generator<Entry> {
    const text = `SELECT key, value FROM entry WHERE ${isInRange} ORDER BY key ${isReverse ? 'DESC' : 'ASC'} LIMIT 1`
    const next = this.prepared(text)
    let { from = noBytes, to = aboveAllKeys } = range
    for (;;) {
      const entry = next.get({ from, to }) as Entry | undefined
      if (entry === undefined) return
      yield entry
      if (isReverse) to = entry.key
      else from = Buffer.concat([entry.key, zero])
    }
  }

  /** A commit that is refused has written nothing. */
  apply({ preconditions, changes, append }: Commit): CommitOutcome {
    const failed = failedPrecondition(preconditions, this.state)
    if (failed !== undefined) return { isCommitted: false, failed }
    const appended = append === undefined ? [] : appendedPuts(append, this.nextNumber(append.prefix))
    for (const change of [...changes, ...appended]) {
      const { key } = change
      if (change.kind === 'delete') this.prepared('DELETE FROM entry WHERE key = :key').run({ key })
      else this.prepared('REPLACE INTO entry VALUES (:key, :value)').run({ key, value: change.value })
    }
    return { isCommitted: true }
  }

  size(): { readonly entries: number; readonly bytes: number; readonly usedBytes: number } {
    const text = 'SELECT count(*) AS entries, coalesce(sum(length(key) + length(value)), 0) AS bytes FROM entry'
    const { entries, bytes } = this.prepared(text).get() as { entries: number; bytes: number }
    return { entries, bytes, usedBytes: bytes }
  }

  close(): void {
    this.database.close()
  }

  private readonly state: CurrentState = {
    get: (key) => this.get(key),
    keys: (range, limit) => this.keys(range, limit),
    visit: (range, use) => {
      for (const { key, value } of this.entries(range, false)) if (!use(key, value)) return key
      return undefined
    },
  }

  private *keys(range: { from?: Bytes; to?: Bytes }, limit: number): Generator<Bytes> {
    let left = limit
    for (const { key } of this.entries(range, false)) {
      if (left-- <= 0) return
      yield key
    }
  }

  private nextNumber(prefix: Bytes): number {
    for (const { key } of this.entries(appendedRange(prefix), true)) return appendedNumber(key) + 1
    return 1
  }

  private prepared(text: string): StatementSyncInstance {
    const known = this.statements.get(text)
    if (known !== undefined) return known
    const statement = this.database.prepare(text)
    this.statements.set(text, statement)
    return statement
  }
}
