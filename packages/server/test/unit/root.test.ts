/** The service itself: its root, resources, health, shutdown, reference page. */
import { describe, expect, it } from 'vitest'
import { openServer } from './open-server.ts'

describe('the service', () => {
  it('tells its uptime and versions', async () => {
    const { app } = await openServer()
    const body = (await app.inject('/')).json()
    expect(body).toEqual({ uptime: expect.any(Number), versions: ['v1'] })
    expect(Number.isInteger(body.uptime)).toBe(true)
  })

  it('lists its resources with their methods', async () => {
    const { app } = await openServer()
    const { version, resources } = (await app.inject('/v1')).json()
    expect(version).toBe('v1')
    expect(resources).toContainEqual({ uri: '/v1/object/{oid}', supportedMethods: ['GET', 'PUT', 'DELETE'] })
    expect(resources).toContainEqual({ uri: '/v1/schema', supportedMethods: ['GET', 'POST', 'PUT'] })
  })

  it('tells of a federated database: its place, kind, limits and counts', async () => {
    const { app } = await openServer({ limits: { bodyBytesMax: 12_345 } })
    expect((await app.inject('/v1/fd')).json()).toMatchObject({
      bootfile: expect.any(String),
      alias: 'default',
      store: { kind: 'memory', isDurable: false },
      limits: { bodyBytesMax: 12_345, jsonDepthMax: 64, classAttributesMax: 1_000 },
      counts: { classes: 0, indexes: 0 },
    })
  })

  it('is stopped by POST /shutdown and /v1/shutdown, only where that is allowed', async () => {
    let stops = 0
    const allowed = await openServer({ isShutdownAllowed: true, onStop: () => stops++ })
    const refusing = await openServer({ onStop: () => stops++ })
    for (const url of ['/shutdown', '/v1/shutdown', '/v1/shutdown/?fdAlias=any']) {
      const refused = await refusing.app.inject({ method: 'POST', url })
      expect([refused.statusCode, refused.json().type]).toEqual([403, 'ShutdownNotAllowed'])
      const taken = await allowed.app.inject({ method: 'POST', url })
      expect([taken.statusCode, taken.body]).toEqual([204, ''])
    }
    expect(stops).toBe(3)
  })

  it('is live and ready; while it stops it is live still, and refuses everything else', async () => {
    let isStopping = false
    const { app } = await openServer({ isStopping: () => isStopping })
    expect((await app.inject('/health/ready')).json()).toEqual({ status: 'ready', federatedDatabases: ['default'] })
    isStopping = true
    expect((await app.inject('/health/live')).statusCode).toBe(200)
    for (const url of ['/health/ready', '/', '/v1/schema', '/nothing']) {
      const reply = await app.inject(url)
      expect([url, reply.statusCode, reply.json().type]).toEqual([url, 503, 'ShuttingDown'])
      expect(reply.headers['retry-after']).toMatch(/^\d+$/)
    }
  })

  it('serves a reference page that a browser loads nothing for from elsewhere', async () => {
    const { app } = await openServer()
    const page = await app.inject('/docs/')
    expect(page.statusCode).toBe(200)
    expect(page.headers['content-security-policy']).toMatch(/default-src 'self'/)
    expect(page.headers['content-security-policy']).not.toMatch(/http|\*/)
    expect(page.body).not.toMatch(/https?:\/\//)
    // No script stands in the page itself.
    expect(page.headers['content-security-policy']).toMatch(/script-src 'self';/)
    expect(page.body).not.toMatch(/<script(?! src="js\/)|\son\w+=/)
    expect((await app.inject('/docs/js/start.js')).body).toMatch(/^Scalar\.createApiReference/)
    expect(page.headers['referrer-policy']).toBe('no-referrer')
    expect((await app.inject('/docs/js/scalar.js')).headers['content-type']).toMatch(/javascript/)
    expect(await app.inject('/docs?x')).toMatchObject({ statusCode: 301, headers: { location: '/docs/' } })
  })
})
