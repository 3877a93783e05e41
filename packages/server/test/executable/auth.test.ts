/** `ashlar serve --auth` and its commands as processes: first start, several processes, what is revoked while it is used (contract 9.1, 9.2). */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { rule } from '../contract/rule.ts'
import { basic } from '../unit/open-secure-server.ts'
import { type Started, start, temporaryDirectory } from './process.ts'

const madePassword = /displayed only once: (\S+)/

async function run(words: readonly string[], directory: string): Promise<string> {
  const { code, stdout, stderr } = await start(words, {}, directory).ended
  if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
  return stdout
}

async function tokenOf(words: readonly string[], directory: string): Promise<{ id: string; authorization: string }> {
  const { id, token } = JSON.parse(await run(['token', 'create', '--name', 'test', '--json', ...words], directory))
  return { id, authorization: `Bearer ${token}` }
}

function get(url: string, authorization: string, path = '/v1/security/session'): Promise<Response> {
  // Connections go to the workers in turn.
  return fetch(`${url}${path}`, { headers: { authorization, connection: 'close' } })
}

async function statusesOf(url: string, authorization: string, times: number): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: times }, () => get(url, authorization)))
  return replies.map(({ status }) => status)
}

function post(url: string, path: string, authorization: string, body: unknown): Promise<Response> {
  const headers = { authorization, 'content-type': 'application/json' }
  return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

rule(
  ['9.2.1', '9.2.2', '9.2.4'],
  'the first start makes one administrator, and the commands mend what is lost',
  async () => {
    const directory = temporaryDirectory()
    const server = start(['serve', '--auth', '--port', '0', '--workers', '2'], {}, directory)
    const url = await server.url
    const users = JSON.parse(await run(['user', 'list', '--json'], directory))
    expect(users).toMatchObject([{ name: 'admin', roles: ['admin'] }])
    if (process.platform !== 'win32') expect(statSync(join(directory, 'data/.security')).mode & 0o77).toBe(0)
    expect((await fetch(`${url}/v1`)).status).toBe(401)
    expect(await run(['user', 'add', 'bob', '--role', 'writer@default', '--json'], directory)).toMatch(
      /"password": "\S{24}"/,
    )
    await expect(run(['user', 'disable', 'admin'], directory)).rejects.toThrow(/no administrator left/)
    writeFileSync(join(directory, 'password'), 'a new password\n')
    await run(['user', 'password', 'admin', '--password-file', 'password'], directory)
    const authorization = basic('admin', 'a new password')
    await expect.poll(async () => (await get(url, authorization)).status).toBe(200)
    const last = await fetch(`${url}/v1/security/user/admin`, { method: 'DELETE', headers: { authorization } })
    expect([last.status, ((await last.json()) as { readonly type: string }).type]).toEqual([409, 'LastAdministrator'])
    server.child.kill('SIGTERM')
    const { stdout } = await server.ended
    const password = madePassword.exec(stdout)?.[1] ?? ''
    expect(stdout.match(/displayed only once/g)).toHaveLength(1)
    expect(password).toHaveLength(24)
    expect(server.log()).not.toContain(password)
    const again = start(['serve', '--auth', '--port', '0'], { ASHLAR_ADMIN_PASSWORD: 'is not looked at' }, directory)
    expect((await get(await again.url, authorization)).status).toBe(200)
    again.child.kill('SIGTERM')
    expect((await again.ended).stdout).not.toContain('admin')
    const served = await start(['serve', '--port', '0', '--fd', 'x=lmdb:data/../data/.security'], {}, directory).ended
    expect([served.code, served.stderr]).toEqual([1, expect.stringMatching(/have one store/)])
  },
)

rule('9.2.1', 'hashes of passwords are for the owner alone, also in a backup and after one was put back', async () => {
  const directory = temporaryDirectory()
  const added = await start(['user', 'add', 'bob', '--role', 'reader'], {}, directory).ended
  expect([added.code, added.stderr]).toEqual([
    0,
    expect.stringMatching(/^ashlar: lmdb:\S+ is a new security database\.\n$/),
  ])
  await run(['copy', 'lmdb:data/.security', 'lmdb:backup'], directory)
  const others = (name: string): number => statSync(join(directory, name)).mode & 0o77
  if (process.platform === 'win32') return
  expect(others('backup')).toBe(0)
  chmodSync(join(directory, 'data/.security'), 0o755)
  await run(['user', 'list'], directory)
  expect(others('data/.security')).toBe(0)
})

rule(
  ['9.6.1', '9.2.1'],
  'commands add lines to the audit log, and change nothing where it cannot be written',
  async () => {
    const directory = temporaryDirectory()
    const log = ['--audit-log', 'audit.ndjson']
    await run(['user', 'add', 'bob', '--role', 'reader', ...log], directory)
    const made = JSON.parse(
      await run(['token', 'create', '--name', 'x', '--owner', 'bob', '--json', ...log], directory),
    )
    await expect(run(['user', 'roles', 'nobody', 'admin', ...log], directory)).rejects.toThrow(/no user 'nobody'/)
    await run(['token', 'list', ...log], directory)
    const file = readFileSync(join(directory, 'audit.ndjson'), 'utf8')
    expect(file).not.toContain(made.token)
    const command = { caller: userInfo().username, callerKind: 'commandLine', credential: 'none' }
    expect(
      file
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { ...command, operation: 'ashlar user add', subject: 'user:bob', outcome: 'done' },
      { ...command, operation: 'ashlar token create', subject: `token:${made.id}`, outcome: 'done' },
      { ...command, operation: 'ashlar user roles', subject: 'user:nobody', outcome: 'failed', type: 'UserNotFound' },
    ])
    const unwritable = ['--audit-log', 'data/none/audit.ndjson']
    await expect(run(['user', 'remove', 'bob', ...unwritable], directory)).rejects.toThrow(/cannot be written: ENOENT/)
    expect(await run(['user', 'list'], directory)).toContain('bob')
  },
)

