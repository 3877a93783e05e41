/** Requests a second of one caller. */
import { expect } from 'vitest'
import { readLimits } from '../../src/config/read-value.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { openServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

const perSecond = 3
// Far fewer than a machine can do in a second, so that a slow one sees the same.
const limits = { callerRequestsPerSecondMax: perSecond }

rule(
  '1.5.19',
  'an address that sends more than it may gets 429 with Retry-After, and others do not notice',
  async () => {
    const { app } = await openServer({ limits })
    const ask = (remoteAddress: string, url = '/v1') => app.inject({ url, remoteAddress })
    const replies = await Promise.all(Array.from({ length: 10 }, () => ask('192.0.2.1')))
    const statuses = replies.map(({ statusCode }) => statusCode)
    expect(statuses.slice(0, perSecond)).toEqual(Array(perSecond).fill(200))
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0)
    const refused = replies.find(({ statusCode }) => statusCode === 429)
    expect(refused?.json()).toMatchObject({
      type: 'TooManyRequests',
      message: expect.stringContaining('3 requests a second (callerRequestsPerSecondMax)'),
    })
    expect(refused?.headers['retry-after']).toBe('1')
    expect((await ask('192.0.2.2')).statusCode).toBe(200)
    // Of IPv6 all addresses of a network are one.
    const ofNetwork = await Promise.all(Array.from({ length: 10 }, (_, host) => ask(`2001:db8::${host + 1}`)))
    expect(ofNetwork.some(({ statusCode }) => statusCode === 429)).toBe(true)
    expect((await ask('2001:db8:0:1::1')).statusCode).toBe(200)
    // Nothing that watches over the server is told that it is ill.
    const health = await Promise.all(Array.from({ length: 10 }, () => ask('192.0.2.1', '/health/live')))
    expect(new Set(health.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
    expect((await openServer().then(({ app: other }) => other.inject('/v1/fd'))).json().limits).toMatchObject({
      callerRequestsPerSecondMax: 0,
    })
  },
)

rule('1.5.19', 'a caller who is known counts as itself from whatever address, others as their address', async () => {
  const { app, token } = await openSecureServer({ limits })
  const [mine, yours] = [await token({ roles: ['admin'] }), await token({ roles: ['admin'] })]
  const ask = (authorization: string | undefined, remoteAddress: string) =>
    app.inject({ url: '/v1', remoteAddress, ...(authorization !== undefined && { headers: { authorization } }) })
  const ofMine = await Promise.all(Array.from({ length: 10 }, (_, host) => ask(mine, `192.0.2.${host + 1}`)))
  expect(ofMine.some(({ statusCode }) => statusCode === 429)).toBe(true)
  expect((await ask(yours, '192.0.2.1')).statusCode).toBe(200)
  // Wrong credentials are those of an address, and keep nobody out who has right ones.
  const wrong = await Promise.all(Array.from({ length: 10 }, () => ask('Bearer ash_wrong', '192.0.2.7')))
  expect(new Set(wrong.map(({ statusCode }) => statusCode))).toEqual(new Set([401, 429]))
  const third = await token({ roles: ['reader'] })
  expect((await ask(third, '192.0.2.7')).statusCode).toBe(200)
})

rule(['1.5.19', '1.5.2'], 'the limit is off by 0, which no other limit can be', () => {
  expect(readLimits({ callerRequestsPerSecondMax: 0 }, 'limits')).toEqual({ callerRequestsPerSecondMax: 0 })
  expect(() => readLimits({ callerRequestsPerSecondMax: -1 }, 'limits')).toThrow('must be an integer, not -1')
  expect(() => readLimits({ statementsMax: 0 }, 'limits')).toThrow('must be a positive integer, not 0')
})
