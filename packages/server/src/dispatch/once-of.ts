/** What the engine needs of a request with an `Idempotency-Key`. */
import type { Once } from '@ashlar/engine'
import { rightsOn } from '../security/kept-rights.ts'
import type { FdRequest, OperationReply } from './operation.ts'
import { encodeReply } from './stored-reply.ts'

/** Undefined where the request has no key. `toReply`: what the operation replies to a result; its body is no stream. */
export function onceOf<T>(
  { requestId, caller, fd }: Pick<FdRequest, 'requestId' | 'caller' | 'fd'>,
  usualStatus: number,
  toReply: (result: T) => OperationReply,
): Once<T> | undefined {
  if (requestId === undefined) return undefined
  const rights = rightsOn(caller, fd.alias)
  return { request: requestId, replyOf: (result) => encodeReply(toReply(result), usualStatus, rights) }
}
