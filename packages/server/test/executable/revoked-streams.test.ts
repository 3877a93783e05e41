/** What a revoked token has begun ends by itself, whatever it streams, by HTTP/1.1 and HTTP/2, on every process (contract 9.1.7). */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { request } from 'node:https'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { expect, onTestFinished } from 'vitest'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { serverPair } from '../certificates.ts'
import { rule } from '../contract/rule.ts'
import { basic } from '../unit/open-secure-server.ts'
import { start, temporaryDirectory } from './process.ts'

const password = 'of the administrator'
const admin = basic('admin', password)

interface Kind {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** `\n` at its end: more is announced, and does not come. */
  readonly body?: string
  /** Nobody reads on until it has ended: so much is sent that it does not end by itself. */
  readonly isUnread?: boolean
}

const json = { 'content-type': 'application/json' }
const events = { accept: 'text/event-stream' }
const query = JSON.stringify({ query: 'FROM Large RETURN text' })

const kinds: readonly Kind[] = [
  { name: 'export', method: 'GET', path: '/v1/export?class=Large', isUnread: true },
  { name: 'archive', method: 'GET', path: '/v1/export', isUnread: true },
  {
    name: 'query',
    method: 'POST',
    path: '/v1/query',
    headers: { ...json, accept: 'application/x-ndjson' },
    body: query,
    isUnread: true,
  },
  { name: 'feed', method: 'GET', path: '/v1/changes?since=now', headers: events },
  {
    name: 'live query',
    method: 'POST',
    path: '/v1/query',
    headers: { ...json, ...events },
    body: JSON.stringify({ query: 'FROM Small RETURN n' }),
  },
  {
    name: 'bulk load',
    method: 'POST',
    path: '/v1/object',
    headers: { 'content-type': 'application/x-ndjson' },
    body: `${JSON.stringify({ class: 'Small', attributes: { n: 1 } })}\n`,
  },
]

const protocols = ['HTTP/1.1', 'HTTP/2'] as const
type Protocol = (typeof protocols)[number]

/** The reply to a request on a connection of its own. */
async function asked(
  url: string,
  { method, path, headers, body }: Kind,
  authorization: string,
  protocol: Protocol,
): Promise<{ readonly status: number; readonly reply: Readable }> {
  const all = { ...headers, authorization }
  const { ca, port } = { ca: serverPair.cert, port: Number(new URL(url).port) }
  const send = (sent: Duplex | ReturnType<typeof request>): void => {
    sent.on('error', () => undefined)
    if (body?.endsWith('\n') === true) sent.write(body)
    else sent.end(body)
  }
  if (protocol === 'HTTP/1.1') {
    const sent = request({ host: '127.0.0.1', port, ca, method, path, headers: all, agent: false })
    onTestFinished(() => void sent.destroy())
    send(sent)
    const [reply] = await once(sent, 'response')
    return { status: reply.statusCode, reply }
  }
  const session = connect(`https://127.0.0.1:${port}`, { ca })
  onTestFinished(() => session.destroy())
  session.on('error', () => undefined)
  const stream = session.request({ ':method': method, ':path': path, ...all }, { endStream: body === undefined })
  stream.on('error', () => undefined)
  if (body !== undefined) send(stream)
  const [told] = await once(stream, 'response')
  return { status: told[':status'], reply: stream }
}

/** Reads to the end, or until it is broken off, which is told. */
async function restOf(reply: Readable): Promise<string> {
  let text = ''
  try {
    for await (const chunk of reply) text = (text + String(chunk)).slice(-4_096)
    return text
  } catch {
    return `${text}broken off`
  }
}

