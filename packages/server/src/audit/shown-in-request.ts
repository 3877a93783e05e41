/** What a request that is refused, or fails, tells by its path and credential, for the audit log: never a secret, and of bounded length (contract 9.6). */
import type { IncomingHttpHeaders } from 'node:http'
import { bearerText } from '../security/schemes.ts'
import { tokenIdOf, withoutTokens } from '../security/secrets.ts'

const oidForm = /^\d{1,20}(?:-\d{1,20}){3}$/
const shownCharactersMax = 128
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const unprintable = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** The class and the object that the path names. `path`: of the route. */
export function namedByPath(path: string, params: unknown): { readonly cls?: string; readonly oid?: string } {
  const { class: cls, oid } = { ...(params as { readonly class?: unknown; readonly oid?: unknown }) }
  return {
    ...(path.startsWith('/v1/schema/') && typeof cls === 'string' && { cls: printable(cls) }),
    ...(path.startsWith('/v1/object/') && typeof oid === 'string' && oidForm.test(oid) && { oid }),
  }
}

/**
 * The token of somebody who was not let in. A user name is not told: somebody may have typed a password in its place.
 */
export function triedAs({ authorization }: IncomingHttpHeaders): string | undefined {
  const id = tokenIdOf(bearerText(authorization) ?? '')
  return id === undefined ? undefined : `token:${id}`
}

/** Cut before it is looked through: no work is to grow with it. */
function printable(text: string): string {
  return withoutTokens(text.slice(0, shownCharactersMax)).replace(
    unprintable,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
