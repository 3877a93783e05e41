/**
 * Clients that are slow, or do nothing, in a process of its own: a part sends headers or bodies byte by byte, a part only connects, a part asks for all objects or
 * for a large one and reads nothing. Whoever is thrown out comes back after a second, so that there are always as many.
 */
import { connect, type Socket } from 'node:net'

export interface Hostile {
  readonly url: string
  readonly senders: number
  readonly idle: number
  readonly readers: number
  /** An object of some MiB. */
  readonly largeOid: string
}

/** What has become of them so far. */
export interface Fates {
  /** Connections that have ended, by whoever. */
  ended: number
  /** Of slow senders and idle ones: refusals by their status. */
  readonly refused: Record<string, number>
  /** Readers: by what they asked for, and the status of the reply that began. */
  readonly replies: Record<string, number>
}

const comeBackMs = 1_000
const senderTickMs = 1_000
/** At the most of what a kernel lets lie for a reader that reads nothing. */
const receiveBytes = 4_096
const bodyBytes = 1_000_000
const text = 'FROM Part RETURN *'

type Kind = 'header' | 'body' | 'idle' | 'rows' | 'object'

if (process.send !== undefined) {
  const fates: Fates = { ended: 0, refused: {}, replies: {} }
  const sending = new Set<{ readonly socket: Socket; readonly kind: Kind }>()
  let isOver = false
  process.once('message', ({ url, senders, idle, readers, largeOid }: Hostile) => {
    const { port } = new URL(url)
    let address = 0
    const begin = (kind: Kind): void => {
      if (isOver) return
      // From many addresses, or the limits of one would end it.
      address = (address + 1) % 200
      const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: `127.0.1.${address + 1}` })
      const one = { socket, kind }
      socket.once('connect', () => {
        socket.write(opening(kind, largeOid))
        if (kind === 'header' || kind === 'body') sending.add(one)
      })
      noteFate(socket, kind, fates)
      socket.on('error', () => undefined)
      socket.once('close', () => {
        fates.ended++
        sending.delete(one)
        setTimeout(begin, comeBackMs, kind)
      })
    }
    for (let i = 0; i < senders; i++) begin(i % 2 === 0 ? 'header' : 'body')
    for (let i = 0; i < idle; i++) begin('idle')
    for (let i = 0; i < readers; i++) begin(i % 2 === 0 ? 'rows' : 'object')
    setInterval(() => {
      for (const { socket, kind } of sending) socket.write(kind === 'header' ? 'x' : ' ')
    }, senderTickMs)
    process.once('message', () => {
      isOver = true
      process.send?.(fates, () => process.exit(0))
    })
  })
  process.send('ready')
}

function opening(kind: Kind, largeOid: string): string {
  const head = 'POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n'
  if (kind === 'idle') return ''
  if (kind === 'header') return `${head}X-Slow: `
  if (kind === 'body') return `${head}Content-Length: ${bodyBytes}\r\n\r\n`
  if (kind === 'object') return `GET /v1/object/${largeOid} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  return `${head}Content-Length: ${text.length}\r\n\r\n${text}`
}

/** A reader takes the head of its reply, and nothing after that. */
function noteFate(socket: Socket, kind: Kind, { refused, replies }: Fates): void {
  const isReader = kind === 'rows' || kind === 'object'
  socket.once('readable', () => {
    const begun = (socket.read(Math.min(receiveBytes, socket.readableLength)) as Buffer | null)?.toString() ?? ''
    const status = /^HTTP\/1\.1 (\d{3})/.exec(begun)?.[1] ?? 'none'
    const told = isReader ? `${kind} ${status}` : status
    const into = isReader ? replies : refused
    into[told] = (into[told] ?? 0) + 1
    if (status === '200') socket.pause()
    else setTimeout(() => socket.destroy(), comeBackMs)
  })
}
