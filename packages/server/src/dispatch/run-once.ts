/** Executes an operation with an `Idempotency-Key` once, and answers repetitions with the first reply (contract 1.6). */
import { AlreadyDone, AshlarError } from '@ashlar/engine'
import { coverRights, rightsOn } from '../security/reply-rights.ts'
import type { FdOperation, FdRequest, FdWideRequest, OperationReply } from './operation.ts'
import { runOperation } from './run-operation.ts'
import { decodeReply } from './stored-reply.ts'

/** Keys in progress in this process; conflicts with other processes are detected at the commit. */
const inProgress = new Set<string>()

/** Throws RequestInProgress, ReplyNotKept, the engine's errors for keys, and the errors of the operation, which are not stored. */
export async function runOnce(operation: FdOperation, request: FdWideRequest): Promise<OperationReply> {
  const { fd, requestId } = request
  const name = JSON.stringify([fd.alias, requestId?.caller, requestId?.key])
  if (inProgress.has(name)) {
    throw new AshlarError('RequestInProgress', 'A request with this Idempotency-Key is still in progress.')
  }
  inProgress.add(name)
  try {
    return await runOperation(operation, request)
  } catch (error) {
    if (error instanceof AlreadyDone) return replyFor(request, error.reply)
    throw error
  } finally {
    inProgress.delete(name)
  }
}

/** Throws ReplyNotKept if the reply was made with permissions that the caller lacks now: it may show hidden data. */
function replyFor({ caller, fd }: FdRequest, stored: Uint8Array): OperationReply {
  const { reply, rights } = decodeReply(stored)
  if (coverRights(rightsOn(caller, fd.alias), rights)) return reply
  throw new AshlarError(
    'ReplyNotKept',
    'The request was executed before, when its caller had other rights; the reply of then is not shown.',
  )
}
