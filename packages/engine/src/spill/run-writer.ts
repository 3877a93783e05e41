/** Writes records one after the other: a key, a number that tells equal keys apart, and what belongs to them. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import type { TemporaryFile } from './temporary-file.ts'

/** The lengths of key and content, and the number. */
export const headerBytes = 16

/** Where the records of a run are. */
export interface Run {
  readonly file: TemporaryFile
  readonly start: number
  readonly end: number
  /** Its longest record, in bytes. */
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

  /** Key and number; what is written to the result until `end` is the content. */
  begin(key: Uint8Array, order: number): ByteWriter {
    const { to } = this
    this.recordStart = to.reserve(headerBytes)
    to.bytes.writeUInt32BE(key.length, this.recordStart)
    to.bytes.writeDoubleBE(order, this.recordStart + 8)
    to.writeBytes(key)
    this.contentStart = to.length
    return to
  }

  end(): void {
    const { to, recordStart, contentStart } = this
    to.bytes.writeUInt32BE(to.length - contentStart, recordStart + 4)
    this.longest = Math.max(this.longest, to.length - recordStart)
  }

  /** A block is to be written before more follows. */
  get isFull(): boolean {
    return this.to.length >= this.blockBytes
  }

  /** Throws LimitExceeded and ServerBusy. */
  async flush(): Promise<void> {
    const { to, file, blockBytes } = this
    if (to.length > 0) await file.append(to.bytes, to.length)
    // What a long record has made of it is let go of again.
    if (to.bytes.length > 4 * blockBytes) this.to = new ByteWriter(blockBytes + headerBytes)
    else to.reset()
  }

  async finish(): Promise<Run> {
    await this.flush()
    return { file: this.file, start: this.start, end: this.file.end, longest: this.longest }
  }
}
