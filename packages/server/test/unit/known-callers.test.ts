/** The callers that a process remembers, while the security database cannot be read. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { revisionIntervalMs, unreadableSecurityMsMax } from '../../src/limits.ts'
import { CachedCallers } from '../../src/security/known-callers.ts'
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
  const callers = new CachedCallers(database, (error) => failures.push(error))
  await callers.start()
  expect((await callers.user('bob'))?.caller.name).toBe('bob')
  isReachable = false
  await vi.advanceTimersByTimeAsync(unreadableSecurityMsMax)
  expect((await callers.user('bob'))?.caller.name).toBe('bob')
  expect(failures.length).toBeGreaterThan(10)
  await vi.advanceTimersByTimeAsync(2 * revisionIntervalMs)
  await expect(callers.user('bob')).rejects.toMatchObject({ type: 'StoreUnavailable' })
  isReachable = true
  await vi.advanceTimersByTimeAsync(revisionIntervalMs)
  expect((await callers.user('bob'))?.caller.name).toBe('bob')
  await callers.stop()
})

it('are read once for all who ask at once, and again after something has changed', async () => {
  let revision = 1
  let reads = 0
  const release: (() => void)[] = []
  const database = {
    revision: async () => revision,
    rows: async (text: string) => {
      if (!text.includes('.User')) return []
      reads += 1
      await new Promise<void>((resolve) => release.push(resolve))
      return [user]
    },
  } as unknown as SecurityDatabase
  const callers = new CachedCallers(database, (error) => expect.unreachable(String(error)))
  await callers.refresh()
  const asked = [callers.user('bob'), callers.user('bob'), callers.user('bob')]
  expect(reads).toBe(1)
  revision = 2
  await callers.refresh()
  const later = [callers.user('bob'), callers.user('bob')]
  expect(reads).toBe(2)
  for (const resolve of release) resolve()
  const found = await Promise.all([...asked, ...later])
  expect(found.map((known) => known?.caller.name)).toEqual(Array.from({ length: 5 }, () => 'bob'))
  // Of the two the later one is remembered.
  expect(await callers.user('bob')).toBe(found[3])
})

it('are looked for again where reading them has failed', async () => {
  let isReachable = false
  const database = {
    revision: async () => 1,
    rows: async (text: string) => {
      if (!isReachable) throw new Error('unreachable')
      return text.includes('.User') ? [user] : []
    },
  } as unknown as SecurityDatabase
  const callers = new CachedCallers(database, (error) => expect.unreachable(String(error)))
  await callers.refresh()
  const failed = await Promise.allSettled([callers.user('bob'), callers.user('bob')])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  isReachable = true
  expect((await callers.user('bob'))?.caller.name).toBe('bob')
})
