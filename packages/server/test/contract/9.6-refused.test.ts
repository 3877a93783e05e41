/** What the audit log tells of what was refused or has failed: which object, and which token was shown (contract 9.6). */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished } from 'vitest'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { AuditLog } from '../../src/audit/audit-log.ts'
import { makeSecret, writeToken } from '../../src/security/secrets.ts'
import { basic, openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import { defineGadget } from '../unit/open-server.ts'
import { rule } from './rule.ts'

async function openAudited() {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-audit-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'audit.ndjson')
  const auditFile = new AuditFile({ file, fileBytesMax: 10_000_000, filesMax: 3 }, pino({ level: 'silent' }))
  await auditFile.start()
  onTestFinished(() => auditFile.close())
  const server = await openSecureServer({ audit: new AuditLog(auditFile, 'refuse') })
  const text = async () => {
    await auditFile.flush()
    return readFileSync(file, 'utf8')
  }
  const last = async () => JSON.parse((await text()).trim().split('\n').at(-1) as string)
  return { ...server, text, last }
}

rule(
  '9.6.2',
  'a change that is refused or fails names the object or class of its path, and no other text',
  async () => {
    const { app, last, user } = await openAudited()
    const bob = { authorization: await user('bob', ['reader']) }
    const admin = { authorization: basic('admin', passwordOf('admin')) }
    const ask = (method: 'PUT' | 'DELETE', url: string, headers: Record<string, string>) =>
      app.inject({ method, url, headers, ...(method === 'PUT' && { payload: { attributes: {} } }) })
    await ask('PUT', '/v1/object/3-5-1-9', bob)
    expect(await last()).toMatchObject({ caller: 'bob', status: 403, outcome: 'refused', oids: ['3-5-1-9'] })
    expect(await last()).not.toHaveProperty('objects')
    await ask('DELETE', '/v1/object/3-5-1-9', admin)
    expect(await last()).toMatchObject({ status: 404, outcome: 'failed', oids: ['3-5-1-9'] })
    await ask('DELETE', '/v1/schema/Shop.Order', bob)
    expect(await last()).toMatchObject({ status: 403, classes: ['Shop.Order'] })
    await ask('DELETE', `/v1/schema/a%0Ab${'c'.repeat(200)}`, bob)
    expect((await last()).classes[0]).toMatch(/^a\\u000abc{1,125}$/)
    await ask('DELETE', '/v1/object/what-ever', bob)
    expect(await last()).not.toHaveProperty('oids')
  },
)

rule('9.6.2', 'who is not let in is named by the id of the token, and by nothing that may be a secret', async () => {
  const { app, last, text } = await openAudited()
  const show = async (authorization: string) => {
    expect((await app.inject({ url: '/v1/schema', headers: { authorization } })).statusCode).toBe(401)
    return last()
  }
  const secret = makeSecret()
  const token = writeToken(secret)
  expect(await show(`Bearer ${token}`)).toMatchObject({
    caller: null,
    callerKind: 'nobody',
    credential: 'none',
    subject: `token:${secret.id}`,
  })
  for (const hidden of ['Bearer a-secret-of-another-kind', basic('a password?', 'a guess'), basic(token, '')]) {
    expect(await show(hidden)).not.toHaveProperty('subject')
  }
  const whole = await text()
  for (const hidden of ['guess', 'a password', secret.secret, 'a-secret']) expect(whole).not.toContain(hidden)
})

rule('9.6.2', 'too many wrong passwords are of the same kind of caller in whichever way they come', async () => {
  const { app, last } = await openAudited()
  const headers = { authorization: basic('alice', 'wrong') }
  const kinds = new Set<string>()
  let status = 0
  for (let i = 0; i < 12; i++) {
    status = (await app.inject({ url: '/v1/schema', headers })).statusCode
    kinds.add((await last()).callerKind)
  }
  expect(status).toBe(429)
  const payload = { name: 'alice', password: 'wrong' }
  expect((await app.inject({ method: 'POST', url: '/v1/security/session', payload })).statusCode).toBe(429)
  kinds.add((await last()).callerKind)
  expect(await last()).toMatchObject({ type: 'TooManySignIns' })
  expect([...kinds]).toEqual(['nobody'])
})

rule('9.6.1', 'an OID stands once in a line, also where an object changes with its links and again', async () => {
  const { app, last } = await openAudited()
  const headers = { authorization: basic('admin', passwordOf('admin')) }
  const post = (url: string, payload: object) => app.inject({ method: 'POST', url, payload, headers })
  await defineGadget(app, '', headers)
  const attributes = { name: 'a', size: 1, isNew: true }
  const made = (await post('/v1/object', { class: 'Shop.Gadget', attributes })).json().__identifier__
  const query = 'UPDATE Shop.Gadget SET size TO 2; UPDATE Shop.Gadget SET size TO 3'
  expect((await post('/v1/query', { query })).statusCode).toBe(200)
  expect((await last()).oids).toEqual([made])
})
