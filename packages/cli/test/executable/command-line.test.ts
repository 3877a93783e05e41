/** The commands that talk to a server: what they print, how they fail, and by which exit code. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { ashlar, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { served } from './command-line.ts'

const server = served()

const schema = `UPDATE SCHEMA {
  CREATE CLASS Model {name: String, vehicles: List{Element: Reference{Referenced: Vehicle, Inverse: model}}}
  CREATE CLASS Vehicle {license: String, mileage: Integer{Storage: B64}, model: Reference{Referenced: Model, Inverse: vehicles}}
}`

beforeAll(async () => {
  expect(await ashlarWithin(['query', schema])).toMatchObject({ code: 0 })
  expect(await ashlarWithin(['index', 'create', 'byLicense', 'Vehicle', 'license', '--unique'])).toMatchObject({
    code: 0,
  })
})

/** Outside of a test, which has no temporary directory. */
function ashlarWithin(words: readonly string[]) {
  return server.run(words, { directory: '/' })
}

/** The OID of a new vehicle. */
async function vehicle(...attributes: string[]): Promise<string> {
  const { code, stdout, stderr } = await server.run(['create', 'Vehicle', ...attributes])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trim()
}

describe('objects', () => {
  it('are created, shown, changed and deleted, with every digit of an integer', async () => {
    const oid = await vehicle('license=A=1', 'mileage:=9007199254740993')
    expect(oid).toMatch(/^\d+-\d+-\d+-\d+$/)
    const { stdout } = await server.run(['get', oid])
    expect(stdout).toContain('9007199254740993')
    expect(await server.run(['update', oid, 'mileage:=9007199254740995'])).toMatchObject({
      code: 0,
      stdout: `Updated ${oid}.\n`,
    })
    const shown = await server.run(['get', oid, '--json'])
    expect(shown.stdout).toMatch(
      /^\{\n {2}"__class__": "Vehicle"[\s\S]*"license": "A=1",\n {2}"mileage": 9007199254740995/,
    )
    expect(await server.run(['delete', oid, '--json'])).toMatchObject({
      stdout: `{\n  "deleted": [\n    "${oid}"\n  ]\n}\n`,
    })
    expect(await server.run(['get', oid])).toEqual({
      code: 3,
      stdout: '',
      stderr: `ashlar: There is no object ${oid}.\n`,
    })
  })

  it('come from standard input and files, several at once or none of them', async () => {
    const both = await server.run(['create', 'Vehicle', '-', '--json'], {
      input: '[{"license":"B1"},{"license":"B2"}]',
    })
    const oids = (JSON.parse(both.stdout) as { readonly __identifier__: string }[]).map(
      (created) => created.__identifier__,
    )
    expect(oids).toHaveLength(2)
    const refused = await server.run(['create', 'Vehicle', '-'], { input: '[{"license":"B3"},{"license":"B1"}]' })
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('"B1" is already held') })
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'one.json'), '{"license":"B3"}')
    const created = await server.run(['create', 'Vehicle', '@one.json'], { directory })
    expect(created).toMatchObject({ code: 0 })
    const all = await server.run(['get', '-', '--json'], { input: `${oids.join('\n')} ${created.stdout}` })
    expect((JSON.parse(all.stdout) as { readonly license: string }[]).map(({ license }) => license)).toEqual([
      'B1',
      'B2',
      'B3',
    ])
    const gone = await server.run(['delete', ...oids, '3-999-1-1'])
    expect(gone).toMatchObject({ code: 3, stdout: '' })
    expect(await server.run(['get', ...oids])).toMatchObject({ code: 0 })
  })

  it('cannot steer the terminal by what they hold', async () => {
    const oid = await vehicle('license:="\\u001b[2J\\u202eC\\n1"')
    expect((await server.run(['get', oid])).stdout).toContain('\\x1b[2J\\u202eC\\n1')
  })
})

