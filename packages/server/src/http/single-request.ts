/** An HTTP request for one operation: the input of the operation, and its execution. */
import {
  type AccessPolicy,
  AshlarError,
  type CallerDatabase,
  type CancelSignal,
  type ChangeFollowing,
  type FederatedDatabase,
  type MemoryHolder,
  type QueryWatch,
  type RequestId,
} from '@ashlar/engine'
import type { AuditLog, RequestAudit } from '../audit/audit-log.ts'
import type { Execution } from '../dispatch/dispatch.ts'
import type {
  Client,
  FdOperation,
  FdRequest,
  FdWideRequest,
  OperationReply,
  ReplyType,
  ServiceContext,
  StatementForm,
} from '../dispatch/operation.ts'
import { runOnce } from '../dispatch/run-once.ts'
import { runOperation } from '../dispatch/run-operation.ts'
import type { Problem } from '../errors/problem.ts'
import { ClientDisconnected } from '../errors/request-errors.ts'
import { BodyLines } from '../json/body-lines.ts'
import type { Caller } from '../security/caller.ts'
import { clientAddressOf } from '../shares/client-address.ts'
import { sharerOf } from '../shares/sharer.ts'
import type { RunningStatement } from '../statements/statement.ts'
import { StopSignal } from '../statements/stop-signal.ts'
import type { HttpRequest } from './http-request.ts'
import { requestIdOf } from './request-id.ts'
import { toProblem } from './send-problem.ts'

/** A request for one operation, including its account of memory (`memoryHolder`) and its long reads (`longRead`). */
export class SingleRequest implements FdWideRequest, Execution, MemoryHolder, QueryWatch {
  readonly caller: Caller
  readonly params: FdRequest['params']
  readonly query: FdRequest['query']
  readonly body: unknown
  readonly bodyBytes: Buffer | undefined
  readonly headers: FdRequest['headers']
  readonly replyType: ReplyType
  readonly service: ServiceContext
  readonly beforeChange: (() => void) | undefined
  /** Set before the operation runs. */
  fd!: FederatedDatabase
  database!: CallerDatabase
  private policy: AccessPolicy | undefined
  requestId: RequestId | undefined
  /** The statement of an operation that may take long, after its start. */
  statement: RunningStatement | undefined
  private readonly form: StatementForm | undefined
  private readonly request: HttpRequest
  private currentSignal: CancelSignal | undefined
  /** Created on demand: most requests use little memory. */
  private share: MemoryHolder | undefined

  /** `form`: for admission and the list of statements, if it may take long. */
  constructor(request: HttpRequest, replyType: ReplyType, service: ServiceContext, form: StatementForm | undefined) {
    this.caller = request.caller ?? service.unknownCaller
    this.form = form
    this.params = request.params
    this.query = request.query
    this.body = request.body
    this.bodyBytes = request.bodyBytes
    this.headers = request.headers
    this.replyType = replyType
    this.service = service
    this.beforeChange = changeRecorder(service.audit, request.audit)
    this.request = request
  }

  get client(): Client {
    const { raw } = this.request
    const { socket } = raw
    const isEncrypted = 'encrypted' in socket && socket.encrypted === true
    return { address: clientAddressOf(raw), sharer: sharerOf(this.request), isEncrypted }
  }

  following(): ChangeFollowing {
    return this.fd.following(this.policy)
  }

  get memoryHolder(): MemoryHolder {
    return this
  }

  /** Throws TooManyRequests without charging the memory. */
  take(bytes: number): void {
    this.share ??= this.service.memoryShares.holder(() => sharerOf(this.request), this.request.raw.socket)
    this.share.take(bytes)
  }

  giveBack(bytes: number): void {
    this.share?.giveBack(bytes)
  }

  get watch(): FdRequest['watch'] {
    return this.statement
  }

  get longRead(): QueryWatch {
    return this.statement ?? this
  }

  /** The owner of a read that is not a statement: slices alternate between owners. */
  get owner(): string {
    return sharerOf(this.request)
  }

