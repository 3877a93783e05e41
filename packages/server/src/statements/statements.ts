/** The statements under way in this process. */
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Admission, type AdmissionLimits } from './admission.ts'
import type { BrokenOffReplies } from './broken-off.ts'
import { Statement, type StatementKind, type StatementRecord } from './statement.ts'

export class Statements {
  readonly brokenOff: BrokenOffReplies
  private readonly admission: Admission
  private readonly queueMsMax: number
  private readonly underWay = new Map<string, Statement>()

  constructor(limits: AdmissionLimits, brokenOff: BrokenOffReplies) {
    this.brokenOff = brokenOff
    this.admission = new Admission(limits)
    this.queueMsMax = limits.statementQueueMsMax
  }

  /** Before the body of the request is read. Throws ServerBusy, TooManyStatements. */
  checkRoom({ raw }: FastifyRequest): void {
    this.admission.checkRoom(addressOf(raw.socket))
  }

  /** It is under way until its work and its reply have come to their ends. */
  begin(
    asked: { readonly kind: StatementKind; readonly text: string; readonly fdAlias: string },
    { raw: { socket } }: FastifyRequest,
    { raw: response }: FastifyReply,
  ): Statement {
    const whole = { ...asked, clientAddress: addressOf(socket) }
    const ended = ({ id }: Statement): void => void this.underWay.delete(id)
    const statement = new Statement(whole, response, this.admission, this.queueMsMax, this.brokenOff, ended)
    this.underWay.set(statement.id, statement)
    if (response.destroyed) statement.lost()
    return statement
  }

  records(): readonly StatementRecord[] {
    return [...this.underWay.values()].map((statement) => statement.record())
  }

  /** Whether there is one of this id. */
  stop(id: string): boolean {
    const statement = this.underWay.get(id)
    statement?.stop()
    return statement !== undefined
  }
}

function addressOf({ remoteAddress = '' }: Socket): string {
  return remoteAddress
}
