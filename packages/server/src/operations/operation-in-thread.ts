/** An operation of a request in a statement thread, on the same path as on the event loop. */
import { JsonSource, type MemoryHolder, noteText, onlyInMainThread, type ThreadContext } from '@ashlar/engine'
import type { FdOperation, FdWideRequest, ServiceContext } from '../dispatch/operation.ts'
import { Router } from '../dispatch/router.ts'
import { type OperationData, type OperationResult, runChecked } from '../dispatch/run-operation.ts'
import { sentFailure } from '../errors/request-errors.ts'
import { jsonLimitsOf, parseJson } from '../json/parse-json.ts'
import { everyone, makeCaller } from '../security/caller.ts'
import { operations } from './table.ts'

const router = new Router(operations)

/** The main thread charges the memory of the thread to the request. */
const holder: MemoryHolder = { take: () => undefined, giveBack: () => undefined }

export async function runOperationInThread(data: OperationData, context: ThreadContext): Promise<OperationResult> {
  const operation = operations.find(({ method, path }) => method === data.method && path === data.path) as FdOperation
  try {
    const bounds = jsonLimitsOf(data.limits, operation, data.body)
    const body = await parseJson(data.body, bounds, (values) => context.admitValues(values))
    noteText(body, JsonSource.of(data.body))
    const reply = await runChecked(operation, requestOf(data, body, context))
    return { reply: reply.body === undefined ? reply : { ...reply, body: bytesOf(reply.body) } }
  } catch (error) {
    const failure = sentFailure(error)
    if (failure === undefined) throw error
    return { failure }
  }
}

function requestOf(
  { params, query, headers, replyType, caller, client, limits, requestId, isAudited }: OperationData,
  body: unknown,
  { fd, database, slice, signal, watch, beforeChange }: ThreadContext,
): FdWideRequest {
  return {
    caller: caller === undefined ? everyone : makeCaller(caller),
    client,
    params,
    query,
    headers,
    body,
    replyType,
    service: serviceOf({ limits, router }),
    slice,
    signal,
    beforeChange: isAudited ? beforeChange : undefined,
    watch: { ...watch, pauses: () => undefined, proceeds: () => undefined },
    longRead: watch,
    memoryHolder: holder,
    fd,
    database,
    requestId: requestId && { ...requestId, fingerprint: Buffer.from(requestId.fingerprint) },
    following: refuse,
    problemOf: refuse,
  }
}

/** Returns the services available in a thread; the rest need the main thread. */
function serviceOf(available: Pick<ServiceContext, 'limits' | 'router'>): ServiceContext {
  return new Proxy(available, {
    get: (_target, name) => (name in available ? available[name as keyof typeof available] : refuse()),
  }) as ServiceContext
}

function refuse(): never {
  throw onlyInMainThread
}

function bytesOf(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))
}
