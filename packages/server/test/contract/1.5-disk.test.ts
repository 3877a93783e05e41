/** What statements sort, group and join beyond their memory, over HTTP: it goes on on disk, within limits, and leaves nothing there. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const count = 900
const codes = Array.from({ length: count }, (_, i) => (i * 7_919) % 1_009)
/** Of a process of another number, which has ended. */
const leftover = 'ashlar-spill-999999999-1.tmp'
const servers: ServerUnderTest[] = []

interface Started {
  readonly server: ServerUnderTest
  readonly temporary: string
  ask(query: string, parameters?: object): ReturnType<ServerUnderTest['send']>
}

async function start(limits: object, temporaryDir?: string): Promise<Started> {
  const data = temporaryDirectory()
  const temporary = temporaryDir ?? join(data, '.temporary')
  if (temporaryDir === undefined) {
    mkdirSync(temporary)
    writeFileSync(join(temporary, leftover), 'x')
  }
  const config = join(data, 'ashlar.json')
  const settings = temporaryDir === undefined ? {} : { temporaryDir }
  writeFileSync(config, JSON.stringify({ limits, ...settings }))
  const server = await startServer({ words: ['--fd', 'one', '--config', config], data })
  servers.push(server)
  await new FdUnderTest(server, 'one').define(classOf('Item', { code: 'integer', text: 'string' }))
  const ask = (query: string, parameters: object = {}) =>
    server.send('POST', '/v1/query', { body: { query, parameters } })
  const load = 'FOR EACH c IN $codes => (CREATE Item {code: $c, text: CAST($c AS String)})'
  for (let at = 0; at < count; at += 300)
    expect((await ask(load, { codes: codes.slice(at, at + 300) })).status).toBe(200)
  return { server, temporary, ask }
}

let roomy: Started
let tight: Started

beforeAll(async () => {
  roomy = await start({})
  tight = await start({ statementBytesMax: 2 ** 17 })
})
afterAll(() => Promise.all(servers.map((server) => server.remove())))

rule(
  ['1.5.22', '8.1.23'],
  'more than memory holds is sorted, grouped, made distinct and joined with the same result',
  async () => {
    expect((await roomy.server.get('/v1/fd')).json.limits).toMatchObject({
      statementDiskBytesMax: 4 * 2 ** 30,
      statementsDiskBytesMax: 8 * 2 ** 30,
    })
    for (const query of [
      'FROM Item ORDER BY text, code DESC RETURN code, text',
      'FROM Item GROUP BY text RETURN text, COUNT() AS n, COLLECT(code) AS codes',
      'FROM Item RETURN DISTINCT text, code',
      'FROM Item i, Item j WHERE i.code = j.code RETURN i.code, j.text',
    ]) {
      const rows = (await roomy.ask(query)).json
      expect(rows).toHaveLength(count)
      // Without ORDER BY, rows come in the order of OIDs, which the two servers need not have given alike.
      const shown = query.includes('ORDER BY') ? rows : inAnyOrder(rows)
      const found = (await tight.ask(query)).json
      expect(query.includes('ORDER BY') ? found : inAnyOrder(found)).toEqual(shown)
      const [plan] = (await tight.ask(`EXPLAIN ANALYZE ${query}`)).json
      expect(JSON.stringify(plan)).toContain('spilledBytes')
      const [inMemory] = (await roomy.ask(`EXPLAIN ANALYZE ${query}`)).json
      expect(JSON.stringify(inMemory)).not.toContain('spilled')
    }
    // What a process that was killed has left is gone as well.
    expect(readdirSync(tight.temporary)).toEqual([])
    expect(readdirSync(roomy.temporary)).toEqual([])
  },
)

function inAnyOrder(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort()
}

rule(['1.5.22', '1.5.2'], 'within limits that are named, where there is a place for it', async () => {
  const sorting = 'FROM Item ORDER BY text RETURN code, text'
  for (const [limits, status, type, words] of [
    [{ statementDiskBytesMax: 0 }, 422, 'LimitExceeded', '131072 bytes (statementBytesMax)'],
    [{ statementDiskBytesMax: 20_000 }, 422, 'LimitExceeded', '20000 bytes on disk (statementDiskBytesMax)'],
    [{ statementsDiskBytesMax: 20_000 }, 503, 'ServerBusy', '20000 bytes on disk (statementsDiskBytesMax)'],
  ] as const) {
    const { ask, temporary } = await start({ statementBytesMax: 2 ** 17, ...limits })
    const reply = await ask(sorting)
    expect(expectProblem(reply, status, type)).toContain(words)
    expect('retry-after' in reply.headers).toBe(status === 503)
    expect(readdirSync(temporary)).toEqual([])
    expect((await ask('FROM Item RETURN COUNT() AS n')).json).toEqual([{ n: count }])
  }
  const file = join(temporaryDirectory(), 'a file')
  writeFileSync(file, '')
  const { ask } = await start({ statementBytesMax: 2 ** 17 }, file)
  const reply = await ask(sorting)
  expect(expectProblem(reply, 503, 'ServerBusy')).toContain('temporaryDir')
  // Somebody has to mend it first.
  expect('retry-after' in reply.headers).toBe(false)
  expect((await ask('FROM Item RETURN COUNT() AS n')).json).toEqual([{ n: count }])
})
