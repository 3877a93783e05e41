/** Administrative tools, over HTTP. */
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Loose, type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'main', '--fd', 'other'] })
  fd = new FdUnderTest(server, 'main')
  await fd.define(classOf('Car', { license: 'string', year: 'integer' }))
  for (let i = 0; i < 30; i++) await fd.create('Car', { license: `L${i}`, year: i % 3 })
})
afterAll(() => server.remove())

const tool = async (name: string, flags?: unknown, headers: Record<string, string> = {}) => {
  return server.send('POST', fd.at('/v1/tool'), {
    body: { tool: name, ...(flags === undefined ? {} : { flags }) },
    headers,
  })
}
const outputOf = async (name: string, flags?: unknown): Promise<string> => {
  const reply = await tool(name, flags)
  expect(reply.status, reply.text).toBe(200)
  expect(reply.json).toEqual({ returnCode: 0, toolOutput: expect.any(String), toolError: '' })
  return reply.json.toolOutput
}

rule(['2.2.1', '1.1.14'], 'the tools are listed with their flags, whatever the alias', async () => {
  const reply = await server.get('/v1/tool?fdAlias=nobody')
  expect(reply.status).toBe(200)
  expect(reply.json.map(({ name }: Loose) => name)).toEqual([
    'AddIndex',
    'ListIndexes',
    'DropIndex',
    'UpgradeObjects',
    'Verify',
    'Statistics',
  ])
  for (const { description, flags } of reply.json) {
    expect(description.length).toBeGreaterThan(10)
    for (const flag of flags) expect(flag).toMatchObject({ name: expect.any(String), description: expect.any(String) })
  }
})

rule('2.2.5', 'tools of indexes', async () => {
  const flags = { name: 'byYear', class: 'Car', attributes: 'year, license', unique: 'true' }
  expect(await outputOf('AddIndex', flags)).toBe('unique index byYear on Car (year, license): ready, 30 entries')
  expect(await outputOf('listindexes')).toBe('unique index byYear on Car (year, license): ready, 30 entries')
  const failed = await tool('AddIndex', { name: 'byYearAlone', class: 'Car', attributes: 'year', unique: true })
  expect(failed.json).toMatchObject({
    returnCode: 1,
    toolOutput: '',
    toolError: expect.stringContaining('already held'),
  })
  expect(await outputOf('DropIndex', { name: 'byYear' })).toBe('Index byYear is deleted.')
  expect((await tool('DropIndex', { name: 'byYear' })).json).toMatchObject({
    returnCode: 1,
    toolError: "There is no index 'byYear'.",
  })
})

rule('2.2.5', 'tools of objects', async () => {
  expect(await outputOf('Verify')).toMatch(/^30 objects, 0 link entries, \d+ index entries: no problem\.$/)
  expect(await outputOf('Statistics')).toMatch(/^class Car: 30 objects of \d+ bytes\nother: /)
  await server.put(fd.at('/v1/schema/Car'), { attributesToAdd: [{ attributeName: 'color', logicalType: 'string' }] })
  expect(await outputOf('Statistics')).toMatch(/^class Car: 30 objects of \d+ bytes, 30 of earlier shapes\n/)
  expect(await outputOf('UpgradeObjects', { objectsPerSecond: '100000' })).toBe('30 objects looked at, 30 rewritten.')
  expect(await outputOf('UpgradeObjects')).toBe('30 objects looked at, 0 rewritten.')
  expect(await outputOf('Statistics')).not.toMatch(/earlier/)
  expect(await outputOf('Verify')).toMatch(/no problem/)
})

rule('2.2.5', 'runs that nobody waits for tell how far they have come', async () => {
  const reply = await tool('UpgradeObjects', {}, { prefer: 'respond-async' })
  expect([reply.status, reply.headers['preference-applied']]).toEqual([202, 'respond-async'])
  for (;;) {
    const listed: Loose[] = (await server.get('/v1/tool')).json
    const runs = listed.find(({ name }) => name === 'UpgradeObjects').runs
    const last = runs.at(-1)
    expect(last).toMatchObject({
      tool: 'UpgradeObjects',
      fdAlias: 'main',
      startedAt: expect.any(String),
      done: expect.any(Number),
    })
    if (last.state === 'running') continue
    expect(last).toMatchObject({ state: 'ended', done: 30, total: 30, returnCode: 0 })
    break
  }
})

rule('2.2.5', 'wrong tools and flags', async () => {
  expect(expectProblem(await tool('Reboot'), 400, 'MalformedRequest')).toMatch(/there are AddIndex, ListIndexes/)
  expectProblem(await tool('AddIndex', { name: 'x' }), 400, 'MalformedRequest')
  expectProblem(await tool('Verify', { fast: true }), 400, 'UnknownField')
  expectProblem(await tool('UpgradeObjects', { objectsPerSecond: 'many' }), 400, 'MalformedValue')
  expectProblem(await tool('UpgradeObjects', { objectsPerSecond: 0 }), 400, 'MalformedValue')
  expectProblem(await tool('DropIndex', { name: 5 }), 400, 'MalformedValue')
  expectProblem(await tool('Verify', []), 400)
  expectProblem(await server.post(fd.at('/v1/tool'), { flags: {} }), 400, 'MalformedRequest')
  expectProblem(await server.post('/v1/tool', { tool: 'Verify' }), 400, 'FederatedDatabaseRequired')
})
