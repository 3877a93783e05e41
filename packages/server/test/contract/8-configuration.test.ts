/** Options, environment and configuration file of the real executable. */
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openStore } from '@ashlar/engine'
import { expect } from 'vitest'
import { freePort } from '../executable/process.ts'
import { childrenOf } from '../process-tree.ts'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { runToEnd, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const folder = temporaryDirectory()

function fileOf(name: string, content: unknown): string {
  const file = join(folder, name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

async function aliasesOf(server: ServerUnderTest): Promise<string[]> {
  return (await server.get('/health/ready')).json.federatedDatabases
}

rule('8.1.1', 'options before environment before file, setting by setting', async () => {
  const [a, b, c] = [await freePort(), await freePort(), await freePort()]
  const config = fileOf('layers.json', { port: a, allowShutdown: true, federatedDatabases: [{ alias: 'file' }] })
  for (const [words, environment, port, aliases] of [
    [[], {}, a, ['file']],
    [[], { ASHLAR_PORT: String(b), ASHLAR_FD: 'one,two' }, b, ['one', 'two']],
    [['--port', String(c)], { ASHLAR_PORT: String(b), ASHLAR_FD: 'one,two' }, c, ['one', 'two']],
    [['--fd', 'option'], { ASHLAR_FD: 'one,two' }, a, ['option']],
  ] as const) {
    const server = await startServer({ isBare: true, words: ['--config', config, ...words], environment })
    expect(server.url).toBe(`http://127.0.0.1:${port}`)
    expect(await aliasesOf(server)).toEqual(aliases)
    // Said by the file alone.
    expect((await server.send('POST', '/v1/shutdown')).status).toBe(204)
    await server.remove()
  }
})

rule('8.1.35', 'a federated database has an isolation level', async () => {
  const config = fileOf('isolation.json', {
    federatedDatabases: [{ alias: 'a', isolation: 'snapshot' }, { alias: 'b' }],
  })
  const server = await startServer({
    isBare: true,
    words: ['--config', config, '--isolation', 'b=snapshot', '--port', '0'],
  })
  for (const alias of ['a', 'b']) {
    expect((await server.get(`/v1/fd?fdAlias=${alias}`)).json).toMatchObject({ isolation: 'snapshot' })
  }
  await server.remove()
  const other = await startServer({ isBare: true, words: ['--isolation', 'a=none', '--port', '0'] }).catch(String)
  expect(other).toContain('serializable or snapshot')
})

rule('8.1.2', 'unknown settings are refused with near names', async () => {
  const unknown = fileOf('unknown.json', { prot: 8185 })
  const limit = fileOf('limit.json', { limits: { bodyBytes: 1 } })
  const store = fileOf('store.json', { federatedDatabases: [{ alias: 'a', stroe: 'memory:' }] })
  const refusals: [string[], Record<string, string>, string][] = [
    [['--config', unknown], {}, 'port'],
    [['--config', limit], {}, 'bodyBytesMax'],
    [['--config', store], {}, 'store'],
    [['--prot', '1'], {}, '--port'],
    [['--config', join(folder, 'nope.json')], {}, 'nope.json'],
  ]
  const told = await Promise.all(refusals.map(([words, environment]) => runToEnd(['serve', ...words], environment)))
  for (const [i, { code, stderr }] of told.entries()) {
    expect({ code, stderr }).toEqual({
      code: expect.any(Number),
      stderr: expect.stringContaining(refusals[i]?.[2] ?? ''),
    })
    expect(code).not.toBe(0)
  }
})

rule(
  '8.1.2',
  'unknown variables, and those that Kubernetes sets for a service, are ignored with a warning',
  async () => {
    const environment = { ASHLAR_PROT: '1', ASHLAR_PORT: 'tcp://10.0.0.1:8185', ASHLAR_SERVICE_HOST: '10.0.0.1' }
    const file = fileOf('any-port.json', { port: 0 })
    const server = await startServer({ isBare: true, words: ['--config', file, '--fd', 'a=memory:'], environment })
    expect(await aliasesOf(server)).toEqual(['a'])
    expect(server.stderr()).toContain(
      'There is no setting ASHLAR_PROT. Did you mean ASHLAR_PORT? The variable is ignored.',
    )
    expect(server.stderr()).toContain('ASHLAR_PORT, ASHLAR_SERVICE_HOST: ignored')
    await server.remove()
  },
)

rule(['8.1.3', '8.1.8', '1.1.4'], 'several FDs, a default one, and stores of their own', async () => {
  const place = join(folder, 'elsewhere')
  const server = await startServer({
    words: ['--fd', 'a', '--fd', `b=lmdb:${place}`, '--fd', 'c=memory:', '--default', 'b'],
  })
  expect((await server.get('/v1/fd')).json).toMatchObject({ alias: 'b', bootfile: place })
  expect((await server.get('/v1/fd?fdAlias=a')).json.bootfile).toContain(server.data)
  expect((await server.get('/v1/fd?fdAlias=c')).json.store).toEqual({ kind: 'memory', isDurable: false })
  await new FdUnderTest(server, 'b').define(classOf('Car', {}))
  expect((await server.get('/v1/schema')).json).toHaveLength(1)
  expect((await server.get('/v1/schema?fdAlias=a')).json).toEqual([])
  await server.remove()
  expect((await runToEnd(['serve', '--fd', 'a', '--default', 'b'])).code).toBe(1)
})

rule('8.1.19', 'a change log for each FD, on unless it is turned off', async () => {
  const config = fileOf('change-logs.json', {
    federatedDatabases: [
      { alias: 'a', store: 'memory:', changeLog: 'off' },
      { alias: 'b', store: 'memory:', changeLog: 'off' },
      { alias: 'c', store: 'memory:' },
    ],
  })
  const server = await startServer({ words: ['--config', config, '--change-log', 'b=on'] })
  for (const [alias, status] of Object.entries({ a: 409, b: 200, c: 200 })) {
    const reply = await server.get(`/v1/changes?fdAlias=${alias}`)
    expect(reply.status).toBe(status)
    if (status === 409) expect(reply.json.type).toBe('ChangeLogOff')
  }
  await server.remove()
  const refused = await runToEnd(['serve', '--port', '0', '--fd', 'a=memory:', '--change-log', 'a=perhaps'])
  expect(refused.stderr).toContain('on, off or auto')
})

rule('8.1.17', 'a dialect for each FD', async () => {
  const config = fileOf('dialects.json', {
    federatedDatabases: [
      { alias: 'a', store: 'memory:', dialect: 'objectivity' },
      { alias: 'b', store: 'memory:', dialect: 'objectivity' },
      { alias: 'c', store: 'memory:' },
    ],
  })
  const server = await startServer({ words: ['--config', config, '--dialect', 'b=ashlar'] })
  for (const [alias, dialect] of Object.entries({ a: 'objectivity', b: 'ashlar', c: 'ashlar' })) {
    expect((await server.get(`/v1/fd?fdAlias=${alias}`)).json.dialect).toBe(dialect)
    await new FdUnderTest(server, alias).define(classOf('Car', {}))
    const rows = (await server.post(`/v1/query?fdAlias=${alias}`, { query: 'FROM Car RETURN COUNT() AS n' })).json
    expect(rows).toEqual([dialect === 'ashlar' ? { n: 0 } : { __class__: '_Projection', n: 0 }])
  }
  await server.remove()
  const refused = await runToEnd(['serve', '--port', '0', '--fd', 'a=memory:', '--dialect', 'a=sql'])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('ashlar or objectivity') })
})

rule('8.1.9', 'aliases, and places that two FDs would share', async () => {
  const long = 'x'.repeat(64)
  const server = await startServer({ words: ['--fd', `0-a_B=memory:`, '--fd', `${long}=memory:`] })
  expect(await aliasesOf(server)).toEqual(['0-a_B', long])
  await server.remove()
  const words = ['_a', 'a.b', '', `${long}x`].map((alias) => `--fd=${alias}=memory:`)
  const refusals = await Promise.all(words.map((word) => runToEnd(['serve', '--port', '0', word])))
  expect(refusals.map(({ code }) => code)).toEqual(words.map(() => 1))
  expect((await runToEnd(['serve', '--port', '0', '--fd', 'a=memory:', '--fd', 'a=memory:'])).code).toBe(1)
  for (const store of [`lmdb:${folder}/one`, `lmdb:${folder}/./one`]) {
    const refused = await runToEnd(['serve', '--port', '0', '--fd', `a=lmdb:${folder}/one`, '--fd', `b=${store}`])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('one') })
  }
})

