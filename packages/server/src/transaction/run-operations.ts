/** POST /v1/transaction: operations of the interface, one after the other, as one commit (REST interface, section 7). */
import { AshlarError, type Database, type Once } from '@ashlar/engine'
import type { FdRequest, Operation, OperationReply } from '../operations/operation.ts'
import { BodyFault, checkBodyIsThere, OperationFailure } from '../problem.ts'
import { ServerError } from '../server-errors.ts'
import type { OperationFinder } from './find-operation.ts'
import { type RequestedOperation, readOperations } from './read-operations.ts'
import { substituteInBody, substituteInUri } from './substitute-ids.ts'

/** The reply: an array of `{"responseCode", "result"}`, as JSON text. Throws what the operations throw. */
export async function runOperations(
  request: FdRequest,
  finder: OperationFinder,
  once: Once<Buffer> | undefined,
): Promise<Buffer> {
  const { limits } = request.service
  const operations = readOperations(request.body, limits.transactionOperationsMax)
  const isRehearsed = operations.some(({ isKept }) => !isKept)
  return request.fd.transaction(
    async (step, isRehearsal) => {
      const run = new Run(request, finder, limits.changeReplyBytesMax)
      // The OIDs are the same in both runs: what refers to a disposed object is told so.
      if (isRehearsed && !isRehearsal) run.ids = lastIds.get(request) ?? run.ids
      for (const operation of operations) {
        if (isRehearsed && !isRehearsal && !operation.isKept) continue
        await run.one(operation, step(operation.number))
      }
      if (isRehearsal) lastIds.set(request, run.ids)
      return run.reply()
    },
    isRehearsed,
    once,
  )
}

/** What the rehearsal of a request gave its objects. */
const lastIds = new WeakMap<FdRequest, Map<string, string>>()

class Run {
  ids = new Map<string, string>()
  private readonly request: FdRequest
  private readonly finder: OperationFinder
  private readonly bytesMax: number
  private readonly replies: Buffer[] = []
  private bytes = 0

  constructor(request: FdRequest, finder: OperationFinder, bytesMax: number) {
    this.request = request
    this.finder = finder
    this.bytesMax = bytesMax
  }

  async one(requested: RequestedOperation, database: Database): Promise<void> {
    try {
      const { operation, reply } = await this.carryOut(requested, database)
      const result = await resultOf(reply, requested.isKept)
      this.keep(`{"responseCode":"${reply.status ?? operation.status}","result":`, result)
    } catch (error) {
      if (error instanceof AshlarError || error instanceof ServerError || error instanceof BodyFault) {
        throw new OperationFailure(requested.number, error)
      }
      throw error
    }
  }

  reply(): Buffer {
    const texts = this.replies.flatMap((reply, i) => (i === 0 ? [reply] : [comma, reply]))
    return Buffer.concat([Buffer.from('['), ...texts, Buffer.from(']')])
  }

  private async carryOut(
    requested: RequestedOperation,
    database: Database,
  ): Promise<{ readonly operation: Operation; readonly reply: OperationReply }> {
    const uri = substituteInUri(requested.uri, this.ids)
    const { operation, params, query } = this.finder.find(requested.method, uri)
    if (operation.standsAlone === true) {
      const message = `${operation.method} ${operation.path} stands alone: it cannot be part of a transaction.`
      throw new AshlarError('MalformedRequest', message)
    }
    this.checkAlias(query.fdAlias)
    const body = substituteInBody(requested.body, this.ids)
    if (operation.isBodyCheckedByEngine === true) checkBodyIsThere(body)
    else if (operation.body !== undefined) this.request.check(operation.body, body)
    const request: FdRequest = { ...plainRequest(this.request), params, query, body }
    const reply = await (operation.scope === 'service' ? operation.run(request) : operation.run(database, request))
    if (requested.id !== undefined) this.ids.set(requested.id, createdOid(operation, reply))
    return { operation, reply }
  }

  /** One federated database a transaction. */
  private checkAlias(alias: unknown): void {
    if (alias === undefined || alias === this.request.fd.alias) return
    const message = `The transaction is one of the federated database '${this.request.fd.alias}'; no operation may name another.`
    throw new AshlarError('MalformedRequest', message)
  }

  private keep(head: string, result: Buffer): void {
    this.bytes += head.length + result.length
    if (this.bytes > this.bytesMax) {
      const message = `The replies of the transaction are more than ${this.bytesMax} bytes (changeReplyBytesMax).`
      throw new AshlarError('LimitExceeded', message)
    }
    this.replies.push(Buffer.concat([Buffer.from(head), result, brace]))
  }
}

const comma = Buffer.from(',')
const brace = Buffer.from('}')

/** Spread, the getters of the request would all be asked. */
function plainRequest({ fd, service, check, signal }: FdRequest): Omit<FdRequest, 'params' | 'query' | 'body'> {
  return { fd, service, check, signal, replyType: 'json', headers: {} }
}

function createdOid(operation: Operation, { body }: OperationReply): string {
  const oid = (body as { readonly __identifier__?: unknown } | undefined)?.__identifier__
  if (operation.method === 'POST' && operation.path === '/v1/object' && typeof oid === 'string') return oid
  throw new AshlarError('MalformedRequest', 'An id belongs to an operation that creates an object.')
}

/** Rows as an array; a query that is disposed of leaves its rows out. */
async function resultOf({ body, rows }: OperationReply, isKept: boolean): Promise<Buffer> {
  if (rows !== undefined) {
    const chunks: Buffer[] = []
    for await (const chunk of rows) if (isKept) chunks.push(chunk)
    return Buffer.concat([Buffer.from('['), ...chunks, Buffer.from(']')])
  }
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(body === undefined ? '{}' : JSON.stringify(body))
}
