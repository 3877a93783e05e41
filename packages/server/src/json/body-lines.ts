/** Splits a body into lines as it arrives; buffers no more than the current line and the requested bytes (contract 2.2.9). */
import type { Readable } from 'node:stream'
import { setImmediate as nextIteration } from 'node:timers/promises'

/** Consecutive complete lines separated by line feeds. Undefined is a line above the size limit, whose bytes are discarded. */
export type Lines = Buffer | undefined

const newline = 0x0a
/** Bytes of lines returned together, unless one is longer; parsing them takes a fraction of a millisecond. */
const linesBytesMax = 65_536
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])
/** After a smaller chunk, the next is read in another turn of the event loop: a client may send single bytes as chunks. */
const smallBytes = 1_024

export class BodyLines {
  private readonly chunks: AsyncIterator<Buffer>
  private readonly source: Readable
  private readonly lineBytesMax: number
  private isAtStart = true
  /** The beginning of an incomplete line. */
  private partial: Buffer | undefined
  private partialBytes = 0
  private isTooLong = false
  private wasSmall = false

  /** `lineBytesMax`: excludes the line end. */
  constructor(source: Readable, lineBytesMax: number) {
    this.source = source
    this.lineBytesMax = lineBytesMax
    // The connection may still be needed for the reply.
    this.chunks = source.iterator({ destroyOnReturn: false })
  }

  get isOver(): boolean {
    return this.source.readableEnded
  }

  /** Returns the lines completed by the next bytes; undefined at the end. Throws errors of the source. */
  async next(): Promise<readonly Lines[] | undefined> {
    if (this.wasSmall) await nextIteration()
    const { done, value } = await this.chunks.next()
    const lines: Lines[] = []
    if (done !== true) {
      this.wasSmall = value.length < smallBytes
      this.divide(value, lines)
      return lines
    }
    if (!this.hasPartialLine) return undefined
    this.end(lines)
    return lines
  }

  private get hasPartialLine(): boolean {
    return this.partialBytes > 0 || this.isTooLong
  }

  private divide(chunk: Buffer, lines: Lines[]): void {
    let from = this.isAtStart && chunk.subarray(0, 3).equals(byteOrderMark) ? 3 : 0
    this.isAtStart = false
    if (this.hasPartialLine) {
      const to = chunk.indexOf(newline)
      this.keep(to < 0 ? chunk : chunk.subarray(0, to))
      if (to < 0) return
      this.end(lines)
      from = to + 1
    }
    for (let to = this.endFrom(chunk, from); to >= 0; to = this.endFrom(chunk, from)) {
      lines.push(to - from > this.lineBytesMax ? undefined : chunk.subarray(from, to))
      from = to + 1
    }
    if (from < chunk.length) this.keep(chunk.subarray(from))
  }

  /** Returns the end of the last line to return together with the first, or -1 if no line ends. Exceeds the limit by one line at most. */
  private endFrom(chunk: Buffer, from: number): number {
    const most = Math.min(linesBytesMax, this.lineBytesMax) + 1
    const last = chunk.subarray(from, from + most).lastIndexOf(newline)
    return last < 0 ? chunk.indexOf(newline, from + most) : from + last
  }

  /** Copies a part of a long line into a buffer that doubles: a list of parts may use a hundred times the size of their bytes. */
  private keep(part: Buffer): void {
    if (this.isTooLong) return
    const { partial, partialBytes } = this
    const bytes = partialBytes + part.length
    this.partialBytes = bytes
    if (bytes > this.lineBytesMax) {
      this.isTooLong = true
      this.partial = undefined
      this.partialBytes = 0
    } else if (partial === undefined) this.partial = part
    else {
      if (bytes > partial.length) {
        this.partial = Buffer.allocUnsafeSlow(Math.min(2 * bytes, this.lineBytesMax))
        partial.copy(this.partial, 0, 0, partialBytes)
      }
      part.copy(this.partial as Buffer, partialBytes)
    }
  }

  private end(lines: Lines[]): void {
    lines.push(this.isTooLong ? undefined : this.partial?.subarray(0, this.partialBytes))
    this.partial = undefined
    this.partialBytes = 0
    this.isTooLong = false
  }
}
