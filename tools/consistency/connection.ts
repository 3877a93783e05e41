/** Requests of a workload to what is tested: a server, or a process that embeds the engine. */
import { Agent, request } from 'node:http'

/** JSON whose shape the sender knows and the compiler does not. */
export type Loose = ReturnType<typeof JSON.parse>

export interface Answer {
  /** 0 where there was none: nobody knows what has happened. */
  readonly status: number
  readonly json: Loose
  readonly etag?: string | undefined
}

export interface Connection {
  send(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** Cuts it, whatever is under way; the next request opens another. */
  cut(): void
}

/** One that waits longer hangs, which is a failure of its own kind; what it asked for is unknown. */
const answerMsMax = 60_000

/** A connection of its own over HTTP: those of a server go to its workers in turn. `url` may change when a server is started again. */
export function httpConnection(url: () => string): Connection {
  let agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    send(method, path, body, headers = {}) {
      const isText = typeof body === 'string'
      const payload = body === undefined ? undefined : isText ? body : JSON.stringify(body)
      const type = payload === undefined ? {} : { 'content-type': isText ? 'text/plain' : 'application/json' }
      const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) }
      const options = { method, agent, timeout: answerMsMax, headers: { ...type, ...length, ...headers } }
      return new Promise((resolve) => {
        const lost = (): void => resolve({ status: 0, json: undefined })
        const sent = request(`${url()}${path}`, options, (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', lost)
          response.on('close', lost)
          response.on('end', () => {
            if (!response.complete) return lost()
            const text = Buffer.concat(chunks).toString()
            const { etag } = response.headers
            resolve({ status: response.statusCode ?? 0, json: text === '' ? undefined : JSON.parse(text), etag })
          })
        })
        sent.on('timeout', () => sent.destroy())
        sent.on('error', lost)
        sent.end(payload)
      })
    },
    cut() {
      agent.destroy()
      agent = new Agent({ keepAlive: true, maxSockets: 1 })
    },
  }
}

/** Sends it until it is answered: for what prepares a run, and what looks at its end. */
export async function sendUntilDone(
  connection: Connection,
  method: string,
  path: string,
  body?: unknown,
): Promise<Loose> {
  for (let tried = 1; ; tried++) {
    const { status, json } = await connection.send(method, path, body)
    if (status >= 200 && status < 300) return json
    if ((status !== 0 && status !== 503 && status !== 429) || tried === 600)
      throw new Error(
        `${method} ${path} was answered ${status}: ${JSON.stringify(json)}, asked for ${JSON.stringify(body)}`,
      )
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
