/** Several operations as one commit, over HTTP. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import { type Reply, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
let alias: string

useFdPerTest(async (given) => {
  ;({ server, fd, alias } = given)
  await fd.define(
    classOf('Client', { name: 'string', orders: list(reference('Order', 'client')) }),
    classOf('Order', { number: 'integer', note: 'string', client: reference('Client', 'orders') }),
  )
  await fd.index('byNumber', 'Order', true, 'number')
})

const run = (...operations: unknown[]): Promise<Reply> => server.post(fd.at('/v1/transaction'), operations)
const order = (number: number, more: object = {}): object => ({
  method: 'post',
  uri: '/v1/object',
  body: { class: 'Order', attributes: { number, ...more } },
})
const client = (name: string, more: object = {}): object => ({
  method: 'POST',
  uri: '/v1/object',
  body: { class: 'Client', attributes: { name } },
  ...more,
})
const idOf = (id: string): string => `\${${id}}`
const count = async (cls: string): Promise<number> => {
  return (await server.post(fd.at('/v1/query'), { query: `FROM ${cls} RETURN COUNT() AS n` })).json[0].n
}

describe('a transaction', () => {
  rule(['7.1.1', '7.1.5'], 'replies what the single requests would have', async () => {
    const reply = await run(
      client('Ann'),
      { method: 'PUT', uri: '/v1/schema', body: [classOf('Item', { title: 'string' })] },
      {
        method: 'post',
        uri: '/v1/index',
        body: { name: 'byTitle', indexedClass: 'Item', isUnique: false, keyAttributes: [{ attributeName: 'title' }] },
      },
      { method: 'post', uri: '/v1/query', body: { query: 'FROM Client RETURN name' } },
      { method: 'Get', uri: '/v1/schema/namespace/' },
      { method: 'delete', uri: '/v1/index/byTitle' },
    )
    expect(reply.status, reply.text).toBe(200)
    const [made, ...others] = reply.json
    expect(made).toEqual({
      responseCode: '201',
      result: { __identifier__: expect.any(String), uri: expect.any(String) },
    })
    expect(others).toEqual([
      { responseCode: '201', result: { classNumbers: ['1000002'], uris: ['/v1/schema/1000002'] } },
      { responseCode: '201', result: { name: 'byTitle', uri: '/v1/index/byTitle' } },
      { responseCode: '200', result: [{ name: 'Ann' }] },
      { responseCode: '200', result: [{ name: null }] },
      { responseCode: '204', result: {} },
    ])
    const read = await run({ method: 'get', uri: `/v1/object/${made.result.__identifier__}` })
    expect(read.json[0].result).toEqual(await fd.read(made.result.__identifier__))
    expect((await run()).json).toEqual([])
  })

  const query = async (text: string, more: object = {}): Promise<Reply> =>
    server.post(fd.at('/v1/query'), { query: text, ...more })
  const rowsOf = async (text: string): Promise<Reply['json']> => {
    const reply = await query(text)
    expect(reply.status, reply.text).toBe(200)
    return reply.json
  }

  /** What two requests decide from what both have read: as many as it says may act. */
  const decisions: readonly (readonly [what: string, condition: string, action: (own: number) => string])[] = [
    ['an index', '(FROM Order WHERE number > 0 RETURN COUNT()) > 1', (own) => `DELETE Order WHERE number = ${own}`],
    ['a scan', "(FROM Order WHERE note = 'x' RETURN COUNT()) > 1", (own) => `DELETE Order WHERE number = ${own}`],
    [
      'links',
      "(FROM Client WHERE name = 'Ann' RETURN COUNT(orders)) > 1",
      (own) => `UPDATE Order WHERE number = ${own} SET client TO NULL`,
    ],
    [
      'a pattern',
      "(MATCH (c: Client {name: 'Ann'})-[orders]->(o: Order) RETURN COUNT()) > 1",
      (own) => `UPDATE Order WHERE number = ${own} SET client TO NULL`,
    ],
    [
      'a path',
      "(FROM Order WHERE client.name = 'Ann' RETURN COUNT()) > 1",
      (own) => `UPDATE Order WHERE number = ${own} SET client TO NULL`,
    ],
  ]

  rule('7.1.14', 'is serializable: what it decides by is so when it commits', async () => {
    const rounds = 5
    for (const [what, condition, action] of decisions) {
      for (let round = 0; round < rounds; round++) {
        await rowsOf("DELETE Order; DELETE Client; CREATE Client {name: 'Ann'}")
        for (const number of [1, 2]) {
          await rowsOf(
            `LET c = LOOKUP Client WHERE name = 'Ann'; CREATE Order {number: ${number}, note: 'x', client: $c}`,
          )
        }
        const decide = (own: number): Promise<Reply['json']> => rowsOf(`IF ${condition} THEN (${action(own)}); SHOW 1`)
        await Promise.all([decide(1), decide(2)])
        expect(await rowsOf("FROM Order WHERE client.name = 'Ann' RETURN COUNT() AS n"), what).toEqual([{ n: 1 }])
      }
    }
    for (let round = 0; round < rounds; round++) {
      const booked = `FROM Order WHERE number = ${100 + round} RETURN COUNT()`
      const note = `FROM Client WHERE name = 'round ${round}' RETURN COUNT()`
      await Promise.all(
        [1, 2, 3].map(() => rowsOf(`IF (${booked}) = 0 THEN (CREATE Order {number: ${100 + round}}); SHOW 1`)),
      )
      await Promise.all(
        [1, 2, 3].map(() => rowsOf(`IF (${note}) = 0 THEN (CREATE Client {name: 'round ${round}'}); SHOW 1`)),
      )
      expect(await rowsOf(`${booked} AS n`)).toEqual([{ n: 1 }])
      expect(await rowsOf(`${note} AS n`)).toEqual([{ n: 1 }])
    }
    const uris = (await run(order(201, { note: 'on' }), order(202, { note: 'on' }))).json.map(
      ({ result }: { result: { uri: string } }) => result.uri,
    )
    for (let round = 0; round < rounds; round++) {
      await rowsOf("UPDATE Order WHERE number > 200 SET note TO 'on'")
      const swap = (own: number): Promise<Reply> =>
        run(
          { method: 'GET', uri: uris[1 - own] },
          { method: 'PUT', uri: uris[own], body: { attributes: { note: `off ${round}` } } },
        )
      const replies = await Promise.all([swap(0), swap(1)])
      const seen = replies.map(({ json }) => json[0].result.note)
      // One of them came first, and the other has seen it.
      expect(seen.filter((note: string) => note === 'on')).toHaveLength(1)
    }
  })

  rule('7.1.15', 'has the isolation level that is asked for', async () => {
    const change = "CREATE Client {name: 'Bea'}"
    for (const isolation of ['snapshot', 'serializable']) {
      expect((await query(change, { isolation })).status).toBe(200)
      const path = `${fd.at('/v1/transaction')}&isolation=${isolation}`
      expect((await server.post(path, [client('Ann')])).status).toBe(200)
      const text = { raw: change, headers: { 'content-type': 'text/plain' } }
      expect((await server.send('POST', `${fd.at('/v1/query')}&isolation=${isolation}`, text)).status).toBe(200)
    }
    expectProblem(await query(change, { isolation: 'none' }), 400, 'MalformedRequest')
    expectProblem(await server.post(`${fd.at('/v1/transaction')}&isolation=none`, []), 400, 'MalformedValue')
    const both = { query: change, isolation: 'snapshot' }
    expectProblem(await server.post(`${fd.at('/v1/query')}&isolation=serializable`, both), 400, 'MalformedRequest')
    expectProblem(await run({ method: 'POST', uri: '/v1/query', body: both }), 400, 'MalformedRequest')
    expect(await rowsOf('FROM Client RETURN COUNT() AS n')).toEqual([{ n: 6 }])
  })

  rule('7.1.16', 'that only reads is of one snapshot, which shows what was acknowledged', async () => {
    await run(client('Ann'), client('Bea'))
    let isWriting = true
    const write = async (): Promise<void> => {
      for (let round = 0; round < 20; round++) {
        await rowsOf(`UPDATE Client SET name TO 'round ${round}'`)
        expect(await rowsOf('FROM Client RETURN DISTINCT name')).toEqual([{ name: `round ${round}` }])
      }
      isWriting = false
    }
    const read = async (): Promise<void> => {
      while (isWriting) {
        const [first, second] = (
          await run(
            ...[1, 2].map(() => ({ method: 'POST', uri: '/v1/query', body: { query: 'FROM Client RETURN name' } })),
          )
        ).json
        expect(second).toEqual(first)
      }
    }
    await Promise.all([write(), read()])
  })

  rule('7.1.12', 'has operations with conditions', async () => {
    const oid = (await run(client('Ann'))).json[0].result.__identifier__
    const uri = `/v1/object/${oid}`
    const tagOf = async (): Promise<string> => String((await server.get(fd.at(uri))).headers.etag)
    const put = (name: string, more: object): object => ({
      method: 'PUT',
      uri,
      body: { attributes: { name } },
      ...more,
    })
    const first = await tagOf()
    const changed = await run(put('Anna', { ifMatch: first }), { method: 'GET', uri, ifNoneMatch: `"x", ${first}` })
    expect(changed.json).toEqual([
      { responseCode: '204', result: {} },
      { responseCode: '200', result: { __class__: 'Client', __identifier__: oid, name: 'Anna', orders: [] } },
    ])
    const second = await tagOf()
    const unchanged = await run({ method: 'GET', uri, ifNoneMatch: second, ifMatch: '*' })
    expect(unchanged.json).toEqual([{ responseCode: '304', result: {} }])
    // Each is asked of what those before it have left.
    const failing: readonly object[][] = [
      [order(1), put('Eve', { ifMatch: first })],
      [order(1), { method: 'DELETE', uri, ifMatch: first }],
      [order(1), { method: 'GET', uri, ifMatch: first }],
      [order(1), put('Eve', { ifNoneMatch: '*' })],
      [put('Eve', { ifMatch: second }), { method: 'DELETE', uri, ifMatch: second }],
    ]
    for (const operations of failing) {
      const reply = await run(...operations)
      expect(expectProblem(reply, 412, 'PreconditionFailed')).toMatch(
        /^While executing operation 2, encountered: Object/,
      )
      expect(reply.json.operation).toBe(2)
    }
    expect([await tagOf(), await count('Order')]).toEqual([second, 0])
    for (const wrong of ['', 'x', '"a" "b"', 5, null]) {
      const reply = await run(put('Eve', { ifMatch: wrong }))
      expectProblem(reply, 400, 'MalformedRequest')
      expect(reply.json.errors[0].pointer).toBe('/0/ifMatch')
    }
    expectProblem(await run({ ...order(1), ifMatch: second }), 400, 'MalformedRequest')
    expect((await run({ method: 'DELETE', uri, ifMatch: second })).json).toEqual([{ responseCode: '204', result: {} }])
  })

  rule('7.1.2', 'is one commit, and sees its own writes', async () => {
    const reply = await run(
      client('Ann', { id: 'ann' }),
      order(1, { client: idOf('ann') }),
      { method: 'put', uri: `/v1/object/${idOf('ann')}`, body: { attributes: { name: 'Anna' } } },
      { method: 'get', uri: `/v1/object/${idOf('ann')}` },
      { method: 'post', uri: '/v1/query', body: { query: 'FROM Order WHERE number = 1 RETURN client.name AS who' } },
    )
    expect(reply.json[3].result).toMatchObject({ name: 'Anna', orders: [expect.any(String)] })
    expect(reply.json[4].result).toEqual([{ who: 'Anna' }])
    expectProblem(await run(order(2), client('Bob'), order(2)), 409, 'UniqueViolation')
    expectProblem(await run(order(3), { method: 'PUT', uri: '/v1/schema', body: [classOf('X', {})] }, order(1)), 409)
    expect([await count('Order'), await count('Client')]).toEqual([1, 1])
    expectProblem(await server.get(fd.at('/v1/schema/X')), 404)
  })

  rule(
    '7.1.2',
    'of a thousand creates with links among them stands, and one that fails near its end leaves nothing',
    async () => {
      const many = Array.from({ length: 999 }, (_, i) => order(i + 1, { client: idOf('hub') }))
      const failing = await run(client('Hub', { id: 'hub' }), ...many.slice(0, 997), order(5), ...many.slice(997))
      expect(expectProblem(failing, 409, 'UniqueViolation')).toMatch(
        /^While executing operation 999, encountered: .*number 5 is already held/,
      )
      expect(failing.json.operation).toBe(999)
      expect([await count('Order'), await count('Client')]).toEqual([0, 0])
      const reply = await run(client('Hub', { id: 'hub' }), ...many)
      expect(reply.status, reply.text.slice(0, 300)).toBe(200)
      const hub = await fd.read(reply.json[0].result.__identifier__)
      expect(hub.orders).toEqual(
        reply.json.slice(1).map(({ result }: { result: { __identifier__: string } }) => result.__identifier__),
      )
    },
  )

  rule('7.1.3', 'has operations of the interface, but not itself, shutdown and tools', async () => {
    for (const uri of ['/v1/transaction', '/v1/shutdown', '/shutdown', '/v1/tool']) {
      const message = expectProblem(await run(order(1), { method: 'post', uri, body: [] }), 400, 'MalformedRequest')
      expect(message).toMatch(/^While executing operation 2, encountered: .*cannot be part of a transaction/)
    }
    expect((await run({ method: 'gEt', uri: '/v1' }, { method: 'get', uri: '/v1/fd' })).status).toBe(200)
    expectProblem(await run({ method: 'get', uri: '/v1/nothing' }), 404, 'ResourceNotFound')
    expectProblem(await run({ method: 'delete', uri: '/v1/schema' }), 405, 'MethodNotAllowed')
    expectProblem(await run({ method: 'get', uri: '/v1/schema?all=true' }), 400, 'UnknownParameter')
    expectProblem(await run({ method: 'get', uri: '/v1/schema?__proto__=true' }), 400, 'UnknownParameter')
    expectProblem(
      await run({ method: 'post', uri: '/v1/object', body: { class: 'Order', attribute: {} } }),
      400,
      'UnknownField',
    )
    expect(await count('Order')).toBe(0)
  })

  rule('7.1.4', 'is of one federated database', async () => {
    expect((await run({ method: 'get', uri: `/v1/schema?fdAlias=${alias}` })).status).toBe(200)
    const other = alias === 'fd0' ? 'fd1' : 'fd0'
    expectProblem(await run(order(1), { method: 'get', uri: `/v1/schema?fdAlias=${other}` }), 400, 'MalformedRequest')
    expect(await count('Order')).toBe(0)
  })

  rule(['7.1.6', '7.1.7'], 'carries out what is disposed of, and does not keep it', async () => {
    const reply = await run(
      { ...order(1), result: 'dispose' },
      order(2),
      { method: 'post', uri: '/v1/query', body: { query: 'FROM Order ORDER BY number RETURN number' } },
      { method: 'post', uri: '/v1/query', body: { query: 'FROM Order RETURN number' }, result: 'dispose' },
    )
    expect(reply.json.slice(2)).toEqual([
      { responseCode: '200', result: [{ number: 2 }] },
      { responseCode: '200', result: [] },
    ])
    const [gone, kept] = reply.json.map(({ result }: { result: { __identifier__?: string } }) => result.__identifier__)
    expectProblem(await server.get(fd.at(`/v1/object/${gone}`)), 404, 'ObjectNotFound')
    expect(await fd.read(kept)).toMatchObject({ number: 2 })
    const alone = await run({ ...client('Ann', { id: 'ann' }), result: 'dispose' }, order(3, { client: idOf('ann') }))
    expectProblem(alone, 422, 'InvalidReference')
    expect([await count('Order'), await count('Client')]).toEqual([1, 0])
  })

  rule('7.1.6', 'replies of kept operations what is committed, beside a disposed change of the schema', async () => {
    const define = (className: string, more: object = {}): object => ({
      method: 'put',
      uri: '/v1/schema',
      body: [classOf(className, { a: 'string' })],
      ...more,
    })
    const create = (cls: string, id: string, more: object = {}): object => ({
      method: 'post',
      uri: '/v1/object',
      body: { class: cls, attributes: { a: id } },
      id,
      ...more,
    })
    const dispose = { result: 'dispose' }
    const byName = { name: 'byA', indexedClass: 'A', isUnique: true, keyAttributes: [{ attributeName: 'a' }] }
    const reply = await run(
      define('Gone', dispose),
      create('Gone', 'gone', dispose),
      define('A'),
      define('B'),
      create('A', 'first'),
      create('B', 'second'),
      { method: 'get', uri: '/v1/schema/A' },
      { method: 'get', uri: `/v1/object/${idOf('first')}` },
      { method: 'post', uri: '/v1/index', body: byName },
      { method: 'get', uri: `/v1/object/${idOf('second')}`, ...dispose },
    )
    expect(reply.status, reply.text).toBe(200)
    const results = reply.json.map(({ result }: { result: object }) => result)
    const numberOf = async (name: string): Promise<string> =>
      (await server.get(fd.at(`/v1/schema/${name}`))).json.classNumber
    expect(results[2].classNumbers).toEqual([await numberOf('A')])
    expect(results[3].classNumbers).toEqual([await numberOf('B')])
    expect(await fd.read(results[4].__identifier__)).toMatchObject({ __class__: 'A', a: 'first' })
    expect(await fd.read(results[5].__identifier__)).toMatchObject({ __class__: 'B', a: 'second' })
    expect(results[6]).toEqual((await server.get(fd.at('/v1/schema/A'))).json)
    expect(results[7]).toEqual(await fd.read(results[4].__identifier__))
    expect((await server.get(fd.at('/v1/index/byA'))).json).toMatchObject({ entryCount: 1 })
    // The rehearsal gave the same numbers and OIDs: what is disposed of tells of the objects that are kept.
    expect(results[9]).toEqual(await fd.read(results[5].__identifier__))
    expectProblem(await server.get(fd.at('/v1/schema/Gone')), 404, 'ClassNotFound')
    const later = await run(
      { ...order(7, { note: idOf('x') }), result: 'keep' },
      { ...client('c', { id: 'x' }), ...dispose },
    )
    expect(later.status, later.text).toBe(200)
    expect(await fd.read(later.json[0].result.__identifier__)).toMatchObject({ note: idOf('x') })
  })

  rule('7.1.8', 'names objects by ids', async () => {
    const reply = await run(
      client('Ann', { id: 'ann' }),
      order(1, { client: idOf('ann'), note: `$${idOf('ann')}` }),
      order(2, { client: idOf('ann'), note: idOf('nobody') }),
      order(3, { note: `to ${idOf('ann')}` }),
      {
        method: 'post',
        uri: '/v1/query',
        body: { query: 'FROM Order WHERE client = $c ORDER BY number RETURN note', parameters: { c: idOf('ann') } },
      },
      { method: 'post', uri: '/v1/query', body: { query: 'FROM Order WHERE number = 3 RETURN note' } },
    )
    expect(reply.json[4].result).toEqual([{ note: idOf('ann') }, { note: idOf('nobody') }])
    expect(reply.json[5].result).toEqual([{ note: `to ${idOf('ann')}` }])
    expectProblem(await run(client('a', { id: 'x' }), client('b', { id: 'x' })), 400, 'MalformedRequest')
    expectProblem(await run(client('a', { id: '5 x' })), 400, 'MalformedRequest')
    expectProblem(await run({ method: 'get', uri: '/v1/schema', id: 'x' }), 400, 'MalformedRequest')
    expect(await count('Client')).toBe(1)
  })

  rule(['7.1.9', '1.4.1'], 'tells which operation failed', async () => {
    const reply = await run(client('a'), { method: 'get', uri: '/v1/object/3-3-77-1' })
    const message = expectProblem(reply, 404, 'ObjectNotFound')
    expect(message).toBe('While executing operation 2, encountered: There is no object 3-3-77-1.')
    expect(reply.json.operation).toBe(2)
    const inQuery = await run({ method: 'post', uri: '/v1/query', body: { query: 'FROM Clint RETURN *' } })
    expect(inQuery.json).toMatchObject({ type: 'QueryError', operation: 1, line: 1, column: 6 })
    const placesIn = async (second: unknown): Promise<unknown> => (await run(client('a'), second)).json.errors
    expect(inQuery.json.errors).toEqual([{ pointer: '/0/body/query', message: expect.any(String) }])
    expect(
      await placesIn({ method: 'post', uri: '/v1/object', body: { class: 'Client', attributes: { name: 5 } } }),
    ).toEqual([{ pointer: '/1/body/attributes/name', message: expect.any(String) }])
    expect(await placesIn({ method: 'post', uri: '/v1/object', body: { clas: 'Client' } })).toEqual([
      { pointer: expect.stringMatching(/^\/1\/body/), message: expect.any(String) },
    ])
    expect(await placesIn({ method: 'post', uri: '/v1/index' })).toBeUndefined()
    for (const body of [
      {},
      'x',
      [5],
      [{}],
      [{ method: 'get' }],
      [{ method: 5, uri: '/' }],
      [{ method: 'get', uri: '/', extra: 1 }],
    ]) {
      expect((await server.post(fd.at('/v1/transaction'), body)).status).toBe(400)
    }
    expectProblem(await server.send('POST', fd.at('/v1/transaction')), 400, 'MalformedRequest')
  })
})