rule('8.1.10', 'without options there is one FD, default, under ./data', async () => {
  const server = await startServer({ isBare: true, words: ['--port', '0'] })
  const { alias, bootfile } = (await server.get('/v1/fd')).json
  expect(alias).toBe('default')
  expect(resolve(server.data, bootfile)).toBe(join(realpathSync(server.data), 'data', 'default'))
  expect(readdirSync(join(server.data, 'data'))).toEqual(['default'])
  await server.remove()
})

rule('1.1.1', 'without options the address is 127.0.0.1:8185', async () => {
  // Another server may have the port: then the refusal names it.
  const told = await startServer({ isBare: true }).then(
    async (server) => {
      await server.remove()
      return server.startLine
    },
    (error: Error) => error.message,
  )
  expect(told).toMatch(/127\.0\.0\.1/)
  expect(told).toMatch(/\b8185\b/)
})

rule('8.1.11', 'all settings of the JSON file', async () => {
  const port = await freePort()
  const data = join(folder, 'settings')
  const settings = {
    host: '127.0.0.1',
    port,
    data,
    default: 'two',
    federatedDatabases: [{ alias: 'one' }, { alias: 'two', store: 'memory:' }],
    limits: { jsonDepthMax: 9 },
    allowShutdown: true,
    importDir: null,
    hosts: null,
    cors: ['https://app.example.com'],
  }
  const server = await startServer({ isBare: true, words: ['--config', fileOf('settings.json', settings)] })
  expect(server.url).toBe(`http://127.0.0.1:${port}`)
  expect((await server.get('/v1/fd')).json).toMatchObject({ alias: 'two', limits: { jsonDepthMax: 9 } })
  expect((await server.get('/v1/fd?fdAlias=one')).json.bootfile).toBe(join(data, 'one'))
  const ended = new Promise((done) => server.child.once('exit', done))
  expect((await server.send('POST', '/shutdown')).status).toBe(204)
  expect(await ended).toBe(0)
  await server.remove()
  const wrong = [{ port: 'x' }, { port: 70_000 }, { allowShutdown: 'maybe' }, { limits: { jsonDepthMax: 'many' } }, []]
  const files = wrong.map((content, i) => fileOf(`wrong${i}.json`, content))
  for (const { code, stderr } of await Promise.all(files.map((file) => runToEnd(['serve', '--config', file])))) {
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^ashlar: .*\n$/)])
  }
})

