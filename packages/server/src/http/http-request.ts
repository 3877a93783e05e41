/** A request in processing, and its response. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { parse } from 'node:querystring'
import type { Span } from '@opentelemetry/api'
import type { Logger } from 'pino'
import type { RequestAudit } from '../audit/audit-log.ts'
import type { Router } from '../dispatch/router.ts'
import type { OperationCounts } from '../metrics/request-counts.ts'
import type { Caller } from '../security/caller.ts'

/** Sends the reply, possibly asynchronously. */
export type Handle = (request: HttpRequest) => Promise<void> | undefined

/** The handling of a path and a method. */
export interface Route {
  /** Path parameters appear as `:name`. */
  readonly path: string
  /** The operation accepts text in addition to JSON. */
  readonly acceptsPlainText?: boolean
  /** The body is one object to be created or changed. */
  readonly bodyIsObject?: boolean
  /** The body may also be an array of objects. */
  readonly takesArray?: boolean
  /** The body is an array of operations. */
  readonly takesOperations?: boolean
  /** The body is a text of statements with its parameters. */
  readonly isQuery?: boolean
  /** The body may also be lines of NDJSON. */
  readonly takesLines?: boolean
  /** The operation is for authenticated callers. */
  readonly needsCaller?: boolean
  /** Authentication is optional; authenticated callers see more. */
  readonly mayHaveCaller?: boolean
  /** Counts the requests that are refused before they reach the operation. */
  readonly counts?: OperationCounts
  /** Run before the body is read; each throws to refuse the request. */
  readonly checks?: readonly ((request: HttpRequest) => void)[] | undefined
  readonly handle: Handle
}

export type RouteTable = Router<Route>

type Params = Readonly<Record<string, string>>
type Query = Readonly<Record<string, unknown>>

const noQuery: Query = Object.freeze({})
const noParams: Params = Object.freeze({})

export class HttpRequest {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly headers: IncomingHttpHeaders
  readonly method: string
  /** The target without scheme and host. */
  readonly url: string
  /** Undefined for an unknown path or method. */
  readonly route: Route | undefined
  readonly params: Params
  readonly log: Logger
  /** The parsed body; undefined if there is none or it has not arrived. */
  body: unknown = undefined
  /** The body as sent. */
  bodyBytes: Buffer | undefined = undefined
  /** Whether a reply has begun or is complete. */
  isAnswered = false
  /** With authentication: the sender of the request. */
  caller: Caller | undefined = undefined
  /** The epoch of the authenticator at which the caller was authenticated. */
  callerEpoch: number | undefined = undefined
  /** With an audit log: the entry of this request. */
  audit: RequestAudit | undefined = undefined
  problemType: string | undefined = undefined
  /** With tracing. */
  span: Span | undefined = undefined
  /** Set once the request has reached its operation. */
  counts: OperationCounts | undefined = undefined
  /** Digest of the body as it was sent, with an `Idempotency-Key`. */
  bodyDigest: Buffer | undefined = undefined
  private parsedQuery: Query | undefined = undefined

  constructor(
    raw: IncomingMessage,
    response: ServerResponse,
    url: string,
    found: { readonly route: Route; readonly params: Params } | undefined,
    log: Logger,
  ) {
    this.raw = raw
    this.response = response
    this.headers = raw.headers
    this.method = raw.method as string
    this.url = url
    this.route = found?.route
    this.params = found === undefined ? noParams : found.params
    this.log = log
  }

  /** A repeated parameter is an array. */
  get query(): Query {
    this.parsedQuery ??= queryOf(this.url)
    return this.parsedQuery
  }

  /** Ends the connection after the reply, since the client may still be sending. */
  endConnection(): void {
    if (!this.response.headersSent) this.response.setHeader('connection', 'close')
  }
}

function queryOf(url: string): Query {
  const searchAt = url.indexOf('?')
  return searchAt < 0 ? noQuery : parse(url.slice(searchAt + 1), '&', '=', { maxKeys: 0 })
}

const slash = 0x2f
/** Scheme and host end before the path or the parameters. */
const absoluteForm = /^https?:\/\/([^/?#]*)(.*)$/is

/**
 * Returns the target without scheme and host. The host of an absolute URL replaces the Host header, so that all checks use the same host. An HTTP/1.1
 * request without the header stays without it, and is refused for that.
 */
export function withoutHost({ method, url = '', headers, httpVersion }: IncomingMessage): string {
  if (url.charCodeAt(0) === slash) return url
  // The server as a whole, allowed only in OPTIONS (RFC 9112, 3.2.4); the router would treat it as the root.
  if (url === '*') return method === 'OPTIONS' ? '/v1' : '/*'
  const [, host, rest] = absoluteForm.exec(url) ?? []
  if (host === undefined || rest === undefined) return url
  if (headers.host !== undefined || httpVersion === '1.0') headers.host = host
  return rest.startsWith('/') ? rest : `/${rest}`
}
