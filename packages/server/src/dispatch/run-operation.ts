/** Runs an operation on a federated database on the event loop, and continues long ones in a thread after one slice. */
import { type RequestId, Semaphore, type StatementSlice } from '@ashlar/engine'
import { receivedFailure, type SentFailure } from '../errors/request-errors.ts'
import { BodyLines } from '../json/body-lines.ts'
import { UnparsedBody } from '../json/unparsed-body.ts'
import type { Limits } from '../limits.ts'
import { type CallerFacts, everyone } from '../security/caller.ts'
import { checkBody } from './dispatch.ts'
import {
  booleanParam,
  type Client,
  type FdOperation,
  type FdWideRequest,
  type OperationReply,
  statementOf,
} from './operation.ts'
import { onceOf } from './stored-reply.ts'

/** Bodies with more operations or objects start in a thread, since they do not fit into a slice. */
const partsOfSliceMax = 1_000

/** Changes of large objects are not statements. Running few at once leaves threads to statements. */
const largeObjects = new Semaphore(3)

/** Request headers that affect the operation. */
const conditionHeaders = ['if-match', 'if-none-match'] as const

/** A request as plain data. `headers`: only the conditions. */
export interface OperationData extends Pick<FdWideRequest, 'params' | 'query' | 'replyType' | 'headers'> {
  readonly method: string
  readonly path: string
  /** JSON in UTF-8. */
  readonly body: Uint8Array
  /** Undefined for everyone. */
  readonly caller: CallerFacts | undefined
  readonly client: Client
  readonly limits: Limits
  readonly requestId: RequestId | undefined
  readonly isAudited: boolean
}

/** The body of the reply is a Buffer. */
export type OperationResult = { readonly reply: OperationReply } | { readonly failure: SentFailure }

/** Throws the errors of the operation, and AlreadyDone. */
export function runOperation(operation: FdOperation, request: FdWideRequest): OperationReply | Promise<OperationReply> {
  const { body, bodyBytes, beforeChange, database } = request
  const isTransaction = statementOf(operation, body)?.kind === 'transaction' && !(body instanceof BodyLines)
  const isLargeObject = body instanceof UnparsedBody && !isTransaction
  if (!(isTransaction || isLargeObject) || bodyBytes === undefined) return runHere(operation, request)
  const isLong = body instanceof UnparsedBody || (Array.isArray(body) && body.length > partsOfSliceMax)
  const data = (): OperationData => dataOf(operation, request, bodyBytes)
  const run = (slice: StatementSlice | undefined) => runInSlice(operation, request, slice)
  const admitValues = body instanceof UnparsedBody ? body.admitValues : undefined
  const work = { run, inThread: { operation: 'operation', beforeChange, admitValues, data }, received, isLong } as const
  return isLargeObject ? largeObjects.run(() => database.inSlice(work, request)) : database.inSlice(work, request)
}

async function runInSlice(
  operation: FdOperation,
  request: FdWideRequest,
  slice: StatementSlice | undefined,
): Promise<OperationReply> {
  const { body } = request
  if (!(body instanceof UnparsedBody)) return runHere(operation, Object.assign(Object.create(request), { slice }))
  return runChecked(operation, Object.assign(Object.create(request), { slice, body: await body.parse() }))
}

/** Validates a body first checked in a thread. */
export async function runChecked(operation: FdOperation, request: FdWideRequest): Promise<OperationReply> {
  checkBody(operation, request)
  return runHere(operation, request)
}

/** With a key, an operation that does not handle keys itself runs as a transaction of one step, whose commit stores the reply. */
function runHere(operation: FdOperation, request: FdWideRequest): OperationReply | Promise<OperationReply> {
  const isDryRun = operation.queryParameters?.dryRun !== undefined && booleanParam(request, 'dryRun')
  const once = onceOf(request, operation.status, (reply: OperationReply) => reply)
  if (isDryRun || once === undefined || operation.keepsReply === true) return operation.run(request.database, request)
  const { oid } = request.params
  // Only statements are long enough to watch whether their client has disconnected.
  const client = statementOf(operation, request.body) === undefined ? undefined : request
  return request.database.transaction(async (step) => operation.run(step(1), request), false, once, oid, client)
}

function dataOf(
  { method, path }: FdOperation,
  { params, query, headers, replyType, caller, client, service, requestId, beforeChange }: FdWideRequest,
  body: Uint8Array,
): OperationData {
  const { limits } = service
  const facts = caller === everyone ? undefined : factsOf(caller)
  const isAudited = beforeChange !== undefined
  return {
    method,
    path,
    params: { ...params },
    query: { ...query },
    headers: Object.fromEntries(conditionHeaders.map((name) => [name, headers[name]])),
    replyType,
    body,
    caller: facts,
    client,
    limits,
    requestId,
    isAudited,
  }
}

/** Returns the facts of a caller restricted to its own roles. */
function factsOf({
  kind,
  name,
  identity,
  grants,
  bounds,
  customRoles,
  claims,
  credential,
  expiresAtMs,
}: CallerFacts): CallerFacts {
  const used = new Set([...grants, ...(bounds ?? [])].map(({ role }) => role))
  const own = new Map([...(customRoles ?? [])].filter(([role]) => used.has(role)))
  return { kind, name, identity, grants, bounds, customRoles: own, claims, credential, expiresAtMs }
}

function received(result: unknown): OperationReply {
  const sent = result as OperationResult
  if ('failure' in sent) throw receivedFailure(sent.failure)
  const body = sent.reply.body as Uint8Array | undefined
  return body === undefined
    ? sent.reply
    : { ...sent.reply, body: Buffer.from(body.buffer, body.byteOffset, body.length) }
}