rule('8.1.4', "the original server's XML", async () => {
  mkdirSync(join(folder, 'boot'), { recursive: true })
  const port = await freePort()
  const xml = `<?xml version="1.0"?><RestServer><PortNumber>${port}</PortNumber><Timeout>30</Timeout>
    <FederatedDatabases><FederatedDatabase fdAlias="fleet" bootFile="${folder}/boot/fleet.boot"/></FederatedDatabases></RestServer>`
  const server = await startServer({ isBare: true, words: ['--config', fileOf('original.xml', xml)] })
  expect(server.url).toBe(`http://127.0.0.1:${port}`)
  expect(await aliasesOf(server)).toEqual(['fleet'])
  expect((await server.get('/v1/fd')).json.bootfile).toContain(join(folder, 'boot'))
  expect(server.stderr()).toContain('Timeout')
  await server.remove()
})

rule('8.1.5', 'listening beyond the machine is refused unless asked for', async () => {
  const refused = await runToEnd(['serve', '--host', '0.0.0.0', '--port', '0'])
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('--insecure') })
})

rule('8.1.6', 'any free port, and one line that says where', async () => {
  const server = await startServer({ words: ['--fd', 'fleet'] })
  expect(server.startLine).toMatch(/http:\/\/127\.0\.0\.1:\d+/)
  expect(server.startLine).toContain('fleet')
  expect(server.startLine).toContain('/docs')
  const port = new URL(server.url).port
  const taken = await runToEnd(['serve', '--port', port, '--data', folder])
  expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining(port) })
  await server.remove()
})

