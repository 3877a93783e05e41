/** Users, tokens, sessions and roles by the client, operation by operation, against a server with authentication. */
import { expect, it } from 'vitest'
import { operations } from '../../server/src/operations/table.ts'
import { openSecureServer, passwordOf } from '../../server/test/unit/open-secure-server.ts'
import { AshlarClient } from '../src/client.ts'

it('has a method for every operation', async () => {
  const { app, token, user } = await openSecureServer()
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  await user('bob', ['reader'])
  const used = new Set<string>()
  const keys: (string | null)[] = []
  const connect = (authorization: string): AshlarClient =>
    new AshlarClient({
      baseUrl,
      token: authorization.replace('Bearer ', ''),
      fetch: (input, init) => {
        const headers = new Headers(init?.headers)
        keys.push(headers.get('idempotency-key'))
        if (authorization.startsWith('Basic')) headers.set('authorization', authorization)
        used.add(`${init?.method} ${new URL(String(input)).pathname}`)
        return fetch(input, { ...init, headers })
      },
    })
  const { security } = connect(await token({ roles: ['admin'] }))
  expect(await security.getCaller()).toMatchObject({ kind: 'token', roles: ['admin'] })
  expect(await security.addRole({ name: 'auditor', actions: ['operate', 'read'] })).toMatchObject({ isBuiltIn: false })
  expect((await security.listRoles()).map(({ name }) => name)).toContain('auditor')
  expect(await security.addUser({ name: 'eve', roles: ['auditor@default'] })).toMatchObject({ hasPassword: false })
  const grants = [{ on: { kind: 'class', className: 'Shop.Oder' }, actions: ['read'], hidden: ['price'] }] as const
  const changed = await security.updateRole('auditor', { grants })
  expect(changed).toMatchObject({ actions: ['read', 'operate'], grants, problems: [{ fdAlias: null, grant: 1 }] })
  expect((await security.getRole('auditor')).grants).toEqual(grants)
  await expect(security.removeRole('auditor')).rejects.toMatchObject({ type: 'RoleInUse', status: 409 })
  expect(await security.updateUser('eve', { isDisabled: true, roles: [] })).toMatchObject({ isDisabled: true })
  expect(await security.getUser('eve')).toMatchObject({ roles: [] })
  expect((await security.listUsers()).map(({ name }) => name)).toEqual(['admin', 'bob', 'eve'])
  await security.removeRole('auditor')
  await security.removeUser('eve')
  const { id } = await security.createToken({ name: 'for bob', owner: 'bob', expiresAt: '2100-01-01T00:00:00Z' })
  expect(await security.listTokens()).toHaveLength(2)
  await security.revokeToken(id)
  await expect(security.revokeToken(id)).rejects.toMatchObject({ type: 'TokenNotFound' })
  expect(await security.signIn({ name: 'bob', password: passwordOf('bob') })).toMatchObject({ name: 'bob' })
  const bob = connect(`Basic ${Buffer.from(`bob:${passwordOf('bob')}`).toString('base64')}`).security
  await bob.signOut()
  await bob.signOut({ isEverywhere: true })
  await bob.changePassword({ currentPassword: passwordOf('bob'), newPassword: 'another password' })
  await expect(bob.getCaller()).rejects.toMatchObject({ type: 'Unauthenticated', status: 401 })
  for (const options of [undefined, { limit: 1 }]) {
    await expect(security.readAudit(options)).rejects.toMatchObject({ type: 'AuditLogNotConfigured' })
  }
  const paths = [...used].map((path) =>
    path
      .replace(/user\/\w+$/, 'user/:name')
      .replace(/role\/\w+$/, 'role/:name')
      .replace(/token\/\w+$/, 'token/:id'),
  )
  const table = operations.map(({ method, path }) => `${method} ${path}`).filter((path) => path.includes('/security/'))
  expect(new Set(paths)).toEqual(new Set(table))
  expect(new Set(keys)).toEqual(new Set([null]))
})