describe('a query', () => {
  it('prints a table, JSON, NDJSON or CSV', async () => {
    await vehicle('license=Q, "1"', 'mileage:=7')
    const text = 'FROM Vehicle WHERE license = $plate RETURN license, mileage, LIST{1, 2} AS l'
    const run = async (...options: string[]) =>
      (await server.run(['query', text, '-p', 'plate=Q, "1"', ...options])).stdout
    expect(await run()).toBe('license  mileage  l\nQ, "1"         7  [1,2]\n')
    expect(await run('--quiet')).toBe('Q, "1"         7  [1,2]\n')
    expect(await run('--json')).toBe('[\n{"license":"Q, \\"1\\"","mileage":7,"l":[1,2]}\n]\n')
    expect(await run('--format', 'ndjson')).toBe('{"license":"Q, \\"1\\"","mileage":7,"l":[1,2]}\n')
    expect(await run('--format', 'csv')).toBe('license,mileage,l\n"Q, ""1""",7,"[1,2]"\n')
    expect(JSON.parse(await run('--explain', '--json'))).toMatchObject([{}])
    const piped = await server.run(['query', '--json'], { input: 'FROM Vehicle WHERE license = "none" RETURN license' })
    expect(piped).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  })

  it('shows the place of a fault under the text', async () => {
    const { code, stdout, stderr } = await server.run(['query', 'FROM Vehicle\n\tWHERE milage = 1 RETURN license'])
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toMatch(/^ashlar: Line 2, column 8: [^\n]+\n {2}\tWHERE milage = 1 RETURN license\n {2}\t {6}\^\n$/)
    const told = await server.run(['query', 'FROM', '--json'])
    expect(JSON.parse(told.stderr)).toMatchObject({
      error: { exitCode: 7, type: 'QuerySyntaxError', status: 400, line: 1, column: 5, expected: expect.any(Array) },
    })
  })

  it('leaves a file complete or as it was', async () => {
    const directory = temporaryDirectory()
    const run = (text: string, file = 'rows.json') => server.run(['query', text, '--json', '-o', file], { directory })
    expect(await run('SHOW 1')).toEqual({ code: 0, stdout: '', stderr: '' })
    const kept = readFileSync(join(directory, 'rows.json'), 'utf8')
    expect(await run('FOR')).toMatchObject({ code: 7 })
    expect(readFileSync(join(directory, 'rows.json'), 'utf8')).toBe(kept)
    expect(readdirSync(directory)).toEqual(['rows.json'])
    expect(await run('SHOW 1', 'none/rows.json')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/none\/rows\.json cannot be written: there is no such directory/),
    })
  })

  it('ends without a failure where the reader of a pipe leaves', async () => {
    const text = `FOR EACH i IN LIST{${'1,'.repeat(40)}1} => (CREATE Model {name: '${'x'.repeat(50_000)}'})`
    expect(await server.run(['query', '-'], { input: text })).toMatchObject({ code: 0 })
    const words = [inject('server'), 'query', 'FROM Model RETURN name', '--format', 'ndjson', '--url', server.url]
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk
    })
    child.stdout.once('data', () => child.stdout.destroy())
    const code = await new Promise((resolve) => child.once('close', resolve))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })
})

describe('the server', () => {
  it('is shown with its federated databases, indexes and tools', async () => {
    const status = await server.run(['status', '--json'])
    expect(JSON.parse(status.stdout)).toMatchObject({
      url: server.url,
      apiVersion: 'v1',
      isReady: true,
      federatedDatabases: [{ alias: 'default' }, { alias: 'other' }],
      statements: expect.any(Array),
    })
    expect((await server.run(['status'])).stdout).toMatch(/: ready, up .*\n\nFD +Store +Classes/)
    const fds = await server.run(['fd', 'list', '--json'])
    expect(JSON.parse(fds.stdout)).toMatchObject([{ alias: 'default' }, { alias: 'other' }])
    expect((await server.run(['fd', 'show', 'other'])).stdout).toMatch(/^alias +other\n/)
    expect((await server.run(['index', 'list'])).stdout).toMatch(/^Index .*\nbyLicense +Vehicle +license +yes +ready/)
    expect((await server.run(['tool', 'list'])).stdout).toMatch(/^Tool .*\n[\s\S]*^Verify /m)
    expect((await server.run(['tool', 'run', 'verify', '--json'])).stdout).toContain('"returnCode": 0')
    expect(await server.run(['index', 'create', 'byName', 'Model', 'name', '--fd', 'other'])).toMatchObject({ code: 7 })
    expect(await server.run(['index', 'create', 'byName', 'Model', 'name'])).toMatchObject({ code: 0 })
    expect(await server.run(['index', 'drop', 'byName'])).toMatchObject({ stdout: 'Dropped index byName.\n' })
  })
})

