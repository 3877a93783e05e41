/** Times of the last use of tokens and sessions: recorded with each use, and written in the background, once a minute (contract 9.1). */
import { lastUseMsMin } from '../limits.ts'
import type { CachedSecret } from './read-callers.ts'
import type { SecurityDatabase } from './security-database.ts'
import { noteSessionUses } from './sessions.ts'
import { noteUses } from './tokens.ts'

type Times = Map<string, number>

export class LastUses {
  private readonly database: SecurityDatabase
  private readonly onFault: (error: unknown) => void
  private readonly tokens: Times = new Map()
  private readonly sessions: Times = new Map()
  private writing: Promise<void> | undefined

  constructor(database: SecurityDatabase, onFault: (error: unknown) => void) {
    this.database = database
    this.onFault = onFault
  }

  noteToken(secret: CachedSecret, nowMs: number): void {
    note(this.tokens, secret, nowMs)
  }

  noteSession(secret: CachedSecret, nowMs: number): void {
    note(this.sessions, secret, nowMs)
  }

  /** Starts writing in the background; `written` waits for the end. */
  write(): void {
    if (this.writing !== undefined || this.tokens.size + this.sessions.size === 0) return
    this.writing = this.writeBoth()
      .catch((error) => this.onFault(error))
      .finally(() => {
        this.writing = undefined
      })
  }

  async written(): Promise<void> {
    await this.writing
  }

  private async writeBoth(): Promise<void> {
    for (const [uses, noteAll] of [[this.tokens, noteUses] as const, [this.sessions, noteSessionUses] as const]) {
      if (uses.size === 0) continue
      const times = new Map(uses)
      uses.clear()
      await noteAll(this.database, times)
    }
  }
}

function note(times: Times, secret: CachedSecret, nowMs: number): void {
  if (nowMs - secret.lastUsedAtMs < lastUseMsMin) return
  secret.lastUsedAtMs = nowMs
  times.set(secret.id, nowMs)
}
