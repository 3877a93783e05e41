/** The declaration of an operation, from which route, validation, documentation and the `Allow` header follow. */
import {
  AshlarError,
  type CallerDatabase,
  type CancelSignal,
  type ChangeFollowing,
  type Database,
  type FederatedDatabase,
  type Isolation,
  isolations,
  type MemoryHolder,
  type QueryWatch,
  type RequestId,
  type RowChunks,
  type StatementSlice,
} from '@ashlar/engine'
import type { AuditLog } from '../audit/audit-log.ts'
import type { BackupSchedule } from '../backups/backup-schedule.ts'
import type { Problem } from '../errors/problem.ts'
import type { ProblemType } from '../errors/server-errors.ts'
import type { FederatedDatabases } from '../federated-databases.ts'
import { BodyLines } from '../json/body-lines.ts'
import { UnparsedBody } from '../json/unparsed-body.ts'
import type { Limits } from '../limits.ts'
import type { ReadMetric } from '../metrics/metric.ts'
import type { Peers } from '../peers/peers.ts'
import type { Caller } from '../security/caller.ts'
import type { Need } from '../security/roles.ts'
import type { Security } from '../security/security.ts'
import type { ChangeFollowers } from '../statements/change-followers.ts'
import type { MemoryShares } from '../statements/memory-shares.ts'
import type { RunningKind } from '../statements/statement.ts'
import type { Statements } from '../statements/statements.ts'
import type { ToolRuns } from '../tools/tool-runs.ts'
import type { RequestTraces } from '../tracing/request-traces.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Schema } from '../wire/json-schema.ts'

/** The kind of a reply: JSON, one row per line, plain text, a table, an archive, events, or metrics. */
export type ReplyType = 'json' | 'ndjson' | 'text' | 'csv' | 'gzip' | 'events' | 'metrics'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** An operation found by the method and URI of a step, with the parameters of its URI. */
export interface FoundOperation {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  /** A repeated parameter is an array. */
  readonly query: Readonly<Record<string, unknown>>
}

export interface OperationRouter {
  /** Throws ResourceNotFound, MethodNotAllowed, MalformedUrl. */
  findOperation(method: string, uri: string): FoundOperation
}

export interface ServiceContext {
  readonly federatedDatabases: FederatedDatabases
  readonly limits: Limits
  readonly startedAt: number
  readonly isShutdownAllowed: boolean
  /** The resources of the interface, as GET /v1 lists them. */
  readonly resources: readonly { readonly uri: string; readonly supportedMethods: readonly Method[] }[]
  readonly toolRuns: ToolRuns
  readonly peers: Peers
  readonly statements: Statements
  readonly memoryShares: MemoryShares
  readonly followers: ChangeFollowers
  readonly processMetrics: () => readonly ReadMetric[]
  readonly router: OperationRouter
  /** Undefined without authentication. */
  readonly security: Security | undefined
  /** Undefined without a registered OpenTelemetry SDK. */
  readonly traces?: RequestTraces | undefined
  readonly audit?: AuditLog | undefined
  readonly backups?: BackupSchedule | undefined
  readonly webhooks?: Webhooks | undefined
  /** The caller of unauthenticated requests: `everyone` without authentication, otherwise a caller without permissions. */
  readonly unknownCaller: Caller
  /** Stops the server after the reply is sent. */
  stop(): void
}

export interface Client {
  readonly address: string
  /** See `sharerOf`. */
  readonly sharer: string
  /** Whether the connection to this server uses TLS. */
  readonly isEncrypted: boolean
}

export interface RequestWatch extends QueryWatch {
  /** Call while waiting for the client; another request may take its slot. */
  pauses(): void
  /** Call when the client has sent or received something, and await the result. Throws as `mayContinue`. */
  proceeds(): Promise<void> | undefined
  explainedBy?(explain: () => Promise<readonly string[]>): void
}

