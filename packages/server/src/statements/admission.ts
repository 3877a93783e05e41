/** Limits concurrent statements: the rest wait for a bounded time, or are refused (contract 1.4.10, 1.5.15). */
import { AshlarError, awaitStart, mayBegin } from '@ashlar/engine'
import type { ServerLimits } from '../limits.ts'
import { type QueueRefusals, ShareCounts, ShareQueue, type Waiter } from '../shares/share-queue.ts'
import { sharerText } from '../shares/sharer.ts'

export type AdmissionLimits = Pick<
  ServerLimits,
  | 'statementsMax'
  | 'statementsPerCallerMax'
  | 'queuedStatementsMax'
  | 'queuedStatementsPerCallerMax'
  | 'statementQueueMsMax'
>

/** Longer than the interval between checks for stalled replies. */
const slotRequestedMs = 2_000

/** Multiple of `statementQueueMsMax` for which a statement may be queued while slots are free. */
const freeQueueTimes = 10

/** How long a reply waits for its client before its slot may be reassigned; a client that reads steadily keeps it. */
const yieldAfterMs = 50

/** A statement whose reply waits for its client. */
export interface PausedReply {
  readonly pausedAtMs: number
  /** Releases the slot; it is reacquired when the client reads on. */
  yieldSlot(): void
}

/**
 * Schedules statements. A statement runs for two slices of a few milliseconds without a slot, so that short statements never wait for long ones; then
 * it needs one of `statementsMax` slots, of which no caller gets all. Statements with slots have half of the turns; the remaining turns alternate
 * between statements in their first turn and in their second. Each first turn starts statements until its time is up, in the order of the callers'
 * running statements, then of their waiting ones, so that many statements of one caller do not delay a short one of another. Every other turn also
 * starts one statement round-robin, to prevent starvation. A statement yields its slot while its client does not read; it gets the next free one when
 * the client continues, and is not refused.
 */
export class Admission {
  private readonly limits: AdmissionLimits
  /** Statements that have begun and not ended, with or without a slot. */
  private readonly running = new ShareCounts()
  private readonly working = new ShareCounts()
  private readonly beginning: ShareQueue
  private readonly waiting: ShareQueue
  /** Statements that continue after yielding their slot. */
  private readonly returning: ShareQueue
  /** Paused replies, the longest-paused first. */
  private readonly paused = new Set<PausedReply>()
  private reclaimTimer: NodeJS.Timeout | undefined
  private slotRequestedAtMs = Number.NEGATIVE_INFINITY
  private isDispatching = false
  /** Whether the last turn started one more round-robin. */
  private hasStartedExtra = false

  constructor(limits: AdmissionLimits) {
    this.limits = limits
    const { queuedStatementsMax: waitingMax, queuedStatementsPerCallerMax: perSharerMax, statementQueueMsMax } = limits
    const full: Pick<QueueRefusals, 'full' | 'shareFull'> = {
      full: () => this.queueFull(),
      shareFull: (sharer) => this.queueShareFull(sharer),
    }
    // During a flood of connections, statements may start late although slots are free: the time limit is extended.
    this.beginning = new ShareQueue(
      { waitingMax, perSharerMax },
      {
        ...full,
        tooLate: (sharer, lateMs) => {
          if (!this.isFree(sharer)) return this.tooLate('to begin')
          return lateMs < (freeQueueTimes - 1) * statementQueueMsMax ? undefined : this.tooManyArrive()
        },
      },
    )
    this.waiting = new ShareQueue(
      { waitingMax, perSharerMax },
      {
        ...full,
        tooLate: (sharer) =>
          this.hasShare(sharer) ? this.shareExhausted(sharer) : this.tooLate('for one of these to end'),
      },
    )
    const unlimited = Number.POSITIVE_INFINITY
    const noLimits = { waitingMax: unlimited, perSharerMax: unlimited }
    this.returning = new ShareQueue(noLimits, { ...full, tooLate: () => undefined })
  }

  /** Checks for room before the body of a request is read. Throws ServerBusy, TooManyStatements. */
  checkRoom(sharer: string): void {
    this.beginning.checkRoom(sharer)
  }

  /** Returns undefined if the statement begins immediately; call `end` when it has ended. Throws like `ShareQueue.wait`. */
  begin(waiter: Waiter): Promise<void> | undefined {
    if (!this.isDispatching && mayBegin()) {
      this.running.add(waiter.sharer)
      return undefined
    }
    const wait = this.beginning.wait(waiter)
    if (!this.isDispatching) void this.dispatchWaiting()
    return wait
  }

  /** Returns undefined if a slot is free; it is held until `leave`. Throws like `ShareQueue.wait`. */
  acquireSlot(waiter: Waiter): Promise<void> | undefined {
    return this.slotFrom(this.waiting, waiter)
  }

  /** Reacquires a yielded slot, without a time limit. Throws the signal's reason. */
  reacquireSlot({ sharer, signal }: Omit<Waiter, 'waitsUntilMs'>): Promise<void> | undefined {
    return this.slotFrom(this.returning, { sharer, signal, waitsUntilMs: Number.POSITIVE_INFINITY })
  }

