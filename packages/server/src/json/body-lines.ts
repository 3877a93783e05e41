/** The lines of a body, as they arrive: no more of it is held than what is asked for, and the line at hand (contract 2.2.9). */
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface Line {
  /** From 1; lines that are blank count too. */
  readonly number: number
  /** Undefined of a line that is longer than any may be: its bytes are let go of. */
  readonly bytes: Buffer | undefined
}

const newline = 0x0a
const blank = /^[ \t\r]*$/
/** A line that is longer is no blank one that anybody means. */
const blankBytesMax = 100
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])
/** What has come with fewer bytes is asked for again in the next turn of the event loop: a client may send each byte as a chunk of its own. */
const smallBytes = 1_024

export class BodyLines {
  private readonly chunks: AsyncIterator<Buffer>
  private readonly source: Readable
  private readonly lineBytesMax: number
  private number = 0
  /** The beginning of a line whose end has not come. */
  private begun: Buffer | undefined
  private begunBytes = 0
  private isTooLong = false
  private wasSmall = false

  /** `lineBytesMax`: without its end. */
  constructor(source: Readable, lineBytesMax: number) {
    this.source = source
    this.lineBytesMax = lineBytesMax
    // The connection may be needed for the reply.
    this.chunks = source.iterator({ destroyOnReturn: false })
  }

  /** Nobody will ask for more, and what has come is let go of. */
  get isOver(): boolean {
    return this.source.readableEnded
  }

  /** Those that the next bytes complete, blank ones left out; undefined at the end. Throws what the source fails with. */
  async next(): Promise<readonly Line[] | undefined> {
    if (this.wasSmall) await nextTurn()
    const { done, value } = await this.chunks.next()
    const lines: Line[] = []
    if (done !== true) {
      this.wasSmall = value.length < smallBytes
      this.divide(value, lines)
      return lines
    }
    if (this.begunBytes === 0 && !this.isTooLong) return undefined
    this.end(undefined, lines)
    return lines
  }

  private divide(chunk: Buffer, lines: Line[]): void {
    let from = 0
    if (this.number === 0 && this.begunBytes === 0 && chunk.subarray(0, 3).equals(byteOrderMark)) from = 3
    for (let to = chunk.indexOf(newline, from); to >= 0; to = chunk.indexOf(newline, from)) {
      this.end(chunk.subarray(from, to), lines)
      from = to + 1
    }
    if (from < chunk.length) this.keep(chunk.subarray(from))
  }

  /** A line that comes in many parts is copied to room that doubles: a list of parts may take a hundred times as much as their bytes. */
  private keep(part: Buffer): void {
    if (this.isTooLong) return
    const { begun, begunBytes } = this
    const bytes = begunBytes + part.length
    this.begunBytes = bytes
    if (bytes > this.lineBytesMax) {
      this.isTooLong = true
      this.begun = undefined
      this.begunBytes = 0
    } else if (begun === undefined) this.begun = part
    else {
      if (bytes > begun.length) {
        this.begun = Buffer.allocUnsafeSlow(Math.min(2 * bytes, this.lineBytesMax))
        begun.copy(this.begun, 0, 0, begunBytes)
      }
      part.copy(this.begun as Buffer, begunBytes)
    }
  }

  private end(last: Buffer | undefined, lines: Line[]): void {
    const isWhole = this.begun === undefined && !this.isTooLong && (last?.length ?? 0) <= this.lineBytesMax
    if (last !== undefined && !isWhole) this.keep(last)
    const bytes = isWhole ? last : this.begun?.subarray(0, this.begunBytes)
    const number = ++this.number
    if (this.isTooLong) lines.push({ number, bytes: undefined })
    else if (bytes !== undefined && !isBlank(bytes)) lines.push({ number, bytes })
    this.begun = undefined
    this.begunBytes = 0
    this.isTooLong = false
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < blankBytesMax && blank.test(bytes.toString('latin1'))
}
