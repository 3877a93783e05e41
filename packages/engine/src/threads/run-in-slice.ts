/** Runs a text of statements on the event loop for one slice; if it has not ended then, from the beginning in a thread. */
import { RowsAtHand } from '../query/execute/row-chunk.ts'
import type { QueryReply, QueryRequest, RowChunk } from '../query/query-request.ts'
import type { QueryResources, StatementRunner } from '../query/query-resources.ts'
import type { Awaitable } from '../store/store.ts'
import { FirstSlice, sliceOver } from './first-slice.ts'

/** `run`: with the request on the event loop. Throws what it throws. */
export function runInSlice(
  request: QueryRequest,
  threads: StatementRunner,
  { database }: Pick<QueryResources, 'database'>,
  run: (request: QueryRequest) => Awaitable<QueryReply>,
): Awaitable<QueryReply> {
  const isReadOnly = request.once !== undefined || database.onChanges !== undefined
  const slice = new FirstSlice(database.store, database.limits.statementSliceMs, isReadOnly)
  const inThread = async (error: unknown): Promise<QueryReply> => {
    if (error !== sliceOver) throw error
    return (await threads.run(request, isReadOnly)) ?? run(request)
  }
  try {
    const reply = run({ ...request, slice })
    if (reply instanceof Promise) return reply.then((begun) => collected(begun, slice)).catch(inThread)
    return reply.chunks.atHand === undefined ? collected(reply, slice).catch(inThread) : reply
  } catch (error) {
    return inThread(error)
  }
}

/** Throws `sliceOver`. */
async function collected(reply: QueryReply, slice: FirstSlice): Promise<QueryReply> {
  if (reply.chunks.atHand !== undefined || slice.isSettled) return reply
  const chunks: RowChunk[] = []
  for await (const chunk of reply.chunks) {
    slice.collect(chunk.bytes.length)
    chunks.push(chunk)
  }
  return { chunks: new RowsAtHand(chunks) }
}
