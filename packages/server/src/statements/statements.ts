/** The running statements of this process. */
import type { ServerResponse } from 'node:http'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { endedReplyMsMax } from '../limits.ts'
import type { Caller } from '../security/caller.ts'
import { clientAddressOf } from '../shares/client-address.ts'
import { type SharedRequest, sharerOf } from '../shares/sharer.ts'
import type { AbortedReplies } from './aborted-replies.ts'
import { Admission, type AdmissionLimits } from './admission.ts'
import type { SlowQueries } from './slow-queries.ts'
import {
  type RunningKind,
  RunningStatement,
  type StatementRecord,
  type StatementServices,
  type Whose,
} from './statement.ts'

export class Statements {
  private readonly context: StatementServices

  constructor(limits: AdmissionLimits, abortedReplies: AbortedReplies, slow?: SlowQueries) {
    const admission = new Admission(limits)
    const { statementQueueMsMax: queueMsMax } = limits
    this.context = { admission, queueMsMax, abortedReplies, inProgress: new Map(), slow }
  }

  get abortedReplies(): AbortedReplies {
    return this.context.abortedReplies
  }

  /** Call before the body of the request is read. Throws ServerBusy, TooManyStatements. */
  checkRoom(request: StatementRequest): void {
    this.context.admission.checkRoom(sharerOf(request))
  }

  /** Creates a statement that is about to begin or to be queued; see `Statement.lasts`. */
  begin(kind: RunningKind, text: string, fdAlias: string, request: StatementRequest): RunningStatement {
    const facts = { kind, text, fdAlias, clientAddress: clientAddressOf(request.raw) }
    return new RunningStatement(facts, sharerOf(request), request.response, this.context, request.caller)
  }

  /** Ends statements for which `endReasonOf` returns a reason: begun replies end with that error, or are aborted if unread. */
  async endEach(endReasonOf: (caller: Caller, alias: string) => Promise<Error | undefined>): Promise<void> {
    for (const statement of [...this.context.inProgress.values()]) {
      const { caller, fdAlias } = statement
      const reason = caller === undefined ? undefined : await endReasonOf(caller, fdAlias)
      // It may have ended meanwhile.
      if (reason !== undefined && this.context.inProgress.has(statement.id)) this.endNow(statement, reason)
      await nextIteration()
    }
  }

  private endNow(statement: RunningStatement, reason: Error): void {
    statement.signal.abort(reason)
    const breakOff = (): void => {
      if (this.context.inProgress.has(statement.id)) statement.breakOff()
    }
    setTimeout(breakOff, endedReplyMsMax).unref()
  }

  counts(): Record<StatementRecord['state'], number> {
    const counts = { queued: 0, running: 0, sending: 0 }
    for (const { state } of this.context.inProgress.values()) counts[state]++
    return counts
  }

  /** `whose`: only statements of this caller. */
  records(whose: Whose | undefined): readonly StatementRecord[] {
    const all = [...this.context.inProgress.values()]
    return all.filter((statement) => statement.isOf(whose)).map((statement) => statement.record())
  }

  /** Whether a statement has recently waited while this reply held a slot. */
  isSlotRequested(response: object): boolean {
    if (!this.context.admission.isSlotRequested) return false
    return [...this.context.inProgress.values()].some((statement) => statement.holdsSlotFor(response))
  }

  /** Stops a statement. Returns true if it exists, and belongs to the caller if one is given. */
  stop(id: string, whose: Whose | undefined): boolean {
    const statement = this.context.inProgress.get(id)
    if (statement?.isOf(whose) !== true) return false
    statement.stop()
    return true
  }
}

interface StatementRequest extends SharedRequest {
  readonly caller?: Caller | undefined
  readonly response: ServerResponse
}
