/** The operations on users, tokens, sessions and roles (contract 9.2); who asks has to be their administrator, but for what is its own. */
import { AshlarError } from '@ashlar/engine'
import {
  booleanParam,
  type OperationReply,
  type OperationRequest,
  param,
  type ServiceOperation,
} from '../dispatch/operation.ts'
import { ServerError } from '../errors/server-errors.ts'
import { unauthenticated } from '../security/authenticator.ts'
import { addRole, listRoles, removeRole } from '../security/own-roles.ts'
import { writeGrant } from '../security/roles.ts'
import { cookieName, cookieOf } from '../security/schemes.ts'
import type { Security } from '../security/security.ts'
import { beginSession, endSession, endSessionsOf } from '../security/sessions.ts'
import { createToken, listTokens, revokeToken } from '../security/tokens.ts'
import {
  addUser,
  changeUser,
  findUser,
  listUsers,
  removeUser,
  userRecord,
  wrongCurrentPassword,
} from '../security/users.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import {
  CallerRecord,
  ChangePasswordBody,
  CreateRoleBody,
  CreateTokenBody,
  CreateUserBody,
  SecurityRole,
  SecurityToken,
  SecurityUser,
  SignInBody,
  TokenCreated,
  UpdateUserBody,
} from '../wire/wire-schemas.ts'

type Entry = Omit<ServiceOperation, 'scope' | 'tag' | 'isTransactional' | 'run'> & {
  run(security: Security, request: OperationRequest): Promise<OperationReply>
}

/** Refused where there is no security database. */
function operation({ run, ...entry }: Entry): ServiceOperation {
  return {
    ...entry,
    scope: 'service',
    tag: 'Security',
    isTransactional: false,
    errors: ['AuthenticationOff', 'StoreUnavailable', ...entry.errors],
    run(request) {
      const { security } = request.service
      if (security !== undefined) return run(security, request)
      throw new ServerError(
        'AuthenticationOff',
        'The server was started without --auth: it has no users, tokens or roles.',
      )
    },
  }
}

/** The name of the user who asks. Throws Forbidden where it is none: a token or another credential is not a person who can be asked for a password. */
function ownName({ caller }: OperationRequest): string {
  if (caller.kind === 'user' && caller.name !== null) return caller.name
  throw new ServerError('Forbidden', 'Only a user who has signed in, or has sent a password, may do this.')
}

function cookie({ client }: OperationRequest, value: string, seconds: number): string {
  const { isEncrypted } = client
  const flags = `Path=/; HttpOnly; SameSite=Strict${isEncrypted ? '; Secure' : ''}`
  return `${cookieName(isEncrypted)}=${value}; ${flags}; Max-Age=${seconds}`
}

/** Undefined where the request shows no session. */
function sessionIdOf({ caller }: OperationRequest): string | undefined {
  return /^session:(.*)$/.exec(caller.credential)?.[1]
}

async function signIn(security: Security, request: OperationRequest): Promise<OperationReply> {
  const { name, password } = request.body as Static<typeof SignInBody>
  const refused = (): ServerError =>
    unauthenticated({ headers: { 'sec-fetch-dest': 'empty' } }, 'The user name or the password is not right.')
  const known = await security.passwords.check(name, password, request.client.address)
  const begun = known && (await beginSession(security.database, name, known.passwordHash))
  if (begun === undefined) throw refused()
  // The session that the browser had is not left behind for somebody else to use.
  const before = cookieOf(String(request.headers.cookie ?? ''), cookieName(request.client.isEncrypted))
  if (before !== undefined) await security.endSessionOf(before)
  const body = { name, expiresAt: new Date(begun.expiresAtMs).toISOString() }
  const seconds = Math.ceil((begun.expiresAtMs - Date.now()) / 1_000)
  return { body, headers: { 'set-cookie': cookie(request, begun.cookie, seconds), 'cache-control': 'no-store' } }
}

