/** Imports, bulk loads and exports that are killed, on either side: sent again nothing is doubled, and what was told to be done is there. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ashlar, type Started, start, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { killAll } from '../../../server/test/process-tree.ts'

const kills = Math.max(1, Math.ceil(10 * Number(process.env.ASHLAR_RUNS ?? 1)))
const records = 6_000
/** Within which most of the work is done: where it is over before, that is tested too. */
const workMs = 700

class Served {
  readonly directory = temporaryDirectory()
  private server: Started | undefined
  url = ''

  async start(): Promise<void> {
    this.server = start(['serve', '--port', '0', '--data', 'data'], {}, this.directory)
    this.url = await this.server.url
  }

  async kill(): Promise<void> {
    killAll(this.server?.child.pid as number)
    await this.server?.ended
  }

  command(words: readonly string[]): Started {
    return start(words, { ASHLAR_URL: this.url, XDG_CONFIG_HOME: this.directory }, this.directory)
  }

  async rows(query: string): Promise<Record<string, unknown>[]> {
    const environment = { ASHLAR_URL: this.url }
    const { code, stdout, stderr } = await ashlar(['query', query, '--json'], {
      directory: this.directory,
      environment,
    })
    expect(code, stderr).toBe(0)
    return JSON.parse(stdout) as Record<string, unknown>[]
  }

  /** A class whose objects have a unique key, and a file of its records. */
  async define(className: string, format: 'csv' | 'ndjson'): Promise<string> {
    await this.rows(
      `UPDATE SCHEMA {CREATE CLASS ${className} {plate: String, n: Integer}}; CREATE UNIQUE INDEX by${className} ON ${className} (plate)`,
    )
    const lines = Array.from({ length: records }, (_, n) =>
      format === 'csv' ? `P${n},${n}` : JSON.stringify({ plate: `P${n}`, n }),
    )
    const file = `${className}.${format}`
    writeFileSync(join(this.directory, file), [...(format === 'csv' ? ['plate,n'] : []), ...lines, ''].join('\n'))
    return file
  }

  /** All records once, and nothing else. */
  async checkAll(className: string): Promise<void> {
    const counted = await this.rows(
      `FROM ${className} RETURN COUNT() AS all, COUNT(DISTINCT plate) AS plates, SUM(n) AS sum`,
    )
    expect(counted).toEqual([{ all: records, plates: records, sum: (records * (records - 1)) / 2 }])
  }
}

const doneSoFar = (stderr: string): number => Number(/--skip (\d+)/.exec(stderr)?.[1] ?? 0)

test(`a server that is killed amid an import, ${kills} times: what was told to be done is there, and it goes on from there`, async () => {
  const served = new Served()
  await served.start()
  for (let round = 0; round < kills; round++) {
    const className = `Car${round}`
    const file = await served.define(className, round % 2 === 0 ? 'csv' : 'ndjson')
    const words = ['import', file, '--class', className, '--upsert-on', `by${className}`]
    const first = served.command(words)
    await delay(Math.random() * workMs)
    await served.kill()
    const { code, stderr } = await first.ended
    await served.start()
    const done = code === 0 ? records : doneSoFar(stderr)
    const there = await served.rows(`FROM ${className} WHERE n < ${done} RETURN COUNT() AS n`)
    expect(there, stderr).toEqual([{ n: done }])
    // From there, or once more from the beginning.
    const skip = round % 3 === 0 ? [] : ['--skip', String(done)]
    expect(await served.command([...words, ...skip]).ended).toMatchObject({ code: 0 })
    await served.checkAll(className)
  }
})

test(`a client that is killed amid an import, ${kills} times: sent again, each record is there once`, async () => {
  const served = new Served()
  await served.start()
  for (let round = 0; round < kills; round++) {
    const className = `Car${round}`
    const file = await served.define(className, 'csv')
    const words = ['import', file, '--class', className, '--upsert-on', `by${className}`]
    const first = served.command(words)
    await delay(Math.random() * workMs)
    first.child.kill('SIGKILL')
    await first.ended
    expect(await served.command(words).ended).toMatchObject({ code: 0 })
    await served.checkAll(className)
  }
})

test(`a server that is killed amid an export, ${kills} times: no file that looks whole, and the rest comes by --after`, async () => {
  const served = new Served()
  await served.start()
  const file = await served.define('Car', 'csv')
  expect(await served.command(['import', file, '--class', 'Car']).ended).toMatchObject({ code: 0 })
  const { stdout: whole } = await served.command(['export', 'Car']).ended
  for (let round = 0; round < kills; round++) {
    const toFile = served.command(['export', 'Car', '--output', 'out.ndjson'])
    const toPipe = served.command(['export', 'Car'])
    await delay(Math.random() * workMs)
    await served.kill()
    const [ofFile, ofPipe] = await Promise.all([toFile.ended, toPipe.ended])
    await served.start()
    const place = join(served.directory, 'out.ndjson')
    if (ofFile.code === 0) expect(readFileSync(place, 'utf8')).toBe(whole)
    else if (round === 0) expect(existsSync(place)).toBe(false)
    const lines = ofPipe.stdout.split('\n').slice(0, -1)
    if (lines.length > 0 && 'error' in JSON.parse(lines.at(-1) ?? '{}')) lines.pop()
    const last = JSON.parse(lines.at(-1) ?? '{}') as { readonly __identifier__?: string }
    const after = last.__identifier__ === undefined ? [] : ['--after', last.__identifier__]
    const { stdout: rest } = await served.command(['export', 'Car', ...after]).ended
    expect(ofPipe.code === 0 ? ofPipe.stdout : [...lines, rest].join('\n')).toBe(whole)
  }
})
