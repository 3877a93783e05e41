/** Copies a store into another one of any kind: resumable, and compared entry by entry at the end. */
import { createHash, type Hash } from 'node:crypto'
import { isCopied } from '../bytes/key-layout.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import type { Bytes, Change, Entry, Snapshot, Store } from '../store/store.ts'
import { onSnapshot } from '../store/with-snapshot.ts'
import { CopyClaim, refuseUnfinishedCopy, refuseUnfinishedIn } from './copy-claim.ts'
import { encodeFormatVersion, formatOfCopy, formatVersionKey, isEmptySnapshot } from './storage-format.ts'

const commitEntriesMax = 2_000
const commitBytesMax = 1_048_576
/** Most rounds of catching up with a source that is written meanwhile and has no consistent snapshots. */
const roundsMax = 5

export interface CopyOptions {
  readonly signal?: AbortSignal
  /** `total` is an estimate. */
  readonly onProgress?: (step: 'copying' | 'comparing', done: number, total: number) => void
  /** The name of the source in the mark of the unfinished target: by default the location of the source. */
  readonly sourceName?: string
}

export interface CopyReport {
  readonly entries: number
  readonly bytes: number
  /** SHA-256 over all keys and values with their lengths, in hexadecimal digits; equal for both stores. */
  readonly checksum: string
  readonly isResumed: boolean
}

/**
 * Makes the target equal to the source at one point in time after the call, even with concurrent writes to the source. Throws an `Error` for the
 * operator if the source is empty, keeps changing in a store without consistent snapshots, is an unfinished copy, or has an unknown format, or if the
 * target contains anything else or is taken over by another copy. A source without a format version gets one in the copy. Data of the processes that
 * serve the source is not copied (`bytes/key-layout.ts`).
 */
export async function copyStore(source: Store, target: Store, options: CopyOptions = {}): Promise<CopyReport> {
  await refuseUnfinishedCopy(source)
  if (await onSnapshot(source, isEmptySnapshot))
    throw new PlaceRefused('wrongPlace', `The store ${source.capabilities.location} holds nothing to copy.`)
  const version = await formatOfCopy(source)
  const claim = (): Promise<CopyClaim> =>
    CopyClaim.take(target, options.sourceName ?? source.capabilities.location, encodeFormatVersion(version))
  if (!source.capabilities.hasConsistentSnapshots)
    return copyUntilEqual({ source, target, version }, await claim(), options)
  return onSnapshot(source, async (fixedSnapshot) => {
    // The first read fixes the point in time of a snapshot at the latest.
    await fixedSnapshot.view(formatVersionKey, () => undefined)
    return copyUntilEqual({ source, target, version, fixedSnapshot }, await claim(), options)
  })
}

async function copyUntilEqual(copied: Copied, claim: CopyClaim, options: CopyOptions): Promise<CopyReport> {
  const { source, fixedSnapshot } = copied
  const { isResumed } = claim
  const { entries: total } = await source.stats()
  const snapshot = fixedSnapshot ?? (await source.snapshot())
  try {
    await copyEntries(snapshot, claim, (done) => options.onProgress?.('copying', done, total), options.signal)
  } finally {
    if (fixedSnapshot === undefined) snapshot.release()
  }
  for (let round = 1; round <= roundsMax; round++) {
    const progress = (done: number): void => options.onProgress?.('comparing', done, total)
    const { differences, ...report } = await repairDifferences(copied, claim, progress, options.signal)
    if (differences > 0) continue
    await claim.finish()
    return { ...report, isResumed }
  }
  throw new Error(
    `The store ${source.capabilities.location} keeps changing while it is copied; stop the processes that write to it, and start the copy again.`,
  )
}

/**
 * Copies a snapshot into an empty store, which cannot be used before the copy is complete. `location`: of the source. Throws an `Error` for the
 * operator if the source is an unfinished copy, or the target is not empty.
 */
export async function copySnapshot(snapshot: Snapshot, location: string, target: Store): Promise<void> {
  await refuseUnfinishedIn(snapshot, location)
  const format = await snapshot.view(formatVersionKey, (value) => Buffer.from(value))
  const claim = await CopyClaim.take(target, location, format)
  await copyEntries(snapshot, claim)
  await claim.finish()
}

async function copyEntries(
  snapshot: Snapshot,
  claim: CopyClaim,
  progress?: (done: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  const writer = new BatchWriter(claim)
  const { resumedFrom } = claim
  const from = resumedFrom === undefined ? {} : { from: Buffer.concat([resumedFrom, Buffer.of(0)]) }
  let done = 0
  for await (const batch of snapshot.scan(from, copied)) {
    for (const { key, value } of batch) {
      if (!isCopied(key)) continue
      signal?.throwIfAborted()
      await writer.add({ kind: 'put', key, value }, key)
    }
    done += batch.length
    progress?.(done)
  }
  await writer.flush()
}

class BatchWriter {
  private readonly claim: CopyClaim
  private changes: Change[] = []
  private bytes = 0
  private reached: Bytes | undefined

  constructor(claim: CopyClaim) {
    this.claim = claim
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
    await this.claim.commit(changes, reached)
    this.changes = []
    this.bytes = 0
  }
}

interface Copied {
  readonly source: Store
  readonly target: Store
  readonly version: number
  /** The content to copy; absent if the source has no consistent snapshots, and has to be caught up with. */
  readonly fixedSnapshot?: Snapshot
}

/** Iterates both stores in key order, and changes the target to match the source. */
async function repairDifferences(
  { source, target, version, fixedSnapshot }: Copied,
  claim: CopyClaim,
  progress: (done: number) => void,
  signal: AbortSignal | undefined,
): Promise<{ differences: number; entries: number; bytes: number; checksum: string }> {
  const snapshots = [fixedSnapshot ?? (await source.snapshot()), await target.snapshot()] as const
  const writer = new BatchWriter(claim)
  const hash = createHash('sha256')
  let [differences, entries, bytes] = [0, 0, 0]
  try {
    for await (const [expected, found] of paired(marked(entriesOf(snapshots[0]), version), entriesOf(snapshots[1]))) {
      if (expected !== undefined) {
        entries++
        bytes += expected.key.length + expected.value.length
        addTo(hash, expected)
        if (entries % 1_000 === 0) {
          signal?.throwIfAborted()
          progress(entries)
        }
      }
      if (expected !== undefined && found !== undefined && Buffer.compare(expected.value, found.value) === 0) continue
      differences++
      if (expected !== undefined) await writer.add({ kind: 'put', ...expected })
      else if (found !== undefined) await writer.add({ kind: 'delete', key: found.key })
    }
    await writer.flush()
    progress(entries)
  } finally {
    for (const snapshot of snapshots) if (snapshot !== fixedSnapshot) snapshot.release()
  }
  return { differences, entries, bytes, checksum: hash.digest('hex') }
}

/** The entries of both stores under each key; undefined if absent. */
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

/** The entries, preceded by one for the format's version, the first of all, if an old store lacks it. */
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