export interface OperationRequest {
  readonly caller: Caller
  readonly client: Client
  readonly params: Readonly<Record<string, string>>
  /** Unparsed parameters of the URL. */
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  /** The body as received, if its operation may run in a thread. */
  readonly bodyBytes?: Uint8Array | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The reply type of the operation that the client prefers. */
  readonly replyType: ReplyType
  readonly service: ServiceContext
  /** Aborted when the client disconnects or the statement is stopped. */
  readonly signal: CancelSignal
  /** With an audit log: called before a change is executed. Throws AuditLogUnavailable. */
  readonly beforeChange?: (() => void) | undefined
  /** For statements: awaited before longer work. `mayContinue` throws ServerBusy, TooManyStatements, and the signal's reason. */
  readonly watch?: RequestWatch | undefined
  /** Watches a long read; its first call lists the read as a statement. Throws as `watch`. */
  readonly longRead: QueryWatch
  readonly memoryHolder: MemoryHolder
  problemOf(error: unknown): Problem
}

export interface FdRequest extends OperationRequest {
  readonly fd: Pick<FederatedDatabase, 'alias'>
  readonly database: CallerDatabase
  /** Returns access to the change feed with the caller's rights. */
  following(): ChangeFollowing
  /** For steps of a transaction: see `QueryRequest`. */
  readonly slice?: StatementSlice | undefined
  /** For changes with an Idempotency-Key. */
  readonly requestId?: RequestId | undefined
}

export interface FdWideRequest extends FdRequest {
  readonly fd: FederatedDatabase
}

export interface OperationReply {
  readonly status?: number
  /** JSON text in UTF-8, or a value to be written as JSON; nothing for 204. */
  readonly body?: unknown
  /** Replaces `body` if the operation writes rows. */
  readonly rows?: RowChunks
  /** Replaces `body`: lines of NDJSON, sent as they are produced, with status 200. */
  readonly lines?: AsyncIterable<Buffer>
  /** Replaces `body`: events, sent until the client disconnects. */
  readonly events?: ServerEvents
  readonly headers?: Readonly<Record<string, string>>
  /** The type of the body, if it is not JSON. */
  readonly type?: ReplyType
}

export interface ServerEvents {
  /** An error becomes the last event. */
  readonly all: AsyncIterable<ReplyEvent>
  /** Aborted to end the events, even if the client has not read them all. */
  readonly until: CancelSignal
}

/** An event of a text/event-stream reply; without any field, a heartbeat. */
export interface ReplyEvent {
  readonly name?: string
  readonly id?: string
  /** JSON in UTF-8, on one line. */
  readonly data?: Buffer
}

interface QueryParameter {
  readonly description: string
  readonly schema: Schema
}

interface OperationEntry {
  readonly method: Method
  /** Path parameters appear as `:name`. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tag:
    | 'Service'
    | 'Schema'
    | 'Objects'
    | 'Indexes'
    | 'Queries'
    | 'Changes'
    | 'Transactions'
    | 'Statements'
    | 'Tools'
    | 'Security'
  readonly params?: Readonly<Record<string, string>>
  /** Parameters of the URL, except `fdAlias`. */
  readonly queryParameters?: Readonly<Record<string, QueryParameter>>
  readonly status: number
  readonly reply?: Schema
  /** The reply is rows: a JSON array, or NDJSON if the client prefers it. */
  readonly streamsRows?: true
  /** Available reply types if not only JSON; the first is the default. */
  readonly writes?: readonly [ReplyType, ...ReplyType[]]
  /** Returns true if the URL requests a reply of text/plain. */
  returnsText?(query: Readonly<Record<string, unknown>>): boolean
  /** Returns the type of a reply of rows if the URL selects it. */
  replyTypeOf?(request: Pick<OperationRequest, 'query'>): ReplyType
  readonly body?: Schema
  /** The body may also be text/plain, which replaces a body with the field `query`. */
  readonly acceptsPlainText?: true
  /** The body is a single object, limited by `objectValuesMax`. */
  readonly bodyIsObject?: true
  /** The body may also be an array, executed as one commit and answered by an array. Such a request is a statement, like a transaction. */
  readonly takesArray?: true
  /** The body may also be lines of NDJSON (`BodyLines`), which the operation reads as they arrive. Such a request is a statement. */
  readonly takesLines?: true
  /** The engine checks the body, with better messages than a schema. */
  readonly isBodyCheckedByEngine?: true
  readonly otherReplies?: Readonly<Record<number, { readonly description: string; readonly reply?: Schema }>>
  /** False for operations that a transaction cannot contain. */
  readonly isTransactional?: false
  /** Set if the operation may take long: it is then admitted, listed and stopped as a statement. `text` is shown in the list. */
  readonly statement?: { readonly kind: RunningKind; text(body: unknown): string }
  readonly errors: readonly ProblemType[]
}

