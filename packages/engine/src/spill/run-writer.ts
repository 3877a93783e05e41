/** Writes records in sequence: a key, a number that distinguishes equal keys, and content. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import type { TemporaryFile } from './temporary-file.ts'

/** The lengths of key and content, and the number. */
export const headerBytes = 16

const word = 2 ** 32

/** The number of the record at `start`: a non-negative integer. */
export function readOrder(bytes: Buffer, start: number): number {
  return bytes.readUInt32BE(start + 8) * word + bytes.readUInt32BE(start + 12)
}

export function writeOrder(order: number, bytes: Buffer, start: number): void {
  bytes.writeUInt32BE(Math.floor(order / word), start + 8)
  bytes.writeUInt32BE(order % word, start + 12)
}

/** Location of a run's records. */
export interface Run {
  readonly file: TemporaryFile
  readonly start: number
  readonly end: number
  readonly longest: number
}

export class RunWriter {
  private readonly file: TemporaryFile
  private readonly blockBytes: number
  private readonly start: number
  private to: ByteWriter
  private recordStart = 0
  private contentStart = 0
  private longest = 0

  constructor(file: TemporaryFile, blockBytes: number) {
    this.file = file
    this.blockBytes = blockBytes
    this.start = file.end
    this.to = new ByteWriter(blockBytes + headerBytes)
  }

  /** Writes key and number; the content follows in the result, until `end`. */
  begin(key: Uint8Array, order: number): ByteWriter {
    const { to } = this
    this.recordStart = to.reserve(headerBytes)
    to.bytes.writeUInt32BE(key.length, this.recordStart)
    writeOrder(order, to.bytes, this.recordStart)
    to.writeBytes(key)
    this.contentStart = to.length
    return to
  }

  end(): void {
    const { to, recordStart, contentStart } = this
    to.bytes.writeUInt32BE(to.length - contentStart, recordStart + 4)
    this.longest = Math.max(this.longest, to.length - recordStart)
  }

  /** A complete record, copied in its file format. */
  copy(from: Buffer, start: number, end: number): void {
    const { to } = this
    const length = end - start
    const at = to.reserve(length)
    from.copy(to.bytes, at, start, end)
    if (length > this.longest) this.longest = length
  }

  /** A block has to be flushed before more is written. */
  get isFull(): boolean {
    return this.to.length >= this.blockBytes
  }

  /** Throws LimitExceeded and ServerBusy. */
  async flush(): Promise<void> {
    const { to, file, blockBytes } = this
    if (to.length > 0) await file.append(to.bytes, to.length)
    // A buffer that a long record has enlarged is released.
    if (to.bytes.length > 4 * blockBytes) this.to = new ByteWriter(blockBytes + headerBytes)
    else to.reset()
  }

  async finish(): Promise<Run> {
    await this.flush()
    return { file: this.file, start: this.start, end: this.file.end, longest: this.longest }
  }
}
