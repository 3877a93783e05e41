/** When requests by HTTP/2 begin that were sent beside others of their session: a few in a turn of the event loop, one session after the other. */
import { FairQueues } from '@ashlar/engine'
import { http2InATurnMax } from '../limits.ts'

/**
 * A hundred requests of each session may arrive as one piece, which Node hands over one after the other: were all of them begun at once, everybody else
 * would wait for them. Those that are given up before their turn never begin.
 */
export class Http2Turns {
  /** By session. */
  private readonly waiting = new FairQueues<() => void>()
  private begunInTurn = 0
  private isScheduled = false

  add(session: string, begin: () => void): void {
    if (this.waiting.size === 0 && this.begunInTurn < http2InATurnMax) {
      this.begunInTurn++
      begin()
    } else this.waiting.add(session, begin)
    this.schedule()
  }

  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(() => this.beginSome())
  }

  private beginSome(): void {
    this.isScheduled = false
    this.begunInTurn = 0
    if (this.waiting.size === 0) return
    this.schedule()
    for (; this.begunInTurn < http2InATurnMax; this.begunInTurn++) {
      const begin = this.waiting.next()
      if (begin === undefined) return
      begin()
    }
  }
}
