/** Replies that this process has broken off because of their readers: logged, and counted for GET /v1/fd. */
import type { FastifyBaseLogger } from 'fastify'
import type { ServerLimits } from '../limits.ts'

export class BrokenOffReplies {
  count = 0
  private readonly logger: FastifyBaseLogger
  private readonly limits: Pick<ServerLimits, 'replyStallMsMax'>

  constructor(logger: FastifyBaseLogger, limits: Pick<ServerLimits, 'replyStallMsMax'>) {
    this.logger = logger
    this.limits = limits
  }

  /** The reader took no bytes for too long. */
  readonly stalled = (told: { readonly path: string; readonly clientAddress: string }): void => {
    this.count++
    const { replyStallMsMax } = this.limits
    this.logger.warn(
      told,
      `A reply was broken off: its reader took nothing for ${replyStallMsMax} ms (replyStallMsMax).`,
    )
  }

  /** Its snapshot was held for too long. `reason`: a sentence. */
  tooOld(told: { readonly statement: string; readonly clientAddress: string }, reason: string): void {
    this.count++
    this.logger.warn(told, `A statement was broken off. ${reason}`)
  }
}
