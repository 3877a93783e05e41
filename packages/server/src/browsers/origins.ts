/** Restricts the pages whose requests are accepted, since browsers send requests for any page (contract 1.7). */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { ServerError } from '../errors/server-errors.ts'

/** Paths that read or change data. */
const guarded = /^\/(v1|shutdown|metrics)(?![^/?])/
/** Values of Sec-Fetch-Site for requests by the server's own pages, and for navigation by the user. */
const trustedSites: readonly unknown[] = ['same-origin', 'none']
const methods = 'GET, HEAD, POST, PUT, DELETE'
const exposedHeaders = 'ETag, Location, Retry-After, Idempotent-Replayed, Preference-Applied'
const preflightSeconds = '600'

interface OriginRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly route: { readonly path: string } | undefined
  readonly response: Pick<ServerResponse, 'setHeader'>
}

type Preflight = Readonly<Record<string, string>>

export class AllowedOrigins {
  private readonly listed: ReadonlySet<string>

  /** `listed`: trusted origins, in lower case. */
  constructor(listed: readonly string[]) {
    this.listed = new Set(listed)
  }

  /**
   * Returns the headers of the reply, with status 204, if the request is a preflight. Requests from outside of browsers are not affected: they have
   * neither `Origin` nor `Sec-Fetch-Site`. Throws ForbiddenOrigin.
   */
  check(request: OriginRequest): Preflight | undefined {
    const { origin, host, 'sec-fetch-site': site } = request.headers
    // Caches must not return a response for one origin to another.
    if (this.listed.size > 0) request.response.setHeader('vary', 'origin')
    if (origin === undefined && site === undefined) return undefined
    if (origin !== undefined && this.listed.has(origin.toLowerCase())) return allow(origin, request)
    const isOwn =
      (origin === undefined || isSameHost(origin, host)) && (site === undefined || trustedSites.includes(site))
    if (isOwn || !guarded.test(request.route?.path ?? request.url)) return undefined
    const fromOrigin = origin === undefined ? '' : `, not from pages of ${origin.slice(0, 100)}`
    throw new ServerError(
      'ForbiddenOrigin',
      `From a browser, requests are accepted only from pages of the server itself and of the origins listed in 'cors'${fromOrigin}.`,
    )
  }
}

function allow(origin: string, request: OriginRequest): Preflight | undefined {
  const { response } = request
  response.setHeader('access-control-allow-origin', origin)
  // The origin is listed, never `*`: its pages may use the session of a signed-in user.
  response.setHeader('access-control-allow-credentials', 'true')
  response.setHeader('access-control-expose-headers', exposedHeaders)
  const { 'access-control-request-method': method, 'access-control-request-headers': headers } = request.headers
  if (request.method !== 'OPTIONS' || method === undefined) return undefined
  // No header grants a permission here, so all requested headers are allowed.
  return {
    ...(headers !== undefined && { 'access-control-allow-headers': headers }),
    'access-control-allow-methods': methods,
    'access-control-max-age': preflightSeconds,
    vary: 'origin, access-control-request-headers',
  }
}

/** Ignores the scheme: a proxy that terminates TLS forwards requests by http. */
export function isSameHost(origin: string, host: string | undefined): boolean {
  if (host === undefined || !/^https?:\/\//i.test(origin)) return false
  try {
    const { protocol, host: own } = new URL(origin)
    return own === new URL(`${protocol}//${host}`).host
  } catch {
    return false
  }
}
