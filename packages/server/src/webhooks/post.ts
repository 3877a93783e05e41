/** A delivery: a POST with a timeout that does not follow redirects, and reads little of the reply. */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import type { CancelSignal } from '@ashlar/engine'
import { webhookReplyBytesMax } from '../limits.ts'
import { version } from '../version.ts'
import { AddressRefused, hostOf, isPrivate, publicLookup } from './targets.ts'

export type Delivery =
  | { readonly kind: 'delivered' }
  /** The receiver has refused further deliveries (410). */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs?: number | undefined }

export interface Post {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowPrivateAddresses: boolean
  readonly timeoutMs: number
  readonly signal: CancelSignal
}

/** Never throws; a failure contains no secret, and of the receiver's reply only the status. */
export function post({ url, headers, body, allowPrivateAddresses, timeoutMs, signal }: Post): Promise<Delivery> {
  const host = hostOf(url)
  if (!allowPrivateAddresses && isIP(host) !== 0 && isPrivate(host)) return refused(new AddressRefused(host, host))
  return new Promise((resolve) => {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const text = Buffer.from(body)
    const sent = send(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': text.length,
        'user-agent': `Ashlar/${version}`,
      },
      // A connection per delivery, since the address is checked each time.
      agent: false,
      ...(allowPrivateAddresses ? {} : { lookup: publicLookup }),
    })
    const timer = setTimeout(() => end(failure(`it did not reply within ${timeoutMs / 1_000} s`)), timeoutMs)
    const stop = (): void => end(failure('the server is stopping'))
    const end = (delivery: Delivery): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      sent.destroy()
      resolve(delivery)
    }
    sent.on('error', (error: NodeJS.ErrnoException) => end(failure(error.code ?? error.message)))
    signal.addEventListener('abort', stop)
    if (signal.aborted) return stop()
    sent.once('response', (response) => {
      const { statusCode = 0 } = response
      const delivery = deliveryOf(statusCode, response.headers['retry-after'])
      let bytes = 0
      // A truncated reply might look like a failure to the receiver.
      response.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > webhookReplyBytesMax) end(delivery)
      })
      response
        .once('end', () => end(delivery))
        .once('close', () => end(delivery))
        .once('error', () => end(delivery))
    })
    sent.end(text)
  })
}

async function refused(error: Error): Promise<Delivery> {
  return failure(error.message)
}

function failure(reason: string): Delivery {
  return { kind: 'failed', reason }
}

function deliveryOf(status: number, retryAfter: string | undefined): Delivery {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === 410) return { kind: 'gone' }
  const isRedirect = status >= 300 && status < 400
  const reason = `status ${status}${isRedirect ? ', a redirect, which is not followed' : ''}`
  return { kind: 'failed', reason, retryAfterMs: retryAfterMs(retryAfter) }
}

/** Parses `Retry-After`: seconds, or a date. */
function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return ms > 0 ? ms : undefined
}
