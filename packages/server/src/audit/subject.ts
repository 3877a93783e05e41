/** Which user, token or role an operation on the security database is about, for the audit log. */
import { tokenIdOf } from '../security/secrets.ts'

const pathForm = /^\/v1\/security\/(user|token|role|session)(?:\/|$)/
const idForm = /^[\w.+@-]{1,128}$/

/** `path`: of the route. `reply`: the body of a reply of success. Undefined for other operations, and for what no user, token or role can be called. */
export function subjectOf(path: string, params: unknown, reply: unknown): string | undefined {
  const kind = pathForm.exec(path)?.[1]
  if (kind === undefined || Array.isArray(reply)) return undefined
  const { id, name } = { ...(reply as Named), ...(params as Named) }
  const one = kind === 'token' && typeof id === 'string' ? tokenIdOf(id) : name
  // Whoever begins a session is not known before.
  return typeof one === 'string' && idForm.test(one) ? `${kind === 'session' ? 'user' : kind}:${one}` : undefined
}

interface Named {
  readonly id?: unknown
  readonly name?: unknown
}
