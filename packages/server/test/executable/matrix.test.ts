/** Every operation with every kind of caller, as in 9.1-matrix, where workers, or several servers on one PostgreSQL, take the requests by turns. */
import { expect } from 'vitest'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { operations } from '../../src/operations/table.ts'
import { actionsOf, builtInRoles, noCustomRoles } from '../../src/security/roles.ts'
import { expectOutcome, type MatrixCaller } from '../contract/operation-needs.ts'
import { rule } from '../contract/rule.ts'
import { basic } from '../unit/open-secure-server.ts'
import { bodyOf } from '../unit/operation-bodies.ts'
import { start, temporaryDirectory } from './process.ts'

const password = 'of the administrator'
const admin = basic('admin', password)

async function ask(url: string, method: string, path: string, body?: unknown, authorization?: string) {
  // Connections go to the workers in turn.
  const headers = { connection: 'close', ...(authorization !== undefined && { authorization }) }
  const json = { ...headers, 'content-type': 'application/json' }
  const asked = body === undefined ? { method, headers } : { method, headers: json, body: JSON.stringify(body) }
  const reply = await fetch(`${url}${path}`, asked)
  const isJson = String(reply.headers.get('content-type')).includes('json')
  const text = await reply.text()
  return { status: reply.status, json: isJson && text !== '' ? JSON.parse(text) : undefined }
}

async function callersOf(url: string): Promise<MatrixCaller[]> {
  const token = async (role: string, more: object = {}): Promise<{ readonly id: string; readonly shown: string }> => {
    const { status, json } = await ask(
      url,
      'POST',
      '/v1/security/token',
      { name: 'one', roles: [role], ...more },
      admin,
    )
    expect(status).toBe(201)
    return { id: json.id, shown: `Bearer ${json.token}` }
  }
  const revoked = await token('admin')
  const expired = await token('admin', { expiresAt: new Date(Date.now() + 1_000).toISOString() })
  expect((await ask(url, 'DELETE', `/v1/security/token/${revoked.id}`, undefined, admin)).status).toBe(204)
  const callers: MatrixCaller[] = [
    { name: 'nobody', authorization: undefined, allows: ['nothing'] },
    { name: 'malformed', authorization: 'Bearer ash_0123456789abcdef_short', allows: ['nothing'] },
    { name: 'unknown', authorization: `Bearer ash_0123456789abcdef_${'x'.repeat(43)}`, allows: ['nothing'] },
    { name: 'expired', authorization: expired.shown, allows: ['nothing'] },
    { name: 'revoked', authorization: revoked.shown, allows: ['nothing'] },
  ]
  for (const role of Object.keys(builtInRoles)) {
    for (const [where, allowed] of [
      [role, actionsOf(role, noCustomRoles)],
      [`${role}@fleet`, actionsOf(role, noCustomRoles)],
      [`${role}@sales`, []],
    ] as const) {
      const { shown } = await token(where)
      callers.push({ name: where, authorization: shown, allows: ['nothing', 'identify', ...allowed] })
    }
  }
  // Until all processes know.
  for (const ended of [expired, revoked]) {
    const statuses = () => Promise.all(Array.from({ length: 8 }, () => ask(url, 'GET', '/v1', undefined, ended.shown)))
    await expect
      .poll(async () => (await statuses()).every(({ status }) => status === 401), { timeout: 20_000 })
      .toBe(true)
  }
  return callers
}

async function expectMatrix(urls: readonly string[]): Promise<void> {
  const callers = await callersOf(urls[0] as string)
  let nth = 0
  for (const operation of operations) {
    const path = `${operation.path.replace(/:\w+/g, '1-1-1-1')}?fdAlias=fleet`
    const body = operation.body === undefined ? undefined : bodyOf(operation)
    for (const caller of callers) {
      const url = urls[nth++ % urls.length] as string
      const { status, json } = await ask(url, operation.method, path, body, caller.authorization)
      expectOutcome(operation, caller, { status, type: json?.type })
    }
  }
}

function startWith(words: readonly string[]): Promise<string> {
  const all = ['serve', '--auth', '--port', '0', '--log-level', 'error', ...words]
  return start(all, { ASHLAR_ADMIN_PASSWORD: password }, temporaryDirectory()).url
}

rule(['9.1.1', '9.3.1'], 'each operation with each kind of caller, with several workers', async () => {
  await expectMatrix([await startWith(['--workers', '2', '--fd', 'fleet', '--fd', 'sales'])])
})

rule(['9.1.1', '9.3.1'], 'and with several servers on one PostgreSQL', async () => {
  const store = (schema: string): string => `${postgresOfRun()}?schema=${schema}&connections=4`
  const fds = ['fleet', 'sales'].flatMap((alias) => ['--fd', `${alias}=${store(`matrix_${alias}`)}`])
  const words = ['--security-store', store('matrix_callers'), ...fds]
  const first = await startWith(words)
  await expectMatrix([first, await startWith(words)])
})
