/** Entry files: compressed blocks, each with a sequence number and a checksum, so that damage is detected and located. */
import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'
import type { CancelSignal } from '../cancel-signal.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import type { Bytes, Entry } from '../store/store.ts'

const zip = promisify(gzip)
const unzip = promisify(gunzip)

/** Magic bytes at the start of a file. Part of the backup format. */
const magic = Buffer.from('ashlar-backup 1\n')
const blockMagic = 0x41_53_48_42
/** Header: magic, sequence number, stored bytes, and entry bytes as u32 each; then the SHA-256 of these and of the stored bytes. */
const numbersBytes = 16
const headerBytes = numbersBytes + 32
const entryHeaderBytes = 6
/** A block ends with the entry that reaches this size. */
const blockBytes = 1_048_576
/** Upper bound for a block with the largest possible value; a larger size indicates damage. */
const blockBytesMax = 67_108_864

export interface EntryFileSummary {
  readonly bytes: number
  readonly blocks: number
  readonly entries: number
  readonly entryBytes: number
  /** Digest of the whole file in hexadecimal. */
  readonly sha256: string
}

/** A corrupted backup file. The message is a sentence for the operator that names the file and the position. */
export class DamagedBackup extends PlaceRefused {
  constructor(message: string) {
    super('damaged', message)
  }
}

/** Buffers two blocks: one is filled while the other is compressed and written. */
export class EntryFileWriter {
  private readonly file: FileHandle
  private readonly hash: Hash = createHash('sha256')
  private block = Buffer.allocUnsafe(2 * blockBytes)
  private length = 0
  private writing: Promise<void> = Promise.resolve()
  private bytes = 0
  private blocks = 0
  private entries = 0
  private entryBytes = 0

  private constructor(file: FileHandle) {
    this.file = file
  }

  static async create(path: string): Promise<EntryFileWriter> {
    const writer = new EntryFileWriter(await open(path, 'wx', 0o600))
    await writer.write(magic)
    return writer
  }

  /** Copies the bytes immediately. The caller must call `flushIfDue` regularly. */
  add(key: Bytes, value: Bytes): void {
    const needed = this.length + entryHeaderBytes + key.length + value.length
    if (needed > this.block.length) {
      const larger = Buffer.allocUnsafe(needed + blockBytes)
      this.block.copy(larger, 0, 0, this.length)
      this.block = larger
    }
    const { block } = this
    let at = block.writeUInt16BE(key.length, this.length)
    at = block.writeUInt32BE(value.length, at)
    block.set(key, at)
    block.set(value, at + key.length)
    this.length = needed
    this.entries++
    this.entryBytes += key.length + value.length
  }

  /** Waits only if the previous block is still being written. */
  flushIfDue(): Promise<void> | undefined {
    return this.length < blockBytes ? undefined : this.flush()
  }

  async end(): Promise<EntryFileSummary> {
    await this.flush()
    await this.writing
    await this.file.sync()
    await this.file.close()
    const { bytes, blocks, entries, entryBytes } = this
    return { bytes, blocks, entries, entryBytes, sha256: this.hash.digest('hex') }
  }

  async abandon(): Promise<void> {
    await this.writing.catch(() => undefined)
    await this.file.close().catch(() => undefined)
  }

  private async flush(): Promise<void> {
    if (this.length === 0) return
    const entries = this.block.subarray(0, this.length)
    this.block = Buffer.allocUnsafe(2 * blockBytes)
    this.length = 0
    await this.writing
    this.writing = this.writeBlock(entries)
    // The next `await` of `writing` reports the failure.
    this.writing.catch(() => undefined)
  }

  private async writeBlock(entries: Buffer): Promise<void> {
    const stored = await zip(entries, { level: constants.Z_BEST_SPEED })
    const header = Buffer.allocUnsafe(headerBytes)
    for (const [i, number] of [blockMagic, this.blocks++, stored.length, entries.length].entries())
      header.writeUInt32BE(number, 4 * i)
    checksumOf(header, stored).copy(header, numbersBytes)
    await this.write(header)
    await this.write(stored)
  }

  private async write(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) at += (await this.file.write(bytes, at)).bytesWritten
    this.hash.update(bytes)
    this.bytes += bytes.length
  }
}

