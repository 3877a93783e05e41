/** A server that is killed amid a load that is one commit: nothing of it is there afterwards, and the same load again makes each object once. */
import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { rule } from '../contract/rule.ts'
import { killAll } from '../process-tree.ts'
import { start, temporaryDirectory } from './process.ts'

const lines = 20_000
/** Moments from sending to long after the commit: wherever they fall, all of it is there or nothing. */
const killedAfterMs = [100, 300, 600, 1_000, 1_500]

const car = (i: number) => ({ class: 'Car', attributes: { plate: `${(i * 7_919) % lines}`, note: 'x'.repeat(300) } })
const body = Array.from({ length: lines }, (_, i) => JSON.stringify(car(i))).join('\n')

rule(
  ['2.2.20', '1.5.22'],
  'a load with atomic=true amid which the server is killed leaves nothing, on disk neither',
  async () => {
    const directory = temporaryDirectory()
    const temporary = temporaryDirectory()
    const serve = async () => {
      const server = start(['--port', '0', '--data', directory, '--log-level', 'silent'], { TMPDIR: temporary })
      return { ...server, url: await server.url }
    }
    const send = (url: string, method: string, path: string, sent: string, type = 'application/json') =>
      fetch(`${url}${path}`, { method, body: sent, headers: { 'content-type': type } })
    const count = async (url: string): Promise<number> => {
      const reply = await send(url, 'POST', '/v1/query', JSON.stringify({ query: 'FROM Car RETURN COUNT(*) AS n' }))
      return ((await reply.json()) as readonly [{ readonly n: number }])[0].n
    }
    const load = async (url: string): Promise<number> => {
      const reply = await send(url, 'POST', '/v1/object?atomic=true', body, 'application/x-ndjson')
      await reply.text()
      return reply.status
    }
    let server = await serve()
    const attributes = ['plate', 'note'].map((attributeName) => ({ attributeName, logicalType: 'string' }))
    await send(
      server.url,
      'PUT',
      '/v1/schema',
      JSON.stringify([{ className: 'Car', isReferenceable: true, attributes }]),
    )
    const index = { name: 'byPlate', indexedClass: 'Car', isUnique: true, keyAttributes: [{ attributeName: 'plate' }] }
    await send(server.url, 'POST', '/v1/index', JSON.stringify(index))
    let isThere = false
    for (const ms of killedAfterMs) {
      const sent = load(server.url).catch(() => 'broken off')
      await delay(ms)
      killAll(server.child.pid as number)
      await server.ended
      const told = await sent
      server = await serve()
      const n = await count(server.url)
      expect(n).toBe(isThere || n > 0 ? lines : 0)
      if (!isThere && told === 200) expect(n).toBe(lines)
      isThere = n > 0
    }
    expect(await load(server.url)).toBe(isThere ? 409 : 200)
    expect(await count(server.url)).toBe(lines)
    expect(await load(server.url)).toBe(409)
    const left = [...readdirSync(temporary), ...readdirSync(directory)].filter((name) => name.includes('spill'))
    expect(left).toEqual([])
    server.child.kill('SIGTERM')
    await server.ended
  },
)
