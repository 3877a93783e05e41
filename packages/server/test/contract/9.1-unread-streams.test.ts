/** What a revoked token follows ends also where its client reads nothing, by HTTP/1.1 and HTTP/2 (contract 9.1.7). */
import { once } from 'node:events'
import { request } from 'node:https'
import type { Readable } from 'node:stream'
import { expect, onTestFinished } from 'vitest'
import { revokeToken } from '../../src/security/tokens.ts'
import { serverPair } from '../certificates.ts'
import { openSecure, type Secure } from '../unit/open-secure.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { rule } from './rule.ts'

interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

const kinds: readonly Asked[] = [
  { method: 'GET', path: '/v1/changes?since=first' },
  { method: 'POST', path: '/v1/query', body: JSON.stringify({ query: 'FROM Large RETURN text' }) },
]

/** The reply, of which nothing is read. */
async function begun({ port, session }: Secure, { method, path, body }: Asked, authorization: string, version: 1 | 2) {
  const headers = { authorization, accept: 'text/event-stream', 'content-type': 'application/json' }
  if (version === 1) {
    const sent = request({ host: '127.0.0.1', port, ca: serverPair.cert, method, path, headers, agent: false })
    onTestFinished(() => void sent.destroy())
    sent.on('error', () => undefined).end(body)
    const [reply] = await once(sent, 'response')
    return { status: reply.statusCode, reply: reply as Readable }
  }
  const stream = (await session()).request({ ':method': method, ':path': path, ...headers }, { endStream: false })
  stream.on('error', () => undefined).end(body)
  const [told] = await once(stream, 'response')
  return { status: told[':status'], reply: stream as Readable }
}

rule('9.1.7', 'what a revoked token follows ends also where nothing of it is read', async () => {
  const { security, token } = await openSecureServer()
  // Nothing else ends them.
  const secure = await openSecure({ security, limits: { replyStallMsMax: 3_600_000, replyStallBytesMax: 2 ** 40 } })
  const { app, lines } = secure
  const administrator = { authorization: await token({ roles: ['admin'] }) }
  const send = async (path: string, payload: object): Promise<void> => {
    const reply = await app.inject({ method: 'POST', url: path, payload, headers: administrator })
    expect(reply.statusCode, reply.body).toBe(201)
  }
  const attributes = [{ attributeName: 'text', logicalType: 'string' }]
  await send('/v1/schema', [{ className: 'Large', isReferenceable: true, attributes }])
  // More than the operating system takes for clients that do not read.
  const text = 'x'.repeat(2 ** 20)
  for (let i = 0; i < 24; i++) await send('/v1/object', { class: 'Large', attributes: { text } })
  for (const kind of kinds) {
    const authorization = await token({ roles: ['reader'] })
    const replies = [await begun(secure, kind, authorization, 1), await begun(secure, kind, authorization, 2)]
    expect(replies.map(({ status }) => status)).toEqual([200, 200])
    const ended = (): number =>
      lines.filter(({ url, brokenOff }) => brokenOff === true && kind.path.startsWith(String(url))).length
    expect(ended()).toBe(0)
    const [, id = ''] = /ash_([^_]+)_/.exec(authorization) ?? []
    await revokeToken(security.database, id)
    await expect.poll(ended, { timeout: 15_000 }).toBe(2)
    for (const { reply } of replies) reply.destroy()
  }
})