async function fill(url: string): Promise<void> {
  const ask = async (method: 'POST', path: string, body: unknown): Promise<void> => {
    const kind = { name: '', method, path, headers: json, body: JSON.stringify(body) }
    const { status, reply } = await asked(url, kind, admin, 'HTTP/1.1')
    expect([status, await restOf(reply)]).toEqual([201, expect.anything()])
  }
  const of = (className: string, attributeName: string, logicalType: string) => {
    return { className, isReferenceable: true, attributes: [{ attributeName, logicalType }] }
  }
  await ask('POST', '/v1/schema', [of('Large', 'text', 'string'), of('Small', 'n', 'integer')])
  await ask('POST', '/v1/object', { class: 'Small', attributes: { n: 0 } })
  // Random, lest an archive packs it.
  const random = () => Array.from({ length: 80_000 }, () => Math.random().toString(36).slice(2)).join('')
  for (let i = 0; i < 24; i++) await ask('POST', '/v1/object', { class: 'Large', attributes: { text: random() } })
}

async function jsonOf(url: string, path: string): Promise<ReturnType<typeof JSON.parse>> {
  const { reply } = await asked(url, { name: '', method: 'GET', path }, admin, 'HTTP/1.1')
  let text = ''
  for await (const chunk of reply) text += String(chunk)
  return JSON.parse(text)
}

async function statementsAt(url: string): Promise<number> {
  return (await jsonOf(url, '/v1/statement')).length
}

/** Streams of each kind by each protocol at each of the servers, of a token that is revoked at the first one. */
async function expectStreamsEnd(urls: readonly string[]): Promise<void> {
  const [first] = urls as readonly [string]
  await fill(first)
  const wanted = { name: 'POST', method: 'POST', path: '/v1/security/token', headers: json } as const
  for (const kind of kinds) {
    const body = JSON.stringify({ name: kind.name, roles: ['admin'] })
    const made = await asked(first, { ...wanted, body }, admin, 'HTTP/1.1')
    const { id, token } = JSON.parse(await restOf(made.reply))
    const streams: Readable[] = []
    for (const url of [...urls, ...urls]) {
      for (const protocol of protocols) {
        const { status, reply } = await asked(url, kind, `Bearer ${token}`, protocol)
        expect([kind.name, status]).toEqual([kind.name, 200])
        if (kind.isUnread !== true) await once(reply, 'readable')
        streams.push(reply)
      }
    }
    const ends = kind.isUnread === true ? [] : streams.map(restOf)
    const revoking = { name: '', method: 'DELETE', path: `/v1/security/token/${id}` } as const
    expect((await asked(first, revoking, admin, 'HTTP/1.1')).status).toBe(204)
    for (const url of urls) await expect.poll(() => statementsAt(url), { timeout: 20_000 }).toBe(0)
    const texts = await Promise.all(kind.isUnread === true ? streams.map(restOf) : ends)
    for (const text of texts)
      expect([kind.name, text]).toEqual([kind.name, expect.stringMatching(/broken off$|Unauthenticated/)])
  }
}

function startSecurely(words: readonly string[], directory = temporaryDirectory()): Promise<string> {
  const [cert, key] = [join(directory, 'tls.crt'), join(directory, 'tls.key')]
  writeFileSync(cert, serverPair.cert)
  writeFileSync(key, serverPair.key)
  const all = ['serve', '--auth', '--port', '0', '--tls-cert', cert, '--tls-key', key, ...words]
  const config = join(directory, 'config.json')
  writeFileSync(config, JSON.stringify({ limits: { statementsMax: 20, statementsPerCallerMax: 20 } }))
  return start([...all, '--config', config], { ASHLAR_ADMIN_PASSWORD: password }, directory).url
}

rule('9.1.7', 'with several workers', async () => {
  await expectStreamsEnd([await startSecurely(['--workers', '2', '--change-log', 'default=on'])])
})

rule('9.1.7', 'and with several servers on one PostgreSQL', async () => {
  const store = (schema: string): string => `${postgresOfRun()}?schema=${schema}&connections=4`
  const words = ['--security-store', store('revoked_callers'), '--fd', `default=${store('revoked_data')}`]
  const first = await startSecurely([...words, '--change-log', 'default=on'])
  await expectStreamsEnd([first, await startSecurely([...words, '--change-log', 'default=on'])])
})
