/** Runs a request on the event loop for one slice; a longer one is run from the beginning in a thread. */
import { RowsAtHand } from '../query/execute/row-chunk.ts'
import { type QueryReply, type QueryRequest, type RowChunk, sliceOver } from '../query/query-request.ts'
import type { QueryResources, SlicedWork, StatementRunner, ThreadReply, ThreadWork } from '../query/query-resources.ts'
import { endingWith } from '../query/run-query.ts'
import { areMoreValues } from '../records/many-values.ts'
import { textOf } from '../requests/json-source.ts'
import { hasJsonAttribute } from '../schema/json-attributes.ts'
import type { Awaitable } from '../store/store.ts'
import { noteSliceUsedUp } from '../store/time-slice.ts'
import type { WorkSpans } from '../work-spans.ts'
import { FirstSlice } from './first-slice.ts'
import type { QueryData } from './query-in-thread.ts'

type Resources = Pick<QueryResources, 'database' | 'spans' | 'plans'>

/** More values of parameters do not fit into a slice, since an expression converts a whole list in one step. */
const sliceValuesMax = 5_000
/** Copying more of them to a thread would block the event loop: 0.1 to 0.4 µs each. */
const copiedValuesMax = 200_000

/** The first statements of a federated database get longer slices, by this factor. */
const coldStatements = 100
const coldFactor = 5

function firstSlice({ database: { limits, store }, plans }: Resources): FirstSlice {
  // Code that V8 has not compiled yet takes several times as long, and would in a new thread too.
  const isCold = plans.made + plans.reused < coldStatements
  return new FirstSlice(store, limits.statementSliceMs * (isCold ? coldFactor : 1))
}

export async function runWorkInSlice<T>(
  { run, inThread, received, isLong }: SlicedWork<T>,
  client: Pick<ThreadWork, 'signal' | 'watch' | 'memoryHolder'>,
  threads: StatementRunner,
  resources: Resources,
): Promise<T> {
  if (!isLong) {
    try {
      return await run(firstSlice(resources))
    } catch (error) {
      if (error !== sliceOver) throw error
      noteSliceUsedUp()
    }
  }
  const { operation, beforeChange, admitValues } = inThread
  const { signal, watch, memoryHolder } = client
  const { onChanges } = resources.database
  const data = inThread.data()
  const reply = await threads.run({
    operation,
    data,
    signal,
    watch,
    memoryHolder,
    onChanges,
    beforeChange,
    admitValues,
  })
  return reply === undefined ? run(undefined) : received(reply.result)
}

/** `run` runs the request on the event loop. Throws its errors. */
export function runInSlice(
  request: QueryRequest,
  threads: StatementRunner,
  resources: Resources,
  run: (request: QueryRequest) => Awaitable<QueryReply>,
): Awaitable<QueryReply> {
  const { longTexts } = threads
  const { text, parameters } = request
  if (longTexts.has(text) || areMoreValues(parameters, sliceValuesMax))
    return inThread(request, threads, resources, run)
  const slice = firstSlice(resources)
  const abandoned = (error: unknown): Promise<QueryReply> => {
    if (error !== sliceOver) throw error
    noteSliceUsedUp()
    longTexts.add(text)
    return inThread(request, threads, resources, run)
  }
  try {
    const reply = run({ ...request, slice })
    if (reply instanceof Promise) return reply.then((started) => collected(started, slice)).catch(abandoned)
    return reply.chunks.atHand === undefined ? collected(reply, slice).catch(abandoned) : reply
  } catch (error) {
    return abandoned(error)
  }
}

/** A trace has one span for all of it. */
async function inThread(
  request: QueryRequest,
  threads: StatementRunner,
  { spans, database }: { readonly spans?: WorkSpans | undefined } & Pick<QueryResources, 'database'>,
  run: (request: QueryRequest) => Awaitable<QueryReply>,
): Promise<QueryReply> {
  const { once, parameters, text, dialect, isolation, user, explain, signal, watch, memoryHolder } = request
  if ((once !== undefined && once.form === undefined) || areMoreValues(parameters, copiedValuesMax)) return run(request)
  const data: QueryData = {
    text,
    parameters,
    parametersText: textOfParameters(parameters, database),
    dialect,
    isolation,
    user,
    explain,
    once: once && { request: once.request, form: once.form },
  }
  const { onChanges, limits } = database
  const onEnded = (workedMs: number): void => {
    if (workedMs < limits.statementSliceMs) threads.longTexts.delete(text)
  }
  const end = spans?.begin('execute')
  let isEnded = false
  const endOnce = (error?: unknown): void => {
    if (!isEnded) end?.(error)
    isEnded = true
  }
  let reply: ThreadReply | undefined
  try {
    reply = await threads.run({ operation: 'query', data, signal, watch, memoryHolder, onChanges, onEnded })
    if (reply !== undefined) return { chunks: await endingWith(reply.chunks, endOnce) }
    endOnce()
  } catch (error) {
    endOnce(error)
    throw error
  }
  return run(request)
}

/** Parameters get there without the text that is noted with them. */
function textOfParameters(
  parameters: QueryRequest['parameters'],
  { catalogs: { latest } }: QueryResources['database'],
): string | undefined {
  if (parameters === undefined || (latest !== undefined && !hasJsonAttribute(latest))) return undefined
  const hasContainers = Object.values(parameters).some((value) => typeof value === 'object' && value !== null)
  return hasContainers ? textOf(parameters)?.text?.toString() : undefined
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
