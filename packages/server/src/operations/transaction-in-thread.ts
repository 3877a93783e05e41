/** The transaction of a request in a statement thread, on the same path as on the event loop. */
import { type MemoryHolder, onlyInMainThread, type ThreadContext } from '@ashlar/engine'
import type { ServiceContext, WholeFdRequest } from '../dispatch/operation.ts'
import { Router } from '../dispatch/router.ts'
import { onceOf } from '../dispatch/run-once.ts'
import { runOperations } from '../dispatch/transaction/run-operations.ts'
import type { TransactionData, TransactionResult } from '../dispatch/transaction/sliced-transaction.ts'
import type { Problem } from '../errors/problem.ts'
import { sentFailure } from '../errors/sent-failure.ts'
import { parseJson } from '../json/parse-json.ts'
import { everyone, makeCaller } from '../security/caller.ts'
import { operations } from './table.ts'

const router = new Router(operations)

/** The main thread charges the holder with what the thread takes. */
const holder: MemoryHolder = { take: () => undefined, giveBack: () => undefined }

export async function runTransactionInThread(
  data: TransactionData,
  context: ThreadContext,
): Promise<TransactionResult> {
  const { jsonDepthMax: depthMax, bodyValuesMax: valuesMax } = data.limits
  const request = requestOf(data, context)
  try {
    const body = await parseJson(data.body, { depthMax, valuesMax, valuesLimit: 'bodyValuesMax' })
    const once = onceOf(request, 200, (reply: Buffer) => ({ body: reply }))
    return { reply: await runOperations(request, body, context.slice, once) }
  } catch (error) {
    const failure = sentFailure(error)
    if (failure === undefined) throw error
    return { failure }
  }
}

function requestOf(
  { caller, client, limits, requestId, isAudited }: TransactionData,
  { fd, database, signal, watch, beforeChange }: ThreadContext,
): WholeFdRequest {
  return {
    caller: caller === undefined ? everyone : makeCaller(caller),
    client,
    params: {},
    query: {},
    headers: {},
    body: undefined,
    replyType: 'json',
    service: serviceOf({ limits, router }),
    signal,
    beforeChange: isAudited ? beforeChange : undefined,
    watch: { ...watch, pauses: () => undefined, goesOn: () => undefined },
    longRead: watch,
    memoryHolder: holder,
    fd,
    database,
    requestId: requestId && { ...requestId, fingerprint: Buffer.from(requestId.fingerprint) },
    following: refuse,
    problemOf: refuse as () => Problem,
  }
}

/** What else operations ask of the service is in the main thread. */
function serviceOf(known: Pick<ServiceContext, 'limits' | 'router'>): ServiceContext {
  return new Proxy(known, {
    get: (_known, name) => (name in known ? known[name as keyof typeof known] : refuse()),
  }) as ServiceContext
}

function refuse(): never {
  throw onlyInMainThread
}
