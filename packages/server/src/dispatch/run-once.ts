/** Carries out an operation with an `Idempotency-Key`: once, and answers each repetition with the first reply (contract 1.6). */
import { AlreadyDone, AshlarError, type Once } from '@ashlar/engine'
import { coverRights, rightsOn } from '../security/kept-rights.ts'
import {
  booleanParam,
  type FdOperation,
  type FdRequest,
  type OperationReply,
  statementOf,
  type WholeFdRequest,
} from './operation.ts'
import { decodeReply, encodeReply } from './stored-reply.ts'

/** Those of this process; others are met at their commits. */
const underWay = new Set<string>()

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

/** Throws RequestInProgress, ReplyNotKept, what the engine throws of keys, and what the operation throws: that is not kept. */
export async function runOnce(operation: FdOperation, request: WholeFdRequest): Promise<OperationReply> {
  const { fd, requestId } = request
  const name = JSON.stringify([fd.alias, requestId?.caller, requestId?.key])
  if (underWay.has(name)) {
    throw new AshlarError('RequestInProgress', 'A request with this Idempotency-Key is still in progress.')
  }
  underWay.add(name)
  try {
    return await run(operation, request)
  } catch (error) {
    if (error instanceof AlreadyDone) return replyFor(request, error.reply)
    throw error
  } finally {
    underWay.delete(name)
  }
}

/** Throws ReplyNotKept where it was made by rights that the caller does not have: it may show what is hidden now. */
function replyFor({ caller, fd }: FdRequest, stored: Uint8Array): OperationReply {
  const { reply, rights } = decodeReply(stored)
  if (coverRights(rightsOn(caller, fd.alias), rights)) return reply
  throw new AshlarError(
    'ReplyNotKept',
    'The request was executed before, when its caller had other rights; the reply of then is not shown.',
  )
}

/** Where the operation does not see to it itself, it runs as a transaction of one step, into whose commit the reply goes. */
async function run(operation: FdOperation, request: WholeFdRequest): Promise<OperationReply> {
  const isDryRun = operation.queryParameters?.dryRun !== undefined && booleanParam(request, 'dryRun')
  const once = onceOf(request, operation.status, (reply: OperationReply) => reply)
  if (isDryRun || once === undefined || operation.keepsReply === true) return operation.run(request.database, request)
  const { oid } = request.params
  // Others have no work that is worth watching for whether the client is still there.
  const client = statementOf(operation, request.body) === undefined ? undefined : request
  return request.database.transaction(async (step) => operation.run(step(1), request), false, once, oid, client)
}