async function signOut(security: Security, request: OperationRequest): Promise<OperationReply> {
  const id = sessionIdOf(request)
  if (booleanParam(request, 'everywhere')) {
    const name = ownName(request)
    await security.change((database) => endSessionsOf(database, name))
  } else if (id !== undefined) await security.change((database) => endSession(database, id))
  return { headers: { 'set-cookie': cookie(request, '', 0) } }
}

const sessionOperations: readonly ServiceOperation[] = [
  operation({
    method: 'POST',
    path: '/v1/security/session',
    needs: 'nothing',
    summary: 'Sign in',
    description: 'For browsers: the reply sets a cookie, which scripts cannot read. Programs have tokens.',
    status: 200,
    body: SignInBody,
    reply: Type.Object({ name: Type.String(), expiresAt: Type.String() }),
    errors: ['TooManySignIns'],
    run: signIn,
  }),
  {
    scope: 'service',
    method: 'GET',
    path: '/v1/security/session',
    needs: 'identify',
    summary: 'The caller, as the server knows it',
    tag: 'Security',
    status: 200,
    reply: CallerRecord,
    isTransactional: false,
    errors: [],
    run({ caller: { kind, name, grants, expiresAtMs } }) {
      const expiresAt = Number.isFinite(expiresAtMs) ? new Date(expiresAtMs).toISOString() : null
      return { body: { kind, name, roles: grants.map(writeGrant), expiresAt } satisfies Static<typeof CallerRecord> }
    },
  },
  operation({
    method: 'DELETE',
    path: '/v1/security/session',
    needs: 'identify',
    summary: 'Sign out',
    queryParameters: {
      everywhere: { description: 'All sessions of the user end.', schema: Type.Boolean({ default: false }) },
    },
    status: 204,
    errors: [],
    run: signOut,
  }),
  operation({
    method: 'PUT',
    path: '/v1/security/password',
    needs: 'identify',
    summary: 'Change the own password',
    description: 'All sessions of the user end, this one too.',
    status: 204,
    body: ChangePasswordBody,
    errors: ['WeakPassword', 'TooManySignIns', 'UserNotFound'],
    async run(security, request) {
      const name = ownName(request)
      const { currentPassword, newPassword } = request.body as Static<typeof ChangePasswordBody>
      const known = await security.passwords.check(name, currentPassword, request.client.address)
      if (known === undefined) throw wrongCurrentPassword()
      const passwordHash = await security.hashes.hash(newPassword)
      const checkedHash = known.passwordHash
      await security.change((database) => changeUser(database, name, { passwordHash, checkedHash }))
      return {}
    },
  }),
]

