/** Replies stored for repeated requests: a line of JSON, and the body as it was sent. */

import type { Once } from '@ashlar/engine'
import { type ReplyRights, rightsOn } from '../security/reply-rights.ts'
import type { FdRequest, OperationReply } from './operation.ts'

interface Head extends Pick<OperationReply, 'status' | 'headers' | 'type'> {
  /** Permissions of the caller; undefined for all. */
  readonly rights?: ReplyRights
}

export interface StoredReply {
  readonly reply: OperationReply
  readonly rights: ReplyRights | undefined
}

const newline = 0x0a

/** `usual`: the status of a reply without one. `rights`: the permissions with which the reply was made; undefined for all. */
export function encodeReply(
  { body, status, headers, type }: OperationReply,
  usual: number,
  rights: ReplyRights | undefined,
): Buffer {
  const head: Head = {
    status: status ?? usual,
    ...(headers && { headers }),
    ...(type && { type }),
    ...(rights && { rights }),
  }
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), bytes])
}

/** Adds the header that marks the reply as a repetition. */
export function decodeReply(stored: Uint8Array): StoredReply {
  const bytes = Buffer.from(stored)
  const end = bytes.indexOf(newline)
  const { rights, ...head } = JSON.parse(bytes.toString('utf8', 0, end)) as Head
  const body = bytes.subarray(end + 1)
  const headers = { ...head.headers, 'idempotent-replayed': 'true' }
  return { reply: { ...head, headers, ...(body.length === 0 ? {} : { body }) }, rights }
}

/** Returns undefined if the request has no key. `toReply`: makes the reply from a result; its body is not a stream. */
export function onceOf<T>(
  { requestId, caller, fd }: Pick<FdRequest, 'requestId' | 'caller' | 'fd'>,
  usualStatus: number,
  toReply: (result: T) => OperationReply,
): Once<T> | undefined {
  if (requestId === undefined) return undefined
  const rights = rightsOn(caller, fd.alias)
  return { request: requestId, replyOf: (result) => encodeReply(toReply(result), usualStatus, rights) }
}
