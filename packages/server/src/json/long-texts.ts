/** Long strings of a JSON body: decoded in parts, and inserted into what is parsed without them. */
import { randomUUID } from 'node:crypto'
import type { TimeSlice } from '@ashlar/engine'
import { backslash, type LongText } from './json-layout.ts'
import { decode, parseText } from './parse-text.ts'

/** Replaces a long string, followed by its number; no client can guess it. */
const placeholder = `${randomUUID()} `

export class LongTexts {
  private readonly body: Uint8Array
  private readonly texts: readonly LongText[]
  private readonly partBytes: number
  private readonly slice: TimeSlice
  /** The first that is not read. */
  private next = 0
  /** Strings of the last outline, by placeholder. */
  private readonly read = new Map<string, string>()

  /** `texts`: in their order in the body. `partBytes`: bytes decoded at a time, at least twelve. */
  constructor(body: Uint8Array, texts: readonly LongText[], partBytes: number, slice: TimeSlice) {
    this.body = body
    this.texts = texts
    this.partBytes = partBytes
    this.slice = slice
  }

  /** Returns bytes[from, to) as text with a placeholder for each long string. To be called in the order of the bytes. Throws MalformedRequest. */
  async outline(from: number, to: number): Promise<string> {
    this.read.clear()
    let outline = ''
    let at = from
    for (let text = this.texts[this.next]; text !== undefined && text.to <= to; text = this.texts[++this.next]) {
      const name = `${placeholder}${this.next}`
      outline += `${decode(this.body.subarray(at, text.from))}${name}`
      this.read.set(name, await this.readText(text))
      at = text.to
    }
    return outline + decode(this.body.subarray(at, to))
  }

  /** Replaces the placeholders in a parsed outline. The recursion is as deep as the limit of levels. */
  fill(parsed: unknown): unknown {
    if (this.read.size === 0) return parsed
    if (typeof parsed === 'string') return this.read.get(parsed) ?? parsed
    if (typeof parsed !== 'object' || parsed === null) return parsed
    const fields = parsed as Record<string, unknown>
    for (const name of Object.keys(fields)) {
      const value = fields[name]
      const filled = this.fill(value)
      // An assignment would take a field `__proto__` for the prototype.
      if (filled !== value) Object.defineProperty(fields, name, { value: filled })
    }
    return parsed
  }

  private async readText({ from, to }: LongText): Promise<string> {
    let text = ''
    for (let at = from; at < to; ) {
      const end = this.endOfPart(at, to)
      text += parseText(`"${decode(this.body.subarray(at, end))}"`, false)
      at = end
      await this.slice.yieldIfDue()
    }
    return text
  }

  /** Between two characters, and not within an escape sequence. */
  private endOfPart(from: number, to: number): number {
    const { body } = this
    let end = from + this.partBytes
    if (end >= to) return to
    for (let steps = 0; steps < 3 && isContinuation(body[end] as number); steps++) end--
    for (let at = end - 1; at > end - 6 && at >= from; at--) {
      if (body[at] !== backslash || !this.isEscape(at, from)) continue
      const length = body[at + 1] === smallU ? 6 : 2
      return at + length > end ? at : end
    }
    return end
  }

  /** Whether the backslash begins an escape sequence, and does not end one. */
  private isEscape(at: number, from: number): boolean {
    let before = 0
    while (at - before > from && this.body[at - before - 1] === backslash) before++
    return before % 2 === 0
  }
}

const smallU = 0x75

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80
}
