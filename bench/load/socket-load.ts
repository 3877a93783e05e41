/** A process that sends load by plain sockets: no client library, since its work per request is what the server's core waits for. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { BenchRequest, Load, LoadResult } from './load.ts'
import { ReplyReader } from './reply-reader.ts'

process.on('message', (load: Load) => {
  run(load).then(
    (result) => process.send?.(result),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})

interface Tally {
  readonly texts: readonly string[]
  readonly load: Load
  readonly milliseconds: number[]
  next: number
  refused: number
  endsAt: number
}

async function run(load: Load): Promise<LoadResult> {
  const { port, host, hostname } = new URL(load.url)
  const texts = load.requests.map((request) => textOf(request, host))
  const connections = Math.min(load.connections, load.isOnce ? texts.length : load.connections)
  const sockets = await Promise.all(Array.from({ length: connections }, () => connected(Number(port), hostname)))
  const beganAt = performance.now()
  const endsAt = beganAt + load.seconds * 1_000
  const next = load.isOnce ? 0 : Math.floor(Math.random() * texts.length)
  const tally: Tally = { texts, load, milliseconds: [], next, refused: 0, endsAt }
  await Promise.all(sockets.map((socket) => converse(socket, tally)))
  const seconds = (performance.now() - beganAt) / 1_000
  for (const socket of sockets) socket.destroy()
  const sorted = Float64Array.from(tally.milliseconds).sort()
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { answered: sorted.length, refused: tally.refused, seconds, p50Ms: at(0.5), p99Ms: at(0.99) }
}

async function connected(port: number, host: string): Promise<Socket> {
  const socket = connect({ port, host, noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** One request after the other, until there are none, or the time is over. */
function converse(socket: Socket, tally: Tally): Promise<void> {
  const reader = new ReplyReader()
  return new Promise((resolve, reject) => {
    let sentAt = 0
    const send = (): void => {
      const text = nextText(tally)
      sentAt = performance.now()
      if (text === undefined || sentAt > tally.endsAt) resolve()
      else socket.write(text)
    }
    socket.on('data', (bytes) => {
      const status = reader.read(bytes)
      if (status === undefined) return
      if (status >= 200 && status < 300) tally.milliseconds.push(performance.now() - sentAt)
      else tally.refused++
      send()
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed a connection')))
    send()
  })
}

function nextText(tally: Tally): string | undefined {
  const { texts, load } = tally
  if (tally.next === texts.length && !load.isOnce) tally.next = 0
  return texts[tally.next++]
}

function textOf(
  { method, path, body, contentType = 'application/json', accept, authorization }: BenchRequest,
  host: string,
): string {
  const asked = accept === undefined ? '' : `Accept: ${accept}\r\n`
  const shown = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${asked}${shown}`
  if (body === undefined) return `${head}\r\n`
  return `${head}Content-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
