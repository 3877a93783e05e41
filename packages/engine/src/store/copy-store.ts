/** Copies a store into another one, of whatever kind: resumable, and compared entry by entry before it counts as done. */
import { createHash, type Hash } from 'node:crypto'
import { isCopied, soleKey } from '../bytes/key-layout.ts'
import { encodeFormatVersion, formatOfCopy, formatVersionKey } from './storage-format.ts'
import type { Bytes, Change, Entry, Snapshot, Store } from './store.ts'

/** Is there while a copy is unfinished; its value is the last key copied. */
const unfinishedKey = soleKey('unfinishedCopy')

const commitEntriesMax = 2_000
const commitBytesMax = 1_048_576
/** A source that is written to meanwhile is caught up with so often. */
const roundsMax = 5

export interface CopyOptions {
  /** Stops the copy, which goes on where it was when it is started again. */
  readonly signal?: AbortSignal
  /** `total` is an estimate. */
  readonly onProgress?: (step: 'copying' | 'comparing', done: number, total: number) => void
}

export interface CopyReport {
  readonly entries: number
  /** Of keys and values. */
  readonly bytes: number
  /** SHA-256 over all keys and values with their lengths, in hexadecimal digits: the same for both stores. */
  readonly checksum: string
  readonly isResumed: boolean
}

/**
 * Throws an `Error` for the operator when the source holds nothing, keeps changing, is an unfinished copy itself or has a format that this
 * program does not know, or the target holds something else. A source without a format version gets one in the copy. What belongs to the processes that serve the source is not copied (`bytes/key-layout.ts`).
 */
export async function copyStore(source: Store, target: Store, options: CopyOptions = {}): Promise<CopyReport> {
  await refuseUnfinishedCopy(source)
  const last = await unfinishedCopy(target)
  if (await isEmpty(source)) throw new Error(`The store ${source.facts.location} holds nothing to copy.`)
  const version = await formatOfCopy(source)
  if (last === undefined) await begin(target, version)
  const { entries: total } = await source.stats()
  await copyEntries(source, target, last, (done) => options.onProgress?.('copying', done, total), options.signal)
  for (let round = 1; round <= roundsMax; round++) {
    const progress = (done: number): void => options.onProgress?.('comparing', done, total)
    const { differences, ...report } = await repairDifferences(source, target, version, progress, options.signal)
    if (differences > 0) continue
    await target.commit({ changes: [{ kind: 'delete', key: unfinishedKey }], expectations: [] })
    return { ...report, isResumed: last !== undefined }
  }
  throw new Error(
    `The store ${source.facts.location} keeps changing while it is copied; stop who writes to it, and start the copy again.`,
  )
}

/** Refuses a store into which a copy is not finished. Throws an `Error` for the operator. */
export async function refuseUnfinishedCopy(store: Store): Promise<void> {
  if ((await unfinishedCopy(store)) === undefined) return
  throw new Error(`A copy into the store ${store.facts.location} is not finished; start that copy again.`)
}

/** The last key copied, empty before the first; undefined where no copy is under way. */
async function unfinishedCopy(store: Store): Promise<Bytes | undefined> {
  const snapshot = await store.snapshot()
  try {
    return await snapshot.view(unfinishedKey, (key) => Buffer.from(key))
  } finally {
    snapshot.release()
  }
}

async function isEmpty(store: Store): Promise<boolean> {
  const snapshot = await store.snapshot()
  try {
    return (await snapshot.read([], [{ limit: 1 }])).ranges[0]?.length === 0
  } finally {
    snapshot.release()
  }
}

async function begin(target: Store, version: number): Promise<void> {
  const snapshot = await target.snapshot()
  const { ranges } = await snapshot.read([], [{ limit: 1 }])
  snapshot.release()
  const { isCommitted } =
    ranges[0]?.length === 0
      ? await target.commit({
          changes: [
            { kind: 'put', key: formatVersionKey, value: encodeFormatVersion(version) },
            { kind: 'put', key: unfinishedKey, value: Buffer.alloc(0) },
          ],
          // A server may open the empty store at the same moment.
          expectations: [unfinishedKey, formatVersionKey].map((key) => ({ kind: 'absent', key })),
        })
      : { isCommitted: false }
  if (!isCommitted) throw new Error(`The store ${target.facts.location} holds something; copy into an empty one.`)
}

