/** Common parts of the operations on users, tokens, sessions and roles, which need a security database (contract 9.2). */
import { AshlarError } from '@ashlar/engine'
import type { OperationReply, OperationRequest, ServiceOperation } from '../../dispatch/operation.ts'
import { ServerError } from '../../errors/server-errors.ts'
import { aliasProblems } from '../../security/role-problems.ts'
import type { Security } from '../../security/security.ts'

type Entry = Omit<ServiceOperation, 'scope' | 'tag' | 'isTransactional' | 'run'> & {
  run(security: Security, request: OperationRequest): Promise<OperationReply>
}

/** Refuses the operation if there is no security database. */
export function securityOperation({ run, ...entry }: Entry): ServiceOperation {
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

/** Returns the name of the calling user. Throws Forbidden for other callers: a token cannot confirm a password. */
export function callerName({ caller }: OperationRequest): string {
  if (caller.kind === 'user' && caller.name !== null) return caller.name
  throw new AshlarError('Forbidden', 'Only a user who has signed in, or has sent a password, may do this.')
}

/** See `aliasProblems`. */
export function problemsOf({ service }: OperationRequest, roles: readonly string[] | null): string[] {
  return aliasProblems(
    roles,
    service.federatedDatabases.all.map(({ alias }) => alias),
  )
}
