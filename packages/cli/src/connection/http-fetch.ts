/** The part of `fetch` that the client needs, by node:http: it accepts certificate authorities for TLS, and loads in a fifth of the time. */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { request as requestSecurely, Agent as SecureAgent } from 'node:https'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { AshlarConnectionError, type Fetch, type FetchInit, type FetchResponse } from '@ashlar/client'
import { type CommandError, unavailableError } from '../errors/command-error.ts'

export interface HttpFetchOptions {
  /** Authorities in PEM, instead of the defaults of Node. */
  readonly ca: string | undefined
  /** Aborts all requests. */
  readonly signal: AbortSignal | undefined
}

/** Throws CommandError if the server cannot be reached or is not trusted, and AshlarConnectionError. */
export function httpFetch({ ca, signal }: HttpFetchOptions): Fetch {
  const agent = new Agent({ keepAlive: true })
  const secureAgent = new SecureAgent({ keepAlive: true, ...(ca !== undefined && { ca }) })
  return (address, init) => {
    const url = new URL(address)
    const isSecure = url.protocol === 'https:'
    const signals = [signal, init.signal].filter((one) => one !== undefined)
    const ending = signals.length > 1 ? AbortSignal.any(signals) : signals[0]
    return new Promise((resolve, reject) => {
      const options = { method: init.method, headers: headersOf(init), ...(ending !== undefined && { signal: ending }) }
      const sent = isSecure
        ? requestSecurely(url, { ...options, agent: secureAgent })
        : request(url, { ...options, agent })
      sent.on('response', (response) => {
        // The unread end of a reply without a body would keep the connection, and so the process, alive.
        if (response.statusCode === 204) response.resume()
        if (isWebPage(response)) {
          response.destroy()
          reject(noAshlar(response, url))
        } else resolve(responseOf(response, url))
      })
      sent.on('error', (error) => reject(ending?.aborted === true ? error : failureOf(error, url)))
      if (typeof init.body === 'object') sendStream(init.body as WebStream, sent)
      else sent.end(init.body)
    })
  }
}

/** Sends the stream. A failure of the stream aborts the request, and an early reply stops it. */
function sendStream(body: WebStream, sent: ClientRequest): void {
  const source = Readable.fromWeb(body)
  source.on('error', (error) => sent.destroy(error))
  sent.on('close', () => source.destroy())
  sent.on('response', (response) => {
    response.on('end', () => {
      if (!sent.writableFinished) sent.destroy()
    })
  })
  source.pipe(sent)
}

function headersOf({ headers, body }: FetchInit): Record<string, string> {
  return typeof body !== 'string' ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) }
}

function responseOf(response: IncomingMessage, { origin }: URL): FetchResponse {
  const rethrowLost = (error: NodeJS.ErrnoException): never => {
    if (error.code === 'ABORT_ERR') throw error
    throw new AshlarConnectionError(origin, `The connection was lost amid the reply: ${error.message}`, {
      cause: error,
    })
  }
  const status = response.statusCode ?? 0
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: {
      get(name) {
        const value = response.headers[name.toLowerCase()]
        return Array.isArray(value) ? value.join(', ') : (value ?? null)
      },
    },
    body: {
      getReader() {
        const chunks = response.iterator() as AsyncIterator<Buffer>
        return {
          async read() {
            const { done = false, value } = await chunks.next().catch(rethrowLost)
            return { done, value: done ? undefined : value }
          },
          async cancel() {
            response.destroy()
          },
        }
      },
    },
    text: () => text(response).catch(rethrowLost),
  }
}

/** Ashlar replies with no web pages. A proxy whose server is unavailable may do so, which the client handles by retries. */
function isWebPage({ headers, statusCode = 0 }: IncomingMessage): boolean {
  return /^text\/html\b/i.test(headers['content-type'] ?? '') && ![429, 502, 503, 504].includes(statusCode)
}

function noAshlar({ statusCode }: IncomingMessage, { origin }: URL): CommandError {
  const what = `${origin} answers with a web page (status ${statusCode}), which an Ashlar server does not do`
  return unavailableError(`${what}: check --url, and any proxy in between.`)
}

/** Errors before the request is sent, for which an immediate retry would not help. */
const unreachable = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EACCES']

function failureOf(error: NodeJS.ErrnoException, { origin, protocol, hostname }: URL): Error {
  const { code = '' } = error
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return unavailableError(`The host ${hostname} cannot be found: check --url.`)
  }
  if (unreachable.includes(code)) {
    return unavailableError(`No server answers at ${origin} (${code}): is it running? Check --url.`)
  }
  if (protocol === 'https:' && /CERT|SELF_SIGNED|ISSUER|SIGNATURE|ALTNAME/.test(code)) {
    const hint = 'Name the certificate authority with --ca.'
    return unavailableError(`The certificate of ${origin} is not trusted: ${error.message}. ${hint}`)
  }
  if (code === 'EPROTO' || code === 'HPE_INVALID_CONSTANT') {
    return unavailableError(`${origin} does not answer by ${protocol.slice(0, -1).toUpperCase()}: check --url.`)
  }
  return new AshlarConnectionError(origin, `The connection to ${origin} was lost: ${error.message}`, { cause: error })
}
