/** Replies that this process has broken off because of their readers: logged, and counted for GET /v1/fd. */
import type { Logger } from 'pino'
import type { StalledReply } from './stalled-replies.ts'

export class BrokenOffReplies {
  count = 0
  private readonly logger: Logger

  constructor(logger: Logger) {
    this.logger = logger
  }

  /** The reader took no bytes for too long. */
  readonly stalled = ({ limit, ...told }: StalledReply): void => {
    this.count++
    this.logger.warn(told, `A reply was broken off: its reader took nothing for ${told.stalledMs} ms (${limit}).`)
  }

  /** Its snapshot was held for too long. `reason`: a sentence. */
  tooOld(told: { readonly statement: string; readonly clientAddress: string }, reason: string): void {
    this.count++
    this.logger.warn(told, `A statement was broken off. ${reason}`)
  }
}
