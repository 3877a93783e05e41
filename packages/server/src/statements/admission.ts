/** How many statements work at once: the others wait for a bounded time, or are refused (contract 1.4.10, 1.5.15). */
import { AshlarError, firstTurn, mayBegin } from '@ashlar/engine'
import type { ServerLimits } from '../limits.ts'
import { AddressCount, StatementQueue, type Waiter } from './statement-queue.ts'

export type AdmissionLimits = Pick<
  ServerLimits,
  | 'statementsMax'
  | 'statementsPerAddressMax'
  | 'queuedStatementsMax'
  | 'queuedStatementsPerAddressMax'
  | 'statementQueueMsMax'
>

/** Longer than replies that stall are not looked at. */
const wantedMs = 2_000

/**
 * A statement works for two slices of a few milliseconds without a place, so that short ones never wait for long ones; to go on it takes one
 * of `statementsMax`, of which no address gets all. Statements that have places have half of the turns; the others are by turns first and
 * second ones. In each first turn as many begin, one after the other, as
 * it has time for: first of addresses that have fewest under way, and of these, fewest waiting, so that a short statement is not delayed by the
 * many of others. In every other turn one more begins in the order of the addresses, so that none waits for ever.
 */
export class Admission {
  private readonly limits: AdmissionLimits
  /** Those that have begun and not ended, with a place or without. */
  private readonly begun = new AddressCount()
  private readonly working = new AddressCount()
  private readonly beginning: StatementQueue
  private readonly waiting: StatementQueue
  private isHandingTurnsOut = false
  private wantedAtMs = Number.NEGATIVE_INFINITY
  /** Whether one more began in the last turn, in the order of the addresses. */
  private isOneMore = false

  constructor(limits: AdmissionLimits) {
    this.limits = limits
    // A flood of connections may take up the time of those that could all have begun: with places free, nobody is refused.
    this.beginning = new StatementQueue(limits, (address) =>
      this.isFree(address) ? undefined : this.tooLate('to begin'),
    )
    this.waiting = new StatementQueue(limits, (address) =>
      this.hasShare(address) ? this.shareTaken() : this.tooLate('for one of these to end'),
    )
  }

  /** For a request whose body is still to be read. Throws ServerBusy, TooManyStatements. */
  checkRoom(address: string): void {
    this.beginning.checkRoom(address)
  }

  /** Undefined where the statement begins at once; to be followed by `end` once it has begun. Throws what `StatementQueue.wait` does. */
  begin(waiter: Waiter): Promise<void> | undefined {
    if (!this.isHandingTurnsOut && mayBegin()) {
      this.begun.add(waiter.address)
      return undefined
    }
    const turn = this.beginning.wait(waiter)
    if (!this.isHandingTurnsOut) void this.handTurnsOut()
    return turn
  }

  /** Undefined where there is a place at once; it is held until `leave`. Throws what `StatementQueue.wait` does. */
  takePlace(waiter: Waiter): Promise<void> | undefined {
    const { address } = waiter
    if (this.isFree(address)) {
      this.working.add(address)
      return undefined
    }
    this.wantedAtMs = performance.now()
    return this.waiting.wait(waiter)
  }

  /** Whether a statement has found none free, a moment ago. */
  get isPlaceWanted(): boolean {
    return performance.now() - this.wantedAtMs < wantedMs
  }

  /** Gives a place back. */
  leave(address: string): void {
    this.working.remove(address)
    while (this.working.all < this.limits.statementsMax) {
      const next = this.waiting.letGo((one) => (this.hasShare(one) ? undefined : this.working.of(one)))
      if (next === undefined) return
      this.working.add(next)
    }
  }

  /** Of a statement that had begun. */
  end(address: string): void {
    this.begun.remove(address)
  }

  private letBegin(held: (address: string) => number): void {
    const address = this.beginning.letGo(held)
    if (address !== undefined) this.begun.add(address)
  }

  private async handTurnsOut(): Promise<void> {
    this.isHandingTurnsOut = true
    while (!this.beginning.isEmpty) {
      const turn = await firstTurn()
      do {
        this.letBegin((one) => this.begun.of(one) * this.limits.queuedStatementsMax + this.beginning.of(one))
        await untilItWaits()
      } while (!this.beginning.isEmpty && !turn.isOver)
      // In every other turn one more goes whatever its address has: else newcomers could keep those of a busy one waiting for ever.
      this.isOneMore = !this.isOneMore
      if (!this.isOneMore || this.beginning.addresses < 2) continue
      this.letBegin(() => 0)
      await untilItWaits()
    }
    this.isHandingTurnsOut = false
  }

  private isFree(address: string): boolean {
    return this.working.all < this.limits.statementsMax && !this.hasShare(address)
  }

  private hasShare(address: string): boolean {
    return this.working.of(address) >= this.limits.statementsPerAddressMax
  }

  private shareTaken(): AshlarError {
    const { statementsPerAddressMax } = this.limits
    const message = `Your address already has ${statementsPerAddressMax} statements in progress, the maximum (statementsPerAddressMax).`
    return new AshlarError('TooManyStatements', message)
  }

  private tooLate(forWhat: string): AshlarError {
    const { statementsMax, statementQueueMsMax } = this.limits
    const message = `The server is already working on ${statementsMax} statements, the maximum (statementsMax); yours has waited ${statementQueueMsMax} ms ${forWhat} (statementQueueMsMax).`
    return new AshlarError('ServerBusy', message)
  }
}

/** Resolves once all that was resolved before has gone on as far as it can in the present turn of the event loop. */
function untilItWaits(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
