/** What an operation of the interface is: one entry gives route, validation, documentation and the `Allow` header. */
import {
  AshlarError,
  type Awaitable,
  type CallerDatabase,
  type CancelSignal,
  type Database,
  type FederatedDatabase,
  type Following,
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
import type { StatementKind } from '../statements/statement.ts'
import type { Statements } from '../statements/statements.ts'
import type { ToolRuns } from '../tools/tool-runs.ts'
import type { RequestTraces } from '../tracing/request-traces.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Schema } from '../wire/json-schema.ts'

/** Of a body: JSON, rows of which each is a line, text for people, a table, an archive, events as they happen, or metrics. */
export type ReplyType = 'json' | 'ndjson' | 'text' | 'csv' | 'gzip' | 'events' | 'metrics'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** An operation that a batch names, and what its URI gives. */
export interface FoundOperation {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  /** A parameter that is given several times is an array. */
  readonly query: Readonly<Record<string, unknown>>
}

export interface OperationRouter {
  /** Throws ResourceNotFound, MethodNotAllowed, MalformedUrl. */
  findOperation(method: string, uri: string): FoundOperation
}

/** What the server offers to every operation. */
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
  /** Of this process, at the moment. */
  readonly processMetrics: () => readonly ReadMetric[]
  readonly router: OperationRouter
  /** Where authentication is on. */
  readonly security: Security | undefined
  /** Where an SDK of OpenTelemetry is registered. */
  readonly traces?: RequestTraces | undefined
  /** Where there is one. */
  readonly audit?: AuditLog | undefined
  /** Where the configuration says where they are kept. */
  readonly backups?: BackupSchedule | undefined
  /** Where the configuration has any. */
  readonly webhooks?: Webhooks | undefined
  /** Who asks where nobody has found that out: everyone without authentication, else nobody. */
  readonly unknownCaller: Caller
  /** Stops the server once the reply is sent. */
  stop(): void
}

/** Where a request comes from. */
export interface Client {
  readonly address: string
  /** See `sharerOf`. */
  readonly sharer: string
  /** By TLS, which ends in this server. */
  readonly isEncrypted: boolean
}

export interface RequestWatch extends QueryWatch {
  /** The client is waited for: others may have its place meanwhile. */
  pauses(): void
  /** The client has sent, or taken, something; what it returns is waited for. Throws as `mayGoOn`. */
  goesOn(): Promise<void> | undefined
  /** How the plans of a query are found, should it take long. */
  explainedBy?(explain: () => Promise<readonly string[]>): void
}

export interface OperationRequest {
  readonly caller: Caller
  readonly client: Client
  readonly params: Readonly<Record<string, string>>
  /** Parameters of the URL, as they are written there. */
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  /** The body as it was sent, if its operation may run in a thread. */
  readonly bodyBytes?: Uint8Array | undefined
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** What the client prefers of what the operation can write. */
  readonly replyType: ReplyType
  readonly service: ServiceContext
  /** Ends when the client goes away, or its statement is stopped. */
  readonly signal: CancelSignal
  /** Where there is an audit log: told of what is to change something by its kind, before it is carried out. Throws AuditLogUnavailable. */
  readonly beforeChange?: (() => void) | undefined
  /** Of a statement: asked before it works on for long, and told how it gets on. `mayGoOn` throws ServerBusy, TooManyStatements, and the signal's reason. */
  readonly watch?: RequestWatch | undefined
  /** Lets a long read continue; from its first call on, the read is listed as a statement. Throws as `watch`. */
  readonly longRead: QueryWatch
  /** Who holds what it takes in memory. */
  readonly memoryHolder: MemoryHolder
  /** How replies tell of what failed. */
  problemOf(error: unknown): Problem
}

/** Of an operation on a federated database. */
export interface FdRequest extends OperationRequest {
  readonly fd: Pick<FederatedDatabase, 'alias'>
  /** What the caller has of it, which is the same one for whoever may have all. */
  readonly database: CallerDatabase
  /** What the caller follows of its changes. */
  following(): Following
  /** Of a step of a transaction: see `QueryRequest`. */
  readonly slice?: StatementSlice | undefined
  /** Of a change with an Idempotency-Key. */
  readonly requestId?: RequestId | undefined
}

/** Of one that is about the whole of it: its callers may have that. */
export interface WholeFdRequest extends FdRequest {
  readonly fd: FederatedDatabase
}

export interface OperationReply {
  /** Where it is not the one that the operation's entry names. */
  readonly status?: number
  /** JSON text in UTF-8, or a value to be written as JSON; nothing for 204. */
  readonly body?: unknown
  /** Instead of a body, where the operation writes rows. */
  readonly rows?: RowChunks
  /** Instead of a body: lines of NDJSON, sent as they come, with status 200 once there are some. */
  readonly lines?: AsyncIterable<Buffer>
  /** Instead of a body, where the reply goes on for as long as its client listens. */
  readonly events?: ServerEvents
  readonly headers?: Readonly<Record<string, string>>
  /** The type of the body, where it is not JSON. */
  readonly type?: ReplyType
}

export interface ServerEvents {
  /** What is thrown is the last event. */
  readonly all: AsyncIterable<ServerEvent>
  /** Aborted where they are to end, whether or not the client takes what was sent. */
  readonly until: CancelSignal
}

