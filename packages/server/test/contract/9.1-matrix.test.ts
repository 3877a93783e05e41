/** Contract 9.3: every operation of the table with every kind of caller, each with the status that its need says. */
import { expect } from 'vitest'
import type { Operation } from '../../src/dispatch/operation.ts'
import { operations } from '../../src/operations/table.ts'
import { addRole } from '../../src/security/custom-roles.ts'
import { actionsOf, builtInRoles, type Need, noCustomRoles } from '../../src/security/roles.ts'
import { revokeToken } from '../../src/security/tokens.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { openServer, type TestServer } from '../unit/open-server.ts'
import { bodyOf } from '../unit/operation-bodies.ts'
import { expectOutcome, isByClass, type MatrixCaller, needsOf } from './operation-needs.ts'
import { rule } from './rule.ts'

/** Roles with grants for parts of a federated database, and the needs that may be served by them. */
const partial: Readonly<Record<string, { readonly grants: readonly object[]; readonly allows: readonly Need[] }>> = {
  classReader: {
    grants: [{ on: { kind: 'class', className: 'Fleet.Car' }, actions: ['read'], hidden: ['price'] }],
    allows: ['read'],
  },
  someReader: { grants: [{ on: { kind: 'all' }, actions: ['read'], rules: { read: 'FALSE' } }], allows: ['read'] },
  changer: {
    grants: [{ on: { kind: 'namespace', namespace: 'Fleet' }, actions: ['read', 'create', 'update'] }],
    allows: ['read', 'write'],
  },
  indexer: { grants: [{ on: { kind: 'class', className: 'Fleet.Car' }, actions: ['index'] }], allows: ['define'] },
}

interface Asked {
  readonly status: number
  readonly type: string | undefined
}

async function ask(app: TestServer, operation: Operation, authorization?: string): Promise<Asked> {
  const { method, path, body } = operation
  const url = `${path.replace(/:\w+/g, '1-1-1-1')}?fdAlias=fleet`
  const reply = await app.inject({
    method,
    url,
    headers: authorization === undefined ? {} : { authorization },
    ...(body === undefined ? {} : { payload: bodyOf(operation) as object }),
  })
  const isJson = String(reply.headers['content-type']).includes('json')
  return { status: reply.statusCode, type: isJson ? reply.json().type : undefined }
}

rule(['9.1.1', '9.3.1', '9.3.4'], 'each operation with each kind of caller', async () => {
  const { app, security, token } = await openSecureServer({ aliases: ['fleet', 'sales'] })
  const callers: MatrixCaller[] = [
    { name: 'nobody', authorization: undefined, allows: ['nothing'] },
    { name: 'malformed', authorization: 'Bearer ash_0123456789abcdef_short', allows: ['nothing'] },
    { name: 'unknown', authorization: `Bearer ash_0123456789abcdef_${'x'.repeat(43)}`, allows: ['nothing'] },
    { name: 'foreign kind', authorization: 'Digest username="admin"', allows: ['nothing'] },
  ]
  const expired = await token({ roles: ['admin'], expiresAtMs: Date.now() + 100 })
  callers.push({ name: 'expired', authorization: expired, allows: ['nothing'] })
  const revoked = await token({ roles: ['admin'] })
  await security.change((database) => revokeToken(database, revoked.slice('Bearer ash_'.length).slice(0, 16)))
  callers.push({ name: 'revoked', authorization: revoked, allows: ['nothing'] })
  for (const role of Object.keys(builtInRoles)) {
    const allowed = actionsOf(role, noCustomRoles)
    callers.push(
      { name: role, authorization: await token({ roles: [role] }), allows: ['nothing', 'identify', ...allowed] },
      {
        name: `${role}@fleet`,
        authorization: await token({ roles: [`${role}@fleet`] }),
        allows: ['nothing', 'identify', ...allowed],
      },
      {
        name: `${role}@sales`,
        authorization: await token({ roles: [`${role}@sales`] }),
        allows: ['nothing', 'identify'],
      },
    )
  }
  for (const [name, { grants, allows }] of Object.entries(partial)) {
    await security.change((database) => addRole(database, name, { grants }))
    for (const [where, here] of [
      [name, allows],
      [`${name}@fleet`, allows],
      [`${name}@sales`, []],
    ] as const) {
      const authorization = await token({ roles: [where] })
      callers.push({ name: where, authorization, allows: ['nothing', 'identify', ...here], isPartial: true })
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 110))
  const open = (await openServer({ aliases: ['fleet', 'sales'] })).app
  for (const operation of operations) {
    const { method, path } = operation
    for (const caller of callers) {
      expectOutcome(operation, caller, await ask(app, operation, caller.authorization))
    }
    const { status, type } = await ask(open, operation)
    expect([path, ['Unauthenticated', 'Forbidden'].includes(type ?? '')]).toEqual([path, false])
    const isOfBoth = ['GET /v1/security/session', 'GET /v1/security/audit'].includes(`${method} ${path}`)
    const needsSecurity = path.startsWith('/v1/security/') && !isOfBoth
    if (needsSecurity) expect([path, status, type]).toEqual([path, 409, 'AuthenticationOff'])
  }
})

rule(['9.3.1', '9.3.4'], 'each operation of a transaction with each role', async () => {
  const { app, security, token } = await openSecureServer({ aliases: ['fleet', 'sales'] })
  const steps = operations.filter(({ isTransactional }) => isTransactional !== false)
  expect(steps.length).toBeGreaterThan(15)
  for (const [name, { grants }] of Object.entries(partial)) {
    await security.change((database) => addRole(database, name, { grants }))
  }
  for (const role of [...Object.keys(builtInRoles), ...Object.keys(partial)]) {
    const own = partial[role]?.allows
    const allowed: readonly Need[] = ['nothing', 'identify', ...(own ?? actionsOf(role, noCustomRoles))]
    for (const where of ['fleet', 'sales']) {
      const authorization = await token({ roles: [`${role}@${where}`] })
      for (const operation of steps) {
        const { method, path, body, scope } = operation
        const uri = path.replace(/:\w+/g, '1-1-1-1')
        const step = { method, uri, ...(body === undefined ? {} : { body: bodyOf(operation) }) }
        const url = '/v1/transaction?fdAlias=fleet'
        const reply = await app.inject({ method: 'POST', url, headers: { authorization }, payload: [step] })
        const needs = needsOf(operation)
        const isOpen = needs.includes('identify')
        const isServerWide = scope === 'service' && !isOpen
        const isForWhole = own !== undefined && !isOpen && !isByClass(operation)
        const areAllowed = ['read' as const, ...needs].every((need) => allowed.includes(need))
        const refusal = where === 'sales' ? 'FederatedDatabaseNotFound' : 'Forbidden'
        const isRefused = where === 'sales' || !areAllowed || isServerWide || isForWhole
        expect([role, where, path, reply.json().type === refusal]).toEqual([role, where, path, isRefused])
      }
    }
  }
})
