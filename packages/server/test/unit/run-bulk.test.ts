/** A bulk load whose client goes away: it ends, and leaves no failure that nobody takes, by which the process would end. */
import { defaultEngineLimits } from '@ashlar/engine'
import { expect, it, onTestFinished } from 'vitest'
import { ClientDisconnected } from '../../src/errors/request-errors.ts'
import { defaultServerLimits } from '../../src/limits.ts'
import { runBulk } from '../../src/operations/bulk/run-bulk.ts'

it('the end of a body that is told after the load was stopped is taken', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const stopped = new AbortController()
  stopped.abort(new ClientDisconnected())
  let breakOff: (error: Error) => void = () => undefined
  const lines = {
    next: () =>
      new Promise((_resolve, reject) => {
        breakOff = reject
      }),
  }
  const load = { waiting: 0, hasOpenNames: false, end: () => undefined }
  const limits = { ...defaultServerLimits, ...defaultEngineLimits }
  const request = { signal: stopped.signal, service: { limits }, problemOf: (error: unknown) => error }
  const replies = runBulk(
    lines as never,
    { beginLoad: () => load } as never,
    request as never,
    { isAtomic: false } as never,
  )
  await expect(replies[Symbol.asyncIterator]().next()).rejects.toThrow(ClientDisconnected)
  breakOff(new Error('aborted'))
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
})
