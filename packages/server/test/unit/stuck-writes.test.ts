/** A server on LMDB beside a process that never ends its commit. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'
import { startChild } from '../../../engine/test/store/children/child.ts'
import { rule } from '../contract/rule.ts'
import { defineGadget, openServer } from './open-server.ts'

const holdWrites = new URL('../../../engine/test/store/children/hold-writes.ts', import.meta.url)
/** A tenth of the 60 seconds that commits wait. */
const tickMs = 6_000

rule(
  ['2.1.7', '1.4.13'],
  'a server beside a process that never ends its commit is not ready, and refuses changes, until that one goes on or ends',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'ashlar-stuck-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { app } = await openServer({ store: `lmdb:${directory}` })
    await defineGadget(app)
    const create = {
      method: 'POST',
      url: '/v1/object',
      payload: { class: 'Shop.Gadget', attributes: { size: 1 } },
    } as const
    const other = startChild(holdWrites, [directory])
    expect((await other.lines.next()).value).toBe('open')
    other.process.stdin.write('\n')
    expect((await other.lines.next()).value).toBe('holds')

    const waiting = app.inject(create)
    const readiness = async (): Promise<number> => {
      vi.advanceTimersByTime(tickMs)
      return (await app.inject('/health/ready')).statusCode
    }
    expect(await readiness()).toBe(200)
    await expect.poll(readiness).toBe(503)
    for (const refused of [await waiting, await app.inject(create), await app.inject('/health/ready')]) {
      expect(refused.json()).toMatchObject({ status: 503, type: 'StoreUnavailable' })
      expect(refused.json().message).toContain('another process has been committing to it for 60 seconds')
      expect(refused.body).not.toContain(directory)
      // It may pass by itself.
      expect(refused.headers['retry-after']).toMatch(/^\d+$/)
    }

    other.process.kill('SIGKILL')
    await other.ended
    await expect.poll(async () => (await app.inject('/health/ready')).statusCode).toBe(200)
    expect((await app.inject(create)).statusCode).toBe(201)
  },
)
