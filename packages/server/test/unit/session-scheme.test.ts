/** Sessions that several processes are asked with: none of them is told of what the others see. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { sessionIdleMsMax } from '../../src/limits.ts'
import type { ArrivedRequest } from '../../src/security/authenticator.ts'
import { CachedCallers } from '../../src/security/known-callers.ts'
import { cookieName, SessionScheme } from '../../src/security/schemes.ts'
import { readSession } from '../../src/security/secrets.ts'
import { SecurityDatabase } from '../../src/security/security-database.ts'
import { beginSession } from '../../src/security/sessions.ts'
import { addUser } from '../../src/security/users.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

it('go on where another process was asked within the hour, and are over and forgotten where none was', async () => {
  const database = await SecurityDatabase.open('memory:')
  await addUser(database, { name: 'bob', roles: ['reader'], passwordHash: 'x' })
  const { cookie = '' } = (await beginSession(database, 'bob', 'x')) ?? {}
  const request = { headers: { cookie: `${cookieName(false)}=${cookie}` }, socket: {} } as unknown as ArrivedRequest
  const processes = [0, 1].map(() => new CachedCallers(database, (error) => expect.unreachable(String(error))))
  const ask = async (at: number): Promise<string | null | undefined> => {
    const scheme = new SessionScheme(processes[at] as CachedCallers)
    return (await scheme.authenticate(request))?.name
  }
  const over = expect.objectContaining({ type: 'Unauthenticated' })
  expect([await ask(0), await ask(1)]).toEqual(['bob', 'bob'])
  pass(sessionIdleMsMax * 0.9)
  expect(await ask(1)).toBe('bob')
  // It writes what it has seen.
  await processes[1]?.stop()
  pass(sessionIdleMsMax * 0.9)
  expect(await ask(0)).toBe('bob')
  await processes[0]?.stop()
  pass(sessionIdleMsMax)
  const id = readSession(cookie)?.id ?? ''
  for (const at of [0, 1]) {
    await expect(ask(at)).rejects.toEqual(over)
    expect(await processes[at]?.session(id)).toBeUndefined()
  }
  await database.close()
})
