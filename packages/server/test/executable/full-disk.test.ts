/** A server whose disk is full: changes are refused, and everything else goes on. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, inject, onTestFinished } from 'vitest'
import { expectProblem } from '../contract/expectations.ts'
import { rule } from '../contract/rule.ts'
import { killAll } from '../process-tree.ts'
import { temporaryDirectory } from './process.ts'

/** Files may grow to so many KiB, and the signal that would end the process is ignored. */
const limited = `trap '' XFSZ; ulimit -f 4096; exec "$0" "$@"`

async function startLimited(): Promise<string> {
  const words = [process.execPath, inject('server'), '--port', '0', '--log-level', 'silent']
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_'))
  const child = spawn('sh', ['-c', limited, ...words], {
    cwd: temporaryDirectory(),
    env: Object.fromEntries(inherited),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    killAll(child.pid as number)
    await ended
  })
  let told = ''
  for await (const text of child.stdout.setEncoding('utf8')) {
    told += text
    const url = /listening on (\S+)/.exec(told)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`ended before it listened: ${told}`)
}

rule('1.4.17', 'a full disk refuses what does not fit, and nothing else', async () => {
  // Without limits of this kind.
  if (process.platform === 'win32') return
  const url = await startLimited()
  const ask = async (method: string, path: string, body?: unknown) => {
    const sent = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const reply = await fetch(`${url}${path}`, { ...sent, headers: { 'content-type': 'application/json' } })
    const text = await reply.text()
    const headers = Object.fromEntries(reply.headers)
    return {
      status: reply.status,
      headers,
      text,
      bytes: Buffer.from(text),
      json: text === '' ? undefined : JSON.parse(text),
    }
  }
  const attributes = [{ attributeName: 'a', logicalType: 'string' }]
  const defined = await ask('PUT', '/v1/schema', [{ className: 'Text', isReferenceable: true, attributes }])
  expect(defined.status, defined.text).toBe(201)
  const create = (letters: number) =>
    ask('POST', '/v1/object', { class: 'Text', attributes: { a: 'x'.repeat(letters) } })
  const made: string[] = []
  let reply = await create(150_000)
  for (; reply.status === 201; reply = await create(150_000)) made.push(reply.json.uri)
  expectProblem(reply, 503, 'StoreUnavailable')
  expect(reply.headers['retry-after']).toMatch(/^\d+$/)
  expect(reply.json.message).toMatch(/disk full|large/)
  expect(reply.json.message).not.toContain('ashlar-executable')
  expect(made.length).toBeGreaterThan(3)
  for (const uri of made) expect((await ask('GET', uri)).json.a).toHaveLength(150_000)
  const count = await ask('POST', '/v1/query', { query: 'FROM Text RETURN COUNT() AS n' })
  expect(count.json).toEqual([{ n: made.length }])
  expect((await ask('GET', '/health/ready')).status).toBe(200)
  // What takes no more room, or gives some back, is done.
  expect((await ask('DELETE', made[0] as string)).status).toBe(204)
  expect((await create(10)).status).toBe(201)
})
