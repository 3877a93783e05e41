/** HTTP/2 of the program as it runs: who is not let in, and that other streams of the same connection go on beside that. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { serverPair } from '../certificates.ts'
import { rule } from '../contract/rule.ts'
import { ask, replyOf } from '../unit/open-secure.ts'
import { basic } from '../unit/open-secure-server.ts'
import { start, temporaryDirectory } from './process.ts'

const password = 'of the administrator'
const authorization = basic('admin', password)
const mebibyte = 1_048_576

async function openSession(): Promise<ClientHttp2Session> {
  const place = temporaryDirectory()
  const [cert, key] = [join(place, 'tls.crt'), join(place, 'tls.key')]
  writeFileSync(cert, serverPair.cert)
  writeFileSync(key, serverPair.key)
  const words = ['serve', '--auth', '--port', '0', '--tls-cert', cert, '--tls-key', key, '--log-level', 'error']
  const { url } = start(words, { ASHLAR_ADMIN_PASSWORD: password }, place)
  const session = connect(`https://127.0.0.1:${Number(new URL(await url).port)}`, { ca: serverPair.cert })
  onTestFinished(() => session.destroy())
  session.on('error', () => undefined)
  await once(session, 'connect')
  return session
}

const classes = JSON.stringify([
  { className: 'T', isReferenceable: true, attributes: [{ attributeName: 's', logicalType: 'string' }] },
])
const created = JSON.stringify({ class: 'T', attributes: { s: 'x' } })

async function countOfT(session: ClientHttp2Session): Promise<number> {
  const body = JSON.stringify({ query: 'FROM T RETURN COUNT(*) AS n' })
  return (await ask(session, 'POST', '/v1/query', body, { authorization })).json[0].n
}

rule(['9.5.3', '9.1.1'], 'a body after a 401 is not taken, and ends its stream alone', async () => {
  const session = await openSession()
  expect((await ask(session, 'PUT', '/v1/schema', classes, { authorization })).status).toBe(201)
  for (const given of [undefined, basic('admin', 'another one')]) {
    const headers = given === undefined ? {} : { authorization: given }
    const path = { ':method': 'POST', ':path': '/v1/object', 'content-type': 'application/json' }
    const stream = session.request({ ...path, ...headers }, { endStream: false })
    stream.on('error', () => undefined)
    const [refused] = await once(stream, 'response')
    expect(refused[':status']).toBe(401)
    // It goes on, as a client does that has not looked at the reply.
    let sent = 0
    stream.resume()
    const closed = once(stream, 'close')
    const send = (): void => {
      if (stream.destroyed || !stream.writable || sent >= 64 * mebibyte) return
      sent += mebibyte
      stream.write(Buffer.alloc(mebibyte, 0x20), () => setImmediate(send))
    }
    send()
    await closed
    expect(sent).toBeLessThan(64 * mebibyte)
    expect(stream.rstCode).toBe(0)
  }
  // Whole, and refused: nothing was done.
  expect((await ask(session, 'POST', '/v1/object', created)).json.type).toBe('Unauthenticated')
  expect(session.closed).toBe(false)
  expect(await countOfT(session)).toBe(0)
  expect((await ask(session, 'POST', '/v1/object', created, { authorization })).status).toBe(201)
  expect(await countOfT(session)).toBe(1)
})

rule(
  ['9.5.3', '1.7.4', '1.7.1'],
  'another host, and a page of another origin, are refused stream by stream',
  async () => {
    const session = await openSession()
    expect((await ask(session, 'PUT', '/v1/schema', classes, { authorization })).status).toBe(201)
    const refusals = [
      [421, 'UnknownHost', { ':authority': 'evil.example' }],
      [421, 'UnknownHost', { ':authority': 'localhost', host: 'evil.example' }],
      [403, 'ForbiddenOrigin', { origin: 'https://evil.example' }],
      [403, 'ForbiddenOrigin', { 'sec-fetch-site': 'cross-site' }],
      [403, 'ForbiddenOrigin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ] as const
    for (const [status, type, headers] of refusals) {
      // All on one connection, and at once with what is allowed.
      const [refused, allowed] = await Promise.all([
        ask(session, 'POST', '/v1/object', created, { authorization, ...headers }),
        ask(session, 'GET', '/v1', undefined, { authorization }),
      ])
      expect([refused.status, refused.json.type, allowed.status]).toEqual([status, type, 200])
    }
    const tunnel = session.request({ ':method': 'CONNECT', ':authority': 'evil.example:443' })
    expect((await replyOf(tunnel)).status).toBe(405)
    expect(await countOfT(session)).toBe(0)
  },
)