/** Of a reply that goes on (text/event-stream); without any field, a heartbeat. */
export interface ServerEvent {
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
  /** With `:name` for path parameters. */
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
  /** What the URL may have beside `fdAlias`. */
  readonly queryParameters?: Readonly<Record<string, QueryParameter>>
  readonly status: number
  readonly reply?: Schema
  /** The reply is rows: a JSON array, or NDJSON where the client prefers that. */
  readonly streamsRows?: true
  /** What the client may ask for, where that is not JSON alone; the first where it does not say. */
  readonly writes?: readonly [ReplyType, ...ReplyType[]]
  /** Whether parameters of the URL ask for a reply that is text/plain instead. */
  asksForText?(query: Readonly<Record<string, unknown>>): boolean
  /** Where parameters of the URL choose the type of the reply, which is rows. */
  replyTypeOf?(request: Pick<OperationRequest, 'query'>): ReplyType
  readonly body?: Schema
  /** The body may also be text/plain, which is then the field `query` of a body. */
  readonly acceptsPlainText?: true
  /** The body is one object: `objectValuesMax` bounds it. */
  readonly bodyIsObject?: true
  /**
   * The body may also be an array of such bodies, all carried out as one commit: the reply is then an array of what each would have had. A request
   * with an array is a statement, as one for a transaction is.
   */
  readonly takesArray?: true
  /** The body may also be lines of NDJSON (`BodyLines`), which the operation reads as they come. Such a request is a statement. */
  readonly takesLines?: true
  /** Where the engine checks the body wholly, with better messages than a schema has. */
  readonly isBodyCheckedByEngine?: true
  /** What else it may answer with, by status. */
  readonly otherReplies?: Readonly<Record<number, { readonly description: string; readonly reply?: Schema }>>
  /** Set for those that cannot be an operation of a transaction. */
  readonly isTransactional?: false
  /** Set for those whose work may be long: they are admitted, listed and stopped as statements; with their text, for people. */
  readonly statement?: { readonly kind: StatementKind; text(body: unknown): string }
  readonly errors: readonly ProblemType[]
}

interface FdOperationEntry extends OperationEntry {
  readonly scope: 'fd'
  /** Where it depends on the request, this is asked before the operation runs. */
  readonly needs: Need | ((request: OperationRequest, fd: FederatedDatabase) => Awaitable<readonly Need[]>)
  /** It sees itself to requests with an Idempotency-Key, because its changes are more than one transaction can be. */
  readonly keepsReply?: true
  /** Which federated database is meant, where more than `fdAlias` says so. */
  chooseFd?(request: OperationRequest): FederatedDatabase
}

interface ByClass extends FdOperationEntry {
  readonly isOfWhole?: undefined
  readonly hasSteps?: undefined
  /** `database`: what the caller has of the federated database, or what a transaction sees of it. */
  run(database: Database, request: FdRequest): OperationReply | Promise<OperationReply>
}

/** It tells of the federated database as a whole: grants for parts of it do not allow it. */
interface OfWhole extends FdOperationEntry {
  readonly isOfWhole: true
  readonly hasSteps?: undefined
  run(database: Database, request: WholeFdRequest): OperationReply | Promise<OperationReply>
}

/** It has steps, each of which is asked for by itself. */
interface WithSteps extends FdOperationEntry {
  readonly isOfWhole?: undefined
  readonly hasSteps: true
  run(database: Database, request: WholeFdRequest): OperationReply | Promise<OperationReply>
}

export type FdOperation = ByClass | OfWhole | WithSteps

/** Independent of a federated database: `fdAlias` is accepted and ignored. */
export interface ServiceOperation extends OperationEntry {
  readonly scope: 'service'
  readonly needs: Need
  run(request: OperationRequest): OperationReply | Promise<OperationReply>
}

export type Operation = FdOperation | ServiceOperation

export type StatementForm = NonNullable<OperationEntry['statement']>

const ofArrays: StatementForm = {
  kind: 'transaction',
  text: (body) =>
    body instanceof UnparsedBody
      ? `objects in ${body.bytes.length} bytes`
      : `${(body as readonly unknown[]).length} objects`,
}

const ofLines: StatementForm = { kind: 'transaction', text: () => 'lines of NDJSON' }

/** How a request with that body is admitted, listed and stopped; undefined where its work is short. */
export function statementOf({ statement, takesArray }: Operation, body: unknown): StatementForm | undefined {
  if (body instanceof BodyLines) return ofLines
  return takesArray === true && (Array.isArray(body) || body instanceof UnparsedBody) ? ofArrays : statement
}

/** Text parameters of the path, by name. */
export function param(request: OperationRequest, name: string): string {
  return request.params[name] ?? ''
}

/** A parameter of the URL; true and false may be quoted. Throws MalformedValue. */
export function booleanParam({ query }: OperationRequest, name: string): boolean {
  const value = query[name]
  if (value === undefined || value === 'false' || value === '"false"') return false
  if (value === 'true' || value === '"true"') return true
  throw new AshlarError('MalformedValue', `The parameter ${name} must be given once, as true or false.`)
}

export function isolationParam({ query: { isolation } }: OperationRequest): Isolation | undefined {
  const level = isolations.find((one) => one === isolation)
  if (isolation === undefined || level !== undefined) return level
  throw new AshlarError('MalformedValue', `The parameter isolation must be given once, as ${isolations.join(' or ')}.`)
}

/** `Prefer: respond-async` (RFC 7240). */
export function wantsAsync({ headers }: OperationRequest): boolean {
  const preferences = [headers.prefer ?? []].flat().join(',').split(',')
  return preferences.some((preference) => preference.split(';', 1)[0]?.trim().toLowerCase() === 'respond-async')
}
