/** `ashlar serve` as a process: options, start line, messages, stopping, and what is there after a restart. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { Agent, type ClientRequest, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { AshlarClient } from '@ashlar/client'
import { describe, expect, it } from 'vitest'
import { version } from '../../../server/src/version.ts'
import { builtProgram, type Started, start, temporaryDirectory } from '../../../server/test/executable/process.ts'

const gadget = {
  className: 'Gadget',
  isReferenceable: true,
  attributes: [{ attributeName: 'name', logicalType: 'string' }],
}

async function stop({ child, ended }: Started): Promise<void> {
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 0 })
}

describe('ashlar serve', () => {
  it('prints a line with its version, address, federated databases and reference page, and one on authentication', async () => {
    const server = start(['--port', '0', '--log-level', 'silent'], {}, temporaryDirectory(), builtProgram)
    const url = await server.url
    await stop(server)
    const { stdout, stderr } = await server.ended
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(stdout).toMatch(/^[^\n]+\nAuthentication is off: [^\n]+\n$/)
    expect(stdout).toContain(`Ashlar ${version} listening on ${url} `)
    expect(stdout).toMatch(/default \(lmdb \S*data\/default\)/)
    expect(stdout).toContain(`${url}/docs`)
    expect(stderr).toBe('')
  })

  it('serves without naming the command, and with it', async () => {
    for (const words of [[], ['serve']]) {
      const server = start([...words, '--port', '0'], {}, temporaryDirectory(), builtProgram)
      expect(await new AshlarClient({ baseUrl: await server.url }).getService()).toMatchObject({ versions: ['v1'] })
      await stop(server)
    }
  })

  it('keeps what it acknowledged, over restarts, by either signal', async () => {
    const directory = temporaryDirectory()
    const words = ['--port', '0', '--data', join(directory, 'kept')]
    const first = start(words, {}, directory)
    const before = new AshlarClient({ baseUrl: await first.url })
    await before.defineClasses([gadget])
    const { __identifier__: oid } = await before.createObject('Gadget', { name: 'kept' })
    const index = { name: 'byName', indexedClass: 'Gadget', isUnique: true, keyAttributes: [{ attributeName: 'name' }] }
    await before.createIndex(index)
    first.child.kill('SIGINT')
    expect((await first.ended).code).toBe(0)
    const second = start(words, {}, directory)
    const after = new AshlarClient({ baseUrl: await second.url })
    expect(await after.readObject(oid)).toEqual({ __class__: 'Gadget', __identifier__: oid, name: 'kept' })
    expect(await after.listIndexes()).toMatchObject([{ name: 'byName', state: 'ready', entryCount: 1 }])
    await expect(after.createObject('Gadget', { name: 'kept' })).rejects.toMatchObject({ type: 'UniqueViolation' })
    const { __identifier__: other } = await after.createObject('Gadget', { name: 'new' })
    expect(other).not.toBe(oid)
    await stop(second)
  })

  it('takes an import directory that exists, from options, environment and file', async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'imports'))
    const config = (importDir: string): string => {
      writeFileSync(join(directory, 'ashlar.json'), JSON.stringify({ importDir }))
      return 'ashlar.json'
    }
    const ways = (importDir: string): [string[], Record<string, string>][] => [
      [['--import-dir', importDir], {}],
      [[], { ASHLAR_IMPORT_DIR: importDir }],
      [['--config', config(importDir)], {}],
    ]
    for (const [words, environment] of ways('imports')) {
      const server = start(['--port', '0', '--fd', 'a=memory:', ...words], environment, directory)
      await server.url
      await stop(server)
    }
    for (const [words, environment] of ways('exports')) {
      const refused = await start(['--port', '0', '--fd', 'a=memory:', ...words], environment, directory).ended
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^ashlar: [^\n]*exports[^\n]*\n$/) })
    }
  })

  it('keeps several federated databases wholly separate, the default one where said', async () => {
    const words = ['--port', '0', '--fd', 'a', '--fd', 'b=memory:', '--default', 'b']
    const server = start(words)
    const baseUrl = await server.url
    const [a, b, byDefault] = ['a', 'b', undefined].map((fdAlias) => {
      return new AshlarClient({ baseUrl, ...(fdAlias === undefined ? {} : { fdAlias }) })
    })
    await a!.defineClasses([gadget])
    await a!.createObject('Gadget', {})
    expect(await b!.listClasses()).toEqual([])
    expect((await byDefault!.getFederatedDatabase()).alias).toBe('b')
    expect((await a!.getFederatedDatabase()).store.kind).toBe('lmdb')
    expect((await b!.getFederatedDatabase()).store.kind).toBe('memory')
    await stop(server)
  })

  it('takes its configuration from a file and the environment, options first', async () => {
    const directory = temporaryDirectory()
    const file = join(directory, 'ashlar.json')
    writeFileSync(file, '{"port":1,"federatedDatabases":[{"alias":"filed","store":"memory:"}],"allowShutdown":true}')
    const server = start(['--port', '0'], { ASHLAR_CONFIG: file, ASHLAR_PORT: '2' }, directory)
    const baseUrl = await server.url
    const client = new AshlarClient({ baseUrl })
    expect((await client.getFederatedDatabase()).alias).toBe('filed')
    await client.shutDown()
    expect((await server.ended).code).toBe(0)
  })

  it('takes over the configuration of the original server, and notes what it ignores', async () => {
    const directory = temporaryDirectory()
    const file = join(directory, 'server.xml')
    const boot = join(directory, 'fleet.boot')
    writeFileSync(
      file,
      `<config><PortNumber>1</PortNumber><Threads>4</Threads><FederatedDatabase fdAlias="fleet" bootFile="${boot}"/></config>`,
    )
    const server = start(['--port', '0', '--config', file], {}, directory)
    const fd = await new AshlarClient({ baseUrl: await server.url }).getFederatedDatabase()
    expect(fd).toMatchObject({ alias: 'fleet', bootfile: join(directory, 'fleet.ashlar') })
    await stop(server)
    expect((await server.ended).stderr).toMatch(/ignored Threads/)
  })

  it('logs each request as a line of JSON, unless it is told to be silent', async () => {
    const server = start(['--port', '0'])
    await fetch(`${await server.url}/v1/schema/Nothing?fdAlias=default&secret=granite`)
    await stop(server)
    const lines = (await server.ended).stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const logged = lines.find((line) => line.msg === 'request')
    expect(logged).toMatchObject({ method: 'GET', url: '/v1/schema/Nothing', status: 400 })
    expect((await server.ended).stderr).not.toContain('granite')
    expect(logged.ms).toEqual(expect.any(Number))
  })
})

describe('a server that cannot start', () => {
  it.each([
    [['--port', '99999'], /99999/],
    [['--port', 'x'], /--port is a port/],
    [['--workers', 'many'], /--workers is a number/],
    [['--prot', '1'], /Unknown option '--prot'/],
    [['--fd', 'a', '--fd', 'a'], /a is configured twice/],
    [['--default', 'zz'], /zz is not among default/],
    [['--host', '0.0.0.0', '--port', '0'], /--insecure/],
    [['--host', '192.0.2.1', '--insecure', '--port', '0'], /192\.0\.2\.1 is not an address of this machine/],
    [['--config', 'missing.json'], /missing\.json cannot be read: there is no such file; check its name\.\n$/],
    [['--config', '.'], /file \. cannot be read: it is a directory; name a file\.\n$/],
    [['--fd', 'a=other:x', '--port', '0'], /a \(other:x\) cannot be opened/],
    [['nonsense'], /There is no command nonsense/],
  ])(
    'by %j says why in one line, and ends with 1, or 2 where the words are wrong by themselves',
    async (words, message) => {
      const { code, stdout, stderr } = await start(words).ended
      expect(stderr).toMatch(message)
      expect(stderr).not.toMatch(/^ +at /m)
      expect([code, stdout]).toEqual([/Unknown option|no command|is a port|is a number/.test(stderr) ? 2 : 1, ''])
    },
  )

  it('by options that npm has taken for itself says where to write them', async () => {
    const environment = { npm_lifecycle_event: 'start', npm_config_port: '9000' }
    const { code, stderr } = await start(['serve'], environment).ended
    expect(stderr).toBe(
      'ashlar: npm has taken --port for itself: write options of the server after --, as in npm start -- --port …\n',
    )
    expect(code).toBe(2)
  })

  it('for a configuration file that is not JSON names line and column', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'a.json'), '{\n  // a comment\n  workers: 1\n}\n')
    const { code, stderr } = await start(['--config', 'a.json'], {}, directory).ended
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^ashlar: [^\n]*a\.json is not JSON: line 3, column 3: /)])
  })

  it('for a port in use names it', async () => {
    const first = start(['--port', '0'])
    const port = new URL(await first.url).port
    const { code, stderr } = await start(['--port', port, '--log-level', 'silent']).ended
    expect([code, stderr]).toEqual([1, `ashlar: Port ${port} of 127.0.0.1 is in use; choose another with --port.\n`])
    await stop(first)
  })

  it.skipIf(process.platform === 'win32').each([48, 64, 100])(
    'for too few open files, %i, says how many it needs',
    (limit) => {
      const limited = ['-c', `ulimit -n ${limit} && exec "$0" "$@"`, process.execPath, builtProgram, '--port', '0']
      const { status, stderr } = spawnSync('sh', limited, {
        cwd: temporaryDirectory(),
        encoding: 'utf8',
        timeout: 250_000,
      })
      expect(status).toBe(1)
      expect(stderr).toBe(
        `ashlar: The limit of open files is ${limit}, and Ashlar needs 256 to start: raise it, as by \`ulimit -n 4096\`.\n`,
      )
    },
  )

  it('for a store that cannot be opened names the federated database and the reason', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'file'), 'not a directory')
    const { code, stderr } = await start(['--data', 'file', '--port', '0'], {}, directory).ended
    expect(code).toBe(1)
    expect(stderr).toMatch(/^ashlar: The federated database default \(lmdb:file\/default\) cannot be opened: /)
    expect(stderr).toMatch(/file\/default is a file and has to be a directory; move it away, or name another\n$/)
  })

  it('for an environment variable with a value that its setting cannot have says so', async () => {
    const { code, stderr } = await start(['serve'], { ASHLAR_PORT: 'http', ASHLAR_PROT: '1' }).ended
    expect([code, stderr]).toEqual([1, 'ashlar: ASHLAR_PORT is a port (0 to 65535), not "http".\n'])
  })

  it('makes no data before its configuration is found right', async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'empty'))
    await start(['--data', 'empty', '--host', '0.0.0.0'], {}, directory).ended
    expect(readdirSync(join(directory, 'empty'))).toEqual([])
  })
})

describe('stopping', () => {
  it('finishes the request under way, refuses others, and ends at once though connections are kept alive', async () => {
    const directory = temporaryDirectory()
    // However slow this machine is.
    writeFileSync(join(directory, 'ashlar.json'), '{"limits":{"stopBodyMsMax":100000,"stopMsMax":100000}}')
    const server = start(['--port', '0', '--fd', 'x=memory:', '--config', 'ashlar.json'], {}, directory)
    const { port } = new URL(await server.url)
    const agent = new Agent({ keepAlive: true })
    await new Promise((resolve) => request({ port, agent }, (reply) => reply.resume().on('end', resolve)).end())
    // A request whose body has not wholly arrived is under way.
    const body = JSON.stringify([gadget])
    const inProgress = request({
      port,
      agent,
      method: 'PUT',
      path: '/v1/schema',
      headers: { 'content-length': body.length, expect: '100-continue' },
    })
    const replied = new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      inProgress.on('error', reject).on('response', (reply) => {
        void text(reply).then((json) => resolve({ status: reply.statusCode, body: json }))
      })
    })
    await taken(inProgress)
    inProgress.write(body.slice(0, 10))
    // A second connection, open before the stop, asks during it.
    const late = connect(Number(port))
    late.write('GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await new Promise((resolve) => late.once('data', resolve))
    server.child.kill('SIGTERM')
    await refused(Number(port))
    inProgress.end(body.slice(10))
    expect(await replied).toMatchObject({ status: 201 })
    expect((await server.ended).code).toBe(0)
    late.destroy()
  })

  it('does not wait for a request that never ends longer than its limit', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'ashlar.json'), '{"limits":{"stopMsMax":100}}')
    const server = start(['--port', '0', '--config', 'ashlar.json'], {}, directory)
    const { port } = new URL(await server.url)
    const headers = { 'content-length': 100, expect: '100-continue' }
    const endless = request({ port, method: 'PUT', path: '/v1/schema', headers })
    const broken = new Promise((resolve) => endless.once('error', resolve))
    await taken(endless)
    endless.write('[')
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
    await broken
  })

  it('by POST /shutdown answers 204 first', async () => {
    const server = start(['--port', '0', '--allow-shutdown'])
    const reply = await fetch(`${await server.url}/shutdown`, { method: 'POST' })
    expect([reply.status, await reply.text()]).toEqual([204, ''])
    expect((await server.ended).code).toBe(0)
  })
})

/** Resolves once the server has the head of a request that expects to hear of it: from then on the request is under way. */
function taken(inProgress: ClientRequest): Promise<unknown> {
  return new Promise((resolve) => inProgress.once('continue', () => resolve(undefined)))
}

/** Resolves once the port takes no more connections. */
async function refused(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port)
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (!isOpen) return
  }
}
