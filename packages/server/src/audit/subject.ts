/** The user, token or role affected by an operation on the security database, for the audit log. */

import type { IncomingHttpHeaders } from 'node:http'
import { bearerText } from '../security/schemes.ts'
import { tokenIdOf, withoutTokens } from '../security/secrets.ts'

const pathForm = /^\/v1\/security\/(user|token|role|session)(?:\/|$)/
const idForm = /^[\w.+@-]{1,128}$/

/** `path`: of the route. `reply`: the body of a successful reply. Undefined for other operations, and for names that are not valid. */
export function subjectOf(path: string, params: unknown, reply: unknown): string | undefined {
  const kind = pathForm.exec(path)?.[1]
  if (kind === undefined || Array.isArray(reply)) return undefined
  const { id, name } = { ...(reply as Named), ...(params as Named) }
  const one = kind === 'token' && typeof id === 'string' ? tokenIdOf(id) : name
  // The user who signs in is known only from the reply.
  return typeof one === 'string' && idForm.test(one) ? `${kind === 'session' ? 'user' : kind}:${one}` : undefined
}

interface Named {
  readonly id?: unknown
  readonly name?: unknown
}

const oidForm = /^\d{1,20}(?:-\d{1,20}){3}$/
const subjectCharactersMax = 128
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is meant to match them.
const unprintable = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** Returns the class and the object in the path. `path`: of the route. */
export function subjectInPath(path: string, params: unknown): { readonly cls?: string; readonly oid?: string } {
  const { class: cls, oid } = { ...(params as { readonly class?: unknown; readonly oid?: unknown }) }
  return {
    ...(path.startsWith('/v1/schema/') && typeof cls === 'string' && { cls: printable(cls) }),
    ...(path.startsWith('/v1/object/') && typeof oid === 'string' && oidForm.test(oid) && { oid }),
  }
}

/** Returns the subject for a rejected credential: the ID of a token. A user name is not logged, since a password may have been typed in its place. */
export function rejectedCredential({ authorization }: IncomingHttpHeaders): string | undefined {
  const id = tokenIdOf(bearerText(authorization) ?? '')
  return id === undefined ? undefined : `token:${id}`
}

/** Truncates the text first, to bound the work. */
function printable(text: string): string {
  return withoutTokens(text.slice(0, subjectCharactersMax)).replace(
    unprintable,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
