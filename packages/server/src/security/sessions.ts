/** Browser sessions in the security database (contract 9.1). */
import { lastUseMsMin, sessionIdleMsMax, sessionMsMax, sessionsPerUserMax } from '../limits.ts'
import { digestText, makeSecret, writeSession } from './secrets.ts'
import type { SecurityDatabase } from './security-database.ts'
import { className } from './security-schema.ts'
import { findUser, type StoredUser } from './users.ts'

interface StoredSession {
  readonly __identifier__: string
  readonly sessionId: string
  readonly expiresAtMs: number
  readonly lastUsedAtMs: number
}

/** Returns undefined if user or password have changed since the check. Ends the oldest session if there are too many. */
export async function beginSession(
  database: SecurityDatabase,
  name: string,
  passwordHash: string,
): Promise<{ readonly cookie: string; readonly expiresAtMs: number } | undefined> {
  const secret = makeSecret()
  const createdAtMs = Date.now()
  const expiresAtMs = createdAtMs + sessionMsMax
  const hasStarted = await database.note(async (change) => {
    const user = await findUser(change, name)
    if (user === undefined || user.isDisabled || user.passwordHash !== passwordHash) return false
    for (const oid of await removableSessions(change, user)) await change.delete(oid)
    await change.create(className.session, {
      sessionId: secret.id,
      secretHash: digestText(secret.secret),
      user: user.__identifier__,
      createdAtMs,
      expiresAtMs,
      lastUsedAtMs: createdAtMs,
    })
    return true
  })
  return hasStarted ? { cookie: writeSession(secret), expiresAtMs } : undefined
}

/** Returns sessions that have ended, and the oldest ones beyond the limit. */
async function removableSessions(change: Pick<SecurityDatabase, 'rows'>, { name }: StoredUser): Promise<string[]> {
  const text = `FROM ${className.session} WHERE user.name = $name ORDER BY lastUsedAtMs RETURN *`
  const sessions = await change.rows<StoredSession>(text, { name })
  const hasEnded = ({ expiresAtMs, lastUsedAtMs }: StoredSession): boolean => {
    return Math.min(expiresAtMs, lastUsedAtMs + sessionIdleMsMax) <= Date.now()
  }
  const running = sessions.filter((session) => !hasEnded(session))
  const oldest = running.slice(0, Math.max(0, running.length - sessionsPerUserMax + 1))
  return [...sessions.filter(hasEnded), ...oldest].map(({ __identifier__ }) => __identifier__)
}

/** Ends a session if it exists. */
export async function endSession(database: SecurityDatabase, id: string): Promise<void> {
  await database.change(async (change) => {
    const [session] = await change.rows<StoredSession>(`FROM ${className.session} WHERE sessionId = $id RETURN *`, {
      id,
    })
    if (session !== undefined) await change.delete(session.__identifier__)
  })
}

export async function endSessionsOf(database: SecurityDatabase, name: string): Promise<void> {
  await database.change(async (change) => {
    const user = await findUser(change, name)
    for (const oid of user?.sessions ?? []) await change.delete(oid)
  })
}

/** Records last uses. `times`: by session ID. */
export async function noteSessionUses(database: SecurityDatabase, times: ReadonlyMap<string, number>): Promise<void> {
  await database.note(async (change) => {
    for (const [id, usedAtMs] of times) {
      const [session] = await change.rows<StoredSession>(`FROM ${className.session} WHERE sessionId = $id RETURN *`, {
        id,
      })
      if (session === undefined || usedAtMs - session.lastUsedAtMs < lastUseMsMin) continue
      await change.update(session.__identifier__, { lastUsedAtMs: usedAtMs })
    }
  })
}
