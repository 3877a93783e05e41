/** What stands around the rows of a reply: the brackets of a JSON array, or the end of the last line. */
import type { ReplyType } from './operation.ts'

export const opening: Record<ReplyType, string> = { json: '[', ndjson: '', text: '' }
export const closing: Record<ReplyType, string> = { json: ']', ndjson: '\n', text: '' }

/** The reply at once, where all of its rows are there. */
export function wholeReply(chunks: readonly Buffer[], type: ReplyType): Buffer {
  const rows = Buffer.concat(chunks)
  if (rows.length === 0) return Buffer.from(type === 'json' ? '[]' : '')
  return Buffer.concat([Buffer.from(opening[type]), rows, Buffer.from(closing[type])])
}
