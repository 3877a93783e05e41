/**
 * Many statements at once, by a process of its own: each over a connection of its own, sent as soon as it is connected. Written on sockets
 * and opened some in a turn, since a client library takes longer to open a thousand connections than a server to accept them.
 */
import { connect } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface Flood {
  readonly url: string
  readonly statements: readonly string[]
  readonly amount: number
  /** Of this machine, from 127.0.0.2 on; with one, the usual one. */
  readonly addresses: number
}

export interface FloodAnswer {
  /** 0 where there was none. */
  readonly status: number
  /** From the request to open the connection to the end of the reply. */
  readonly ms: number
  /** Of them, until the operating system had the connection: the server may not have accepted it yet. */
  readonly connectedMs: number
}

export interface Flooded {
  readonly answers: readonly FloodAnswer[]
  /** In which all were sent. */
  readonly sendingMs: number
  /** The longest that this process was busy with itself: so much its times may be too long. */
  readonly heldMs: number
}

const openedInATurn = 20

if (process.send !== undefined) {
  process.once('message', (flood: Flood) => {
    void run(flood).then((flooded) => process.send?.(flooded, () => process.disconnect()))
  })
  process.send('begun')
}

async function run({ url, statements, amount, addresses }: Flood): Promise<Flooded> {
  const requests = statements.map((query) => requestOf(url, query))
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  const answers: Promise<FloodAnswer>[] = []
  const beganAt = performance.now()
  for (let i = 0; i < amount; i++) {
    if (i % openedInATurn === 0) await new Promise((resolve) => setImmediate(resolve))
    const from = addresses === 1 ? undefined : `127.0.0.${2 + (i % addresses)}`
    answers.push(send(url, requests[i % requests.length] as Buffer, from))
  }
  const sendingMs = performance.now() - beganAt
  const answered = await Promise.all(answers)
  return { answers: answered, sendingMs, heldMs: delays.max / 1e6 }
}

function requestOf(url: string, query: string): Buffer {
  const body = JSON.stringify({ query })
  const headers = [
    'POST /v1/query HTTP/1.1',
    `Host: ${new URL(url).host}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  return Buffer.from(`${headers.join('\r\n')}\r\n\r\n${body}`)
}

function send(url: string, request: Buffer, localAddress: string | undefined): Promise<FloodAnswer> {
  const { hostname, port } = new URL(url)
  const beganAt = performance.now()
  let status = 0
  let connectedMs = Number.POSITIVE_INFINITY
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname,
      port: Number(port),
      ...(localAddress === undefined ? {} : { localAddress }),
    })
    socket.once('connect', () => {
      connectedMs = performance.now() - beganAt
    })
    socket.once('data', (chunk: Buffer) => {
      // `HTTP/1.1 503 …`
      status = Number(chunk.toString('latin1', 9, 12))
    })
    socket.resume()
    socket.once('error', () => undefined)
    socket.once('close', () => resolve({ status, ms: performance.now() - beganAt, connectedMs }))
    socket.write(request)
  })
}
