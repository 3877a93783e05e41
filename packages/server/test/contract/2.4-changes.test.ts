/** The change feed, over HTTP: pages, lines that are waited for, events. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { expect } from 'vitest'
import { classOf, type FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  server = given.server
  fd = given.fd
  await fd.define(
    classOf('Person', { name: 'string', age: 'integer' }),
    classOf('Employee', { salary: 'integer' }, { superClass: 'Person' }),
  )
})

const changes = (parameters = '', headers: Record<string, string> = {}): Promise<Reply> =>
  server.send('GET', `${fd.at('/v1/changes')}${parameters === '' ? '' : `&${parameters}`}`, { headers })

const told = async (parameters = ''): Promise<Loose[]> => {
  const reply = await changes(parameters)
  expect(reply.status, reply.text).toBe(200)
  return reply.json.changes
}

const positionNow = async (): Promise<string> => (await changes('since=now')).json.position

interface Event {
  readonly name: string
  readonly id: string
  readonly data: Loose
}

/** Events as they come. */
class Events {
  readonly response: IncomingMessage
  private text = ''
  private readonly got: Event[] = []
  private wake: () => void = () => undefined
  isEnded = false

  private constructor(response: IncomingMessage) {
    this.response = response
    response.setEncoding('utf8').on('data', (chunk: string) => this.take(chunk))
    const ended = (): void => {
      this.isEnded = true
      this.wake()
    }
    response.on('close', ended).on('error', ended)
  }

  static open(parameters = '', headers: Record<string, string> = {}): Promise<Events> {
    return new Promise((resolve, reject) => {
      const url = `${server.url}${fd.at('/v1/changes')}${parameters === '' ? '' : `&${parameters}`}`
      const sent = httpRequest(url, { headers: { accept: 'text/event-stream', ...headers } }, (response) =>
        resolve(new Events(response)),
      )
      sent.on('error', reject).end()
    })
  }

