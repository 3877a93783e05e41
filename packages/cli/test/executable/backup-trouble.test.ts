/** Backups that meet trouble: a full disk, servers that are killed, and several processes that look at once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { checkStore, FederatedDatabase, listBackups, openStore, restoreBackup } from '@ashlar/engine'
import { expect, inject, onTestFinished } from 'vitest'
import { rule } from '../../../server/test/contract/rule.ts'
import { ashlar, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { killAll } from '../../../server/test/process-tree.ts'

/** Texts that cannot be compressed by much. */
function noises(count: number): { readonly class: string; readonly attributes: { readonly name: string } }[] {
  let state = 1
  return Array.from({ length: count }, () => {
    let name = ''
    for (let i = 0; i < 100; i++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      name += state.toString(36)
    }
    return { class: 'Port', attributes: { name } }
  })
}

const port = {
  className: 'Port',
  isReferenceable: true,
  attributes: [{ attributeName: 'name', logicalType: 'string' }],
}

async function filled(directory: string, count: number): Promise<void> {
  const store = await openStore(`lmdb:${join(directory, 'data', 'default')}`)
  const fd = await FederatedDatabase.open({ alias: 'default', store, changeLog: 'on' })
  await fd.defineClasses([port], 'create')
  await fd.createObjects(noises(count))
  await fd.close()
}

const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_')))

/** Files may grow to so many KiB, as on a disk that is full, and the signal that would end the process is ignored. */
function limited(kib: number, words: readonly string[], directory: string) {
  const script = `trap '' XFSZ; ulimit -f ${kib}; exec "$0" "$@"`
  const child = spawn('sh', ['-c', script, process.execPath, inject('server'), ...words], {
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    killAll(child.pid as number)
    await ended
  })
  return child
}

const serve = ['serve', '--port', '0', '--config', 'ashlar.json']

/** A configuration file in the directory, and the words that serve it. */
function configured(directory: string, backups: object): void {
  writeFileSync(join(directory, 'ashlar.json'), JSON.stringify({ backups: { directory: 'backups', ...backups } }))
}

async function listening({ stdout }: ReturnType<typeof limited>): Promise<string> {
  if (stdout === null) throw new Error('it has no output')
  let told = ''
  for await (const part of stdout.setEncoding('utf8')) {
    told += part
    const url = /listening on (\S+)/.exec(told)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`ended before it listened: ${told}`)
}

async function ready(url: string): Promise<{ backups: { failure?: string; lastBackup?: { name: string } }[] }> {
  return (await (await fetch(`${url}/health/ready`)).json()) as Awaited<ReturnType<typeof ready>>
}

const filesOf = (directory: string): string[] =>
  existsSync(directory) ? readdirSync(directory).filter((name) => name !== 'backup.lock') : []

rule('8.1.21', 'on a full disk a backup is told to have failed, and leaves nothing', async () => {
  if (process.platform === 'win32') return
  const directory = temporaryDirectory()
  await filled(directory, 1_000)
  expect((await ashlar(['backup', 'lmdb:data/default', 'backups'], { directory })).code).toBe(0)
  const before = filesOf(join(directory, 'backups'))
  for (const words of [
    ['backup', 'lmdb:data/default', 'backups'],
    ['backup', 'lmdb:data/default', 'one.entries'],
  ]) {
    const child = limited(128, words, directory)
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect(stderr).toMatch(
      /^ashlar: There is no backup of .*: .*(full|too large|larger than a file may be here).*\.\n$/,
    )
    expect(code).toBe(1)
  }
  expect(filesOf(join(directory, 'backups'))).toEqual(before)
  expect(readdirSync(directory).filter((name) => name.startsWith('one'))).toEqual([])
})

rule('8.1.22', 'on a full disk the server tells that its backups fail, and goes on', async () => {
  if (process.platform === 'win32') return
  const directory = temporaryDirectory()
  configured(directory, { every: '1h', incrementalEvery: '1s' })
  // Of its files, the backups alone grow.
  const server = limited(1_024, [...serve, '--fd', 'default=memory:'], directory)
  const url = await listening(server)
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(reply.status).toBeLessThan(300)
    return reply.json()
  }
  const state = async () => (await ready(url)).backups[0]
  await expect.poll(state).toMatchObject({ lastBackup: { kind: 'full' } })
  await post('/v1/schema', [port])
  await post('/v1/object', noises(4_000))
  await expect.poll(async () => (await state())?.failure).toMatch(/full|large/)
  await post('/v1/object', { class: 'Port', attributes: { name: 'one more' } })
  const counted = await post('/v1/query', { query: 'FROM Port RETURN COUNT() AS n' })
  expect(counted).toEqual([{ n: 4_001 }])
  const place = join(directory, 'backups', 'default')
  const { all, damaged } = await listBackups(place)
  // It tries again and again.
  const finished = filesOf(place).filter((name) => !name.endsWith('.unfinished'))
  expect([damaged, finished.length]).toEqual([[], 2 * all.length])
  expect((await state())?.lastBackup?.name).toBe(all.at(-1)?.name)
})

rule('8.1.22', 'a server that is killed amid its backup leaves none, and the next one makes it', async () => {
  const directory = temporaryDirectory()
  await filled(directory, 20_000)
  configured(directory, { every: '1h' })
  const place = join(directory, 'backups', 'default')
  const isUnderWay = (): boolean => filesOf(place).some((name) => name.endsWith('.unfinished'))
  const server = limited(10_000_000, serve, directory)
  await listening(server)
  while (!isUnderWay() && filesOf(place).length === 0) await delay(2)
  const ended = once(server, 'exit')
  killAll(server.pid as number)
  await ended
  // None, but on a machine that was busy meanwhile: then it had been made.
  expect(await listBackups(place)).toMatchObject({ damaged: [] })
  const url = await listening(limited(10_000_000, serve, directory))
  await expect.poll(async () => (await ready(url)).backups[0]?.lastBackup).toBeDefined()
  expect(filesOf(place).map((name) => name.replace(/^.*-full/, ''))).toEqual(['.entries', '.json'])
  await restoreBackup(place, await openStore(`lmdb:${join(directory, 'restored')}`))
  expect(await checkStore(`lmdb:${join(directory, 'restored')}`)).toMatchObject({
    problems: [],
    content: { objects: 20_000 },
  })
})

rule('8.1.22', 'of two workers one makes each backup', async () => {
  const directory = temporaryDirectory()
  await filled(directory, 200)
  mkdirSync(join(directory, 'backups'))
  configured(directory, { every: '1h', incrementalEvery: '1s' })
  const url = await listening(limited(10_000_000, [...serve, '--workers', '2'], directory))
  const place = join(directory, 'backups', 'default')
  const create = (): Promise<Response> =>
    fetch(`${url}/v1/object`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ class: 'Port', attributes: { name: 'more' } }),
    })
  while ((await listBackups(place)).all.length < 4) {
    await create()
    await delay(100)
  }
  const { all, damaged } = await listBackups(place)
  expect(damaged).toEqual([])
  expect(all.map(({ kind }) => kind).join()).toMatch(/^full(,incremental){3,}$/)
  // Each goes on from the one before: none was made twice.
  expect(all.slice(1).map(({ base }) => base?.id)).toEqual(all.slice(0, -1).map(({ id }) => id))
  await restoreBackup(join(place, `${all[3]?.name}.json`), await openStore(`lmdb:${join(directory, 'restored')}`))
  expect((await checkStore(`lmdb:${join(directory, 'restored')}`)).problems).toEqual([])
})
