/** What has become of a caller whose request goes on. */
import type { Caller } from './caller.ts'
import type { KnownCallers } from './known-callers.ts'

/** The same caller by the same credential as of now; undefined where the credential is over. Callers of other ways to be known stay as they are. */
export async function callerNow(callers: KnownCallers, before: Caller): Promise<Caller | undefined> {
  if (Date.now() >= before.expiresAtMs) return undefined
  const colon = before.credential.indexOf(':')
  const [kind, id] = [before.credential.slice(0, colon), before.credential.slice(colon + 1)]
  if (kind === 'token') return (await callers.token(id))?.caller
  if (kind === 'session') return (await callers.session(id))?.caller
  if (kind !== 'password') return before
  const known = await callers.user(id)
  return known !== undefined && callers.isOfSamePassword(known, before) ? known.caller : undefined
}
