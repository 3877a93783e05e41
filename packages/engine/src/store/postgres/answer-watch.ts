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

/** What pg keeps of a client, beside what it declares. */
interface ClientState {
  readonly connection: { readonly stream: Socket & { readonly _handle?: Handle | null } }
  readonly _activeQuery: unknown
  readonly _sentQueryQueue: readonly unknown[]
  readonly _ending: boolean
  getTransactionStatus(): string | null
}

/** What Node keeps of a socket: the bytes accepted from the process, and those of them that the system has not accepted yet. */
interface Handle {
  readonly bytesWritten?: number
  readonly writeQueueSize?: number
}

interface Watched {
  readonly state: ClientState
  bytesRead: number
  bytesSent: number
  /** Some of what was sent had not been accepted by the system: then what it accepts shows that the other side receives. */
  isSending: boolean
  /** When something was received, by the number of the check; or when it began to wait. */
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

  add(client: pg.ClientBase): void {
    const state = client as unknown as ClientState
    const watched = { state, bytesRead: 0, bytesSent: 0, isSending: false, heardAt: this.now, isWaiting: false }
    this.watched.set(client, watched)
    client.once('end', () => this.watched.delete(client))
  }

  /** Nothing that is left is waited for. */
  close(): void {
    clearInterval(this.timer)
    for (const { state } of this.watched.values()) state.connection.stream.destroy()
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
    for (const { state, isWaiting } of silent) {
      if (isWaiting || state.getTransactionStatus() === 'I')
        state.connection.stream.destroy(new NotAnswered(this.limitMs))
    }
  }
}

function look(one: Watched, now: number): void {
  const { connection, _activeQuery, _sentQueryQueue, _ending } = one.state
  const { stream } = connection
  const queued = stream._handle?.writeQueueSize ?? 0
  const bytesSent = (stream._handle?.bytesWritten ?? 0) - queued
  const wasWaiting = one.isWaiting
  // One that is to be closed waits for the other side to agree.
  one.isWaiting = _activeQuery !== null || _sentQueryQueue.length > 0 || _ending
  const isHeard = stream.bytesRead !== one.bytesRead || (one.isSending && bytesSent !== one.bytesSent)
  if (isHeard || (one.isWaiting && !wasWaiting)) one.heardAt = now
  one.bytesRead = stream.bytesRead
  one.bytesSent = bytesSent
  one.isSending = queued > 0
}