describe('bad input', () => {
  const sentence = /^ashlar: [^\n]+\n$/

  it.each<[number, readonly string[], RegExp]>([
    [2, ['frobnicate'], /no command frobnicate/],
    [2, ['queri'], /Did you mean query\?/],
    [2, ['get'], /Missing required argument 'oid'/],
    [2, ['get', 'x'], /x is not an OID/],
    [2, ['get', '3-3-1-1', '--jsn'], /Unknown option '--jsn'\. Did you mean --json\?/],
    [2, ['get', '3-3-1-1', '--url', 'ftp://x'], /not the URL of a server/],
    [2, ['get', '3-3-1-1', '--url', 'http://a:b@x'], /ASHLAR_PASSWORD/],
    [2, ['get', '3-3-1-1', '--token', 'a b'], /The token is empty, or contains invalid characters/],
    [2, ['get', '3-3-1-1', '--token-file', 'none'], /The file none of --token-file cannot be read/],
    [2, ['get', '3-3-1-1', '--ca', 'none'], /The file none of --ca cannot be read/],
    [2, ['get', '3-3-1-1', '--user', 'ann'], /password of user ann is missing/],
    [2, ['get', '3-3-1-1', '--profile', 'none'], /no profile none/],
    [3, ['get', '3-3-1-1', '--fd', 'none'], /no federated database 'none'/],
    [7, ['create', 'Vehicle', '{'], /is not JSON/],
    [2, ['create', 'Vehicle', 'license'], /license has no value: give license=text or license:=JSON/],
    [7, ['create', 'Vehicle', '-'], /Standard input is empty, where JSON is expected/],
    [7, ['create', 'Vehicle', '7'], /is not a JSON object/],
    [7, ['create', 'Vehicle', '[1]'], /Object 1 of the list is not a JSON object/],
    [2, ['create', 'Vehicle', 'license=1', 'x'], /x is neither name=text nor/],
    [7, ['create', 'Vehicle', 'mileage:=x'], /value of mileage is not JSON/],
    [2, ['create', 'Vehicle', '@none'], /The file none cannot be read: there is no such file; check its name\.\n/],
    [7, ['create', 'Vehicl'], /Vehicl/],
    [7, ['create', 'Vehicle', 'nothing=1'], /nothing/],
    [7, ['create', 'Vehicle', 'mileage=x'], /mileage/],
    [2, ['update', '3-3-1-1', '{}'], /No changes given/],
    [3, ['delete', '3-3-1-999'], /no object/],
    [2, ['delete', '3-3-1-1', '3-3-1-2', '--if-match', 'x'], /single object/],
    [7, ['query', ' '], /no statement/],
    [2, ['query', 'SHOW 1', '--file', 'x'], /not both/],
    [2, ['query', 'SHOW 1', '--format', 'xml'], /Allowed choices are table, json, ndjson, csv/],
    [2, ['query', 'SHOW $x', '--param', 'x'], /neither name=text/],
    [3, ['index', 'drop', 'none'], /none/],
    [3, ['tool', 'run', 'Verifi'], /Did you mean Verify\?/],
    [2, ['tool', 'run', 'Verify', 'speed=1'], /no flag speed/],
    [2, ['tool', 'run', 'UpgradeObjects', 'objectsPerSecond=x'], /is a number, not x/],
    [2, ['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
  ])('is answered by exit code %i and a sentence: %j', async (code, words, what) => {
    const ended = await server.run(words)
    expect(ended).toEqual({ code, stdout: '', stderr: expect.stringMatching(sentence) })
    expect(ended.stderr).toMatch(what)
  })

  it('of standard input that is no UTF-8 is told', async () => {
    const ended = await server.run(['query', '-'], { input: Buffer.from([0xff, 0xfe]).toString('latin1') })
    expect(ended.code).toBe(7)
  })
})

describe('the connection', () => {
  it('to what is no Ashlar server is told in a sentence, and not by the page that came', async () => {
    const page = '<!DOCTYPE html><title>Welcome</title>'
    const other = createServer(({ url }, response) => {
      response.writeHead(url === '/health' ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' }).end(page)
    }).listen(0)
    onTestFinished(() => void other.close())
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    for (const words of [['status'], ['get', '3-3-1-1']]) {
      const { code, stderr } = await ashlar([...words, '--url', url])
      expect(code).toBe(6)
      expect(stderr).toMatch(
        /^ashlar: http:\S+ answers with a web page \(status \d+\), which an Ashlar server does not do: [^\n<]+\n$/,
      )
    }
  })

  it('fails at once with exit code 6 where no server, or another one, answers', async () => {
    const other = createServer((_request, response) => response.writeHead(503).end('busy')).listen(0)
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    for (const url of ['http://127.0.0.1:1', 'http://none.invalid', `https://127.0.0.1:${port}`]) {
      const ended = await ashlar(['status', '--url', url])
      expect(ended).toMatchObject({ code: 6, stderr: expect.stringMatching(/^ashlar: [^\n]+\n$/) })
    }
    const json = await ashlar(['status', '--url', 'http://127.0.0.1:1', '--json'])
    expect(JSON.parse(json.stderr)).toEqual({
      error: { exitCode: 6, message: expect.stringContaining('No server answers') },
    })
  })

  it('does not keep a command from ending, however long the server keeps it', async () => {
    const other = createServer((_request, response) => response.writeHead(204).end()).listen(0)
    other.keepAliveTimeout = 0
    onTestFinished(() => void other.close())
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    expect(await ashlar(['delete', '3-3-1-1', '--url', url])).toMatchObject({ code: 0, stdout: 'Deleted 3-3-1-1.\n' })
  })

  it('is found by options, a named profile, the environment, and the default profile, in this order', async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'ashlar'))
    const write = (file: object, mode = 0o600) =>
      writeFileSync(join(directory, 'ashlar', 'config.json'), JSON.stringify(file), { mode })
    const bad = 'http://127.0.0.1:1'
    write({ default: 'good', profiles: { good: { url: server.url, fd: 'other' }, bad: { url: bad } } })
    const fdOf = async (words: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
      const { code, stdout } = await ashlar(['fd', 'show', '--json', ...words], { directory, environment })
      return code === 0 ? (JSON.parse(stdout) as { readonly alias: string }).alias : code
    }
    expect(await fdOf([])).toBe('other')
    expect(await fdOf(['--fd', 'default'])).toBe('default')
    expect(await fdOf([], { ASHLAR_FD: 'default' })).toBe('default')
    expect(await fdOf([], { ASHLAR_FD: 'a,b' })).toBe('other')
    expect(await fdOf([], { ASHLAR_URL: bad })).toBe(6)
    expect(await fdOf(['--profile', 'good'], { ASHLAR_URL: bad })).toBe('other')
    expect(await fdOf(['--profile', 'bad'])).toBe(6)
    expect(await fdOf([], { ASHLAR_PROFILE: 'bad' })).toBe(6)
    expect(await fdOf(['--profile', 'bad', '--url', server.url])).toBe('default')
  })

  it('does not take a profile file that is wrong, or holds a secret that others may read', async () => {
    const directory = temporaryDirectory()
    const file = join(directory, 'profiles.json')
    const environment = { ASHLAR_PROFILES: file, ASHLAR_URL: server.url }
    const told = async (text: string, mode = 0o600) => {
      writeFileSync(file, text)
      chmodSync(file, mode)
      const { code, stderr } = await ashlar(['status'], { environment })
      return `${code} ${stderr}`
    }
    const secret = JSON.stringify({ default: 'a', profiles: { a: { token: 'ash_1_2' } } })
    expect(await told('{')).toMatch(/^2 ashlar: .* is not JSON/)
    expect(await told('[]')).toMatch(/^2 .*is not an object/)
    expect(await told('{"profile":{}}')).toMatch(/^2 .*profile is not known/)
    expect(await told('{"profiles":{"a":{"ulr":"x"}}}')).toMatch(/^2 .*ulr is not known. Did you mean url/)
    expect(await told('{"profiles":{"a":{"url":7}}}')).toMatch(/^2 .*url must be a string/)
    if (process.platform !== 'win32')
      expect(await told(secret, 0o644)).toMatch(/^2 .*others may read it: run chmod 600/)
    expect(await told(secret)).toMatch(/^0 /)
  })

  it('shows its help where it is given nothing, and starts no server', async () => {
    const { code, stdout, stderr } = await ashlar([])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe((await ashlar(['--help'])).stdout)
    expect(stdout).toMatch(/^Usage: ashlar /)
  })

  it('sends token or password, those of a profile to its own server alone, and never shows them', async () => {
    const seen: (string | undefined)[] = []
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization)
      response
        .writeHead(401, { 'content-type': 'application/json' })
        .end('{"type":"AuthenticationRequired","message":"Who?"}')
    }).listen(0)
    onTestFinished(() => void other.close())
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const directory = temporaryDirectory()
    const file = join(directory, 'profiles.json')
    writeFileSync(file, JSON.stringify({ default: 'a', profiles: { a: { url, token: 'kept' } } }), { mode: 0o600 })
    writeFileSync(join(directory, 'token'), 'filed\n')
    const run = (words: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
      ashlar(['fd', 'list', ...words], { directory, environment: { ASHLAR_PROFILES: file, ...environment } })
    const refused = { code: 4, stdout: '', stderr: 'ashlar: Who?\n' }
    expect(await run([])).toEqual(refused)
    await run(['--url', url.replace('127.0.0.1', 'localhost')])
    await run(['--token', 'given'])
    await run(['--token-file', 'token'])
    await run([], { ASHLAR_USER: 'änn', ASHLAR_PASSWORD: 'p:w' })
    const basic = `Basic ${Buffer.from('änn:p:w').toString('base64')}`
    expect(seen.filter((_, at) => at === 0 || seen[at - 1] !== seen[at])).toEqual([
      'Bearer kept',
      undefined,
      'Bearer given',
      'Bearer filed',
      basic,
    ])
  })
})