async function copyEntries(
  source: Store,
  target: Store,
  last: Bytes | undefined,
  progress: (done: number) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const writer = new BatchWriter(target)
  const snapshot = await source.snapshot()
  let done = 0
  try {
    const from = last === undefined || last.length === 0 ? {} : { from: Buffer.concat([last, Buffer.of(0)]) }
    for await (const batch of snapshot.scan(from, copied)) {
      for (const { key, value } of batch) {
        if (!isCopied(key)) continue
        signal?.throwIfAborted()
        await writer.add({ kind: 'put', key, value }, key)
      }
      done += batch.length
      progress(done)
    }
    await writer.flush()
  } finally {
    snapshot.release()
  }
}

/** Commits changes in batches, each with the key up to which the copy has come. */
class BatchWriter {
  private readonly target: Store
  private changes: Change[] = []
  private bytes = 0
  private reached: Bytes | undefined

  constructor(target: Store) {
    this.target = target
  }

  async add(change: Change, reached?: Bytes): Promise<void> {
    this.changes.push(change)
    this.bytes += change.key.length + (change.kind === 'put' ? change.value.length : 0)
    this.reached = reached
    if (this.changes.length >= commitEntriesMax || this.bytes >= commitBytesMax) await this.flush()
  }

  async flush(): Promise<void> {
    const { changes, reached } = this
    if (changes.length === 0) return
    if (reached !== undefined) changes.push({ kind: 'put', key: unfinishedKey, value: reached })
    await this.target.commit({ changes, expectations: [{ kind: 'present', key: unfinishedKey }] })
    this.changes = []
    this.bytes = 0
  }
}

/** Goes over both stores in key order, and makes the target what the source is where they differ. */
async function repairDifferences(
  source: Store,
  target: Store,
  version: number,
  progress: (done: number) => void,
  signal: AbortSignal | undefined,
): Promise<{ differences: number; entries: number; bytes: number; checksum: string }> {
  const snapshots = [await source.snapshot(), await target.snapshot()] as const
  const writer = new BatchWriter(target)
  const hash = createHash('sha256')
  let [differences, entries, bytes] = [0, 0, 0]
  try {
    for await (const [wanted, found] of paired(marked(entriesOf(snapshots[0]), version), entriesOf(snapshots[1]))) {
      if (wanted !== undefined) {
        entries++
        bytes += wanted.key.length + wanted.value.length
        addTo(hash, wanted)
        if (entries % 1_000 === 0) {
          signal?.throwIfAborted()
          progress(entries)
        }
      }
      if (wanted !== undefined && found !== undefined && Buffer.compare(wanted.value, found.value) === 0) continue
      differences++
      if (wanted !== undefined) await writer.add({ kind: 'put', ...wanted })
      else if (found !== undefined) await writer.add({ kind: 'delete', key: found.key })
    }
    await writer.flush()
    progress(entries)
  } finally {
    for (const snapshot of snapshots) snapshot.release()
  }
  return { differences, entries, bytes, checksum: hash.digest('hex') }
}

/** What either has under one key; undefined where it has nothing. */
async function* paired(
  ones: AsyncIterator<Entry>,
  others: AsyncIterator<Entry>,
): AsyncGenerator<readonly [Entry | undefined, Entry | undefined]> {
  let one = await ones.next()
  let other = await others.next()
  while (one.done !== true || other.done !== true) {
    const order = one.done === true ? 1 : other.done === true ? -1 : Buffer.compare(one.value.key, other.value.key)
    yield [order <= 0 ? (one.value as Entry) : undefined, order >= 0 ? (other.value as Entry) : undefined]
    if (order <= 0) one = await ones.next()
    if (order >= 0) other = await others.next()
  }
}

/** The entries with that of the format's version, the first of all, where a store from before there was one lacks it. */
async function* marked(entries: AsyncGenerator<Entry>, version: number): AsyncGenerator<Entry> {
  const first = await entries.next()
  const isMarked = first.done !== true && Buffer.compare(first.value.key, formatVersionKey) === 0
  if (!isMarked) yield { key: formatVersionKey, value: encodeFormatVersion(version) }
  if (first.done === true) return
  yield first.value
  yield* entries
}

async function* entriesOf(snapshot: Snapshot): AsyncGenerator<Entry> {
  for await (const batch of snapshot.scan({}, copied)) for (const entry of batch) if (isCopied(entry.key)) yield entry
}

function copied(key: Bytes, value: Bytes): Entry {
  return { key: Buffer.from(key), value: Buffer.from(value) }
}

function addTo(hash: Hash, { key, value }: Entry): void {
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32BE(key.length, 0)
  lengths.writeUInt32BE(value.length, 4)
  hash.update(lengths).update(key).update(value)
}
