/** What clients of HTTP/2 may do to a server, one attack after the other; each tells what became of it. For tests, and for measurements. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { endHeaders, frame, frameTypes, getHeaders, openRawSession } from '../http2-frames.ts'

export interface Attacked {
  readonly port: number
  readonly ca: string
  /** Of a known caller. */
  readonly authorization: string
  /** Of an object of a MiB. */
  readonly largePath: string
}

export interface Attack {
  readonly name: string
  /** What has to become of it. */
  readonly outcome: string | RegExp
  run(attacked: Attacked): Promise<string>
}

const endStream = 0x1
const manyFrames = 100_000
const runToEnd = 100
const sessions = 10
const streams = 100
/** Longer than the server may wait for anything. */
const patienceMs = 20_000

/** What the connection has come to after so many frames, and a while for the server to notice: `noticeMsMax` at most. */
async function flood({ port, ca }: Attacked, make: (i: number) => Buffer, noticeMsMax: number): Promise<string> {
  const { socket, closed } = await openRawSession(port, ca)
  let isOver = false
  void closed.then(() => {
    isOver = true
  })
  for (let from = 0; from < manyFrames && !isOver; from += runToEnd) {
    const pieces = Buffer.concat(Array.from({ length: runToEnd }, (_, i) => make(from + i)))
    if (!socket.write(pieces)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
  }
  await Promise.race([closed, delay(noticeMsMax)])
  socket.destroy()
  return isOver ? 'ended' : 'stays'
}

const resetOf = (stream: number): Buffer => frame(frameTypes.reset, 0, stream, Buffer.from([0, 0, 0, 8]))
const odd = (i: number): number => 2 * i + 1

/** By name, frames that come without end; the first may be another one. */
const floods: Readonly<Record<string, { readonly make: (i: number) => Buffer; readonly outcome: string | RegExp }>> = {
  'requests given up as they are made (rapid reset)': {
    make: (i) =>
      Buffer.concat([frame(frameTypes.headers, endHeaders | endStream, odd(i), getHeaders), resetOf(odd(i))]),
    outcome: 'ended',
  },
  'requests that the server has to give up': {
    make: (i) =>
      Buffer.concat([
        frame(frameTypes.headers, endHeaders, odd(i), getHeaders),
        frame(frameTypes.window, 0, odd(i), Buffer.alloc(4)),
      ]),
    outcome: 'ended',
  },
  'headers without end (CONTINUATION)': {
    make: (i) =>
      i === 0 ? frame(frameTypes.headers, 0, 1, getHeaders) : frame(frameTypes.continuation, 0, 1, Buffer.alloc(0)),
    outcome: 'ended',
  },
  'headers of 16 KiB a frame, without end': {
    make: (i) =>
      i === 0
        ? frame(frameTypes.headers, 0, 1, getHeaders)
        : frame(frameTypes.continuation, 0, 1, literal(`x-${i}`, 'v'.repeat(16_000))),
    outcome: 'ended',
  },
  'PING without end': { make: () => frame(frameTypes.ping, 0, 0, Buffer.alloc(8)), outcome: 'ended' },
  'SETTINGS without end': { make: () => frame(frameTypes.settings, 0, 0), outcome: 'ended' },
  'windows that grow and shrink (SETTINGS)': {
    make: (i) => frame(frameTypes.settings, 0, 0, Buffer.from([0, 4, 0, 0, i % 2, 0])),
    outcome: 'ended',
  },
  'a body of empty frames': {
    make: (i) => (i === 0 ? frame(frameTypes.headers, endHeaders, 1, getHeaders) : frame(frameTypes.data, 0, 1)),
    outcome: 'ended',
  },
  // Nothing is kept of these, and nothing answered.
  'PRIORITY without end': {
    make: (i) => frame(frameTypes.priority, 0, odd(i), Buffer.from([0, 0, 0, 0, 1])),
    outcome: /ended|stays/,
  },
  'frames of no known type': { make: () => frame(0xbe, 0, 0, Buffer.alloc(100)), outcome: /ended|stays/ },
  'windows beyond 2^31': {
    make: () => frame(frameTypes.window, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff])),
    outcome: 'ended',
  },
}

function literal(name: string, value: string): Buffer {
  const text = (given: string): Buffer => Buffer.concat([Buffer.from(prefixed(given.length)), Buffer.from(given)])
  return Buffer.concat([Buffer.from([0]), text(name), text(value)])
}

/** A length with a prefix of 7 bits (RFC 7541, 5.1). */
function prefixed(length: number): number[] {
  return length < 127 ? [length] : [127, ...rest(length - 127)]
}

function rest(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...rest(Math.floor(value / 128))]
}

async function open({ port, ca }: Attacked, initialWindowSize = 65_535): Promise<ClientHttp2Session> {
  const session = connect(`https://127.0.0.1:${port}`, { ca, settings: { initialWindowSize } })
  session.on('error', () => undefined)
  await new Promise((resolve) => session.once('connect', resolve))
  return session
}

interface Asked {
  readonly stream: ClientHttp2Stream
  readonly status: Promise<number>
  /** How it ended; 'kept' where it has not. */
  readonly end: Promise<string>
}

