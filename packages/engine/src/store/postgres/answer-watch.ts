/**
 * Ends connections to servers that stopped responding. `statement_timeout` limits statements, but a host that
 * vanished, or a firewall that dropped the connection, sends neither an answer nor an error.
 */
import type { Socket } from 'node:net'
import type pg from 'pg'
import { NotAnswered } from './failures.ts'

/** The server ends a statement after `statementMs`; its answer may arrive this much later. */
const graceMs = 2_000
const checksOfLimit = 16
const checkMsMax = 1_000

/** Fields of pg's client that its types do not declare. */
interface Connected {
  readonly connection: { readonly stream: Socket }
}

interface Watched {
  readonly client: pg.ClientBase
  readonly stream: Socket
  /** Bytes received, and bytes the socket has not sent yet, at the last check. */
  bytesRead: number
  bytesUnsent: number
  /** Number of the check at which data last moved, or the wait began. */
  progressAt: number
  isWaiting: boolean
}

/** One timer for all connections, and no work per statement. Time is counted in checks, so a stalled process does not count as a silent server. */
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

  /** Must be called before the client connects. */
  add(client: pg.ClientBase): void {
    const { stream } = (client as unknown as Connected).connection
    const watched = { client, stream, bytesRead: 0, bytesUnsent: 0, progressAt: this.now, isWaiting: false }
    this.watched.set(client, watched)
    const wait = (): void => {
      if (!watched.isWaiting) watched.progressAt = this.now
      watched.isWaiting = true
    }
    const { query, end } = client as unknown as Record<'query' | 'end', (...args: unknown[]) => unknown>
    Object.assign(client, {
      query(...args: unknown[]) {
        wait()
        return query.apply(client, args)
      },
      // Closing also waits for the server.
      end(...args: unknown[]) {
        wait()
        return end.apply(client, args)
      },
    })
    client.on('drain', () => {
      watched.isWaiting = false
    })
    client.once('end', () => this.watched.delete(client))
  }

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
      updateProgress(one, this.now)
      if (this.now - one.progressAt <= checksMax) continue
      silent.push(one)
      isAnyOver ||= one.isWaiting
    }
    if (!isAnyOver) return
    // Idle connections that were silent as long have probably failed too, and have nothing to lose.
    for (const { client, stream, isWaiting } of silent) {
      if (isWaiting || client.getTransactionStatus() === 'I') stream.destroy(new NotAnswered(this.limitMs))
    }
  }
}

function updateProgress(one: Watched, now: number): void {
  const { bytesRead, writableLength } = one.stream
  // Progress in sending shows that the server receives.
  if (bytesRead !== one.bytesRead || writableLength < one.bytesUnsent) one.progressAt = now
  one.bytesRead = bytesRead
  one.bytesUnsent = writableLength
}
