/** Operations of a transaction, which have the form of requests (contract 7.1). */
import type {
  CreateObjectBody,
  QueryBody,
  TransactionOperation,
  TransactionResult,
  UpdateObjectBody,
} from '@ashlar/client'
import { AshlarError, type CancelSignal, type Database } from '@ashlar/engine'
import {
  OperationFailure,
  type RequestedOperation,
  readOperations,
  substituteInBody,
  substituteInUri,
} from '@ashlar/server/in-process'
import { create, createAll, readTagged, remove, runQuery, update } from './calls.ts'
import type { JsonReader } from './json-reader.ts'
import { limits } from './limits.ts'

/** The operations of one transaction, in their order; each may refer to objects that those before it have created. */
export class Operations {
  readonly all: readonly RequestedOperation[]
  private readonly reader: JsonReader

  /** Throws MalformedRequest, UnknownField, LimitExceeded. */
  constructor(body: readonly TransactionOperation[], reader: JsonReader) {
    this.all = readOperations(body, limits)
    this.reader = reader
    const disposed = this.all.find(({ keepsResult }) => !keepsResult)
    if (disposed !== undefined) throw refused(disposed, "has the result 'dispose'")
  }

  /** A run of all operations, for which those of an earlier attempt do not count. */
  begin(): OperationsRun {
    return new OperationsRun(this.reader)
  }
}

class OperationsRun {
  private readonly ids = new Map<string, string>()
  private readonly reader: JsonReader

  constructor(reader: JsonReader) {
    this.reader = reader
  }

  /** Throws OperationFailure. */
  async one(operation: RequestedOperation, database: Database, signal?: CancelSignal): Promise<TransactionResult> {
    try {
      return await this.execute(operation, database, signal)
    } catch (error) {
      throw error instanceof AshlarError ? new OperationFailure(operation.number, error) : error
    }
  }

  private async execute(
    operation: RequestedOperation,
    database: Database,
    signal: CancelSignal | undefined,
  ): Promise<TransactionResult> {
    const { method, id, conditions } = operation
    const uri = substituteInUri(operation.uri, this.ids)
    const body = this.ids.size === 0 ? operation.body : substituteInBody(operation.body, this.ids)
    const ifMatch = conditions['if-match']
    const oid = /^\/v1\/object\/([^/?]+)$/.exec(uri)?.[1]
    switch (`${method.toUpperCase()} ${oid === undefined ? uri : '/v1/object/:oid'}`) {
      case 'POST /v1/query':
        return { responseCode: '200', result: await runQuery(database, body as QueryBody, this.reader, signal) }
      case 'POST /v1/object': {
        if (Array.isArray(body)) return { responseCode: '201', result: await createAll(database, body, signal) }
        const result = await create(database, body as CreateObjectBody, signal)
        if (id !== undefined) this.ids.set(id, result.__identifier__)
        return { responseCode: '201', result }
      }
      case 'GET /v1/object/:oid':
        return {
          responseCode: '200',
          result: this.reader.read((await readTagged(database, decodeURIComponent(oid ?? ''))).json),
        }
      case 'PUT /v1/object/:oid':
        await update(database, decodeURIComponent(oid ?? ''), body as UpdateObjectBody, ifMatch, signal)
        return { responseCode: '204', result: {} }
      case 'DELETE /v1/object/:oid':
        await remove(database, decodeURIComponent(oid ?? ''), ifMatch, signal)
        return { responseCode: '204', result: {} }
      default:
        throw refused(operation, 'is not one on objects or a query')
    }
  }
}

function refused({ method, uri, number }: RequestedOperation, why: string): AshlarError {
  const message = `Operation ${number} (${method} ${uri}) ${why}, which only a server executes.`
  return new AshlarError('MalformedRequest', message, [{ place: [number - 1], message }])
}
