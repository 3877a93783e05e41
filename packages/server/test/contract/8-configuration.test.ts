/** Options, environment and configuration file of the real executable. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { runToEnd, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const folder = temporaryDirectory()
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileOf(name: string, content: unknown): string {
  const file = join(folder, name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

async function aliasesOf(server: ServerUnderTest): Promise<string[]> {
  return (await server.get('/health/ready')).json.federatedDatabases
}

rule('8.1.1', 'options before environment before file', async () => {
  const config = fileOf('order.json', {
    federatedDatabases: [{ alias: 'file' }],
    allowShutdown: true,
    host: '127.0.0.1',
  })
  const fromFile = await startServer({ words: ['--config', config] })
  expect(await aliasesOf(fromFile)).toEqual(['file'])
  await fromFile.remove()
  const fromEnvironment = await startServer({ words: ['--config', config], environment: { ASHLAR_FD: 'one,two' } })
  expect(await aliasesOf(fromEnvironment)).toEqual(['one', 'two'])
  await fromEnvironment.remove()
  const fromOptions = await startServer({
    words: ['--config', config, '--fd', 'option'],
    environment: { ASHLAR_FD: 'one' },
  })
  expect(await aliasesOf(fromOptions)).toEqual(['option'])
  await fromOptions.remove()
})

rule('8.1.2', 'unknown settings are refused with near names', async () => {
  const config = fileOf('unknown.json', { prot: 8185 })
  expect(await runToEnd(['serve', '--config', config])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('port'),
  })
  const environment = { ASHLAR_PROT: '1' }
  expect(await runToEnd(['serve'], environment)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('ASHLAR_PORT'),
  })
  expect((await runToEnd(['serve', '--prot', '1'])).code).not.toBe(0)
  expect((await runToEnd(['serve', '--config', join(folder, 'nope.json')])).code).toBe(1)
  expect((await runToEnd(['serve', '--fd', 'not ok'])).code).toBe(1)
  expect((await runToEnd(['serve', '--fd', 'a', '--fd', 'a'])).code).toBe(1)
})

rule('8.1.3', 'several FDs, a default one, and stores of their own', async () => {
  const place = join(folder, 'elsewhere')
  const server = await startServer({
    words: ['--fd', 'a', '--fd', `b=lmdb:${place}`, '--fd', 'c=memory:', '--default', 'b'],
  })
  expect((await server.get('/v1/fd')).json).toMatchObject({ alias: 'b', bootfile: place })
  expect((await server.get('/v1/fd?fdAlias=c')).json.store).toEqual({ kind: 'memory', isDurable: false })
  await server.remove()
  expect((await runToEnd(['serve', '--fd', 'a', '--default', 'b'])).code).toBe(1)
})

rule('8.1.4', "the original server's XML", async () => {
  mkdirSync(join(folder, 'boot'), { recursive: true })
  const xml = `<?xml version="1.0"?><RestServer><PortNumber>0</PortNumber><Timeout>30</Timeout>
    <FederatedDatabases><FederatedDatabase fdAlias="fleet" bootFile="${folder}/boot/fleet.boot"/></FederatedDatabases></RestServer>`
  const server = await startServer({ words: ['--config', fileOf('original.xml', xml)] })
  expect(await aliasesOf(server)).toEqual(['fleet'])
  expect((await server.get('/v1/fd')).json.bootfile).toContain(join(folder, 'boot'))
  expect(server.stderr()).toContain('Timeout')
  await server.remove()
})

rule('8.1.5', 'listening beyond the machine is refused unless asked for', async () => {
  const refused = await runToEnd(['serve', '--host', '0.0.0.0', '--port', '0'])
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('--allow-remote') })
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
