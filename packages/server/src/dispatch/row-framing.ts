/** The formats of rows in a reply: a JSON array, lines, or text. */
import type { RowChunk } from '@ashlar/engine'
import type { ReplyType } from './operation.ts'

interface Framing {
  /** Written to the byte before the first row; if missing, the reply begins with the row. */
  readonly opening?: number
  /** Written to the byte before each other row; if missing, nothing separates chunks. */
  readonly separator?: number
  readonly closing: string
  readonly empty: string
}

const newline = 0x0a
const framings: Record<ReplyType, Framing> = {
  json: { opening: 0x5b, separator: 0x2c, closing: ']', empty: '[]' },
  ndjson: { separator: newline, closing: '\n', empty: '' },
  text: { separator: newline, closing: '', empty: '' },
  csv: { separator: newline, closing: '\n', empty: '' },
  gzip: { closing: '', empty: '' },
  events: { separator: newline, closing: '', empty: '' },
  metrics: { closing: '', empty: '' },
}

/** Returns the rows in the format of the reply, with separators written into their gaps. `isFirst`: at the start of the reply. */
export function framed({ bytes, starts }: RowChunk, type: ReplyType, isFirst: boolean): Buffer {
  const { opening, separator } = framings[type]
  if (separator === undefined) return bytes.subarray(1)
  if (separator !== newline) for (const start of starts) bytes[start - 1] = separator
  if (!isFirst) return bytes
  if (opening === undefined) return bytes.subarray(1)
  bytes[0] = opening
  return bytes
}

export function closingOf(type: ReplyType): string {
  return framings[type].closing
}

export function completeReply(chunks: readonly RowChunk[], type: ReplyType): Buffer {
  const { closing, empty } = framings[type]
  if (chunks.length === 0) return Buffer.from(empty)
  return Buffer.concat([...chunks.map((chunk, i) => framed(chunk, type, i === 0)), Buffer.from(closing)])
}
