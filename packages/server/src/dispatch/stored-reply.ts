/** A reply as it is kept for those who send their request again: a line of JSON, and the body as it was sent. */
import type { OperationReply } from './operation.ts'

type Head = Pick<OperationReply, 'status' | 'headers' | 'type'>

const newline = 0x0a

/** `usual`: the status where the reply names none. */
export function encodeReply({ body, status, headers, type }: OperationReply, usual: number): Buffer {
  const head: Head = { status: status ?? usual, ...(headers === undefined ? {} : { headers }), ...(type && { type }) }
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), bytes])
}

/** Says in its headers that it is a repetition. */
export function decodeReply(stored: Uint8Array): OperationReply {
  const bytes = Buffer.from(stored)
  const end = bytes.indexOf(newline)
  const head = JSON.parse(bytes.toString('utf8', 0, end)) as Head
  const body = bytes.subarray(end + 1)
  const headers = { ...head.headers, 'idempotent-replayed': 'true' }
  return { ...head, headers, ...(body.length === 0 ? {} : { body }) }
}