  /** Registers a long read as a statement, which is admitted, listed, can be stopped, and ends with its client. */
  mayContinue(): Promise<void> | undefined {
    this.statement ??= this.lateStatement()
    this.statement.signal.throwIfAborted()
    return this.statement.mayContinue()
  }

  private lateStatement(): RunningStatement {
    const { method, url } = this.request
    const [path = ''] = url.split('?', 1)
    const statement = this.service.statements.begin('read', `${method} ${path}`, this.fd.alias, this.request)
    statement.lasts()
    return statement
  }

  problemOf(error: unknown): Problem {
    return toProblem(error, this.request)
  }

  /** Created on demand: most operations end before a client could disconnect. */
  get signal(): CancelSignal {
    this.currentSignal ??= this.statement?.signal ?? signalOf(this.request)
    return this.currentSignal
  }

  resolve(operation: FdOperation): FederatedDatabase {
    return operation.chooseFd?.(this) ?? this.service.federatedDatabases.resolve(this.query.fdAlias, this.caller)
  }

  run(
    operation: FdOperation,
    fd: FederatedDatabase,
    policy: AccessPolicy | undefined,
  ): OperationReply | Promise<OperationReply> {
    this.begin(operation, fd, policy)
    if (this.body instanceof BodyLines) refuseKey(this.request)
    // Reads are idempotent.
    else this.requestId = operation.method === 'GET' ? undefined : requestIdOf(this.request, this.caller)
    return this.form === undefined ? this.execute(operation) : this.runStatement(operation, this.form)
  }

  /** Prepares the database, observed by the audit log. */
  private begin({ method }: FdOperation, fd: FederatedDatabase, policy: AccessPolicy | undefined): void {
    const { audit, span } = this.request
    span?.setAttribute('db.namespace', fd.alias)
    const isChange = method !== 'GET'
    // Expressions of the schema may refer to the user who makes a change.
    const user = policy === undefined && isChange ? this.caller.userOn(fd.alias) : null
    this.fd = user === null ? fd : fd.usedBy(user)
    this.policy = policy
    this.database = policy === undefined ? this.fd : fd.as(policy)
    if (audit === undefined) return
    audit.fd = fd.alias
    if (!isChange) return
    if (policy === undefined) this.fd = this.database = this.fd.observedBy(audit.changed)
    else this.database = this.database.observedBy(audit.changed)
  }

  private runStatement(
    operation: FdOperation,
    { kind, text }: StatementForm,
  ): OperationReply | Promise<OperationReply> {
    const { statements } = this.service
    const statement = statements.begin(kind, text(this.body), this.fd.alias, this.request)
    this.statement = statement
    // The earlier signal covers only the client.
    this.currentSignal = undefined
    this.request.span?.setAttribute('ashlar.statement.id', statement.id)
    const admission = statement.mayBegin()
    const answer = admission === undefined ? this.execute(operation) : admission.then(() => this.execute(operation))
    if (answer instanceof Promise) statement.lasts()
    return answer
  }

  private execute(operation: FdOperation): OperationReply | Promise<OperationReply> {
    return this.requestId === undefined ? runOperation(operation, this) : runOnce(operation, this)
  }
}

/** Refuses an Idempotency-Key for a stream of lines, whose outcome is reported line by line. Throws MalformedRequest. */
function refuseKey({ headers }: HttpRequest): void {
  if (headers['idempotency-key'] === undefined) return
  const message =
    'Idempotency-Key is not supported for NDJSON: send unacknowledged lines again, with upsertOn if the outcome is unknown.'
  throw new AshlarError('MalformedRequest', message)
}

function changeRecorder(log: AuditLog | undefined, audit: RequestAudit | undefined): (() => void) | undefined {
  if (log === undefined || audit === undefined) return undefined
  return () => {
    audit.isChange = true
    log.check()
  }
}

function signalOf({ response }: HttpRequest): CancelSignal {
  const signal = new StopSignal()
  response.once('close', () => {
    if (!response.writableFinished) signal.abort(new ClientDisconnected())
  })
  return signal
}
