/** Short ways to write keys, values, commits and reads in the tests of stores. */
import { RangeContent } from '../../src/store/range-content.ts'
import type {
  Bytes,
  Change,
  Commit,
  KeyRange,
  Precondition,
  ScanOptions,
  Snapshot,
  Store,
} from '../../src/store/store.ts'

export function bytes(text: string): Bytes {
  return Buffer.from(text, 'latin1')
}

export function text(value: Bytes): string {
  return Buffer.from(value).toString('latin1')
}

export function put(key: string, value: string): Change {
  return { kind: 'put', key: bytes(key), value: bytes(value) }
}

export function remove(key: string): Change {
  return { kind: 'delete', key: bytes(key) }
}

export function absent(key: string): Precondition {
  return { kind: 'absent', key: bytes(key) }
}

export function present(key: string): Precondition {
  return { kind: 'present', key: bytes(key) }
}

export function revision(key: string, prefix: string): Precondition {
  return { kind: 'revision', key: bytes(key), prefix: bytes(prefix) }
}

export function holds(from: string, to: string, keys: readonly string[], rangeLockKey: string): Precondition {
  return { kind: 'range', range: range(from, to), keys: keys.map(bytes), rangeLockKey: bytes(rangeLockKey) }
}

/** `entries`: `key=value`, of which so many bytes of each value count. */
export function unchanged(from: string, to: string, entries: readonly string[], valueBytes = 1_000): Precondition {
  return unchangedIn(range(from, to), entries, valueBytes)
}

export function unchangedIn(of: KeyRange, entries: readonly string[], valueBytes: number): Precondition {
  const content = new RangeContent(valueBytes)
  for (const entry of entries) {
    const at = entry.indexOf('=')
    content.add(bytes(entry.slice(0, at)), bytes(entry.slice(at + 1)))
  }
  return { kind: 'unchanged', range: of, valueBytes, count: entries.length, content: content.bytes() }
}

export function range(from?: string, to?: string): KeyRange {
  return { ...(from === undefined ? {} : { from: bytes(from) }), ...(to === undefined ? {} : { to: bytes(to) }) }
}

export function commitOf(changes: readonly Change[], preconditions: readonly Precondition[] = []): Commit {
  return { changes, preconditions }
}

/** Commits and fails the test when a precondition did not hold. */
export async function commitChanges(store: Store, ...changes: readonly Change[]): Promise<void> {
  const outcome = await store.commit(commitOf(changes))
  if (!outcome.isCommitted) throw new Error('a commit without preconditions was refused')
}

export async function valueAt(snapshot: Snapshot, key: string): Promise<string | undefined> {
  return await snapshot.view(bytes(key), text)
}

/** The entries of a range as `key=value`; keys only when asked so. */
export async function entriesOf(snapshot: Snapshot, of: KeyRange = {}, options: ScanOptions = {}): Promise<string[]> {
  const entries: string[] = []
  const write = (key: Bytes, value: Bytes) => (options.keysOnly === true ? text(key) : `${text(key)}=${text(value)}`)
  for await (const batch of snapshot.scan(of, write, options)) entries.push(...batch)
  return entries
}

/** A snapshot whose moment is fixed: a store may wait with that until the first read. */
export async function pinnedSnapshot(store: Store): Promise<Snapshot> {
  const snapshot = await store.snapshot()
  await snapshot.view(bytes('pin'), () => undefined)
  return snapshot
}

/** Runs `use` with a snapshot and releases it. */
export async function withSnapshot<T>(store: Store, use: (snapshot: Snapshot) => Promise<T> | T): Promise<T> {
  const snapshot = await store.snapshot()
  try {
    return await use(snapshot)
  } finally {
    snapshot.release()
  }
}

export async function valueIn(store: Store, key: string): Promise<string | undefined> {
  return withSnapshot(store, (snapshot) => valueAt(snapshot, key))
}

export async function entriesIn(store: Store): Promise<string[]> {
  return withSnapshot(store, (snapshot) => entriesOf(snapshot))
}
