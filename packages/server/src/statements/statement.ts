/** A running statement: its caller, progress, and end. */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { AshlarError, type QueryProgress } from '@ashlar/engine'
import { ClientDisconnected } from '../errors/request-errors.ts'
import { listedTextCharactersMax } from '../limits.ts'
import { type Caller, credentialText } from '../security/caller.ts'
import type { Waiter } from '../shares/share-queue.ts'
import type { AbortedReplies } from './aborted-replies.ts'
import type { Admission, PausedReply } from './admission.ts'
import type { Explain, SlowQueries } from './slow-queries.ts'
import { StopSignal } from './stop-signal.ts'

/** `read`: a read of one object that takes long. */
export type RunningKind = 'query' | 'transaction' | 'tool' | 'read'

export interface StatementFacts {
  readonly kind: RunningKind
  readonly text: string
  readonly fdAlias: string
  readonly clientAddress: string
}

/** A statement as listed by GET /v1/statement; a long text is truncated. */
export interface StatementRecord extends StatementFacts {
  readonly id: string
  readonly startedAt: string
  /** queued: waiting for a turn or a slot; running; sending: sending rows. */
  readonly state: 'queued' | 'running' | 'sending'
  /** Bytes of rows, before compression. */
  readonly bytesSent: number
  /** Queries: rows of the reply so far. */
  readonly rows?: number
  /** Queries: memory it holds now. */
  readonly bytesHeld?: number
}

/** Restricts a list to the statements of one caller. */
export interface Whose {
  readonly identity: string
  /** Set for a token with separate roles, which sees only its own statements: other statements of its owner may exceed its permissions. */
  readonly credential: string | undefined
}

export interface StatementServices {
  readonly admission: Admission
  readonly queueMsMax: number
  readonly abortedReplies: AbortedReplies
  readonly inProgress: Map<string, RunningStatement>
  /** The slow-query log, if enabled. */
  readonly slow: SlowQueries | undefined
}

/** Maximum memory of a statement that may yield its slot. */
const yieldBytesMax = 2 ** 20

export class RunningStatement implements Waiter, PausedReply {
  readonly id = randomUUID()
  readonly headers = { 'statement-id': this.id }
  private readonly response: ServerResponse
  private readonly facts: StatementFacts
  private readonly context: StatementServices
  private startedAtMs = 0
  /** The time since which the reply has waited for its client. */
  pausedAtMs = 0
  readonly sharer: string
  /** Undefined without authentication. */
  readonly caller: Caller | undefined
  readonly waitsUntilMs: number
  private readonly createdAtMs: number
  private pausedMs = 0
  private pauseStartMs = 0
  /** Undefined after the end was recorded. */
  private slow: SlowQueries | undefined
  private explain: Explain | undefined
  /** Aborted when the client disconnects, or the statement is stopped. */
  readonly signal = new StopSignal()
  private waits = false
  private hasStarted = false
  private hasSlot = false
  /** Whether the slot was released while the client does not read. */
  private hasYieldedSlot = false
  private isPaused = false
  private isWorking = true
  private isReplying = false
  private bytesSent = 0
  private progress: QueryProgress | undefined
  private slot: Promise<void> | undefined

  constructor(
    facts: StatementFacts,
    sharer: string,
    response: ServerResponse,
    context: StatementServices,
    caller: Caller | undefined,
  ) {
    this.caller = caller
    this.slow = facts.kind === 'query' ? context.slow : undefined
    this.facts = facts
    this.sharer = sharer
    this.response = response
    this.context = context
    this.createdAtMs = performance.now()
    this.waitsUntilMs = this.createdAtMs + context.queueMsMax
    if (response.destroyed) this.signal.abort(new ClientDisconnected())
  }

  /** Turns alternate between callers. */
  get owner(): string {
    return this.sharer
  }

  get fdAlias(): string {
    return this.facts.fdAlias
  }

  /** Returns undefined if it may begin at once. Throws ServerBusy, TooManyStatements, or the signal's reason. */
  mayBegin(): Promise<void> | undefined {
    const admitted = this.context.admission.begin(this)
    if (admitted !== undefined) return this.queued(this.startAfter(admitted))
    this.hasStarted = true
    return undefined
  }

  /** Call if the statement outlives its first turn of the event loop: it is then listed, can be stopped, and ends with its client. */
  lasts(): void {
    this.startedAtMs = Date.now()
    if (this.signal.aborted) return
    this.isReplying = true
    this.context.inProgress.set(this.id, this)
    const onReplied = (): void => this.onReplied()
    this.response.once('finish', onReplied).once('close', onReplied)
  }

  private onReplied(): void {
    if (!this.isReplying) return
    this.isReplying = false
    if (!this.response.writableFinished) this.signal.abort(new ClientDisconnected())
    this.end()
  }

  /** Discards the data that the client has not read. */
  breakOff(): void {
    this.response.destroy()
  }

  /** To be awaited before longer work or sending rows; returns undefined if it has a slot or has ended. Throws like `mayBegin`. */
  mayContinue(): Promise<void> | undefined {
    if (this.hasSlot) return undefined
    this.signal.throwIfAborted()
    // Nothing would release the slot.
    if (this.isOver) return undefined
    // Work and reply may request it concurrently.
    this.slot ??= this.slotRequest()
    return this.slot
  }

