/** The operations on the caller itself: sign in, sign out, change the own password (contract 9.1). */
import {
  booleanParam,
  type OperationReply,
  type OperationRequest,
  type ServiceOperation,
} from '../../dispatch/operation.ts'
import type { ServerError } from '../../errors/server-errors.ts'
import { unauthenticated } from '../../security/authenticator.ts'
import { refuseCommonPassword } from '../../security/password-hashes.ts'
import { writeGrant } from '../../security/roles.ts'
import { cookieName, cookieOf } from '../../security/schemes.ts'
import type { Security } from '../../security/security.ts'
import { beginSession, endSession, endSessionsOf } from '../../security/sessions.ts'
import { changeUser, wrongCurrentPassword } from '../../security/users.ts'
import { type Static, Type } from '../../wire/json-schema.ts'
import { CallerRecord, ChangePasswordBody, SignInBody } from '../../wire/wire-schemas.ts'
import { callerName, securityOperation } from './security-operation.ts'

function cookie({ client }: OperationRequest, value: string, seconds: number): string {
  const { isEncrypted } = client
  const flags = `Path=/; HttpOnly; SameSite=Strict${isEncrypted ? '; Secure' : ''}`
  return `${cookieName(isEncrypted)}=${value}; ${flags}; Max-Age=${seconds}`
}

async function signIn(security: Security, request: OperationRequest): Promise<OperationReply> {
  const { name, password } = request.body as Static<typeof SignInBody>
  const refused = (): ServerError =>
    unauthenticated(
      { headers: { 'sec-fetch-dest': 'empty' } },
      'The user name or the password is not right, or the user is disabled.',
    )
  const user = await security.passwords.check(name, password, request.client.address, request.signal)
  const session = user && (await beginSession(security.database, name, user.passwordHash))
  if (session === undefined) throw refused()
  // End the browser's previous session, so that it cannot be used any longer.
  const before = cookieOf(String(request.headers.cookie ?? ''), cookieName(request.client.isEncrypted))
  if (before !== undefined) await security.endSessionOf(before)
  const body = { name, expiresAt: new Date(session.expiresAtMs).toISOString() }
  const seconds = Math.ceil((session.expiresAtMs - Date.now()) / 1_000)
  return { body, headers: { 'set-cookie': cookie(request, session.cookie, seconds), 'cache-control': 'no-store' } }
}

async function signOut(security: Security, request: OperationRequest): Promise<OperationReply> {
  const { credential } = request.caller
  const id = credential.kind === 'session' ? credential.id : undefined
  if (booleanParam(request, 'everywhere')) {
    const name = callerName(request)
    await security.change((database) => endSessionsOf(database, name))
  } else if (id !== undefined) await security.change((database) => endSession(database, id))
  return { headers: { 'set-cookie': cookie(request, '', 0) } }
}

export const sessionOperations: readonly ServiceOperation[] = [
  securityOperation({
    method: 'POST',
    path: '/v1/security/session',
    needs: 'nothing',
    summary: 'Sign in',
    description: 'For browsers: the reply sets a cookie that scripts cannot read. Programs should use tokens.',
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
    summary: 'The authenticated caller',
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
  securityOperation({
    method: 'DELETE',
    path: '/v1/security/session',
    needs: 'identify',
    summary: 'Sign out',
    queryParameters: {
      everywhere: { description: 'End all sessions of the user.', schema: Type.Boolean({ default: false }) },
    },
    status: 204,
    errors: [],
    run: signOut,
  }),
  securityOperation({
    method: 'PUT',
    path: '/v1/security/password',
    needs: 'identify',
    summary: 'Change your own password',
    description: 'Ends all sessions of the user, including this one.',
    status: 204,
    body: ChangePasswordBody,
    errors: ['WeakPassword', 'TooManySignIns', 'UserNotFound'],
    async run(security, request) {
      const name = callerName(request)
      const { currentPassword, newPassword } = request.body as Static<typeof ChangePasswordBody>
      const { signal, client, service } = request
      const undo = security.passwords.beginChange(name, service.limits.passwordChangesPerHourMax)
      try {
        const user = await security.passwords.check(name, currentPassword, client.address, signal)
        if (user === undefined) throw wrongCurrentPassword()
        await refuseCommonPassword(newPassword, name)
        const passwordHash = await security.hashes.hash(newPassword, { sharer: client.sharer, signal, isTrusted: true })
        const checkedHash = user.passwordHash
        await security.change((database) => changeUser(database, name, { passwordHash, checkedHash }))
      } catch (error) {
        undo()
        throw error
      }
      return {}
    },
  }),
]
