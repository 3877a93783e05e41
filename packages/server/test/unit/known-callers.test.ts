/** The callers that a process remembers, while the security database cannot be read. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { revisionIntervalMs, unreadableSecurityMsMax } from '../../src/limits.ts'
import { KnownCallers } from '../../src/security/known-callers.ts'
import type { SecurityDatabase } from '../../src/security/security-database.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const user = { __identifier__: '3-3-1-1', name: 'bob', passwordHash: 'x', roles: ['reader'], isDisabled: false }

it('go on for a bound, then nobody is let in, until it can be read again', async () => {
  let isReachable = true
  const failures: unknown[] = []
  const database = {
    revision: async () => {
      if (!isReachable) throw new Error('unreachable')
      return 1
    },
    rows: async (text: string) => (text.includes('.User') ? [user] : []),
  } as unknown as SecurityDatabase
  const callers = new KnownCallers(database, (error) => failures.push(error))
  await callers.start()
  expect((await callers.user('bob'))?.caller.name).toBe('bob')
  isReachable = false
  await vi.advanceTimersByTimeAsync(unreadableSecurityMsMax)
  expect((await callers.user('bob'))?.caller.name).toBe('bob')
  expect(failures.length).toBeGreaterThan(10)
  await vi.advanceTimersByTimeAsync(2 * revisionIntervalMs)
  expect(() => callers.user('bob')).toThrow(expect.objectContaining({ type: 'StoreUnavailable' }))
  isReachable = true
  await vi.advanceTimersByTimeAsync(revisionIntervalMs)
  expect((await callers.user('bob'))?.caller.name).toBe('bob')
  await callers.stop()
})
