/** The operations on users (contract 9.2). */
import { type OperationRequest, param, type ServiceOperation } from '../../dispatch/operation.ts'
import { ServerError } from '../../errors/server-errors.ts'
import { refuseCommonPassword } from '../../security/password-hashes.ts'
import type { Hasher } from '../../security/password-places.ts'
import { addUser, changeUser, findUser, listUsers, removeUser, userRecord } from '../../security/users.ts'
import { type Static, Type } from '../../wire/json-schema.ts'
import { CreateUserBody, SecurityUser, SecurityUserChanged, UpdateUserBody } from '../../wire/wire-schemas.ts'
import { problemsOf, securityOperation } from './security-operation.ts'

/** Password hashes requested by an administrator count towards the share of authenticated callers. */
function hasherOf({ client: { sharer }, signal }: OperationRequest): Hasher {
  return { sharer, signal, isTrusted: true }
}

export const userOperations: readonly ServiceOperation[] = [
  securityOperation({
    method: 'GET',
    path: '/v1/security/user',
    needs: 'administer',
    summary: 'The users',
    status: 200,
    reply: Type.Array(SecurityUser),
    errors: [],
    run: async ({ database }) => ({ body: await listUsers(database) }),
  }),
  securityOperation({
    method: 'POST',
    path: '/v1/security/user',
    needs: 'administer',
    summary: 'Add a user',
    status: 201,
    body: CreateUserBody,
    reply: SecurityUserChanged,
    errors: ['InvalidUserName', 'InvalidGrant', 'WeakPassword', 'UserExists'],
    async run(security, request) {
      const { name, password, roles = [] } = request.body as Static<typeof CreateUserBody>
      if (password !== undefined) await refuseCommonPassword(password, name)
      const passwordHash = password === undefined ? undefined : await security.hashes.hash(password, hasherOf(request))
      const user = await security.change((database) => addUser(database, { name, roles, passwordHash }))
      return { body: { ...user, problems: problemsOf(request, roles) } }
    },
  }),
  securityOperation({
    method: 'GET',
    path: '/v1/security/user/:name',
    needs: 'administer',
    summary: 'A user',
    params: { name: 'The name of the user.' },
    status: 200,
    reply: SecurityUser,
    errors: ['UserNotFound'],
    async run({ database }, request) {
      const user = await findUser(database, param(request, 'name'))
      if (user === undefined) throw new ServerError('UserNotFound', 'There is no user with this name.')
      return { body: userRecord(user) }
    },
  }),
  securityOperation({
    method: 'PUT',
    path: '/v1/security/user/:name',
    needs: 'administer',
    summary: 'Change a user',
    description: 'Omitted fields stay unchanged. Revoked rights take effect within a second, on all processes.',
    params: { name: 'The name of the user.' },
    status: 200,
    body: UpdateUserBody,
    reply: SecurityUserChanged,
    errors: ['UserNotFound', 'InvalidGrant', 'WeakPassword', 'LastAdministrator'],
    async run(security, request) {
      const { password, roles, isDisabled } = request.body as Static<typeof UpdateUserBody>
      const name = param(request, 'name')
      if (password !== undefined) await refuseCommonPassword(password, name)
      const passwordHash = password === undefined ? undefined : await security.hashes.hash(password, hasherOf(request))
      const user = await security.change((database) => changeUser(database, name, { roles, isDisabled, passwordHash }))
      return { body: { ...user, problems: problemsOf(request, user.roles) } }
    },
  }),
  securityOperation({
    method: 'DELETE',
    path: '/v1/security/user/:name',
    needs: 'administer',
    summary: 'Remove a user, with its tokens and sessions',
    params: { name: 'The name of the user.' },
    status: 204,
    errors: ['UserNotFound', 'LastAdministrator'],
    async run(security, request) {
      await security.change((database) => removeUser(database, param(request, 'name')))
      return {}
    },
  }),
]
