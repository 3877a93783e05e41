/** The audit log: who has changed what, what was refused, and what becomes of changes while it cannot be written. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, vi } from 'vitest'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { AuditLog } from '../../src/audit/audit-log.ts'
import type { AuditFailure } from '../../src/config/config.ts'
import { ServerError } from '../../src/errors/server-errors.ts'
import { Authenticator } from '../../src/security/authenticator.ts'
import { makeCaller } from '../../src/security/caller.ts'
import { basic, openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import { defineGadget, openServer, type ServerSetting } from '../unit/open-server.ts'
import { rule } from './rule.ts'

const ownerOnly = 0o600

interface Limits {
  readonly fileBytesMax?: number
  readonly filesMax?: number
}

async function openAudited(onFailure: AuditFailure = 'refuse', limits: Limits = {}, setting: ServerSetting = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-audit-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'audit.ndjson')
  const log: { msg: string }[] = []
  const logger = pino({}, { write: (line: string) => log.push(JSON.parse(line)) })
  const auditFile = new AuditFile({ file, fileBytesMax: 10_000_000, filesMax: 3, ...limits }, logger)
  await auditFile.start()
  onTestFinished(() => auditFile.close())
  const server = await openServer({ ...setting, audit: new AuditLog(auditFile, onFailure) })
  const lines = async () => {
    await auditFile.flush()
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }
  return { ...server, directory, file, auditFile, lines, log }
}

const gadget = (name: string) => ({ class: 'Shop.Gadget', attributes: { name, size: 1, isNew: true } })
const secretName = 'a value that is nobody else\u2019s'

rule('9.6.1', 'each change has a line with caller, operation, classes and OIDs, and no value', async () => {
  const { app, lines, file } = await openAudited()
  await defineGadget(app)
  const made = await app.inject({
    method: 'POST',
    url: '/v1/object',
    payload: gadget(secretName),
    headers: { 'x-request-id': 'of-mine-1' },
  })
  expect(made.headers['x-request-id']).toBe('of-mine-1')
  const oid = made.json().__identifier__
  const text = `UPDATE Shop.Gadget WHERE name = $n SET size TO 2`
  const updated = await app.inject({
    method: 'POST',
    url: '/v1/query',
    payload: { query: text, parameters: { n: secretName } },
  })
  expect(updated.statusCode, updated.body).toBe(200)
  await app.inject({ method: 'GET', url: `/v1/object/${oid}` })
  await app.inject({ method: 'POST', url: '/v1/query', payload: { query: 'FROM Shop.Gadget RETURN name' } })
  await app.inject({ method: 'POST', url: '/v1/object', payload: { class: 'Nothing', attributes: {} } })
  await app.inject({ method: 'DELETE', url: `/v1/object/${oid}` })
  const found = await lines()
  expect(found).toMatchObject([
    {
      operation: 'PUT /v1/schema',
      fd: 'default',
      schema: true,
      classes: ['Shop.Gadget'],
      outcome: 'done',
      status: 201,
    },
    {
      operation: 'POST /v1/object',
      requestId: 'of-mine-1',
      classes: ['Shop.Gadget'],
      oids: [oid],
      objects: 1,
      outcome: 'done',
    },
    {
      operation: 'POST /v1/query',
      classes: ['Shop.Gadget'],
      oids: [oid],
      objects: 1,
      outcome: 'done',
      callerKind: 'everyone',
    },
    { operation: 'POST /v1/object', outcome: 'failed', status: 422, type: 'UnknownClass' },
    { operation: 'DELETE /v1/object/:oid', oids: [oid], objects: 1, status: 204 },
  ])
  const whole = readFileSync(file, 'utf8')
  expect(whole).not.toContain(secretName)
  expect(whole).not.toContain('size TO 2')
  expect(statSync(file).mode & 0o777).toBe(ownerOnly)
})

rule('9.6.1', 'changes of requests at the same time are told apart, also in transactions and arrays', async () => {
  const { app, lines } = await openAudited()
  await defineGadget(app)
  const ask = async (i: number) => {
    const [a, b] = [gadget(`a${i}`), gadget(`b${i}`)]
    const batch = [
      { method: 'POST', uri: '/v1/object', body: a },
      { method: 'POST', uri: '/v1/object', body: b },
    ]
    const isBatch = i % 2 === 0
    const url = isBatch ? '/v1/transaction' : '/v1/object'
    const reply = await app.inject({
      method: 'POST',
      url,
      payload: isBatch ? batch : [a, b],
      headers: { 'x-request-id': `r${i}` },
    })
    const results = isBatch ? reply.json().map((one: { result: unknown }) => one.result) : reply.json()
    return [`r${i}`, results.map((one: { __identifier__: string }) => one.__identifier__)]
  }
  const asked = Object.fromEntries(await Promise.all(Array.from({ length: 30 }, (_, i) => ask(i))))
  const told = (await lines()).filter(({ requestId }) => requestId in asked)
  expect(told).toHaveLength(30)
  for (const { requestId, oids, objects } of told) {
    expect(objects).toBe(2)
    expect([...oids].sort()).toEqual([...asked[requestId]].sort())
  }
})

rule('9.6.1', 'a change that fails has a line also where it is one of a transaction, or a text', async () => {
  const { app, lines } = await openAudited()
  await defineGadget(app)
  const ask = (url: string, payload: object) => app.inject({ method: 'POST', url, payload })
  const wrong = { class: 'Shop.Gadget', attributes: { name: 'x', size: 'large' } }
  const steps = [
    { method: 'GET', uri: '/v1/schema' },
    { method: 'POST', uri: '/v1/object', body: wrong },
  ]
  expect((await ask('/v1/transaction', steps)).statusCode).toBeGreaterThanOrEqual(400)
  expect((await ask('/v1/query', { query: 'UPDATE Shop.Gadget SET nothing TO 1' })).statusCode).toBe(422)
  // What only reads has none.
  expect((await ask('/v1/transaction', [{ method: 'GET', uri: '/v1/object/1-1-1-1' }])).statusCode).toBe(404)
  expect((await ask('/v1/query', { query: 'FROM Nothing RETURN *' })).statusCode).toBe(422)
  expect((await lines()).slice(1)).toMatchObject([
    { operation: 'POST /v1/transaction', outcome: 'failed', fd: 'default' },
    { operation: 'POST /v1/query', outcome: 'failed', fd: 'default', type: 'QueryError' },
  ])
})

rule('9.6.2', 'what is refused has a line; what was shown is not in it', async () => {
  const reader = makeCaller({
    kind: 'token',
    name: 'ann',
    identity: 'token t1',
    grants: [{ role: 'reader', aliases: undefined }],
    claims: {},
    credential: { kind: 'token', id: 't1' },
    expiresAtMs: Number.POSITIVE_INFINITY,
  })
  const authenticator = new Authenticator([
    {
      async authenticate({ headers: { authorization } }) {
        if (authorization === 'Bearer right') return reader
        if (authorization !== undefined) throw new ServerError('Unauthenticated', 'not valid')
        return undefined
      },
    },
  ])
  const { app, lines, file } = await openAudited('refuse', {}, { authenticator })
  await app.inject({ method: 'GET', url: '/v1/fd' })
  await app.inject({ method: 'GET', url: '/v1/fd', headers: { authorization: 'Bearer a-secret-that-is-wrong' } })
  await app.inject({
    method: 'POST',
    url: '/v1/object',
    payload: gadget('x'),
    headers: { authorization: 'Bearer right' },
  })
  expect(
    (await app.inject({ method: 'GET', url: '/v1/security/audit', headers: { authorization: 'Bearer right' } }))
      .statusCode,
  ).toBe(403)
  expect(await lines()).toMatchObject([
    {
      operation: 'GET /v1/fd',
      outcome: 'refused',
      status: 401,
      caller: null,
      callerKind: 'nobody',
      type: 'Unauthenticated',
    },
    { operation: 'GET /v1/fd', outcome: 'refused', status: 401 },
    {
      operation: 'POST /v1/object',
      outcome: 'refused',
      status: 403,
      caller: 'ann',
      credential: 'token:t1',
      type: 'Forbidden',
    },
    { operation: 'GET /v1/security/audit', outcome: 'refused', status: 403, caller: 'ann' },
  ])
  expect(readFileSync(file, 'utf8')).not.toContain('a-secret-that-is-wrong')
})

rule(
  '9.6.2',
  'a flood of requests without a credential does not fill the log; how many there were is told',
  async () => {
    const authenticator = new Authenticator([])
    const { app, lines, auditFile } = await openAudited('refuse', {}, { authenticator })
    const flood = 1_000
    for (let i = 0; i < flood; i++) await app.inject({ method: 'GET', url: '/v1/fd' })
    const listed = (await lines()).length
    expect(listed).toBeLessThan(flood / 2)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await app.inject({ method: 'GET', url: '/v1/fd' })
    await auditFile.flush()
    const unlisted = (await lines()).reduce((sum, { unlisted = 0 }) => sum + unlisted, 0)
    expect(unlisted + (await lines()).length).toBe(flood + 1)
  },
)

rule('9.6.1', 'ids of requests that could not stand in a log are replaced; those of traces are taken', async () => {
  const { app } = await openAudited()
  const idOf = async (headers: Record<string, string>) =>
    (await app.inject({ method: 'GET', url: '/v1', headers })).headers['x-request-id']
  expect(await idOf({ 'x-request-id': 'x'.repeat(129) })).toMatch(/^[\da-f-]{36}$/)
  expect(await idOf({ 'x-request-id': 'two words' })).toMatch(/^[\da-f-]{36}$/)
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  expect(await idOf({ traceparent: `00-${trace}-00f067aa0ba902b7-01` })).toBe(trace)
})

rule(
  '9.6.3',
  'GET /v1/security/audit shows the newest first, page by page, over the files that were put aside',
  async () => {
    const { app, auditFile, directory } = await openAudited('refuse', { fileBytesMax: 2_000, filesMax: 20 })
    await defineGadget(app)
    const asked: string[] = []
    for (let i = 0; i < 40; i++) {
      await app.inject({
        method: 'POST',
        url: '/v1/object',
        payload: gadget(`g${i}`),
        headers: { 'x-request-id': `r${i}` },
      })
      asked.unshift(`r${i}`)
      await auditFile.flush()
    }
    expect(readdirSync(directory).length).toBeGreaterThan(3)
    const found: string[] = []
    let before = ''
    for (let pages = 0; pages < 20; pages++) {
      const page = (await app.inject({ method: 'GET', url: `/v1/security/audit?limit=7${before}` })).json()
      found.push(...page.entries.map(({ requestId }: { requestId: string }) => requestId))
      if (page.next === null) break
      before = `&before=${page.next}`
    }
    expect(found.slice(0, 40)).toEqual(asked)
    expect(found).toHaveLength(41)
    for (const wrong of ['limit=0', 'limit=1001', 'limit=x', 'before=1', 'before=1-1']) {
      expect((await app.inject({ method: 'GET', url: `/v1/security/audit?${wrong}` })).statusCode).toBe(400)
    }
    const { app: without } = await openServer()
    expect((await without.inject({ method: 'GET', url: '/v1/security/audit' })).json().type).toBe(
      'AuditLogNotConfigured',
    )
  },
)

rule('9.6.4', 'a full file is put aside, the oldest are removed, and a file that was moved is left', async () => {
  const { app, auditFile, directory, file } = await openAudited('refuse', { fileBytesMax: 1, filesMax: 3 })
  await defineGadget(app)
  for (let i = 0; i < 6; i++) {
    await app.inject({ method: 'POST', url: '/v1/object', payload: gadget(`g${i}`) })
    await auditFile.flush()
  }
  expect(readdirSync(directory).length).toBeLessThanOrEqual(3)
  writeFileSync(file, '')
  renameSync(file, join(directory, 'elsewhere'))
  await app.inject({ method: 'POST', url: '/v1/object', payload: gadget('after') })
  await auditFile.reopen()
  await app.inject({ method: 'POST', url: '/v1/object', payload: gadget('after it, too') })
  await auditFile.flush()
  expect(readFileSync(join(directory, 'elsewhere'), 'utf8')).toBe('')
  expect(readdirSync(directory).some((name) => name.startsWith('audit.ndjson'))).toBe(true)
})

rule('9.6.4', 'lines that are written while another file is begun are not lost, and nothing fails', async () => {
  const { auditFile, lines, log } = await openAudited()
  const written: number[] = []
  for (let i = 0; i < 200; i++) {
    auditFile.append(JSON.stringify({ i }))
    written.push(i)
    await Promise.all([auditFile.reopen(), auditFile.flush(), auditFile.reopen(), auditFile.flush()])
  }
  expect(log).toEqual([])
  expect((await lines()).map(({ i }) => i)).toEqual(written)
})

rule('9.6.4', 'a full file that cannot be put aside is written on, which the log tells once', async () => {
  const { app, auditFile, directory, log } = await openAudited('refuse', { fileBytesMax: 1 })
  await defineGadget(app)
  // A directory in place of an old file cannot be unlinked, not even by root.
  for (const time of ['20200101T000000000Z-1', '20200101T000000000Z-2', '20200101T000000000Z-3'])
    mkdirSync(join(directory, `audit.ndjson.${time}`))
  for (let i = 0; i < 3; i++) {
    const made = await app.inject({ method: 'POST', url: '/v1/object', payload: gadget(`g${i}`) })
    expect(made.statusCode, made.body).toBe(201)
    await auditFile.flush()
    expect(auditFile.hasFailed).toBe(false)
  }
  expect(log.map(({ msg }) => msg)).toEqual([expect.stringMatching(/cannot be put aside/)])
})

for (const [onFailure, status] of [
  ['refuse', 503],
  ['continue', 201],
] as const) {
  rule(
    '9.6.5',
    `where the log cannot be written, changes are ${onFailure === 'refuse' ? 'refused' : 'done and counted'}`,
    async () => {
      const { app, auditFile, directory, log } = await openAudited(onFailure)
      await defineGadget(app)
      await auditFile.reopen()
      rmSync(directory, { recursive: true })
      const make = () => app.inject({ method: 'POST', url: '/v1/object', payload: gadget('x') })
      expect((await make()).statusCode).toBe(201)
      await auditFile.flush()
      await vi.waitFor(() => expect(auditFile.hasFailed).toBe(true))
      const during = await make()
      expect(during.statusCode).toBe(status)
      if (status === 503) expect(during.json().type).toBe('AuditLogUnavailable')
      const changing = await app.inject({
        method: 'POST',
        url: '/v1/query',
        payload: { query: 'UPDATE Shop.Gadget SET size TO 3' },
      })
      expect(changing.statusCode).toBe(onFailure === 'refuse' ? 503 : 200)
      const inTransaction = (steps: readonly object[]) =>
        app.inject({ method: 'POST', url: '/v1/transaction', payload: [...steps] })
      const texts = [{ method: 'POST', uri: '/v1/query', body: { query: 'UPDATE Shop.Gadget SET size TO 3' } }]
      for (const steps of [[{ method: 'POST', uri: '/v1/object', body: gadget('y') }], texts]) {
        expect((await inTransaction(steps)).statusCode).toBe(onFailure === 'refuse' ? 503 : 200)
      }
      // Reading goes on.
      expect((await inTransaction([{ method: 'GET', uri: '/v1/schema' }])).statusCode).toBe(200)
      expect(
        (await app.inject({ method: 'POST', url: '/v1/query', payload: { query: 'FROM Shop.Gadget RETURN name' } }))
          .statusCode,
      ).toBe(200)
      expect(log.map(({ msg }) => msg)).toEqual([expect.stringMatching(/cannot be written/)])
    },
  )
}

rule('9.6.5', 'lines that found no room are counted, and the count is in the log once it can be written', async () => {
  const { auditFile, directory, file } = await openAudited('continue')
  await auditFile.reopen()
  renameSync(directory, `${directory}-away`)
  for (let i = 0; i < 12; i++) auditFile.append(JSON.stringify({ i, text: 'x'.repeat(100_000) }))
  await auditFile.flush()
  auditFile.append(JSON.stringify({ text: 'x'.repeat(100_000) }))
  expect(auditFile.lost).toBeGreaterThan(0)
  renameSync(`${directory}-away`, directory)
  await auditFile.flush()
  await auditFile.flush()
  auditFile.append('{"last":true}')
  await auditFile.flush()
  const found = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(found.reduce((sum, { lost = 0 }) => sum + lost, 0)).toBe(auditFile.lost)
  expect(found.at(-1).last ?? found.at(-2).last).toBe(true)
})

rule('9.6.1', 'a line tells which user, token or role is changed, and who has signed in', async () => {
  const security = (await openSecureServer()).security
  const { app, lines, file } = await openAudited('refuse', {}, { security })
  const authorization = basic('admin', passwordOf('admin'))
  const ask = async (method: 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) => {
    const url = `/v1/security/${path}`
    const reply = await app.inject({
      method,
      url,
      headers: { authorization },
      ...(payload !== undefined && { payload }),
    })
    return reply.statusCode === 204 ? undefined : reply.json()
  }
  await ask('POST', 'user', { name: 'bob', roles: ['reader'] })
  await ask('PUT', 'user/bob', { isDisabled: true })
  const { id, token } = await ask('POST', 'token', { name: 'of mine', roles: ['reader'] })
  await ask('DELETE', `token/${id}`)
  await ask('POST', 'role', { name: 'auditor', actions: ['read'] })
  await ask('DELETE', 'role/auditor')
  await ask('DELETE', 'user/nobody')
  await ask('DELETE', 'user/no%20name')
  await app.inject({
    method: 'POST',
    url: '/v1/security/session',
    payload: { name: 'admin', password: passwordOf('admin') },
  })
  await app.inject({
    method: 'POST',
    url: '/v1/security/session',
    payload: { name: 'of-nobody', password: 'is wrong' },
  })
  const found = (await lines()).map(({ subject, outcome }) => [subject, outcome])
  expect(found).toEqual([
    ['user:bob', 'done'],
    ['user:bob', 'done'],
    [`token:${id}`, 'done'],
    [`token:${id}`, 'done'],
    ['role:auditor', 'done'],
    ['role:auditor', 'done'],
    ['user:nobody', 'failed'],
    [undefined, 'failed'],
    ['user:admin', 'done'],
    // Somebody may have typed a password in the place of the name.
    [undefined, 'refused'],
  ])
  expect(readFileSync(file, 'utf8')).not.toMatch(new RegExp(`of-nobody|${token.slice(21)}`))
})