  async next(): Promise<Event> {
    while (this.got.length === 0) {
      if (this.isEnded) throw new Error('the events have ended')
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
    return this.got.shift() as Event
  }

  private take(chunk: string): void {
    this.text += chunk
    const parts = this.text.split('\n\n')
    this.text = parts.pop() as string
    for (const part of parts) {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? ''
      if (!part.startsWith(':')) {
        this.got.push({ name: field('event'), id: field('id'), data: JSON.parse(field('data')) })
      }
    }
    this.wake()
  }
}

rule(
  '2.4.2',
  'sequences are told where they are created, restarted or deleted, and not where they are drawn from',
  async () => {
    const position = await positionNow()
    const statements = [
      'CREATE SEQUENCE s',
      "SHOW NEXT('s')",
      'ALTER SEQUENCE s RESTART 7',
      'CREATE SEQUENCE t; ALTER SEQUENCE t RESTART 5; DROP SEQUENCE s',
      'CREATE SEQUENCE u; DROP SEQUENCE u; DROP SEQUENCE t',
    ]
    for (const query of statements) expect((await server.post(fd.at('/v1/query'), { query })).status, query).toBe(200)
    const reply = await changes(`since=${position}`)
    const head = { position: expect.any(String), at: expect.any(String), change: 'schema' }
    const nothing = { ...head, classes: [], deletedClasses: [], indexes: [], isIndexDeleted: false }
    expect(reply.json.changes).toEqual([
      { ...nothing, sequences: ['s'] },
      { ...nothing, sequences: ['s'] },
      { ...nothing, sequences: ['t'], isSequenceDeleted: true },
      { ...nothing, isSequenceDeleted: true },
    ])
  },
)

rule(['2.4.1', '2.4.2'], 'a page tells each change once, in order, with values before and after', async () => {
  const oid = await fd.create('Person', { name: 'Ann', age: 40 })
  await server.send('PUT', fd.at(`/v1/object/${oid}`), { body: { attributes: { age: 41 } } })
  await server.send('DELETE', fd.at(`/v1/object/${oid}`))
  const reply = await changes()
  expect(reply.status, reply.text).toBe(200)
  expect(reply.json.isAtEnd).toBe(true)
  const [schema, created, updated, deleted, ...others] = reply.json.changes
  expect(others).toEqual([])
  expect(schema).toMatchObject({ change: 'schema', classes: ['Person', 'Employee'] })
  expect(created).toEqual({
    position: expect.stringMatching(/^\d+-\d+$/),
    at: expect.stringMatching(/^20.*Z$/),
    change: 'created',
    class: 'Person',
    oid,
    revision: expect.stringMatching(/^[\da-f]{16}$/),
    after: { name: 'Ann', age: 40 },
  })
  expect(updated).toMatchObject({ change: 'updated', attributes: ['age'], before: { age: 40 }, after: { age: 41 } })
  expect(deleted).toMatchObject({ change: 'deleted', oid, before: { name: 'Ann', age: 41 } })
  expect(deleted.position).toBe(reply.json.position)
  // From any of them, what follows.
  expect(await told(`since=${created.position}`)).toEqual([updated, deleted])
  expect(await told(`since=${reply.json.position}`)).toEqual([])
  const pages = []
  for (let since = 'first'; ; ) {
    const { json } = await changes(`since=${since}&limit=1`)
    pages.push(...json.changes)
    since = json.position
    if (json.isAtEnd) break
  }
  expect(pages).toEqual(reply.json.changes)
})

rule('2.4.2', 'links are told with their owner, and a transaction stands together', async () => {
  await fd.define(
    classOf('Hub', {
      spokes: {
        logicalType: 'list',
        elementSpecification: { logicalType: 'reference', referencedClass: 'Spoke', inverseAttribute: 'hub' },
      },
    }),
    classOf('Spoke', { hub: { logicalType: 'reference', referencedClass: 'Hub', inverseAttribute: 'spokes' } }),
  )
  const since = await positionNow()
  const steps = [
    { method: 'post', uri: '/v1/object', body: { class: 'Hub', attributes: {} }, id: 'hub' },
    { method: 'post', uri: '/v1/object', body: { class: 'Spoke', attributes: { hub: `\${hub}` } }, id: 'spoke' },
  ]
  const done = await server.post(fd.at('/v1/transaction'), steps)
  const [hub, spoke] = done.json.map(({ result }: Loose) => result.__identifier__)
  const all = await told(`since=${since}`)
  expect(all).toMatchObject(
    [
      { change: 'created', class: 'Hub', oid: hub, after: {} },
      { change: 'created', class: 'Spoke', oid: spoke, after: { hub } },
      { change: 'linked', class: 'Hub', oid: hub, attribute: 'spokes', target: spoke },
    ].sort(
      (one, other) =>
        all.findIndex(({ change, oid }) => one.change === change && one.oid === oid) -
        all.findIndex(({ change, oid }) => other.change === change && other.oid === oid),
    ),
  )
  expect(new Set(all.map(({ position }) => position.split('-').slice(0, 2).join('-'))).size).toBe(1)
})

rule('2.4.3', 'class and where choose by what the object was and is; include=keys leaves the values out', async () => {
  const since = await positionNow()
  const ann = await fd.create('Employee', { name: 'Ann', age: 17 })
  await fd.create('Person', { name: 'Bob', age: 50 })
  for (const age of [18, 30, 10]) {
    await server.send('PUT', fd.at(`/v1/object/${ann}`), { body: { attributes: { age } } })
  }
  await server.send('DELETE', fd.at(`/v1/object/${ann}`))
  const where = encodeURIComponent('age >= 18')
  const adults = await told(`since=${since}&class=Person&where=${where}`)
  expect(adults.map(({ oid, change, matched }) => [oid === ann, change, matched])).toEqual([
    [false, 'created', 'after'],
    [true, 'updated', 'after'],
    [true, 'updated', 'both'],
    [true, 'updated', 'before'],
  ])
  const employees = await told(`since=${since}&class=Employee&include=keys`)
  expect(employees.map(({ change }) => change)).toEqual(['created', 'updated', 'updated', 'updated', 'deleted'])
  for (const change of employees) expect(change).not.toHaveProperty('after')
  expect(employees[1].attributes).toEqual(['age'])
})

rule('2.4.3', 'a predicate asks for what the object itself holds', async () => {
  await fd.define(classOf('Pet', { owner: { logicalType: 'reference', referencedClass: 'Person' } }))
  const where = encodeURIComponent("owner.name = 'Ann'")
  expectProblem(await changes(`class=Pet&where=${where}`), 422, 'QueryError')
  expectProblem(await changes('class=Pet&where=owner%20%3D%3D'), 400, 'QuerySyntaxError')
  expectProblem(await changes('class=Nothing'), 422, 'UnknownClass')
  expectProblem(await changes(`where=${where}`), 422, 'QueryError')
})

rule('2.4.4', 'NDJSON waits for a change; the last line is the position', async () => {
  const since = await positionNow()
  const waiting = changes(`since=${since}&wait=30`, { accept: 'application/x-ndjson' })
  const oid = await fd.create('Person', { name: 'Ann' })
  const reply = await waiting
  expect(reply.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  const [change, end, ...rest] = reply.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  expect(rest).toEqual([])
  expect(change).toMatchObject({ change: 'created', oid })
  expect(end).toEqual({ position: change.position, isAtEnd: true })
  const nothing = await changes(`since=${end.position}&wait=0.01`, { accept: 'application/x-ndjson' })
  expect(JSON.parse(nothing.text)).toEqual({ position: end.position, isAtEnd: true })
})

rule('2.4.5', 'events come as they happen, and go on behind Last-Event-ID', async () => {
  const events = await Events.open('since=now')
  expect(events.response.statusCode).toBe(200)
  expect(events.response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
  const begun = await events.next()
  expect(begun).toMatchObject({ name: 'position', data: { position: begun.id } })
  const ann = await fd.create('Person', { name: 'Ann' })
  const first = await events.next()
  expect(first).toMatchObject({ name: 'change', data: { change: 'created', oid: ann } })
  expect(first.id).toBe(first.data.position)
  events.response.destroy()
  const bob = await fd.create('Person', { name: 'Bob' })
  const later = await Events.open('since=now', { 'last-event-id': first.id })
  expect(await later.next()).toMatchObject({ name: 'change', data: { oid: bob } })
  later.response.destroy()
})

rule('2.4.6', 'a position that is not of this log, or no position: 410 and 400; another parameter: 400', async () => {
  const position = await positionNow()
  const [epoch, number] = position.split('-').map(Number) as [number, number]
  expectProblem(await changes(`since=${epoch - 1}-${number}`), 410, 'ChangesGone')
  expectProblem(await changes(`since=${epoch}-${number + 1000}`), 410, 'ChangesGone')
  expectProblem(await changes('since=yesterday'), 400, 'MalformedRequest')
  expectProblem(await changes('limit=0'), 400, 'MalformedValue')
  expectProblem(await changes('wait=-1'), 400, 'MalformedValue')
  expectProblem(await changes('include=all'), 400, 'MalformedValue')
  expectProblem(await changes('', { accept: 'text/html' }), 406, 'NotAcceptable')
})

rule('2.4.3', 'attributes chooses what of the objects is told', async () => {
  const since = await positionNow()
  const oid = await fd.create('Person', { name: 'Ann', age: 40 })
  for (const attributes of [{ age: 41 }, { name: 'Anna' }])
    await server.send('PUT', fd.at(`/v1/object/${oid}`), { body: { attributes } })
  const told = await changes(`since=${since}&class=Person&attributes=age`)
  expect(told.json.changes).toMatchObject([
    { change: 'created', after: { age: 40 } },
    { change: 'updated', attributes: ['age'], before: { age: 40 }, after: { age: 41 } },
  ])
  expect(JSON.stringify(told.json.changes)).not.toContain('Ann')
  expectProblem(await changes(`since=${since}&class=Person&attributes=aeg`), 422, 'UnknownAttribute')
  expectProblem(await changes(`since=${since}&attributes=age`), 422, 'QueryError')
})