describe('limits', () => {
  let small: ServerUnderTest
  let hasty: ServerUnderTest
  beforeAll(async () => {
    small = await startLimited({ transactionOperationsMax: 5, transactionIndexObjectsMax: 3, changeReplyBytesMax: 500 })
    hasty = await startLimited({ transactionMsMax: 1 })
  })
  afterAll(async () => {
    await small.remove()
    await hasty.remove()
  })

  rule(['1.5.6', '7.1.11'], 'the time that the operations of a transaction may take', async () => {
    expect((await hasty.put('/v1/schema', [classOf('A', { n: 'integer' })])).status).toBe(201)
    // So many take longer than a millisecond on every machine.
    const create = { method: 'post', uri: '/v1/object', body: { class: 'A' } }
    const reply = await hasty.post('/v1/transaction', Array(5_000).fill(create))
    expect(expectProblem(reply, 422, 'LimitExceeded')).toContain('transactionMsMax')
    expect((await hasty.post('/v1/query', { query: 'FROM A RETURN COUNT() AS n' })).json).toEqual([{ n: 0 }])
  })

  rule(
    ['1.5.6', '7.1.10'],
    'operations, bytes of replies, and objects under an index that is built within',
    async () => {
      const within = (...operations: unknown[]): Promise<Reply> => small.post('/v1/transaction', operations)
      expect((await small.put('/v1/schema', [classOf('A', { n: 'integer' })])).status).toBe(201)
      const create = { method: 'post', uri: '/v1/object', body: { class: 'A' } }
      expectProblem(await within(...Array(6).fill(create)), 422, 'LimitExceeded')
      expectProblem(await within(...Array(4).fill({ method: 'get', uri: '/v1/schema' })), 422, 'LimitExceeded')
      expect((await within(...Array(4).fill(create))).status).toBe(200)
      const body = { name: 'i', indexedClass: 'A', isUnique: false, keyAttributes: [{ attributeName: 'n' }] }
      expectProblem(await within({ method: 'post', uri: '/v1/index', body }), 422, 'LimitExceeded')
      expect((await small.post('/v1/index', body)).status).toBe(201)
    },
  )
})

function startLimited(limits: Record<string, number>): Promise<ServerUnderTest> {
  const data = temporaryDirectory()
  const config = join(data, 'ashlar.json')
  writeFileSync(config, JSON.stringify({ limits }))
  return startServer({ words: ['--config', config], data })
}