  private slotRequest(): Promise<void> | undefined {
    return this.acquireSlot()?.finally(() => {
      this.slot = undefined
    })
  }

  holdsSlotFor(response: object): boolean {
    return this.hasSlot && this.response === response
  }

  /** Call when the client has not read the data sent so far: nothing more is produced until `proceeds`. */
  pauses(): void {
    if (!this.isPaused && this.slow !== undefined) this.pauseStartMs = performance.now()
    this.isPaused = true
    if (this.hasSlot) this.offerSlot()
  }

  /** Returns undefined if the statement may proceed; otherwise it has yielded its slot, and waits for another. Throws the signal's reason. */
  proceeds(): Promise<void> | undefined {
    if (!this.isPaused) return undefined
    this.isPaused = false
    if (this.slow !== undefined) this.pausedMs += performance.now() - this.pauseStartMs
    this.context.admission.proceed(this)
    return this.hasYieldedSlot ? this.mayContinue() : undefined
  }

  /** Keeps the slot of a statement that uses much memory, since slots limit their number. */
  private offerSlot(): void {
    if ((this.progress?.bytesHeld ?? 0) > yieldBytesMax) return
    this.pausedAtMs = performance.now()
    this.context.admission.pause(this)
  }

  yieldSlot(): void {
    this.hasSlot = false
    this.hasYieldedSlot = true
    this.context.admission.leave(this.sharer)
  }

  sent(bytes: number): void {
    this.bytesSent += bytes
  }

  /** Call when the work is done; at most rows remain to be sent. */
  worked(): void {
    this.isWorking = false
    this.end()
  }

  /** Aborts the statement after its snapshot was closed. */
  onEnded(error: AshlarError): void {
    if (this.isOver) return
    this.context.abortedReplies.tooOld({ statement: this.id, clientAddress: this.facts.clientAddress }, error.message)
    this.signal.abort(error)
  }

  onStarted(progress: QueryProgress): void {
    this.progress = progress
  }

  explainedBy(explain: Explain): void {
    this.explain = explain
  }

  private logIfSlow(slow: SlowQueries): void {
    this.slow = undefined
    const { isPaused, facts, progress, caller, response, explain } = this
    const nowMs = performance.now()
    const ms = nowMs - this.createdAtMs - this.pausedMs - (isPaused ? nowMs - this.pauseStartMs : 0)
    if (ms < slow.thresholdMs) return
    const { text, fdAlias, clientAddress } = facts
    const { rows = 0, touched = 0, workedMs = 0 } = progress ?? {}
    const { statusCode: status } = response
    const of = { statement: this.id, fdAlias, caller: caller?.name ?? null, clientAddress }
    slow.log({ ...of, text, ms, workedMs, rows, touched, status, explain })
  }

  stop(): void {
    const message = `The statement was stopped by DELETE /v1/statement/${this.id}.`
    this.signal.abort(new AshlarError('StatementStopped', message))
  }

  /** Returns true for undefined, which means all callers. */
  isOf(whose: Whose | undefined): boolean {
    if (whose === undefined) return true
    if (this.caller?.identity !== whose.identity) return false
    return whose.credential === undefined || credentialText(this.caller.credential) === whose.credential
  }

  get state(): StatementRecord['state'] {
    return this.waits ? 'queued' : this.response.headersSent ? 'sending' : 'running'
  }

  record(): StatementRecord {
    const { facts, id, startedAtMs, bytesSent, state } = this
    const { rows = 0, bytesHeld = 0 } = this.progress ?? {}
    const progress = facts.kind === 'query' ? { rows, bytesHeld } : {}
    const text = facts.text.slice(0, listedTextCharactersMax)
    return { id, ...facts, text, startedAt: new Date(startedAtMs).toISOString(), state, bytesSent, ...progress }
  }

  private async queued(wait: Promise<void>): Promise<void> {
    this.waits = true
    try {
      await wait
    } finally {
      this.waits = false
    }
  }

  private acquireSlot(): Promise<void> | undefined {
    const slot = this.hasYieldedSlot
      ? this.context.admission.reacquireSlot(this)
      : this.context.admission.acquireSlot(this)
    if (slot !== undefined) return this.queued(slot.then(() => this.keepSlot()))
    this.keepSlot()
    return undefined
  }

  private async startAfter(admitted: Promise<void>): Promise<void> {
    await admitted
    this.hasStarted = true
  }

  private get isOver(): boolean {
    return !this.isWorking && !this.isReplying
  }

  /** Releases the slot if the client has disconnected meanwhile. */
  private keepSlot(): void {
    this.hasYieldedSlot = false
    if (this.isOver) {
      this.context.admission.leave(this.sharer)
      return
    }
    this.hasSlot = true
    // Work ahead of the client may have requested the slot.
    if (this.isPaused) this.offerSlot()
  }

  private end(): void {
    if (!this.isOver) return
    if (this.slow !== undefined) this.logIfSlow(this.slow)
    if (this.isPaused) this.context.admission.proceed(this)
    if (this.hasSlot) this.context.admission.leave(this.sharer)
    this.hasSlot = false
    if (this.hasStarted) this.context.admission.end(this.sharer)
    this.hasStarted = false
    this.context.inProgress.delete(this.id)
  }
}