interface FdOperationEntry extends OperationEntry {
  readonly scope: 'fd'
  /** A function if the need depends on the request. */
  readonly needs: Need | ((request: OperationRequest, fd: FederatedDatabase) => Promise<readonly Need[]>)
  /** The operation handles Idempotency-Keys itself, because its changes may need several transactions. */
  readonly keepsReply?: true
  /** Selects the federated database by further parameters than `fdAlias`. */
  chooseFd?(request: OperationRequest): FederatedDatabase
}

interface ByClass extends FdOperationEntry {
  readonly isFdWide?: undefined
  readonly hasSteps?: undefined
  /** `database`: the federated database with the caller's permissions, or its state within a transaction. */
  run(database: Database, request: FdRequest): OperationReply | Promise<OperationReply>
}

/** An operation on a whole federated database, for which permissions on parts do not suffice. */
interface FdWideOperation extends FdOperationEntry {
  readonly isFdWide: true
  readonly hasSteps?: undefined
  run(database: Database, request: FdWideRequest): OperationReply | Promise<OperationReply>
}

/** An operation with steps, each of which is authorized separately. */
interface WithSteps extends FdOperationEntry {
  readonly isFdWide?: undefined
  readonly hasSteps: true
  run(database: Database, request: FdWideRequest): OperationReply | Promise<OperationReply>
}

export type FdOperation = ByClass | FdWideOperation | WithSteps

/** Independent of a federated database: `fdAlias` is accepted and ignored. */
export interface ServiceOperation extends OperationEntry {
  readonly scope: 'service'
  readonly needs: Need
  run(request: OperationRequest): OperationReply | Promise<OperationReply>
}

export type Operation = FdOperation | ServiceOperation

export type StatementForm = NonNullable<OperationEntry['statement']>

const arrayForm: StatementForm = {
  kind: 'transaction',
  text: (body) =>
    body instanceof UnparsedBody
      ? `objects in ${body.bytes.length} bytes`
      : `${(body as readonly unknown[]).length} objects`,
}

const linesForm: StatementForm = { kind: 'transaction', text: () => 'lines of NDJSON' }

/** Returns how a request with this body is admitted and listed as a statement; undefined for short operations. */
export function statementOf({ statement, takesArray }: Operation, body: unknown): StatementForm | undefined {
  if (body instanceof BodyLines) return linesForm
  const isArray = Array.isArray(body) || (body instanceof UnparsedBody && body.isArray)
  return takesArray === true && isArray ? arrayForm : statement
}

/** Text parameters of the path, by name. */
export function param(request: OperationRequest, name: string): string {
  return request.params[name] ?? ''
}

/** Returns a boolean parameter of the URL, quoted or not. Throws MalformedValue. */
export function booleanParam({ query }: OperationRequest, name: string, isDefault = false): boolean {
  const value = query[name]
  if (value === undefined) return isDefault
  if (value === 'false' || value === '"false"') return false
  if (value === 'true' || value === '"true"') return true
  throw new AshlarError('MalformedValue', `The parameter ${name} must be specified once, as true or false.`)
}

export function isolationParam({ query: { isolation } }: OperationRequest): Isolation | undefined {
  if (isolation === undefined) return undefined
  const level = isolations.find((one) => one === isolation)
  if (level !== undefined) return level
  throw new AshlarError(
    'MalformedValue',
    `The parameter isolation must be specified once, as ${isolations.join(' or ')}.`,
  )
}

/** Returns true for `Prefer: respond-async` (RFC 7240). */
export function wantsAsync({ headers }: OperationRequest): boolean {
  const preferences = [headers.prefer ?? []].flat().join(',').split(',')
  return preferences.some((preference) => preference.split(';', 1)[0]?.trim().toLowerCase() === 'respond-async')
}
