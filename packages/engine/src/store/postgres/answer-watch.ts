/**
 * Ends connections whose server has stopped answering. PostgreSQL itself limits each statement (`statement_timeout`), but a host that has
 * vanished, or a firewall that has forgotten the connection, answers nothing at all, and no error ends the wait.
 */
import type { Socket } from 'node:net'
import type pg from 'pg'
import { NotAnswered } from './failures.ts'

/** The server ends a statement by itself after `statementMs`; its answer may take so much longer to arrive. */
const graceMs = 2_000
/** A limit is checked so many times before it has passed. */
const checksOfLimit = 16
const checkMsMax = 1_000

/** What pg has of a client, beside what it declares. */
interface Connected {
  readonly connection: { readonly stream: Socket }
}

interface Watched {
  readonly client: pg.ClientBase
  readonly stream: Socket
  /** Bytes received, and bytes that the socket has not passed on yet, at the last check. */
  bytesRead: number
  bytesUnsent: number
  /** The number of the check at which something was last received or passed on; or at which it began to wait. */
  heardAt: number
  isWaiting: boolean
}

/**
 * One timer for all connections, and nothing to do for each statement. Time is counted in checks: while the process itself stands still, no time passes,
 * and between two checks it reads what has arrived.
 */
export class AnswerWatch {
  private readonly limitMs: number
  private readonly watched = new Map<pg.ClientBase, Watched>()
  private readonly timer: NodeJS.Timeout | undefined
  private now = 0

  /** `statementMs`: 0 for no limit. */
  constructor(statementMs: number) {
    this.limitMs = statementMs + graceMs
    if (statementMs === 0) return
    this.timer = setInterval(() => this.check(), this.checkMs)
    this.timer.unref()
  }

  /** To be called before the client connects. */
  add(client: pg.ClientBase): void {
    const { stream } = (client as unknown as Connected).connection
    const watched = { client, stream, bytesRead: 0, bytesUnsent: 0, heardAt: this.now, isWaiting: false }
    this.watched.set(client, watched)
    const wait = (): void => {
      if (!watched.isWaiting) watched.heardAt = this.now
      watched.isWaiting = true
    }
    const { query, end } = client as unknown as Record<'query' | 'end', (...given: unknown[]) => unknown>
    Object.assign(client, {
      query(...given: unknown[]) {
        wait()
        return query.apply(client, given)
      },
      // The other side has to agree that the connection is closed.
      end(...given: unknown[]) {
        wait()
        return end.apply(client, given)
      },
    })
    client.on('drain', () => {
      watched.isWaiting = false
    })
    client.once('end', () => this.watched.delete(client))
  }

  /** Nothing that is left is waited for. */
  close(): void {
    clearInterval(this.timer)
    for (const { stream } of this.watched.values()) stream.destroy()
  }

  private get checkMs(): number {
    return Math.min(checkMsMax, Math.ceil(this.limitMs / checksOfLimit))
  }

  private check(): void {
    this.now++
    const checksMax = Math.ceil(this.limitMs / this.checkMs)
    const silent: Watched[] = []
    let isAnyOver = false
    for (const one of this.watched.values()) {
      look(one, this.now)
      if (this.now - one.heardAt <= checksMax) continue
      silent.push(one)
      isAnyOver ||= one.isWaiting
    }
    if (!isAnyOver) return
    // Others that have been silent for as long, and have nothing to lose, may well have gone the same way.
    for (const { client, stream, isWaiting } of silent) {
      if (isWaiting || client.getTransactionStatus() === 'I') stream.destroy(new NotAnswered(this.limitMs))
    }
  }
}

function look(one: Watched, now: number): void {
  const { bytesRead, writableLength } = one.stream
  // What the socket passes on shows that the other side receives.
  if (bytesRead !== one.bytesRead || writableLength < one.bytesUnsent) one.heardAt = now
  one.bytesRead = bytesRead
  one.bytesUnsent = writableLength
}
