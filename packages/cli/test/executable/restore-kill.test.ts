/** `ashlar restore --until`, of a full backup and incremental ones, killed at random moments: run again, it leads to the state of that moment, with nothing doubled. */
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { checkStore, FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, inject } from 'vitest'
import { rule } from '../../../server/test/contract/rule.ts'
import { ashlar, temporaryDirectory } from '../../../server/test/executable/process.ts'

const kills = Math.max(3, Math.ceil(10 * Number(process.env.ASHLAR_RUNS ?? 1)))
const ports = 20_000
const part = 1_000

async function rowsOf(fd: FederatedDatabase, text: string): Promise<string> {
  const { chunks } = await fd.query({ text })
  const parts: Buffer[] = []
  for await (const { bytes } of chunks) parts.push(Buffer.from(bytes))
  return Buffer.concat(parts).toString()
}

/** Objects are created, changed and deleted in each part, by the unique name of which an index must tell the right one. */
async function change(fd: FederatedDatabase, from: number): Promise<void> {
  const made = Array.from({ length: part }, (_, i) => ({
    class: 'Port',
    attributes: { name: `port ${from + i}`, n: 0 },
  }))
  await fd.createObjects(made)
  await rowsOf(fd, `UPDATE Port WHERE n < 3 ORDER BY name TAKE ${part / 2} SET n TO n + 1`)
  await rowsOf(fd, `DELETE Port WHERE n = 2 TAKE ${part / 10}`)
}

rule('8.1.21', 'a restore up to a moment that is killed goes on, or begins anew, and doubles nothing', async () => {
  const directory = temporaryDirectory()
  const fd = await FederatedDatabase.open({
    alias: 'default',
    store: await openStore(`lmdb:${join(directory, 'store')}`),
    changeLog: 'on',
  })
  const attributes = [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'n', logicalType: 'integer' },
  ]
  await fd.defineClasses([{ className: 'Port', isReferenceable: true, attributes }], 'create')
  await fd.createIndex({
    name: 'byName',
    indexedClass: 'Port',
    isUnique: true,
    keyAttributes: [{ attributeName: 'name' }],
  })
  for (let from = 0; from < ports; from += part) await change(fd, from)
  const backups = join(directory, 'backups')
  await fd.backUp(backups)
  for (let nth = 0; nth < 4; nth++) {
    for (let turn = 0; turn < 3; turn++) await change(fd, ports * (nth + 1) + part * turn)
    await fd.backUp(backups, { isIncremental: true })
  }
  // Within the last of them.
  for (let turn = 0; turn < 3; turn++) await change(fd, ports * 5 + part * turn)
  const until = (await fd.changes.page({ since: 'now', include: 'keys', limit: 1 })).position
  const all = 'FROM Port ORDER BY name RETURN *'
  const expected = await rowsOf(fd, all)
  await change(fd, ports * 6)
  await fd.backUp(backups, { isIncremental: true })
  await fd.close()

  const words = ['restore', 'backups', 'lmdb:restored', '--until', until, '--quiet']
  const began = performance.now()
  expect(await ashlar(words, { directory })).toMatchObject({ code: 0, stderr: '' })
  const tookMs = performance.now() - began
  await expectRestored()
  for (let nth = 0; nth < kills; nth++) {
    // Of the store of the run before, whole or not, nothing is left in each other round.
    if (nth % 2 === 0) rmSync(join(directory, 'restored'), { recursive: true, force: true })
    await killedAfter(tookMs * (0.2 + (0.8 * (nth + Math.random())) / kills), words, directory)
  }
  const { code, stderr } = await ashlar(words, { directory })
  // The last one may have been done before it was killed.
  if (code !== 0) expect([code, stderr]).toEqual([5, expect.stringContaining('is not empty')])
  await expectRestored()

  async function expectRestored(): Promise<void> {
    const store = `lmdb:${join(directory, 'restored')}`
    expect(existsSync(join(directory, 'restored', 'data.mdb'))).toBe(true)
    expect((await checkStore(store)).problems).toEqual([])
    const restored = await FederatedDatabase.open({ alias: 'restored', store: await openStore(store) })
    try {
      expect(await rowsOf(restored, all)).toBe(expected)
    } finally {
      await restored.close()
    }
  }
})

/** With the process that has the store open, which is a child of it. */
async function killedAfter(ms: number, words: readonly string[], directory: string): Promise<void> {
  const child = spawn(process.execPath, [inject('server'), ...words], {
    cwd: directory,
    stdio: 'ignore',
    detached: true,
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await Promise.race([delay(ms), ended])
  if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGKILL')
  await ended
}