rule('8.1.14', 'several workers answer on one port, and share what each has changed', async () => {
  const server = await startServer({ words: ['--workers', '2', '--fd', 'fleet'] })
  expect(server.startLine).toContain('2 workers')
  const fd = new FdUnderTest(server, 'fleet')
  await fd.define(classOf('Car', { license: 'string' }))
  const oids = new Set<string>()
  for (let nth = 0; nth < 20; nth++) {
    const oid = await fd.create('Car', { license: `A${nth}` })
    expect((await fd.read(oid)).license).toBe(`A${nth}`)
    oids.add(oid)
  }
  expect(oids.size).toBe(20)
  expect(await server.end()).toBe(0)
  const inMemory = await runToEnd(['serve', '--workers', '2', '--fd', 'fleet=memory:', '--port', '0'])
  expect(inMemory).toMatchObject({ code: 1, stderr: expect.stringMatching(/fleet is kept in memory.*\n$/) })
  await server.remove()
})

rule('8.1.14', 'without workers the process that is started answers by itself, also from memory', async () => {
  const server = await startServer({ words: ['--workers', '0', '--fd', 'fleet', '--fd', 'notes=memory:'] })
  expect(server.startLine).not.toContain('workers')
  expect(childrenOf(server.pid)).toEqual([])
  for (const alias of ['fleet', 'notes']) {
    const fd = new FdUnderTest(server, alias)
    await fd.define(classOf('Car', { license: 'string' }))
    expect((await fd.read(await fd.create('Car', { license: 'A' }))).license).toBe('A')
  }
  expect(await server.end()).toBe(0)
  await server.remove()
})

rule(
  '8.1.15',
  'a store of another format is not served, neither from the start nor from when it has become one',
  async () => {
    const server = await startServer({ words: ['--fd', 'fleet'] })
    const fd = new FdUnderTest(server, 'fleet')
    await fd.define(classOf('Car', { license: 'string' }))
    const oid = await fd.create('Car', { license: 'A' })
    const address = `lmdb:${join(server.data, 'fleet')}`
    const store = await openStore(address)
    // What the first commit of a migration does: the versions of the format and of the catalog are others.
    const raised = [Buffer.of(0, 0), Buffer.of(1, 0)].map((key) => ({
      kind: 'put' as const,
      key,
      value: Buffer.of(0, 0, 0, 99),
    }))
    await store.commit({ changes: raised, preconditions: [] })
    const { entries } = await store.stats()
    const replies = [
      await server.get(fd.at(`/v1/object/${oid}`)),
      await fd.postObject('Car', { license: 'B' }),
      await server.post(fd.at('/v1/query'), { query: 'FROM Car RETURN *' }),
      await server.get('/health/ready'),
    ]
    for (const reply of replies) {
      const message = expectProblem(reply, 503, 'StoreUnavailable')
      expect(message).toBe(
        'The database has storage format 99 now, and this server reads format 5: it no longer serves the database.',
      )
    }
    expect((await server.get('/health/live')).status).toBe(200)
    expect((await store.stats()).entries).toBe(entries)
    await store.close()
    expect(await server.end()).toBe(0)
    const log = server.stderr().split('\n')
    const told = log.filter((line) => line.includes('"level":60')).map((line) => JSON.parse(line))
    expect(told).toEqual([
      expect.objectContaining({ fdAlias: 'fleet', msg: expect.stringContaining('start the newer version') }),
    ])
    const again = await runToEnd(['serve', '--port', '0', '--fd', `fleet=${address}`])
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^ashlar: .*has storage format 99, and .*\n$/),
    })
    await server.remove()
  },
)

rule('8.1.7', 'what was acknowledged is there after a restart', async () => {
  const first = await startServer({ words: ['--fd', 'fleet'] })
  const fd = new FdUnderTest(first, 'fleet')
  await fd.define(classOf('Car', { license: 'string' }))
  await fd.index('byLicense', 'Car', true, 'license')
  const oid = await fd.create('Car', { license: 'A' })
  expect(await first.end()).toBe(0)
  const second = await startServer({ words: ['--fd', 'fleet'], data: first.data })
  const again = new FdUnderTest(second, 'fleet')
  expect((await again.read(oid)).license).toBe('A')
  expectProblem(await again.postObject('Car', { license: 'A' }), 409, 'UniqueViolation')
  expect((await second.get(again.at('/v1/index/byLicense'))).json.entryCount).toBe(1)
  expect(await again.create('Car', { license: 'B' })).not.toBe(oid)
  await second.remove()
})
