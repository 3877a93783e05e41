/** Replies of a bulk load that wait for their reader, in compact form: a client may send many lines before it reads any reply. */
import type { LineOutcome, Oid } from '@ashlar/engine'

/** Consecutive lines without an error. */
interface Lines {
  readonly first: number
  /** The OIDs as text, each followed by a newline. */
  readonly oids: Buffer
}

/** Maximum bytes of a piece of the reply. */
const pieceBytes = 65_536
const newline = 0x0a
const beforeNumber = Buffer.from('{"line":')
const beforeOid = Buffer.from(',"__identifier__":"')
const replyEnd = Buffer.from('"}\n')
/** Upper bound of a reply line: the longest line number and the longest OID. */
const lineBytesMax = 100

/** First in, first out. */
export class PendingReplies {
  bytes = 0
  private readonly waiting: (Lines | string)[] = []
  private isEnded = false
  private failure: unknown
  private wake: (() => void) | undefined
  private room: { readonly bytesMax: number; resolve(): void } | undefined

  /** `textOf`: the reply to a line that failed, without a newline. */
  push(outcomes: readonly LineOutcome[], textOf: (line: number, error: unknown) => string): void {
    let oids: Oid[] = []
    let first = 0
    for (const outcome of outcomes) {
      const isNext = 'oid' in outcome && outcome.line === first + oids.length
      if (!isNext && oids.length > 0) {
        this.keep(linesOf(first, oids))
        oids = []
      }
      if ('error' in outcome) this.pushText(textOf(outcome.line, outcome.error))
      else {
        if (oids.length === 0) first = outcome.line
        oids.push(outcome.oid)
      }
    }
    if (oids.length > 0) this.keep(linesOf(first, oids))
  }

  pushText(text: string): void {
    this.keep(text)
  }

  end(): void {
    this.isEnded = true
    this.wake?.()
  }

  /** Makes `pieces` throw after the pending replies. */
  fail(error: unknown): void {
    this.failure = error
    this.end()
  }

  /** Supports one reader. Throws the reason given to `fail`. */
  async *pieces(): AsyncGenerator<Buffer> {
    for (;;) {
      const next = this.waiting.shift()
      if (next !== undefined) {
        this.bytes -= sizeOf(next)
        if (this.room !== undefined && this.bytes <= this.room.bytesMax) this.room.resolve()
        if (typeof next === 'string') yield Buffer.from(`${next}\n`)
        else yield* piecesOf(next)
      } else if (this.failure !== undefined) throw this.failure
      else if (this.isEnded) return
      else {
        await new Promise<void>((resolve) => {
          this.wake = resolve
        })
        this.wake = undefined
      }
    }
  }

  /** Resolves when at most `bytesMax` bytes are pending. */
  roomFor(bytesMax: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.bytes <= bytesMax) resolve()
      else this.room = { bytesMax, resolve }
    })
  }

  private keep(one: Lines | string): void {
    this.waiting.push(one)
    this.bytes += sizeOf(one)
    this.wake?.()
  }
}

function linesOf(first: number, oids: readonly Oid[]): Lines {
  return { first, oids: Buffer.from(`${oids.join('\n')}\n`, 'latin1') }
}

/** Includes the overhead of an entry. */
function sizeOf(one: Lines | string): number {
  return 100 + (typeof one === 'string' ? 2 * one.length : one.oids.length)
}

function* piecesOf({ first, oids }: Lines): Generator<Buffer> {
  let line = first
  for (let from = 0; from < oids.length; ) {
    const piece = Buffer.allocUnsafeSlow(pieceBytes)
    let length = 0
    while (from < oids.length && length < pieceBytes - lineBytesMax) {
      const to = oids.indexOf(newline, from)
      length = put(beforeNumber, piece, length)
      length = putNumber(line++, piece, length)
      length = put(beforeOid, piece, length)
      for (; from < to; from++) piece[length++] = oids[from] as number
      length = put(replyEnd, piece, length)
      from++
    }
    yield piece.subarray(0, length)
  }
}

/** Copies a part, and returns the position after it. */
function put(part: Uint8Array, piece: Uint8Array, from: number): number {
  for (let i = 0; i < part.length; i++) piece[from + i] = part[i] as number
  return from + part.length
}

function putNumber(number: number, piece: Uint8Array, from: number): number {
  const digits = String(number)
  for (let i = 0; i < digits.length; i++) piece[from + i] = digits.charCodeAt(i)
  return from + digits.length
}
