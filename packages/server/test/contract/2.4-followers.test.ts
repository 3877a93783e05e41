/** Contract 2.4.7: who may follow the changes, how many do, and what ends them; in this process. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { expect } from 'vitest'
import { addRole } from '../../src/security/own-roles.ts'
import { revokeToken } from '../../src/security/tokens.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { openServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

async function listening(app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

async function follow(port: number, authorization?: string, parameters = ''): Promise<IncomingMessage> {
  const headers = { accept: 'text/event-stream', ...(authorization !== undefined && { authorization }) }
  const asked = get({ host: '127.0.0.1', port, path: `/v1/changes?since=now${parameters}`, headers, agent: false })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  return response
}

const lastEvent = (events: string): unknown => {
  const data = events
    .trim()
    .split('\n')
    .findLast((line) => line.startsWith('data: '))
  return JSON.parse(data?.slice('data: '.length) ?? 'null')
}

rule('2.4.7', 'grants for parts of it are not enough, and who loses the right loses the events', async () => {
  const { app, security, token } = await openSecureServer()
  const grants = [{ on: { kind: 'all' }, actions: ['read'], rules: { read: 'FALSE' } }]
  await security.change((database) => addRole(database, 'partial', { grants }))
  const port = await listening(app)
  const partial = await follow(port, await token({ roles: ['partial'] }))
  expect(partial.statusCode).toBe(403)
  partial.resume()
  const authorization = await token({ roles: ['reader'] })
  const response = await follow(port, authorization)
  expect(response.statusCode).toBe(200)
  const events = text(response)
  const [, id = ''] = /ash_([^_]+)_/.exec(authorization) ?? []
  await revokeToken(security.database, id)
  // By itself, and with the reason.
  expect(lastEvent(await events)).toMatchObject({ type: 'Unauthenticated', status: 401 })
})

rule('2.4.7', 'they are bounded by limits of their own, and end with the server', async () => {
  const limits = { changeFollowersMax: 3, changeFollowersPerAddressMax: 2, statementsMax: 1 }
  const { app, close } = await openServer({ limits })
  const port = await listening(app)
  const two = [await follow(port), await follow(port)]
  expect(two.map(({ statusCode }) => statusCode)).toEqual([200, 200])
  const third = await follow(port)
  expect(third.statusCode).toBe(429)
  expect(JSON.parse(await text(third))).toMatchObject({ type: 'TooManyFollowers' })
  // They take no places of statements.
  const query = await app.inject({ method: 'POST', url: '/v1/query', payload: { query: 'SHOW CLASSES' } })
  expect([200, 400, 422]).toContain(query.statusCode)
  const [gone, left] = two as [IncomingMessage, IncomingMessage]
  gone.destroy()
  let again = await follow(port)
  while (again.statusCode === 429) {
    again.resume()
    again = await follow(port)
  }
  expect(again.statusCode).toBe(200)
  const ends = [left, again].map((response) => text(response))
  await close()
  for (const events of await Promise.all(ends)) expect(lastEvent(events)).toMatchObject({ type: 'ShuttingDown' })
})