const userOperations: readonly ServiceOperation[] = [
  operation({
    method: 'GET',
    path: '/v1/security/user',
    needs: 'administer',
    summary: 'The users',
    status: 200,
    reply: Type.Array(SecurityUser),
    errors: [],
    run: async ({ database }) => ({ body: await listUsers(database) }),
  }),
  operation({
    method: 'POST',
    path: '/v1/security/user',
    needs: 'administer',
    summary: 'Add a user',
    status: 201,
    body: CreateUserBody,
    reply: SecurityUser,
    errors: ['InvalidUserName', 'InvalidGrant', 'WeakPassword', 'UserExists'],
    async run(security, { body }) {
      const { name, password, roles = [] } = body as Static<typeof CreateUserBody>
      const passwordHash = password === undefined ? undefined : await security.hashes.hash(password)
      return { body: await security.change((database) => addUser(database, { name, roles, passwordHash })) }
    },
  }),
  operation({
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
      if (user === undefined) throw new ServerError('UserNotFound', 'There is no user of this name.')
      return { body: userRecord(user) }
    },
  }),
  operation({
    method: 'PUT',
    path: '/v1/security/user/:name',
    needs: 'administer',
    summary: 'Change a user',
    description: 'What is left out stays. What the user has lost ends within a second, on all processes.',
    params: { name: 'The name of the user.' },
    status: 200,
    body: UpdateUserBody,
    reply: SecurityUser,
    errors: ['UserNotFound', 'InvalidGrant', 'WeakPassword', 'LastAdministrator'],
    async run(security, request) {
      const { password, roles, isDisabled } = request.body as Static<typeof UpdateUserBody>
      const passwordHash = password === undefined ? undefined : await security.hashes.hash(password)
      const name = param(request, 'name')
      return {
        body: await security.change((database) => changeUser(database, name, { roles, isDisabled, passwordHash })),
      }
    },
  }),
  operation({
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

/** The user whose tokens alone the caller may see and change; undefined for an administrator. */
function ownTokensOf(request: OperationRequest): string | undefined {
  return request.caller.may('administer', undefined) ? undefined : ownName(request)
}

/** Throws MalformedValue. */
function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = Date.parse(text)
  if (/^\d{4}-\d\d-\d\dT/.test(text) && Number.isFinite(ms)) return ms
  const message = 'expiresAt is a time such as 2030-01-31T12:00:00Z.'
  throw new AshlarError('MalformedValue', message, [{ place: ['expiresAt'], message }])
}

const tokenOperations: readonly ServiceOperation[] = [
  operation({
    method: 'GET',
    path: '/v1/security/token',
    needs: 'identify',
    summary: 'The tokens: all for an administrator, else the own ones',
    status: 200,
    reply: Type.Array(SecurityToken),
    errors: [],
    run: async ({ database }, request) => ({ body: await listTokens(database, ownTokensOf(request)) }),
  }),
  operation({
    method: 'POST',
    path: '/v1/security/token',
    needs: 'identify',
    summary: 'Create a token',
    description: 'Its text is in this reply alone.',
    status: 201,
    body: CreateTokenBody,
    reply: TokenCreated,
    errors: ['MalformedValue', 'InvalidToken', 'InvalidGrant', 'UserNotFound'],
    async run(security, request) {
      const { name, owner, roles, expiresAt } = request.body as Static<typeof CreateTokenBody>
      const own = ownTokensOf(request)
      if (own !== undefined && owner !== undefined && owner !== own) {
        throw new ServerError('Forbidden', 'Only an administrator may create tokens of others.')
      }
      const wanted = { name, owner: own ?? owner, roles, expiresAtMs: timeOf(expiresAt) }
      const body = await security.change((database) => createToken(database, wanted))
      return { body, headers: { 'cache-control': 'no-store' } }
    },
  }),
  operation({
    method: 'DELETE',
    path: '/v1/security/token/:id',
    needs: 'identify',
    summary: 'Revoke a token',
    description: 'Within a second it is refused on all processes, and what it has begun is stopped.',
    params: { id: 'The id of the token: what stands between the first two underscores of its text.' },
    status: 204,
    errors: ['TokenNotFound'],
    async run(security, request) {
      const owner = ownTokensOf(request)
      await security.change((database) => revokeToken(database, param(request, 'id'), owner))
      return {}
    },
  }),
]

const roleOperations: readonly ServiceOperation[] = [
  operation({
    method: 'GET',
    path: '/v1/security/role',
    needs: 'administer',
    summary: 'The roles, with those that are built in',
    status: 200,
    reply: Type.Array(SecurityRole),
    errors: [],
    run: async ({ database }) => ({ body: await listRoles(database) }),
  }),
  operation({
    method: 'POST',
    path: '/v1/security/role',
    needs: 'administer',
    summary: 'Add a role: a name for some actions',
    status: 201,
    body: CreateRoleBody,
    reply: SecurityRole,
    errors: ['InvalidRole', 'RoleExists'],
    async run(security, { body }) {
      const { name, actions } = body as Static<typeof CreateRoleBody>
      return { body: await security.change((database) => addRole(database, name, actions)) }
    },
  }),
  operation({
    method: 'DELETE',
    path: '/v1/security/role/:name',
    needs: 'administer',
    summary: 'Remove a role that nobody has',
    params: { name: 'The name of the role.' },
    status: 204,
    errors: ['InvalidRole', 'RoleNotFound', 'RoleInUse'],
    async run(security, request) {
      await security.change((database) => removeRole(database, param(request, 'name')))
      return {}
    },
  }),
]

export const securityOperations: readonly ServiceOperation[] = [
  ...sessionOperations,
  ...userOperations,
  ...tokenOperations,
  ...roleOperations,
]
