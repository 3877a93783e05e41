/** The permissions with which a stored reply was made; callers with different permissions do not get the reply (contract 9.1.2). */
import { type AccessPolicy, AshlarError, policyId } from '@ashlar/engine'
import type { Caller } from './caller.ts'
import type { PermittedAction } from './roles.ts'

const fdActions = ['read', 'write', 'define'] as const satisfies readonly PermittedAction[]

/** The rights of a caller on a federated database, as far as they affect replies. */
export interface ReplyRights {
  /** Permissions on the entire federated database. */
  readonly actions: readonly string[]
  /** Identifies the permissions on parts of it. */
  readonly policy?: string
}

/** Undefined for all rights. */
export function rightsOn(caller: Caller, alias: string): ReplyRights | undefined {
  const actions = fdActions.filter((action) => caller.may(action, alias))
  if (actions.length === fdActions.length) return undefined
  const policy = policyThatCounts(caller, alias)
  return policy === undefined ? { actions } : { actions, policy: policyId(policy) }
}

/** Returns true if callers with `now` may get a reply made with `before`. Different grants may hide more, even if they look wider. */
export function coverRights(now: ReplyRights | undefined, before: ReplyRights | undefined): boolean {
  if (now === undefined) return true
  if (before?.actions.every((action) => now.actions.includes(action)) !== true) return false
  return before.policy === undefined || before.policy === now.policy
}

/** Returns no policy if there are too many grants, which allow nothing. */
function policyThatCounts(caller: Caller, alias: string): AccessPolicy | undefined {
  try {
    return caller.policyOn(alias)
  } catch (error) {
    if (error instanceof AshlarError && error.type === 'Forbidden') return undefined
    throw error
  }
}