function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, hasBody = false): Asked {
  const stream = session.request(headers, { endStream: !hasBody })
  stream.on('error', () => undefined)
  const closed = new Promise<number>((resolve) => stream.once('close', () => resolve(stream.rstCode ?? 0)))
  const status = new Promise<number>((resolve) => {
    stream.once('response', (given) => resolve(Number(given[':status'])))
    void closed.then(() => resolve(0))
  })
  const end = Promise.race([closed.then((code) => (code === 0 ? 'whole' : 'broken off')), delay(patienceMs, 'kept')])
  return { stream, status, end }
}

/** `200 × 3, 408` */
function counted(all: readonly (string | number)[]): string {
  const counts = new Map<string | number, number>()
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1)
  const sorted = [...counts].sort(([one], [other]) => String(one).localeCompare(String(other)))
  return sorted.map(([one, count]) => `${one} × ${count}`).join(', ')
}

async function onSessions(attacked: Attacked, window: number, make: (session: ClientHttp2Session) => Asked[]) {
  // Each asks as soon as it is open: the server ends those on which nothing is asked for a while.
  const opened = Array.from({ length: sessions }, async () => {
    const session = await open(attacked, window)
    return { session, asked: make(session) }
  })
  const all = await Promise.all(opened)
  return { asked: all.flatMap(({ asked }) => asked), end: () => all.forEach(({ session }) => void session.destroy()) }
}

const many = Array.from({ length: streams }, (_, i) => i)

async function slowBodies(attacked: Attacked, authorization: string | undefined): Promise<string> {
  const headers = {
    ':method': 'POST',
    ':path': '/v1/query',
    'content-type': 'text/plain',
    ...(authorization === undefined ? {} : { authorization }),
  }
  const { asked, end } = await onSessions(attacked, 65_535, (session) => many.map(() => ask(session, headers, true)))
  const dripping = setInterval(() => {
    for (const { stream } of asked) if (!stream.destroyed && stream.writable) stream.write('F')
  }, 200)
  const statuses = await Promise.all(asked.map(({ status }) => status))
  clearInterval(dripping)
  end()
  return counted(statuses)
}

async function neverRead(attacked: Attacked, window: number): Promise<string> {
  const { authorization, largePath } = attacked
  const headers = { ':path': largePath, authorization }
  const { asked, end } = await onSessions(attacked, window, (session) => many.map(() => ask(session, headers)))
  const ends = await Promise.all(asked.map((one) => one.end))
  end()
  return counted(ends)
}

/** A session that asks for a large object and then opens its window byte by byte. */
async function dribble({ port, ca }: Attacked): Promise<string> {
  const noWindow = Buffer.from([0, 4, 0, 0, 0, 0])
  const { socket, closed, received } = await openRawSession(port, ca, noWindow)
  let isOver = false
  void closed.then(() => {
    isOver = true
  })
  const oneByte = frame(frameTypes.window, 0, 1, Buffer.from([0, 0, 0, 1]))
  socket.write(frame(frameTypes.headers, endHeaders | endStream, 1, getHeaders))
  await delay(100)
  for (let i = 0; i < manyFrames && !isOver; i += runToEnd) {
    if (!socket.write(Buffer.concat(Array.from({ length: runToEnd }, () => oneByte)))) {
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
    }
  }
  const bytes = received().length
  socket.destroy()
  return bytes > 0 ? 'answered' : 'nothing'
}

async function packedHeaders({ port, ca }: Attacked): Promise<string> {
  const value = Buffer.alloc(4_000, 'a')
  const entered = Buffer.concat([Buffer.from([0x40, 6]), Buffer.from('x-long'), Buffer.from(prefixed(4_000)), value])
  // Entered into the table once, and named by a byte afterwards: 20 MB for 5 kB.
  const bomb = Buffer.concat([getHeaders, entered, Buffer.alloc(5_000, 0x80 | 62)])
  const { socket, closed } = await openRawSession(port, ca)
  for (let i = 0; i < 1_000 && !socket.destroyed; i++)
    socket.write(frame(frameTypes.headers, endHeaders | endStream, odd(i), bomb))
  await Promise.race([closed, delay(1_000)])
  const isOver = socket.destroyed
  socket.destroy()
  return isOver ? 'ended' : 'stays'
}

const every = sessions * streams

export const attacks: readonly Attack[] = [
  ...Object.entries(floods).map(([name, { make, outcome }]) => {
    // One that may stay is not waited for long.
    const noticeMsMax = outcome === 'ended' ? patienceMs : 1_000
    return { name, outcome, run: (attacked: Attacked) => flood(attacked, make, noticeMsMax) }
  }),
  { name: 'headers by few bytes that stand for many', outcome: /ended|stays/, run: packedHeaders },
  { name: 'slow bodies of 1,000 requests', outcome: `408 × ${every}`, run: (on) => slowBodies(on, on.authorization) },
  { name: 'the same by nobody', outcome: `401 × ${every}`, run: (on) => slowBodies(on, undefined) },
]

/** Of a caller who may read what is large. Measured, and not tested: others are refused by 503 at times beside them. */
export const attacksByReplies: readonly Attack[] = [
  { name: '1,000 replies of a MiB, no window', outcome: /broken off/, run: (on) => neverRead(on, 0) },
  { name: 'the same, a window of a byte', outcome: /broken off/, run: (on) => neverRead(on, 1) },
  { name: 'a window that grows byte by byte', outcome: 'answered', run: dribble },
]
