/** The current state of a caller whose request is running. */
import { type Caller, withRoles } from './caller.ts'
import type { CachedCallers } from './known-callers.ts'

/** The latest version of callers by JWT or certificate that are not users, so that it is created once per change of roles. */
const latestVersions = new WeakMap<Caller, Caller>()

async function withRolesOf(callers: CachedCallers, before: Caller): Promise<Caller> {
  const customRoles = await callers.roles()
  if (before.customRoles === customRoles) return before
  const last = latestVersions.get(before)
  if (last?.customRoles === customRoles) return last
  const now = withRoles(before, customRoles)
  latestVersions.set(before, now)
  return now
}

/** Returns the current version of a caller; undefined if its credential is no longer valid, or if that is unknown. */
export async function callerNow(callers: CachedCallers, before: Caller): Promise<Caller | undefined> {
  if (Date.now() >= before.expiresAtMs) return undefined
  const { credential } = before
  switch (credential.kind) {
    case 'none':
      return before
    case 'token':
      return (await callers.token(credential.id))?.caller
    case 'session':
      return (await callers.session(credential.id))?.caller
    case 'password': {
      const user = await callers.user(credential.id)
      return user !== undefined && callers.hasSamePassword(user, before) ? user.caller : undefined
    }
    // The issuer cannot revoke it, but the permissions of its roles may have changed.
    case 'jwt':
      return withRolesOf(callers, before)
    // Callers who are not users have the roles of the configuration.
    case 'certificate': {
      const isUser = before.identity.startsWith('user:') && before.name !== null
      return isUser ? callers.certificate(before.name, credential.id, before.expiresAtMs) : withRolesOf(callers, before)
    }
    default:
      return undefined
  }
}
