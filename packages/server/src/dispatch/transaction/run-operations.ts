/** POST /v1/transaction: executes operations in order, as one commit (contract 7.1). */
import {
  AshlarError,
  type ChangeFollowing,
  type Database,
  type FederatedDatabase,
  type JsonSource,
  noteText,
  type Once,
  type RowChunk,
  StepFailure,
  textOf,
} from '@ashlar/engine'
import { makeProblem, type Problem } from '../../errors/problem.ts'
import { BodyValidationError, OperationFailure } from '../../errors/request-errors.ts'
import { ServerError } from '../../errors/server-errors.ts'
import { tooManyValues } from '../../json/json-scan.ts'
import { hasMoreValuesThan } from '../../json/parse-text.ts'
import { dispatch, type Execution } from '../dispatch.ts'
import { type FdWideRequest, isolationParam, type Operation, type OperationReply } from '../operation.ts'
import { completeReply } from '../row-framing.ts'
import { type RequestedOperation, readOperations } from './read-operations.ts'
import { substituteInBody, substituteInUri, substituteText } from './substitute-ids.ts'

/** Returns JSON: an array of `{"responseCode", "result"}`. Throws the errors of operations, LimitExceeded, and ClientDisconnected. */
export async function runOperations(request: FdWideRequest, once: Once<Buffer> | undefined): Promise<Buffer> {
  const { service, signal, watch, memoryHolder, slice } = request
  const { limits } = service
  const operations = readOperations(request.body, limits)
  const isRehearsed = operations.some(({ keepsResult }) => !keepsResult)
  let rehearsal: BatchRun | undefined
  const done = request.database.transaction(
    async (step, isRehearsal, between) => {
      // Operations whose results are kept run again on the committed state; the rest reply with the results of the rehearsal of this attempt.
      const earlier = isRehearsal ? undefined : rehearsal
      const run = new BatchRun(request, limits.changeReplyBytesMax)
      for (const operation of operations) {
        const pause = between()
        if (pause !== undefined) await pause
        if (earlier === undefined || operation.keepsResult) await run.one(operation, step(operation.number))
        else run.takeOver(operation, earlier)
      }
      if (isRehearsal) rehearsal = run
      return run.reply()
    },
    isRehearsed,
    once,
    undefined,
    { signal, watch, memoryHolder, slice, isolation: isolationParam(request) },
  )
  return done.catch((error: unknown) => {
    throw error instanceof StepFailure && error.cause instanceof AshlarError
      ? new OperationFailure(error.step, error.cause)
      : error
  })
}

/** Joined only at the end: a Buffer for each of thousands of small replies would cost more than the replies. */
interface Reply {
  readonly head: string
  /** JSON text. */
  readonly result: string | Buffer
  readonly bytes: number
}

class BatchRun {
  private readonly ids = new Map<string, string>()
  private readonly request: Omit<FdWideRequest, 'params' | 'query' | 'body' | 'headers'>
  private readonly bytesMax: number
  /** The text of all operations. */
  private readonly text: JsonSource | undefined
  private readonly replies = new Map<number, Reply>()
  private bytes = 0

  constructor(request: FdWideRequest, bytesMax: number) {
    this.request = plainRequest(request)
    this.bytesMax = bytesMax
    this.text = textOf(request.body as object)
  }

  async one(requested: RequestedOperation, database: Database): Promise<void> {
    try {
      const { operation, reply } = await this.execute(requested, database)
      const { body, rows } = reply
      const result = rows === undefined ? jsonOf(body) : await this.rowsOf(rows, requested.keepsResult)
      const head = `{"responseCode":"${reply.status ?? operation.status}","result":`
      const bytes = head.length + Buffer.byteLength(result) + tail.length
      this.keep(requested, { head, result, bytes })
    } catch (error) {
      if (error instanceof AshlarError || error instanceof ServerError || error instanceof BodyValidationError) {
        throw new OperationFailure(requested.number, error)
      }
      throw error
    }
  }

  reply(): Buffer {
    const pieces: Buffer[] = []
    let text = '['
    let separator = ''
    for (const { head, result } of this.replies.values()) {
      text += separator + head
      separator = ','
      if (typeof result === 'string') text += result
      else {
        pieces.push(Buffer.from(text), result)
        text = ''
      }
      text += tail
    }
    pieces.push(Buffer.from(`${text}]`))
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }

  /** Takes over reply and OID of an operation that is not executed again; references to its object get an error. */
  takeOver(operation: RequestedOperation, rehearsal: BatchRun): void {
    const { number, id } = operation
    const oid = id === undefined ? undefined : rehearsal.ids.get(id)
    if (id !== undefined && oid !== undefined) this.ids.set(id, oid)
    const reply = rehearsal.replies.get(number)
    if (reply !== undefined) this.keep(operation, reply)
  }

  /** Stores a reply; called in request order. Throws LimitExceeded. */
  private keep({ number }: RequestedOperation, reply: Reply): void {
    this.bytes += reply.bytes
    this.checkBytes(this.bytes)
    this.replies.set(number, reply)
  }

