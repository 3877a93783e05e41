/** Runs a text of statements on the event loop for one slice; if it has not ended then, from the beginning in a thread. */
import { RowsAtHand } from '../query/execute/row-chunk.ts'
import { type QueryReply, type QueryRequest, type RowChunk, sliceOver } from '../query/query-request.ts'
import type { QueryResources, StatementRunner } from '../query/query-resources.ts'
import { endingWith } from '../query/run-query.ts'
import type { Awaitable } from '../store/store.ts'
import { noteSliceUsedUp } from '../store/time-slice.ts'
import type { WorkSpans } from '../work-spans.ts'
import { FirstSlice } from './first-slice.ts'

/** So many statements of a federated database run with longer slices, by this factor. */
const coldStatements = 100
const coldFactor = 5

/** `run`: with the request on the event loop. Throws what it throws. */
export function runInSlice(
  request: QueryRequest,
  threads: StatementRunner,
  { database, spans, plans }: Pick<QueryResources, 'database' | 'spans' | 'plans'>,
  run: (request: QueryRequest) => Awaitable<QueryReply>,
): Awaitable<QueryReply> {
  const isReadOnly = request.once !== undefined || database.onChanges !== undefined
  if (threads.longTexts.has(request.text)) return inThread(request, threads, spans, isReadOnly, run)
  // Code that V8 has not compiled yet takes several times as long, and would in a new thread, too.
  const isCold = plans.made + plans.reused < coldStatements
  const sliceMs = database.limits.statementSliceMs * (isCold ? coldFactor : 1)
  const slice = new FirstSlice(database.store, sliceMs, isReadOnly)
  const abandoned = (error: unknown): Promise<QueryReply> => {
    if (error !== sliceOver) throw error
    noteSliceUsedUp()
    threads.longTexts.add(request.text)
    return inThread(request, threads, spans, isReadOnly, run)
  }
  try {
    const reply = run({ ...request, slice })
    if (reply instanceof Promise) return reply.then((begun) => collected(begun, slice)).catch(abandoned)
    return reply.chunks.atHand === undefined ? collected(reply, slice).catch(abandoned) : reply
  } catch (error) {
    return abandoned(error)
  }
}

/** A trace has one span for the whole of it. */
async function inThread(
  request: QueryRequest,
  threads: StatementRunner,
  spans: WorkSpans | undefined,
  isReadOnly: boolean,
  run: (request: QueryRequest) => Awaitable<QueryReply>,
): Promise<QueryReply> {
  const end = spans?.begin('execute')
  let isEnded = false
  const endOnce = (error?: unknown): void => {
    if (!isEnded) end?.(error)
    isEnded = true
  }
  try {
    const reply = await threads.run(request, isReadOnly)
    if (reply !== undefined) return { chunks: await endingWith(reply.chunks, endOnce) }
    endOnce()
  } catch (error) {
    endOnce(error)
    throw error
  }
  return run(request)
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
