/** `ashlar init`, `demo` and `bench`: what one does first with a server. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { describe, expect, inject, it } from 'vitest'
import { runBench } from '../../src/cli/client/bench.ts'
import { connect } from '../../src/cli/connection.ts'
import { Output } from '../../src/cli/output.ts'
import { readConfigFile } from '../../src/config/config-file.ts'
import { ashlar, served } from './command-line.ts'
import { start, temporaryDirectory } from './process.ts'

const server = served()

describe('ashlar init', () => {
  it('writes a file that a server takes, and leaves one that is there', async () => {
    const directory = temporaryDirectory()
    const file = join(directory, 'ashlar.json')
    const run = (...words: string[]) => ashlar(['init', ...words], { directory })
    expect(await run('--port', '0', '--fd', 'a', '--fd', 'b')).toMatchObject({ code: 0, stderr: '' })
    const { port, federatedDatabases, auth } = readConfigFile(file).source
    expect({ port, federatedDatabases, auth }).toEqual({
      port: 0,
      federatedDatabases: [{ alias: 'a' }, { alias: 'b' }],
      auth: false,
    })
    const text = readFileSync(file, 'utf8')
    expect(text).toMatch(/\/\/ worker processes that share the port; [^\n]* \(default: 1\)\n {2}\/\/ "workers": 1,/)
    const examples = text.split('\n').flatMap((line) => /^ {2}\/\/ (".*),$/.exec(line)?.[1] ?? [])
    expect(examples.length).toBeGreaterThan(20)
    for (const example of examples) expect(() => JSON.parse(`{${example}}`), example).not.toThrow()
    expect(await run()).toMatchObject({
      code: 5,
      stderr: 'ashlar: ashlar.json already exists; --force overwrites it.\n',
    })
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(await run('--force')).toMatchObject({ code: 0 })
    const { url, child, ended } = start(['serve', '--config', file, '--port', '0'], {}, directory)
    expect((await new AshlarClient({ baseUrl: await url }).getFederatedDatabase()).alias).toBe('default')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0 })
  })

  it('writes nothing for what no server would take', async () => {
    const directory = temporaryDirectory()
    for (const [words, code] of [
      [['--port', '65536'], 2],
      [['--port', 'x'], 2],
      [['none/ashlar.json'], 2],
    ] as const) {
      const ended = await ashlar(['init', ...words], { directory })
      expect(ended).toEqual({ code, stdout: '', stderr: expect.stringMatching(/^ashlar: [^\n]+\n$/) })
    }
    expect(existsSync(join(directory, 'ashlar.json'))).toBe(false)
  })
})

describe('ashlar demo', () => {
  it('loads its data once, goes on where it was stopped, and leaves data of others alone', async () => {
    const directory = temporaryDirectory()
    const demo = (at: string) => start(['demo', '--port', '0', '--data', at], {}, directory, inject('server'))
    const counted = async (url: string) => {
      const client = new AshlarClient({ baseUrl: url })
      const counts = ['Airport', 'Flight', 'Route'].map((name) => client.query(`FROM ${name} RETURN COUNT(*) AS c`))
      return (await Promise.all(counts)).map(([row]) => row?.c)
    }
    const first = demo('kept')
    const url = await first.url
    const client = new AshlarClient({ baseUrl: url })
    await expect.poll(async () => (await client.listIndexes()).length).toBe(2)
    first.child.kill('SIGINT')
    expect(await first.ended).toMatchObject({ code: 0 })
    const second = demo('kept')
    await second.url
    await expect.poll(() => second.output()).toMatch(/7,674 objects of the federated database demo\.\nTry:\n/)
    expect(await counted(await second.url)).toEqual([308, 2_000, 5_366])
    second.child.kill('SIGTERM')
    // Where it takes long, it tells how far it is.
    expect(await second.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('ashlar: ') })

    const other = start(['serve', '--port', '0', '--fd', 'demo', '--data', 'other'], {}, directory)
    await new AshlarClient({ baseUrl: await other.url }).createClasses([
      { className: 'Mine', isReferenceable: true, attributes: [] },
    ])
    other.child.kill('SIGTERM')
    await other.ended
    const third = demo('other')
    await expect.poll(() => third.log()).toMatch(/holds other data: nothing is loaded/)
    expect(
      (await new AshlarClient({ baseUrl: await third.url }).listClasses()).map(({ className }) => className),
    ).toEqual(['Mine'])
    third.child.kill('SIGTERM')
    await third.ended
  })
})

describe('ashlar bench', () => {
  it('prints figures, and leaves no class behind, also after Ctrl-C', async () => {
    const client = new AshlarClient({ baseUrl: server.url })
    const { code, stdout, stderr } = await server.run([
      'bench',
      '--seconds',
      '1',
      '--connections',
      '20',
      '--reads',
      '50',
      '--json',
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { reads, writes, requests } = JSON.parse(stdout)
    expect(reads.count + writes.count).toBe(requests)
    expect(reads).toEqual({
      count: expect.any(Number),
      p50Ms: expect.any(Number),
      p99Ms: expect.any(Number),
      maxMs: expect.any(Number),
    })
    expect(await client.listClasses()).toEqual([])
    const long = start(['bench', '--seconds', '600', '--url', server.url], {}, temporaryDirectory(), inject('server'))
    await expect.poll(async () => (await client.listClasses()).length).toBe(1)
    long.child.kill('SIGINT')
    const ended = await long.ended
    expect(ended).toMatchObject({
      code: 130,
      stdout: '',
      stderr: expect.stringMatching(/^ashlar: Stopped\. [^\n]+\n$/),
    })
    expect(await client.listClasses()).toEqual([])
    for (const words of [
      ['--seconds', '0'],
      ['--connections', 'x'],
      ['--reads', '101'],
    ]) {
      expect(await server.run(['bench', ...words])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/must be an integer from/),
      })
    }
  })

  it.each([
    ['the class is created', '/v1/schema'],
    ['its first objects are created', '/v1/object'],
  ])('leaves no class behind after Ctrl-C while %s', async (_what, path) => {
    const interrupted = new AbortController()
    // Each request has been carried out by the server when the interruption comes.
    const interruptAfter: typeof fetch = async (url, init) => {
      const reply = await fetch(url, init)
      if (new URL(String(url)).pathname === path) interrupted.abort(new Error('interrupted'))
      return reply
    }
    const clientOf = (send: typeof fetch) => new AshlarClient({ baseUrl: server.url, fetch: send })
    const connection = {
      ...connect({ url: server.url }, {}, interrupted.signal),
      client: clientOf(async (url, init) => {
        const reply = await interruptAfter(url, init)
        interrupted.signal.throwIfAborted()
        return reply
      }),
      uninterrupted: clientOf(interruptAfter),
    }
    const { client } = connection
    const context = { client, connection, output: new Output({}), signal: interrupted.signal, explainWith: () => {} }
    await expect(runBench(context, [], { quiet: true })).rejects.toThrow(/^interrupted$/)
    expect(await clientOf(fetch).listClasses()).toEqual([])
  })
})

it('a configuration file may have comments, and says where it is wrong', () => {
  const file = join(temporaryDirectory(), 'x.json')
  writeFileSync(file, '{ // "port": 1,\n "host": "a//b", /* } */ "port": 2 }')
  expect(readConfigFile(file).source).toEqual({ host: 'a//b', port: 2 })
  writeFileSync(file, '{ /* never ended')
  expect(() => readConfigFile(file)).toThrow(/is not JSON/)
})
