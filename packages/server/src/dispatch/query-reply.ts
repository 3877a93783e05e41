/** The reply to a query with an `Idempotency-Key`, as it is stored. */
import type { Once, RowChunk } from '@ashlar/engine'
import { rightsOn } from '../security/reply-rights.ts'
import type { FdRequest } from './operation.ts'
import { completeReply } from './row-framing.ts'
import { encodeReply } from './stored-reply.ts'

interface Form {
  readonly replyType: FdRequest['replyType']
  readonly rights: ReturnType<typeof rightsOn>
}

/** Returns undefined for a request without a key. */
export function onceOfQuery({ requestId, caller, fd, replyType }: FdRequest): Once<readonly RowChunk[]> | undefined {
  if (requestId === undefined) return undefined
  const form: Form = { replyType, rights: rightsOn(caller, fd.alias) }
  return { request: requestId, replyOf: replyOfForm(form), form }
}

/** `form`: from `onceOfQuery`, possibly of another thread. */
export function replyOfForm(form: object): Once<readonly RowChunk[]>['replyOf'] {
  const { replyType, rights } = form as Form
  return (rows) => encodeReply({ body: completeReply(rows, replyType), type: replyType }, 200, rights)
}
