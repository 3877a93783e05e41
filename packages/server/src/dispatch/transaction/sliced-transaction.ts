/** A transaction on the event loop for one slice; if it takes longer, in a thread, from its request as data. */
import type { RequestId } from '@ashlar/engine'
import { receivedFailure, type SentFailure } from '../../errors/sent-failure.ts'
import { UnparsedBody } from '../../json/unparsed-body.ts'
import type { Limits } from '../../limits.ts'
import { type CallerFacts, everyone } from '../../security/caller.ts'
import type { Client, WholeFdRequest } from '../operation.ts'
import { onceOf } from '../run-once.ts'
import { runOperations } from './run-operations.ts'

/** More operations begin in a thread: those of a slice are fewer. */
const operationsOfSliceMax = 1_000

export interface TransactionData {
  /** JSON in UTF-8. */
  readonly body: Uint8Array
  /** Undefined for everyone. */
  readonly caller: CallerFacts | undefined
  readonly client: Client
  readonly limits: Limits
  readonly requestId: RequestId | undefined
  /** There is an audit log. */
  readonly isAudited: boolean
}

export type TransactionResult = { readonly reply: Uint8Array } | { readonly failure: SentFailure }

/** Throws as `runOperations`. */
export function runTransaction(request: WholeFdRequest): Promise<Buffer> {
  const { body, bodyBytes, beforeChange } = request
  const once = onceOf(request, 200, (reply: Buffer) => ({ body: reply }))
  const run = async (slice: Parameters<typeof runOperations>[2]): Promise<Buffer> =>
    runOperations(request, body instanceof UnparsedBody ? await body.parse() : body, slice, once)
  const bytes = body instanceof UnparsedBody ? body.bytes : bodyBytes
  if (bytes === undefined) return run(undefined)
  const isLong = body instanceof UnparsedBody || (Array.isArray(body) && body.length > operationsOfSliceMax)
  const inThread = { operation: 'transaction', beforeChange, data: () => dataOf(request, bytes) }
  return request.database.inSlice({ run, inThread, received, isLong }, request)
}

function dataOf(
  { caller, client, service, requestId, beforeChange }: WholeFdRequest,
  body: Uint8Array,
): TransactionData {
  const { limits } = service
  const facts = caller === everyone ? undefined : factsOf(caller)
  return { body, caller: facts, client, limits, requestId, isAudited: beforeChange !== undefined }
}

/** With its own roles alone. */
function factsOf({
  kind,
  name,
  identity,
  grants,
  bounds,
  ownRoles,
  claims,
  credential,
  expiresAtMs,
}: CallerFacts): CallerFacts {
  const used = new Set([...grants, ...(bounds ?? [])].map(({ role }) => role))
  const own = new Map([...(ownRoles ?? [])].filter(([role]) => used.has(role)))
  return { kind, name, identity, grants, bounds, ownRoles: own, claims, credential, expiresAtMs }
}

function received(result: unknown): Buffer {
  const sent = result as TransactionResult
  if ('failure' in sent) throw receivedFailure(sent.failure)
  const { buffer, byteOffset, length } = sent.reply
  return Buffer.from(buffer, byteOffset, length)
}