rule('9.2.1', 'a command whose output nobody reads to its end says nothing of it', async () => {
  const directory = temporaryDirectory()
  await run(['user', 'add', 'bob', '--role', 'reader'], directory)
  const { child, ended } = start(['user', 'list'], {}, directory)
  child.stdout?.destroy()
  expect(await ended).toMatchObject({ code: 0, stderr: '' })
})

rule('9.2.2', 'the password of the first administrator is taken from a file, or the environment', async () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'secret'), 'from the file\n')
  const words = ['serve', '--auth', '--port', '0', '--fd', 'default=memory:']
  const server = start(words, { ASHLAR_ADMIN_PASSWORD_FILE: 'secret' }, directory)
  expect((await get(await server.url, basic('admin', 'from the file'))).status).toBe(200)
  server.child.kill('SIGTERM')
  expect((await server.ended).stdout).not.toContain('from the file')
  const short = await start(words, { ASHLAR_ADMIN_PASSWORD: 'short' }).ended
  expect([short.code, short.stderr]).toEqual([1, expect.stringMatching(/ASHLAR_ADMIN_PASSWORD: A password has 8 to/)])
})

rule('9.2.3', 'without authentication the server says so, and listens on loopback alone', async () => {
  const server = start(['serve', '--port', '0', '--fd', 'default=memory:'])
  await server.url
  server.child.kill('SIGTERM')
  expect((await server.ended).stdout).toMatch(/\nAuthentication is off: .*--auth.*\n$/)
  const beyond = await start(['serve', '--host', '0.0.0.0', '--port', '0']).ended
  expect([beyond.code, beyond.stderr]).toEqual([1, expect.stringMatching(/enable it with --auth, .* --insecure/)])
  const insecure = start(['serve', '--host', '0.0.0.0', '--insecure', '--port', '0', '--fd', 'default=memory:'])
  await insecure.url
  expect(insecure.log()).toMatch(/WARNING: authentication is off/)
})

