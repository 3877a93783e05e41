/** One HTTP request over a kept-alive connection, without what a client library would add to its time. */
import { Agent, request } from 'node:http'

export interface Exchanged {
  /** 0 where there was no reply. */
  readonly status: number
  readonly text: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 2_000 })
/** Of a reply, what is kept of its text. */
const keptCharacters = 16_777_216

let authorization: string | undefined

/** Of the requests that follow; undefined for none. */
export function askAs(header: string | undefined): void {
  authorization = header
}

/** A `body` that is no buffer is sent as JSON. */
export function exchange(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  extra: Readonly<Record<string, string>> = {},
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const bytes = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
    const ofBody = bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }
    const ofCaller = authorization === undefined ? {} : { authorization }
    const sent = request(
      new URL(path, base),
      { agent, method, headers: { ...ofBody, ...ofCaller, ...extra } },
      (reply) => {
        const chunks: Buffer[] = []
        let kept = 0
        reply.on('data', (chunk: Buffer) => {
          kept += chunk.length
          if (kept <= keptCharacters) chunks.push(chunk)
        })
        reply.on('close', () => resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
      },
    )
    sent.on('error', (error) => resolve({ status: 0, text: error.message }))
    sent.end(bytes)
  })
}
