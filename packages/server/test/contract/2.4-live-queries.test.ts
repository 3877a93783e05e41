/** Live queries over HTTP: rows, and what becomes of them, as events. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text as readText } from 'node:stream/consumers'
import { expect } from 'vitest'
import { addRole } from '../../src/security/custom-roles.ts'
import { basic, openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import { openServer } from '../unit/open-server.ts'
import { classOf, embedded, type FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  server = given.server
  fd = given.fd
  await fd.define(classOf('Person', { name: 'string', age: 'integer' }), classOf('Place', { code: 'integer' }))
})

const accept = 'text/event-stream'

async function open(url: string, body: object, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const sent = httpRequest(url, {
    method: 'POST',
    agent: false,
    headers: { accept, 'content-type': 'application/json', ...headers },
  })
  sent.end(JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

/** Events as they come: the name, the data and, where there is one, the id. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<[string, Loose, string?]> {
  let [name, id]: [string, string | undefined] = ['', undefined]
  for await (const line of createInterface({ input: response })) {
    if (line.startsWith('id: ')) id = line.slice(4)
    if (line.startsWith('event: ')) name = line.slice(7)
    if (!line.startsWith('data: ')) continue
    yield id === undefined ? [name, JSON.parse(line.slice(6))] : [name, JSON.parse(line.slice(6)), id]
    id = undefined
  }
}

class Followed {
  readonly response: IncomingMessage
  private readonly events: AsyncGenerator<[string, Loose, string?]>

  private constructor(response: IncomingMessage) {
    this.response = response
    this.events = eventsOf(response)
  }

  static async of(query: string, headers: Record<string, string> = {}, more: object = {}): Promise<Followed> {
    const response = await open(`${server.url}${fd.at('/v1/query')}`, { query, ...more }, headers)
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    return new Followed(response)
  }

  async next(): Promise<[string, Loose, string?]> {
    const { value } = await this.events.next()
    return value
  }

  /** Up to the next position. */
  async step(): Promise<{ readonly told: [string, Loose][]; readonly position: string }> {
    for (const told: [string, Loose][] = []; ; ) {
      const [name, data, id] = await this.next()
      if (name !== 'position') told.push([name, data])
      else {
        expect(data.position).toBe(id)
        // Elsewhere commits may still be under way.
        if (data.isAhead !== true) return { told, position: data.position }
      }
    }
  }

  end(): void {
    this.response.destroy()
  }
}

rule(['2.4.8', '2.4.10'], 'rows come first, and then what enters, changes and leaves', async () => {
  const ann = await fd.create('Person', { name: 'Ann', age: 40 })
  const bob = await fd.create('Person', { name: 'Bob', age: 10 })
  const query = 'FROM Person WHERE age > $age RETURN name'
  const followed = await Followed.of(query, {}, { parameters: { age: 20 } })
  const first = await followed.step()
  expect(first.told).toEqual([
    ['begin', { isOrdered: false, isResumed: false }],
    ['row', { oid: ann, row: { name: 'Ann' } }],
  ])
  // From there, as the change feed has it.
  const { json } = await server.get(`${fd.at('/v1/changes')}&since=${first.position}`)
  expect(json.changes).toEqual([])
  await server.send('PUT', fd.at(`/v1/object/${bob}`), { body: { attributes: { age: 21 } } })
  expect((await followed.step()).told).toEqual([['enter', { oid: bob, row: { name: 'Bob' } }]])
  await server.send('PUT', fd.at(`/v1/object/${bob}`), { body: { attributes: { name: 'Rob' } } })
  expect((await followed.step()).told).toEqual([['change', { oid: bob, row: { name: 'Rob' } }]])
  await server.send('DELETE', fd.at(`/v1/object/${ann}`))
  expect((await followed.step()).told).toEqual([['leave', { oid: ann }]])
  followed.end()
})

rule(['2.4.8', '10.6.24'], 'computed attributes of embedded objects are as others', async () => {
  const twice = { logicalType: 'integer', computed: { expression: 'n * 2' } }
  const half = { logicalType: 'object', class: 'Half' }
  await fd.define(classOf('Half', { n: 'integer', twice }, embedded), classOf('Whole', { half }))
  const oid = await fd.create('Whole', { half: { n: 1 } })
  const followed = await Followed.of('FROM Whole WHERE half.twice > 2 RETURN half.twice AS t')
  await followed.step()
  await fd.update(oid, { half: { n: 2 } })
  expect((await followed.step()).told).toEqual([['enter', { oid, row: { t: 4 } }]])
  await fd.update(oid, { half: { n: 3 } })
  expect((await followed.step()).told).toEqual([['change', { oid, row: { t: 6 } }]])
  await fd.update(oid, { half: { n: 0 } })
  expect((await followed.step()).told).toEqual([['leave', { oid }]])
  followed.end()
})

rule('2.4.9', 'with ORDER BY the place of each is told, and TAKE is filled again', async () => {
  const oids: string[] = []
  for (const age of [10, 20, 30, 40]) oids.push(await fd.create('Person', { name: `${age}`, age }))
  const followed = await Followed.of('FROM Person ORDER BY age TAKE 2 RETURN age')
  expect((await followed.step()).told.slice(1)).toEqual([
    ['row', { oid: oids[0], row: { age: 10 }, after: null }],
    ['row', { oid: oids[1], row: { age: 20 }, after: oids[0] }],
  ])
  await server.send('DELETE', fd.at(`/v1/object/${oids[0]}`))
  expect((await followed.step()).told).toEqual([
    ['leave', { oid: oids[0] }],
    ['enter', { oid: oids[2], row: { age: 30 }, after: oids[1] }],
  ])
  await server.send('PUT', fd.at(`/v1/object/${oids[2]}`), { body: { attributes: { age: 15 } } })
  const { told } = await followed.step()
  expect(told).toHaveLength(1)
  expect(told[0]).toMatchObject(['change', { oid: oids[2], row: { age: 15 }, after: null }])
  followed.end()
})

