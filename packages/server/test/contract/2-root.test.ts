/** The service itself, over HTTP. */
import { afterAll, beforeAll, expect } from 'vitest'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'fleet'] })
})
afterAll(() => server.remove())

rule('2.1.1', 'GET / tells uptime and versions', async () => {
  const { json, status } = await server.get('/')
  expect(status).toBe(200)
  expect(json).toEqual({ uptime: expect.any(Number), versions: ['v1'] })
  expect(json.uptime).toBeGreaterThanOrEqual(0)
})

rule('2.1.2', 'GET /v1 lists the resources and their methods', async () => {
  const { json } = await server.get('/v1')
  expect(json.version).toBe('v1')
  expect(json.resources).toContainEqual({ uri: '/v1/object/{oid}', supportedMethods: ['GET', 'PUT', 'DELETE'] })
  expect(json.resources).toContainEqual({ uri: '/v1/schema', supportedMethods: ['GET', 'POST', 'PUT'] })
})

rule('2.1.3', 'shutdown: only where allowed, graceful', async () => {
  expectProblem(await server.send('POST', '/shutdown'), 403, 'ShutdownNotAllowed')
  for (const path of ['/shutdown', '/v1/shutdown']) {
    const other = await startServer({ words: ['--allow-shutdown'] })
    const exit = new Promise((resolve) => other.child.once('exit', resolve))
    const reply = await other.send('POST', path, { headers: { 'content-type': 'application/json' } })
    expect([reply.status, reply.text]).toEqual([204, ''])
    expect(await exit).toBe(0)
    await other.remove()
  }
})

rule('2.1.4', 'GET /v1/fd', async () => {
  const { json, status } = await server.get('/v1/fd')
  expect(status).toBe(200)
  expect(json).toMatchObject({
    alias: 'fleet',
    store: { kind: 'lmdb', isDurable: true },
    counts: { classes: 0, indexes: 0 },
  })
  expect(json.bootfile).toContain('fleet')
  expect(json.limits.bodyBytesMax).toBe(32 * 2 ** 20)
})

rule('2.1.5', 'health', async () => {
  for (const path of ['/health/live', '/health/ready']) expect((await server.get(path)).status).toBe(200)
})

rule(
  '2.1.6',
  'the OpenAPI document has every operation, and the reference page loads nothing from elsewhere',
  async () => {
    const { json } = await server.get('/openapi.json')
    expect(json.openapi).toMatch(/^3\.1/)
    const { resources } = (await server.get('/v1')).json
    for (const { uri, supportedMethods } of resources) {
      const methods = supportedMethods.map((method: string) => method.toLowerCase())
      expect(Object.keys(json.paths[uri]).sort()).toEqual(methods.sort())
    }
    const page = await server.get('/docs/')
    expect(page.headers['content-type']).toMatch(/html/)
    expect(page.text).not.toMatch(/(src|href)="https?:/)
    expect(page.headers['content-security-policy']).toContain("default-src 'self'")
    const script = /<script src="(.+?)">/.exec(page.text)?.[1] ?? ''
    const loaded = await server.get(new URL(script, 'http://localhost/docs/').pathname)
    expect([loaded.status, loaded.headers['content-type']]).toEqual([200, 'application/javascript; charset=utf-8'])
    expect(loaded.text).toContain('createApiReference')
    for (const path of ['/docs/openapi.json', '/docs/openapi.yaml']) {
      const beside = await server.get(path)
      expect([path, beside.status, JSON.parse(beside.text)]).toEqual([path, 200, json])
      expect(beside.headers).not.toHaveProperty('access-control-allow-origin')
    }
  },
)
