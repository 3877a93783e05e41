/** Several processes that have one directory open, a server beside them, some of which are killed: no increment is lost, and nothing that was reported. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect, type Id } from '@ashlar/client'
import { expect, it, onTestFinished } from 'vitest'
import { start } from '../../../server/test/executable/process.ts'
import { open } from '../../src/index.ts'

interface Schema {
  Counter: { $id: Id<'Counter'>; n: number | null; names: string[] }
  Entry: { $id: Id<'Entry'>; name: string | null }
}

const schema =
  'UPDATE SCHEMA { CREATE CLASS Counter {n: Integer, names: List{Element: String}} CREATE CLASS Entry {name: String{Unique}} }'

/** Increments a counter by interactive transactions, and reports each number when it is committed. */
const program = `
  import { open } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
  const [folder, counter, name] = process.argv.slice(1)
  const db = await open(folder)
  for (let nth = 0; ; nth++) {
    const n = await db.transaction(async (tx) => {
      const { n } = await tx.get('Counter', counter)
      await tx.update('Counter', counter, { n: n + 1 })
      await tx.create('Entry', { name: name + '-' + nth })
      return n + 1
    })
    console.log(n + ' ' + name + '-' + nth)
  }`

class Incrementing {
  readonly reported: { readonly n: number; readonly name: string }[] = []
  private readonly child: ChildProcess
  private readonly ended: Promise<unknown>

  constructor(folder: string, counter: string, name: string) {
    const words = ['--input-type=module', '--eval', program, folder, counter, name]
    this.child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void this.child.kill('SIGKILL'))
    const lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream })
    lines.on('line', (line) => {
      const [n = '', entry = ''] = line.split(' ')
      this.reported.push({ n: Number(n), name: entry })
    })
    this.ended = Promise.all([once(this.child, 'exit'), once(lines, 'close')])
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }
}

it('each sees what the others commit, whichever of them is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-shared-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const db = await open<Schema>(folder)
  onTestFinished(() => db.close())
  await db.client.query(schema)
  const counter = await db.create('Counter', { n: 0 })
  const { url, child, ended } = start(['serve', '--port', '0', '--fd', `main=lmdb:${folder}`])
  const overHttp = connect<Schema>(await url)

  const all = ['a', 'b', 'c'].map((name) => new Incrementing(folder, counter, name))
  const [victim, ...others] = all as [Incrementing, ...Incrementing[]]
  const ofServer: number[] = []
  const isDone = (): boolean => victim.reported.length >= 10 && others.every((one) => one.reported.length >= 10)
  for (let nth = 0; !isDone(); nth++) {
    await overHttp.create('Entry', { name: `server-${nth}` })
    ofServer.push(nth)
    await db.transaction(async (tx) => {
      const found = await tx.get('Counter', counter)
      await tx.update('Counter', counter, { names: [...(found?.names ?? []), String(nth)] })
    })
  }
  await victim.kill()
  const before = others.map((one) => one.reported.length)
  await expect.poll(() => others.every((one, i) => one.reported.length > (before[i] ?? 0) + 5)).toBe(true)
  await Promise.all(others.map((one) => one.kill()))

  const reported = all.flatMap((one) => one.reported)
  expect(new Set(reported.map(({ n }) => n)).size).toBe(reported.length)
  const entries = await overHttp.find('Entry', { select: { name: true } })
  const names = new Set(entries.map(({ name }) => name))
  for (const { name } of reported) expect(names).toContain(name)
  const final = await db.get('Counter', counter)
  // A commit of a process that was killed may not have been reported.
  expect(entries.length - ofServer.length).toBe(final?.n)
  expect(Number(final?.n)).toBeGreaterThanOrEqual(reported.length)
  expect(Number(final?.n)).toBeLessThanOrEqual(reported.length + all.length)
  expect(final?.names).toEqual(ofServer.map(String))
  expect(await overHttp.get('Counter', counter)).toEqual(final)
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})

it('a change of one process wakes the live queries of another', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-shared-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const db = await open<Schema>(folder)
  onTestFinished(() => db.close())
  await db.client.query(schema)
  const counter = await db.create('Counter', { n: 0 })
  const incrementing = new Incrementing(folder, counter, 'other')
  let seen = 0
  for await (const [row] of db.watch('Counter', { select: { n: true } })) {
    seen = row?.n ?? 0
    if (seen > 0) break
  }
  await incrementing.kill()
  expect(seen).toBeGreaterThan(0)
})
