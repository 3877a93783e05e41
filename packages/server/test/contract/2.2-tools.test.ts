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
    'ValidateConstraints',
    'Statistics',
    'Backup',
    'Restore',
    'License',
  ])
  for (const { description, flags } of reply.json) {
    expect(description.length).toBeGreaterThan(10)
    for (const flag of flags) expect(flag).toMatchObject({ name: expect.any(String), description: expect.any(String) })
    expect(flags.at(-1)).toMatchObject({ name: 'bootFile', isRequired: false })
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

/** `path`: with an alias or without one. */
const runTool = async (path: string, name: string, flags: unknown) => {
  return server.send('POST', path, { body: { tool: name, flags } })
}

rule('2.2.12', 'a bootFile that agrees has no effect, and chooses where the URL does not', async () => {
  const ofMain = /^30 objects/
  for (const flag of ['bootFile', 'bootfile', 'BOOTFILE']) {
    for (const value of ['main', '/data/of/main.boot', 'D:\\old\\main.fdb', 'main.boot']) {
      expect(await outputOf('Verify', { [flag]: value }), value).toMatch(ofMain)
      expect((await runTool('/v1/tool', 'Verify', { [flag]: value })).json.toolOutput, value).toMatch(ofMain)
    }
  }
  const { bootfile } = (await server.get(fd.at('/v1/fd'))).json
  expect((await runTool('/v1/tool', 'Verify', { bootFile: bootfile })).json.toolOutput).toMatch(ofMain)
  expect((await runTool('/v1/tool', 'Verify', { bootFile: 'other' })).json.toolOutput).toMatch(/^0 objects/)
})

rule('2.2.12', 'a bootFile that is that of another, of none, or no text', async () => {
  expectProblem(await tool('Verify', { bootFile: 'other' }), 400, 'MalformedRequest')
  const unknown = await runTool('/v1/tool', 'Verify', { bootFile: '/data/none.boot' })
  expect(expectProblem(unknown, 400, 'MalformedRequest')).toBe(
    "The bootFile '/data/none.boot' is none of the federated databases main, other.",
  )
  expectProblem(await tool('Verify', { bootFile: '/data/none.boot' }), 400, 'MalformedRequest')
  expectProblem(await tool('Verify', { bootFile: '' }), 400, 'MalformedValue')
  expectProblem(await tool('Verify', { bootfile: 5 }), 400, 'MalformedValue')
  expectProblem(await tool('Verify', { bootFile: 'main', BootFile: '/main.boot' }), 400, 'MalformedRequest')
  expectProblem(
    await runTool('/v1/tool?fdAlias=nobody', 'Verify', { bootFile: 'main' }),
    404,
    'FederatedDatabaseNotFound',
  )
})

rule('2.2.13', 'AddIndex in the spelling of the original', async () => {
  const flags = { name: 'byLicense', class: 'Car', attribute: 'license', isUnique: 'true', bootfile: 'main' }
  expect(await outputOf('AddIndex', flags)).toBe('unique index byLicense on Car (license): ready, 30 entries')
  await outputOf('DropIndex', { name: 'byLicense', bootFile: '/data/main.boot' })
  const both = { ...flags, attribute: 'license, year', attributes: 'license,year', unique: true, isUnique: true }
  expect(await outputOf('AddIndex', both)).toBe('unique index byLicense on Car (license, year): ready, 30 entries')
  await outputOf('DropIndex', { name: 'byLicense' })
  const { isUnique, ...plain } = flags
  expect(await outputOf('AddIndex', plain)).toBe('index byLicense on Car (license): ready, 30 entries')
  await outputOf('DropIndex', { name: 'byLicense' })
  expectProblem(await tool('AddIndex', { ...flags, attributes: 'year' }), 400, 'MalformedRequest')
  expectProblem(await tool('AddIndex', { ...flags, unique: false }), 400, 'MalformedRequest')
  expectProblem(await tool('AddIndex', { ...flags, isUnique: 'yes' }), 400, 'MalformedValue')
  expect((await server.get(fd.at('/v1/index'))).json).toEqual([])
})

rule('2.2.14', 'License tells the licences, whatever the federated database', async () => {
  for (const path of ['/v1/tool', fd.at('/v1/tool')]) {
    const { json } = await runTool(path, 'License', {})
    expect(json).toMatchObject({ returnCode: 0, toolError: '' })
    const lines: string[] = json.toolOutput.split('\n')
    expect(lines[0]).toBe('Ashlar is licensed under Apache-2.0. It is made of:')
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^find-my-way [\d.]+: MIT$/),
        expect.stringMatching(/^lmdb [\d.]+: MIT$/),
      ]),
    )
    for (const line of lines.slice(1)) expect(line).toMatch(/^[@\w./-]+ \S+: \S/)
    expect(lines.length).toBeGreaterThan(50)
  }
})
