/** The operations on tokens (contract 9.2): callers who are not administrators see only their own. */
import { AshlarError } from '@ashlar/engine'
import { type OperationRequest, param, type ServiceOperation } from '../../dispatch/operation.ts'
import { requireWithin } from '../../security/roles.ts'
import { createToken, listTokens, revokeToken } from '../../security/tokens.ts'
import { type Static, Type } from '../../wire/json-schema.ts'
import { CreateTokenBody, SecurityToken, TokenCreated } from '../../wire/wire-schemas.ts'
import { callerName, problemsOf, securityOperation } from './security-operation.ts'

/** Returns the user whose tokens the caller may see and change; undefined for an administrator. */
function tokenOwner(request: OperationRequest): string | undefined {
  return request.caller.may('administer', undefined) ? undefined : callerName(request)
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = Date.parse(text)
  if (/^\d{4}-\d\d-\d\dT/.test(text) && Number.isFinite(ms)) return ms
  const message = 'expiresAt is a time such as 2030-01-31T12:00:00Z.'
  throw new AshlarError('MalformedValue', message, [{ place: ['expiresAt'], message }])
}

export const tokenOperations: readonly ServiceOperation[] = [
  securityOperation({
    method: 'GET',
    path: '/v1/security/token',
    needs: 'identify',
    summary: 'List tokens: all for an administrator, otherwise your own',
    status: 200,
    reply: Type.Array(SecurityToken),
    errors: [],
    run: async ({ database }, request) => ({ body: await listTokens(database, tokenOwner(request)) }),
  }),
  securityOperation({
    method: 'POST',
    path: '/v1/security/token',
    needs: 'identify',
    summary: 'Create a token',
    description: 'The text of the token is only in this reply.',
    status: 201,
    body: CreateTokenBody,
    reply: TokenCreated,
    errors: ['MalformedValue', 'InvalidToken', 'InvalidGrant', 'UserNotFound'],
    async run(security, request) {
      const { name, owner, roles, expiresAt } = request.body as Static<typeof CreateTokenBody>
      const own = tokenOwner(request)
      if (own !== undefined && owner !== undefined && owner !== own) {
        throw new AshlarError('Forbidden', 'Only an administrator may create tokens of others.')
      }
      if (own !== undefined) requireWithin(roles ?? [], await security.callers.roles(), request.caller)
      const fields = { name, owner: own ?? owner, roles, expiresAtMs: timeOf(expiresAt) }
      const newToken = { ...fields, isByAdministrator: own === undefined }
      const created = await security.change((database) => createToken(database, newToken))
      return {
        body: { ...created, problems: problemsOf(request, created.roles) },
        headers: { 'cache-control': 'no-store' },
      }
    },
  }),
  securityOperation({
    method: 'DELETE',
    path: '/v1/security/token/:id',
    needs: 'identify',
    summary: 'Revoke a token',
    description: 'Takes effect within a second on all processes; running requests of the token are stopped.',
    params: { id: 'The id of the token: the part between the first two underscores of its text.' },
    status: 204,
    errors: ['TokenNotFound'],
    async run(security, request) {
      const owner = tokenOwner(request)
      await security.change((database) => revokeToken(database, param(request, 'id'), owner))
      return {}
    },
  }),
]