/** More walks than anybody could wait for, sent as they are found. */
const endless = { query: 'MATCH (p:Place)-[:roads*1..30]->(q) RETURN q.name' }
const roads = { logicalType: 'list', elementSpecification: { logicalType: 'reference', referencedClass: 'Place' } }
const place = {
  className: 'Place',
  isReferenceable: true,
  attributes: [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'roads', ...roads },
  ],
}

/** The statement ends while it sends rows, or before. */
async function endOf(reply: Response): Promise<string> {
  try {
    return await reply.text()
  } catch {
    return 'broken off'
  }
}

async function expectRevokedEverywhere(
  urls: readonly string[],
  token: { id: string; authorization: string },
  revoke: () => Promise<unknown>,
): Promise<void> {
  for (const url of urls) expect(new Set(await statusesOf(url, token.authorization, 6))).toEqual(new Set([200]))
  await revoke()
  // Within a second, on a machine that has nothing else to do.
  for (const url of urls) {
    await expect
      .poll(async () => new Set(await statusesOf(url, token.authorization, 6)), { interval: 50 })
      .toEqual(new Set([401]))
  }
}

rule('9.1.7', 'a revoked token is refused by all workers, and what it has begun ends', async () => {
  const directory = temporaryDirectory()
  const server = start(['serve', '--auth', '--port', '0', '--workers', '2'], {}, directory)
  const url = await server.url
  const token = await tokenOf(['--role', 'admin'], directory)
  const headers = { authorization: token.authorization, 'content-type': 'application/json' }
  const define = { method: 'PUT', headers, body: JSON.stringify([place]) }
  expect((await fetch(`${url}/v1/schema`, define)).status).toBe(201)
  const places = Array.from({ length: 14 }, (_, at) => ({ class: 'Place', attributes: { name: `place ${at}` } }))
  const created = await post(url, '/v1/object', token.authorization, places)
  const oids = ((await created.json()) as { readonly __identifier__: string }[]).map((one) => one.__identifier__)
  for (const oid of oids) {
    const update = { method: 'PUT', headers, body: JSON.stringify({ attributes: { roads: oids } }) }
    expect((await fetch(`${url}/v1/object/${oid}`, update)).status).toBe(204)
  }
  const stream = await post(url, '/v1/query', token.authorization, endless)
  expect(stream.status).toBe(200)
  await expectRevokedEverywhere([url], token, () => run(['token', 'revoke', token.id], directory))
  // What it was sent before it stopped waits for it.
  expect(await endOf(stream)).toBe('broken off')
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

rule(
  ['9.1.7', '9.2.2'],
  'servers that share a security database have one administrator, and act on changes of each other',
  async () => {
    const store = `${postgresOfRun()}?schema=shared_security&connections=4`
    const words = ['serve', '--auth', '--port', '0', '--security-store', store, '--fd', 'default=memory:']
    const servers: readonly Started[] = [start(words), start(words), start(words)]
    const urls = await Promise.all(servers.map(({ url }) => url))
    const directory = temporaryDirectory()
    const token = await tokenOf(['--role', 'admin', '--security-store', store], directory)
    await expectRevokedEverywhere(urls, token, async () => {
      const [url = ''] = urls
      const { authorization } = token
      const reply = await fetch(`${url}/v1/security/token/${token.id}`, {
        method: 'DELETE',
        headers: { authorization },
      })
      expect(reply.status).toBe(204)
    })
    for (const { child } of servers) child.kill('SIGTERM')
    const outputs = (await Promise.all(servers.map(({ ended }) => ended))).map(({ stdout }) => stdout)
    expect(outputs.filter((stdout) => madePassword.test(stdout))).toHaveLength(1)
  },
)