export interface EntryBlock {
  /** The entries are views of one buffer. */
  entries(): Generator<Entry, undefined, undefined>
  readonly end: number
}

/** Throws DamagedBackup if the file does not match the summary, and the signal's reason. */
export async function* readEntryFile(
  path: string,
  expected: EntryFileSummary,
  signal?: CancelSignal,
): AsyncGenerator<EntryBlock, undefined, undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new DamagedBackup(`The file ${path} of a backup is not there, though its manifest is.`)
  })
  try {
    yield* new Reading(file, path).blocks(expected, signal)
  } finally {
    await file.close()
  }
  return undefined
}

class Reading {
  private readonly file: FileHandle
  private readonly path: string
  private readonly hash = createHash('sha256')
  private at = 0
  private entries = 0

  constructor(file: FileHandle, path: string) {
    this.file = file
    this.path = path
  }

  async *blocks(expected: EntryFileSummary, signal: CancelSignal | undefined): AsyncGenerator<EntryBlock> {
    const { size } = await this.file.stat()
    if (size !== expected.bytes)
      throw new DamagedBackup(`${this.path} has ${size} bytes, and its manifest says ${expected.bytes}.`)
    if (!(await this.read(magic.length)).equals(magic)) throw this.damaged('its beginning', 0)
    for (let number = 0; number < expected.blocks; number++) {
      signal?.throwIfAborted()
      const block = await this.block(number)
      yield { entries: () => this.entriesIn(block), end: this.at }
    }
    const isIntact = this.at === size && this.hash.digest('hex') === expected.sha256
    if (!isIntact || this.entries !== expected.entries) throw this.damaged('its end', this.at)
  }

  private async block(number: number): Promise<Buffer> {
    const begin = this.at
    const what = `block ${number + 1}`
    const header = await this.read(headerBytes)
    const [found, position, storedBytes, entryBytes] = [0, 4, 8, 12].map((at) => header.readUInt32BE(at)) as [
      number,
      number,
      number,
      number,
    ]
    if (found !== blockMagic || position !== number || Math.max(storedBytes, entryBytes) > blockBytesMax)
      throw this.damaged(what, begin)
    const stored = await this.read(storedBytes, what)
    if (!checksumOf(header, stored).equals(header.subarray(numbersBytes))) throw this.damaged(what, begin)
    const entries = await unzip(stored, { maxOutputLength: entryBytes })
    if (entries.length !== entryBytes) throw this.damaged(what, begin)
    return entries
  }

  private *entriesIn(block: Buffer): Generator<Entry, undefined, undefined> {
    for (let at = 0; at < block.length; ) {
      const keyEnd = at + entryHeaderBytes + block.readUInt16BE(at)
      const valueEnd = keyEnd + block.readUInt32BE(at + 2)
      yield { key: block.subarray(at + entryHeaderBytes, keyEnd), value: block.subarray(keyEnd, valueEnd) }
      this.entries++
      at = valueEnd
    }
    return undefined
  }

  private async read(length: number, what = 'a block'): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length)
    for (let read = 0; read < length; ) {
      const { bytesRead } = await this.file.read(bytes, read, length - read, this.at + read)
      if (bytesRead === 0) throw this.damaged(what, this.at)
      read += bytesRead
    }
    this.at += length
    this.hash.update(bytes)
    return bytes
  }

  private damaged(what: string, at: number): DamagedBackup {
    return new DamagedBackup(`${this.path} is damaged: ${what}, at byte ${at}, is not what was written.`)
  }
}

function checksumOf(header: Buffer, stored: Buffer): Buffer {
  return createHash('sha256').update(header.subarray(0, numbersBytes)).update(stored).digest()
}

/** Reads and verifies the whole file. Throws like `readEntryFile`. */
export async function checkEntryFile(
  path: string,
  expected: EntryFileSummary,
  options: { readonly signal?: CancelSignal | undefined; readonly onProgress?: (bytes: number) => void } = {},
): Promise<void> {
  for await (const block of readEntryFile(path, expected, options.signal)) {
    for (const _entry of block.entries());
    options.onProgress?.(block.end)
  }
}