describe('completion', () => {
  const complete = async (...words: string[]) =>
    (await ashlar(['complete', 'bash', '--', ...words])).stdout.split('\n').filter((word) => word !== '')

  it('knows commands, options and values', async () => {
    expect(await complete('')).toEqual(expect.arrayContaining(['serve', 'query', 'user', 'completion', 'help']))
    expect(await complete('')).not.toContain('complete')
    expect(await complete('ind')).toEqual(['index'])
    expect(await complete('index', '')).toEqual(expect.arrayContaining(['list', 'create', 'drop']))
    expect(await complete('query', '--fo')).toEqual(['--format'])
    expect(await complete('query', '--format', '')).toEqual(['table', 'json', 'ndjson', 'csv'])
    expect(await complete('--fd', 'x', 'query', '--fo')).toEqual([])
    expect(await complete('completion', 'z')).toEqual(['zsh'])
    expect(await complete('get', '3-3')).toEqual([])
  })

  it('works in the shells that are there', async () => {
    const script = await ashlar(['completion', 'bash'])
    const folder = temporaryDirectory()
    writeFileSync(join(folder, 'script'), script.stdout)
    if (process.platform === 'win32' || !existsSync('/bin/bash')) return
    writeFileSync(join(folder, 'ashlar'), `#!/bin/sh\nexec ${process.execPath} ${inject('server')} "$@"\n`, {
      mode: 0o755,
    })
    const test = `source ${folder}/script; COMP_WORDS=(${folder}/ashlar index dr); COMP_CWORD=2; _ashlar; echo "\${COMPREPLY[@]}"`
    const child = spawn('/bin/bash', ['-c', test])
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk
    })
    await new Promise((resolve) => child.once('close', resolve))
    expect(stdout).toBe('drop\n')
  })
})