  /** Whether a statement has recently found no free slot. */
  get isSlotRequested(): boolean {
    return performance.now() - this.slotRequestedAtMs < slotRequestedMs
  }

  /** Makes the slot of this reply available. */
  pause(reply: PausedReply): void {
    this.paused.add(reply)
    if (this.hasWaiters) this.reclaimAfter(yieldAfterMs)
  }

  /** The client has read: the slot is no longer available. */
  proceed(reply: PausedReply): void {
    this.paused.delete(reply)
  }

  leave(sharer: string): void {
    this.working.remove(sharer)
    const loadOf = (one: string): number | undefined => (this.hasShare(one) ? undefined : this.working.of(one))
    while (this.working.all < this.limits.statementsMax) {
      const next = this.returning.admitNext(loadOf) ?? this.waiting.admitNext(loadOf)
      if (next === undefined) return
      this.working.add(next)
    }
  }

  end(sharer: string): void {
    this.running.remove(sharer)
  }

  private slotFrom(queue: ShareQueue, waiter: Waiter): Promise<void> | undefined {
    if (this.isFree(waiter.sharer)) {
      this.working.add(waiter.sharer)
      return undefined
    }
    this.slotRequestedAtMs = performance.now()
    const slot = queue.wait(waiter)
    this.reclaimSlots()
    return slot
  }

  private get hasWaiters(): boolean {
    return !this.waiting.isEmpty || !this.returning.isEmpty
  }

  /** Reclaims slots from replies that have paused for long enough, if statements wait. */
  private reclaimSlots(): void {
    const pausedBeforeMs = performance.now() - yieldAfterMs
    for (const reply of this.paused) {
      if (!this.hasWaiters) return
      if (reply.pausedAtMs > pausedBeforeMs) {
        this.reclaimAfter(reply.pausedAtMs - pausedBeforeMs)
        return
      }
      this.paused.delete(reply)
      reply.yieldSlot()
    }
  }

  private reclaimAfter(ms: number): void {
    this.reclaimTimer ??= setTimeout(() => {
      this.reclaimTimer = undefined
      this.reclaimSlots()
    }, ms).unref()
  }

  private startNext(loadOf: (sharer: string) => number): void {
    const sharer = this.beginning.admitNext(loadOf)
    if (sharer !== undefined) this.running.add(sharer)
  }

  private async dispatchWaiting(): Promise<void> {
    this.isDispatching = true
    while (!this.beginning.isEmpty) {
      const budget = await awaitStart()
      do {
        this.startNext((one) => this.running.of(one) * this.limits.queuedStatementsMax + this.beginning.of(one))
        await untilIdle()
      } while (!this.beginning.isEmpty && !budget.isOver)
      // Every other turn starts one more regardless of its caller's share: otherwise a busy caller could be starved by new ones.
      this.hasStartedExtra = !this.hasStartedExtra
      if (!this.hasStartedExtra || this.beginning.sharers < 2) continue
      if (budget.isOver) await awaitStart()
      this.startNext(() => 0)
      await untilIdle()
    }
    this.isDispatching = false
  }

  private isFree(sharer: string): boolean {
    return this.working.all < this.limits.statementsMax && !this.hasShare(sharer)
  }

  private hasShare(sharer: string): boolean {
    return this.working.of(sharer) >= this.limits.statementsPerCallerMax
  }

  private shareExhausted(sharer: string): AshlarError {
    const { statementsPerCallerMax } = this.limits
    const { whose, share } = sharerText(sharer)
    const message = `${whose} already has ${statementsPerCallerMax} statements in progress, the share of ${share} (statementsPerCallerMax).`
    return new AshlarError('TooManyStatements', message)
  }

  private queueShareFull(sharer: string): AshlarError {
    const { queuedStatementsPerCallerMax } = this.limits
    const { whose, share } = sharerText(sharer)
    const message = `${whose} already has ${queuedStatementsPerCallerMax} statements waiting, the share of ${share} (queuedStatementsPerCallerMax).`
    return new AshlarError('TooManyStatements', message)
  }

  private queueFull(): AshlarError {
    const { queuedStatementsMax } = this.limits
    const message = `The server already has ${queuedStatementsMax} statements waiting, the maximum (queuedStatementsMax).`
    return new AshlarError('ServerBusy', message)
  }

  private tooManyArrive(): AshlarError {
    const { statementQueueMsMax } = this.limits
    const message = `The server receives so many requests that the statement could not begin within ${freeQueueTimes} times ${statementQueueMsMax} ms (statementQueueMsMax).`
    return new AshlarError('ServerBusy', message)
  }

  private tooLate(forWhat: string): AshlarError {
    const { statementsMax, statementQueueMsMax } = this.limits
    const message = `The server is already working on ${statementsMax} statements, the maximum (statementsMax); the statement has waited ${statementQueueMsMax} ms ${forWhat} (statementQueueMsMax).`
    return new AshlarError('ServerBusy', message)
  }
}

/** Resolves after pending promise callbacks have run in the current iteration of the event loop. */
function untilIdle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