  /** Reads rows into an array; a query that is disposed of drops them. Throws LimitExceeded if there are too many to keep. */
  private async rowsOf(rows: AsyncIterable<RowChunk>, keepsResult: boolean): Promise<Buffer> {
    const chunks: RowChunk[] = []
    let bytes = this.bytes
    for await (const chunk of rows) {
      if (!keepsResult) continue
      bytes += chunk.bytes.length
      this.checkBytes(bytes)
      chunks.push(chunk)
    }
    return completeReply(chunks, 'json')
  }

  private checkBytes(bytes: number): void {
    if (bytes <= this.bytesMax) return
    const message = `The replies of the transaction are larger than ${this.bytesMax} bytes (changeReplyBytesMax).`
    throw new AshlarError('LimitExceeded', message)
  }

  private async execute(
    requested: RequestedOperation,
    database: Database,
  ): Promise<{ readonly operation: Operation; readonly reply: OperationReply }> {
    const uri = substituteInUri(requested.uri, this.ids)
    const { operation, params, query } = this.request.service.router.findOperation(requested.method, uri)
    if (operation.isTransactional === false) {
      const message = `${operation.method} ${operation.path} cannot be part of a transaction.`
      throw new AshlarError('MalformedRequest', message)
    }
    const fd = this.resolve(query.fdAlias)
    checkConditions(requested, operation)
    this.checkValues(requested.body, operation)
    const body = this.bodyOf(requested)
    const request: FdWideRequest = { ...this.request, headers: requested.conditions, params, query, body }
    const step: Execution = {
      resolve: () => fd,
      run: (one) => one.run(database, request),
    }
    const reply = await dispatch(operation, request, step)
    if (requested.id !== undefined) this.ids.set(requested.id, createdOid(operation, reply))
    return { operation, reply }
  }

  private bodyOf({ body, number }: RequestedOperation): unknown {
    const { ids } = this
    const text = this.text?.at(number - 1).at('body')
    if (ids.size === 0) return text === undefined ? body : noteText(body, text)
    const substituted = substituteInBody(body, ids)
    return text === undefined
      ? substituted
      : noteText(
          substituted,
          text.replacing((one) => substituteText(one, ids)),
        )
  }

  /** Limits the objects in a body as in a single request; `bodyValuesMax` limits all operations together. */
  private checkValues(body: unknown, { bodyIsObject, takesArray }: Operation): void {
    if (bodyIsObject !== true) return
    if (takesArray === true && Array.isArray(body))
      for (const [position, element] of body.entries())
        this.checkObject(element, `Element ${position} of the body`, `/${position}`)
    else this.checkObject(body, 'The body', '')
  }

  private checkObject(object: unknown, subject: string, pointer: string): void {
    const { objectValuesMax } = this.request.service.limits
    if (!hasMoreValuesThan(objectValuesMax, object)) return
    const message = tooManyValues(objectValuesMax, 'objectValuesMax', subject)
    throw new BodyValidationError(makeProblem('BodyTooLarge', message, [{ pointer, message }]))
  }

  /** All steps of a transaction use one federated database. */
  private resolve(alias: unknown): FederatedDatabase {
    const { fd } = this.request
    if (alias === undefined || alias === fd.alias) return fd
    const message = `The transaction uses the federated database '${fd.alias}'; its operations cannot name another.`
    throw new AshlarError('MalformedRequest', message)
  }
}

const tail = '}'

/** Refuses conditions that the operation would ignore, since the client relies on them. */
function checkConditions({ conditions }: RequestedOperation, { method, path }: Operation): void {
  if (path === '/v1/object/:oid' || !hasFields(conditions)) return
  const message = `ifMatch and ifNoneMatch belong to operations on one object, not to ${method} ${path}.`
  throw new AshlarError('MalformedRequest', message)
}

function jsonOf(body: unknown): string | Buffer {
  if (Buffer.isBuffer(body)) return body
  return body === undefined ? '{}' : JSON.stringify(body)
}

function hasFields(conditions: RequestedOperation['conditions']): boolean {
  for (const _ in conditions) return true
  return false
}

/** Copies the fields by name: spreading would call all getters of the request. */
function plainRequest(request: FdWideRequest): Omit<FdWideRequest, 'params' | 'query' | 'body' | 'headers'> {
  const { beforeChange, caller, client, database, fd, service, signal, watch, longRead, memoryHolder, slice } = request
  const problemOf = (error: unknown): Problem => request.problemOf(error)
  const following = (): ChangeFollowing => request.following()
  const its = { beforeChange, caller, client, database, fd, service, signal, watch, longRead, memoryHolder, slice }
  return { ...its, following, problemOf, replyType: 'json' }
}

function createdOid(operation: Operation, { body }: OperationReply): string {
  const oid = (body as { readonly __identifier__?: unknown } | undefined)?.__identifier__
  if (operation.method === 'POST' && operation.path === '/v1/object' && typeof oid === 'string') return oid
  throw new AshlarError('MalformedRequest', 'Only an operation that creates one object can have an id.')
}
