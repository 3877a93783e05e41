/** A server whose disk is full: changes are refused, and everything else goes on. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, inject, onTestFinished, test } from 'vitest'
import { expectProblem } from '../contract/expectations.ts'
import { rule } from '../contract/rule.ts'
import { killAll } from '../process-tree.ts'
import { ashlar, start, temporaryDirectory } from './process.ts'

/** Files may grow to so many blocks, and the signal that would end the process is ignored. */
const limitedTo = (blocks: number): string => `trap '' XFSZ; ulimit -f ${blocks}; exec "$0" "$@"`

function spawnLimited(words: readonly string[], directory: string, stderr: 'inherit' | 'pipe', blocks = 4_096) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_'))
  return spawn('sh', ['-c', limitedTo(blocks), process.execPath, inject('server'), ...words], {
    cwd: directory,
    env: Object.fromEntries(inherited),
    stdio: ['ignore', 'pipe', stderr],
  })
}

async function startLimited(): Promise<string> {
  const child = spawnLimited(['--port', '0', '--log-level', 'silent'], temporaryDirectory(), 'inherit')
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    killAll(child.pid as number)
    await ended
  })
  let told = ''
  const { stdout } = child
  if (stdout === null) throw new Error('its output is piped')
  for await (const text of stdout.setEncoding('utf8')) {
    told += text
    const url = /listening on (\S+)/.exec(told)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`ended before it listened: ${told}`)
}

rule('1.4.17', 'a full disk refuses what does not fit, and nothing else', async () => {
  // Without limits of this kind.
  if (process.platform === 'win32') return
  const url = await startLimited()
  const ask = async (method: string, path: string, body?: unknown) => {
    const sent = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const reply = await fetch(`${url}${path}`, { ...sent, headers: { 'content-type': 'application/json' } })
    const text = await reply.text()
    const headers = Object.fromEntries(reply.headers)
    return {
      status: reply.status,
      headers,
      text,
      bytes: Buffer.from(text),
      json: text === '' ? undefined : JSON.parse(text),
    }
  }
  const attributes = [{ attributeName: 'a', logicalType: 'string' }]
  const defined = await ask('PUT', '/v1/schema', [{ className: 'Text', isReferenceable: true, attributes }])
  expect(defined.status, defined.text).toBe(201)
  const create = (letters: number) =>
    ask('POST', '/v1/object', { class: 'Text', attributes: { a: 'x'.repeat(letters) } })
  const made: string[] = []
  let reply = await create(150_000)
  for (; reply.status === 201; reply = await create(150_000)) made.push(reply.json.uri)
  expectProblem(reply, 503, 'StoreUnavailable')
  expect(reply.headers['retry-after']).toMatch(/^\d+$/)
  expect(reply.json.message).toMatch(/disk full|large/)
  expect(reply.json.message).not.toContain('ashlar-executable')
  expect(made.length).toBeGreaterThan(3)
  for (const uri of made) expect((await ask('GET', uri)).json.a).toHaveLength(150_000)
  const count = await ask('POST', '/v1/query', { query: 'FROM Text RETURN COUNT() AS n' })
  expect(count.json).toEqual([{ n: made.length }])
  expect((await ask('GET', '/health/ready')).status).toBe(200)
  // What takes no more room, or gives some back, is done.
  expect((await ask('DELETE', made[0] as string)).status).toBe(204)
  expect((await create(10)).status).toBe(201)
})

/** The command where files may not become so large, and then without that limit. */
async function limitedThenNot(words: readonly string[], directory: string) {
  const child = spawnLimited(words, directory, 'pipe')
  const [stderr] = await Promise.all([child.stderr === null ? '' : text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stderr, again: await ashlar(words, { directory }) }
}

test('copy, restore and copy of an archive into a full disk say so in one line, and go on once there is room', async () => {
  if (process.platform === 'win32') return
  const directory = temporaryDirectory()
  const fd = await FederatedDatabase.open({ alias: 'full', store: await openStore(`lmdb:${join(directory, 'full')}`) })
  const attributes = [{ attributeName: 'a', logicalType: 'string' }]
  await fd.defineClasses([{ className: 'Text', isReferenceable: true, attributes }], 'create')
  for (let i = 0; i < 60; i++) await fd.createObject('Text', { a: 'x'.repeat(150_000) })
  await fd.close()
  expect(await ashlar(['backup', 'lmdb:full', 'backups'], { directory })).toMatchObject({ code: 0 })
  const served = start(['serve', '--port', '0', '--fd', 'default=lmdb:full'], {}, directory)
  const words = ['export', '--url', await served.url, '-o', 'full.tar.gz']
  expect(await ashlar(words, { directory })).toMatchObject({ code: 0 })
  served.child.kill('SIGTERM')
  await served.ended
  const commands = [
    ['copy', 'lmdb:full', 'lmdb:copied'],
    ['restore', 'backups', 'lmdb:restored'],
  ]
  for (const command of commands) {
    const { code, stderr, again } = await limitedThenNot(command, directory)
    expect(stderr).toMatch(
      /^ashlar: \/[^\n]+ cannot be written: [^\n]*(disk full|large)[^\n]* run the same command again to resume\.\n$/,
    )
    expect(code).toBe(1)
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('(resumed)') })
  }
  const { code, stderr, again } = await limitedThenNot(['copy', 'archive:full.tar.gz', 'lmdb:archived'], directory)
  expect(stderr).toMatch(
    /^ashlar: \/[^\n]+ could not be written: [^\n]+ It was removed\. Nothing was written to the target\.\n$/,
  )
  expect(code).toBe(1)
  expect(again).toMatchObject({ code: 0 })
  expect(readdirSync(directory).filter((name) => name.includes('importing'))).toEqual([])
  expect(existsSync(join(directory, 'archived'))).toBe(true)
})

test('where files may be no larger than some KiB, a sentence tells of that limit', async () => {
  if (process.platform === 'win32') return
  const directory = temporaryDirectory()
  const fd = await FederatedDatabase.open({ alias: 'full', store: await openStore(`lmdb:${join(directory, 'full')}`) })
  await fd.close()
  const child = spawnLimited(['copy', 'lmdb:full', 'lmdb:copied'], directory, 'pipe', 100)
  const [stderr] = await Promise.all([child.stderr === null ? '' : text(child.stderr), once(child, 'close')])
  expect(stderr).toMatch(/^ashlar: [^\n]*(ulimit -f|too large|larger)[^\n]*\n$/)
  expect(child.exitCode).toBe(1)
})

test.skipIf(process.platform === 'win32')(
  'a command leaves the file that is there where it cannot write another',
  async () => {
    const directory = temporaryDirectory()
    const file = join(directory, 'ashlar.json')
    const run = async (...words: string[]): Promise<readonly [code: number | null, stderr: string]> => {
      const child = spawnLimited(['init', file, '--yes', ...words], directory, 'pipe', 1)
      const [told, [code]] = await Promise.all([
        text(child.stderr as NonNullable<typeof child.stderr>),
        once(child, 'close'),
      ])
      return [code as number | null, told]
    }
    const [code, told] = await run()
    expect([code, told]).toEqual([1, expect.stringMatching(/cannot be written/)])
    expect(readdirSync(directory)).toEqual([])
    expect(await ashlar(['init', file, '--yes'], { directory })).toMatchObject({ code: 0 })
    const before = readFileSync(file, 'utf8')
    expect(before.length).toBeGreaterThan(1_024)
    expect((await run('--force'))[0]).toBe(1)
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(readdirSync(directory)).toEqual(['ashlar.json'])
  },
)