rule('2.4.10', 'what cannot be followed is refused with the reason', async () => {
  const refusal = async (query: string, parameters = ''): Promise<Loose> => {
    const body = { query }
    return server.send('POST', `${fd.at('/v1/query')}${parameters}`, { body, headers: { accept } })
  }
  for (const query of [
    'FROM Person RETURN COUNT()',
    'FROM Person RETURN $$NOW',
    'FROM Person GROUP BY age RETURN age',
  ]) {
    expectProblem(await refusal(query), 422, 'QueryError')
  }
  expectProblem(await refusal('LOOKUP Person WHERE age = 1'), 422, 'QueryError')
  expectProblem(await refusal('FROM Person RETURN *', '&explain=true'), 400, 'MalformedRequest')
  expectProblem(await refusal('FROM Nothing RETURN *'), 422, 'QueryError')
  const followed = await Followed.of('FROM Person RETURN age')
  await followed.step()
  const renamed = await server.send('PUT', fd.at('/v1/schema/Person'), {
    body: { attributesToRename: [{ originalName: 'age', newName: 'years' }] },
  })
  expect(renamed.status, renamed.text).toBe(201)
  expect(await followed.next()).toMatchObject(['error', { type: 'QueryError', status: 422 }])
})

rule('2.4.11', 'a follower goes on where nothing that concerns it was changed, and begins anew elsewhere', async () => {
  const oid = await fd.create('Person', { name: 'Ann', age: 40 })
  const followed = await Followed.of('FROM Person RETURN name')
  const { position } = await followed.step()
  followed.end()
  await fd.create('Place', { code: 1 })
  const resumed = await Followed.of('FROM Person RETURN name', { 'last-event-id': position })
  expect((await resumed.step()).told).toEqual([['begin', { isOrdered: false, isResumed: true }]])
  await server.send('PUT', fd.at(`/v1/object/${oid}`), { body: { attributes: { name: 'Anna' } } })
  expect((await resumed.step()).told).toEqual([['change', { oid, row: { name: 'Anna' } }]])
  resumed.end()
  for (const [query, id] of [
    ['FROM Person RETURN name', position],
    ['FROM Person RETURN name', '1-1'],
    ['FROM Person RETURN name', 'nothing of ours'],
    ['FROM Person ORDER BY age RETURN name', position],
  ] as const) {
    const anew = await Followed.of(query, { 'last-event-id': id })
    const { told } = await anew.step()
    expect(told[0]).toMatchObject(['begin', { isResumed: false }])
    expect(told[1]).toMatchObject(['row', { oid, row: { name: 'Anna' } }])
    anew.end()
  }
})

rule(
  ['2.4.12', '9.4.14'],
  'callers with grants follow what they see, but not by rules that ask for the time',
  async () => {
    const { app, security, token } = await openSecureServer()
    for (const [name, read] of [
      ['partial', 'FALSE'],
      ['timed', 'NOT IS_NULL($$NOW)'],
    ] as const) {
      const grants = [{ on: { kind: 'all' }, actions: ['read', 'query'], rules: { read } }]
      await security.change((database) => addRole(database, name, { grants }))
    }
    await app.listen({ host: '127.0.0.1', port: 0 })
    const headers = { authorization: basic('admin', passwordOf('admin')) }
    const text = 'UPDATE SCHEMA {CREATE CLASS Person {name: String}}'
    const made = await app.inject({ method: 'POST', url: '/v1/query', payload: { query: text }, headers })
    expect(made.statusCode).toBe(200)
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/v1/query`
    const body = { query: 'FROM ooObj RETURN *' }
    const partial = await open(url, body, { authorization: await token({ roles: ['partial'] }) })
    expect(partial.statusCode).toBe(200)
    const events = eventsOf(partial)
    expect((await events.next()).value).toEqual(['begin', { isOrdered: false, isResumed: false }])
    expect((await events.next()).value?.[0]).toBe('position')
    partial.destroy()
    const timed = await open(
      url,
      { query: 'FROM Person RETURN *' },
      { authorization: await token({ roles: ['timed'] }) },
    )
    expect([timed.statusCode, await readText(timed)]).toEqual([
      403,
      expect.stringContaining('for the time or for chance'),
    ])
    const whole = await open(url, body, { authorization: await token({ roles: ['reader'] }) })
    expect(whole.statusCode).toBe(200)
    whole.destroy()
  },
)

rule('2.4.12', 'its limits are those of followers, and it takes no place of statements', async () => {
  const limits = { changeFollowersMax: 1, changeFollowersPerCallerMax: 1, statementsMax: 1 }
  const { app, close } = await openServer({ limits })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/v1/query`
  const first = await open(url, { query: 'FROM ooObj RETURN *' })
  expect(first.statusCode).toBe(200)
  const second = await open(url, { query: 'FROM ooObj RETURN *' })
  expect(second.statusCode).toBe(429)
  second.resume()
  const query = await app.inject({ method: 'POST', url: '/v1/query', payload: { query: 'FROM ooObj RETURN *' } })
  expect(query.statusCode).toBe(200)
  const names: string[] = []
  const ended = (async () => {
    for await (const [name, data] of eventsOf(first)) names.push(name === 'error' ? data.type : name)
  })()
  await close()
  await ended
  expect(names).toEqual(['begin', 'position', 'ShuttingDown'])
})
