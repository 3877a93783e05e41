/** The query operation over HTTP: its bodies, its replies, and what fails on the way. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { AshlarClient } from '@ashlar/client'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Reply, type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
let oids: string[]

const all = 'FROM Shop.Item ORDER BY code RETURN *;'
const codes = 'FROM Shop.Item ORDER BY code RETURN code'
const lines = { accept: 'application/x-ndjson' }
const plain = { 'content-type': 'text/plain' }
/** Enough text for a reply of many pieces. */
const longText = 'x'.repeat(100_000)
const longRows = 60
/** No integer of 64 bits holds it for the last object. */
const failing = 'FROM Long RETURN text, n + 18446744073709551615 AS sum'

const query = (body: unknown): Promise<Reply> => server.post(fd.at('/v1/query'), body)
const ask = (text: string, headers: Record<string, string>): Promise<Reply> =>
  server.send('POST', fd.at('/v1/query'), { body: { query: text }, headers })

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'one', '--fd', 'two'] })
  fd = new FdUnderTest(server, 'one')
  await fd.define(
    classOf('Shop.Item', { code: 'integer', name: 'string' }),
    classOf('Long', { text: 'string', n: 'integer' }),
  )
  oids = []
  for (const [code, name] of ['one', 'two', 'three'].entries()) oids.push(await fd.create('Shop.Item', { code, name }))
  for (let row = 1; row <= longRows; row++) await fd.create('Long', { text: longText, n: row === longRows ? 1 : 0 })
})
afterAll(() => server.remove())

rule('2.2.2', 'query and language give a JSON array', async () => {
  const reply = await query({ query: all, language: 'do' })
  expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  expect(reply.json).toEqual(
    ['one', 'two', 'three'].map((name, code) => {
      return { __class__: 'Shop.Item', __identifier__: oids[code], code, name }
    }),
  )
  expect((await query({ query: 'FROM Shop.Item WHERE code > 9 RETURN *' })).text).toBe('[]')
  expect((await query({ query: codes })).text).toBe('[{"code":0},{"code":1},{"code":2}]')
})

rule('2.2.10', 'parameters, exact ones and unlike objects too', async () => {
  const text = 'FROM Shop.Item WHERE code = $code RETURN name, $big AS big'
  const raw = JSON.stringify({ query: text, parameters: { code: 1, big: 0 } }).replace(':0', ':18446744073709551615')
  const reply = await server.send('POST', fd.at('/v1/query'), { raw })
  expect(reply.text).toBe('[{"name":"two","big":18446744073709551615}]')
  const list = [{ a: 1, b: 2 }, { b: 3, a: 4 }, { b: 'x' }]
  const rows = await query({ query: 'FROM $list AS p RETURN p.a AS a, p.b AS b', parameters: { list } })
  expect(rows.text).toBe('[{"a":1,"b":2},{"a":4,"b":3},{"a":null,"b":"x"}]')
})

rule('2.2.2', 'the FD is that of fdAlias', async () => {
  expectProblem(await server.post('/v1/query', { query: all }), 400, 'FederatedDatabaseRequired')
  expectProblem(await server.post('/v1/query?fdAlias=two', { query: all }), 422)
})

rule(['2.2.2', '1.2.9', '1.1.9'], 'what a query does not take', async () => {
  const bodies = [{}, { query: 5 }, { query: '' }, { query: all, parameters: [] }, [], 'FROM']
  for (const body of bodies) expectProblem(await query(body), 400)
  expectProblem(await query({ query: all, limit: 1 }), 400, 'UnknownField')
  expectProblem(await server.post(`${fd.at('/v1/query')}&limit=1`, { query: all }), 400, 'UnknownParameter')
  expectProblem(await server.post(`${fd.at('/v1/query')}&explain=maybe`, { query: all }), 400)
  expectProblem(await server.get(`${fd.at('/v1/schema')}&explain=true`), 400, 'UnknownParameter')
  expectProblem(await server.get(fd.at('/v1/query')), 405, 'MethodNotAllowed')
})

rule(['2.2.2', '1.4.1'], 'errors tell the place in the text', async () => {
  for (const accept of ['application/json', 'application/problem+json', 'application/x-ndjson']) {
    const reply = await ask('FROM Shop.Item\nRETRUN *;', { accept })
    expectProblem(reply, 400, 'QuerySyntaxError')
    expect(reply.json).toMatchObject({ line: 2, column: expect.any(Number), text: expect.any(String) })
  }
  const unknown = await query({ query: 'FROM Shop.Item RETURN\n  nmae' })
  expect(expectProblem(unknown, 422)).toContain('name')
})

rule('2.2.11', 'explain=true: the plan of each statement, none of which is carried out', async () => {
  const before = (await query({ query: codes })).text
  const text = 'DELETE Shop.Item; UPDATE SCHEMA {DROP CLASS Long}; FROM Shop.Item RETURN code'
  for (const value of ['true', '%22true%22']) {
    const reply = await server.post(`${fd.at('/v1/query')}&explain=${value}`, { query: text })
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
    expect(reply.json).toMatchObject([
      { statement: 'DELETE Shop.Item', operator: 'return', inputs: [{ operator: 'delete', class: 'Shop.Item' }] },
      { operator: 'schema' },
      { operator: 'return', inputs: [{ operator: 'extentScan', estimatedRows: 3, candidates: [{ isChosen: true }] }] },
    ])
  }
  expect((await query({ query: codes })).text).toBe(before)
})

rule(
  ['2.2.16', '2.2.11'],
  'explain=analyze: what each operator took, and nothing stays of what was changed',
  async () => {
    const at = `${fd.at('/v1/query')}&explain=analyze`
    const before = (await query({ query: codes })).text
    const text = "UPDATE Shop.Item WHERE code > 0 SET name TO 'x' RETURN code; FROM Shop.Item WHERE name = 'x' RETURN *"
    const reply = await server.post(at, { query: text })
    expect(reply.json, reply.text).toMatchObject([
      { returned: 2, inputs: [{ operator: 'update', returned: 2, inputs: [{ operator: 'filter', returned: 2 }] }] },
      {
        returned: 2,
        milliseconds: expect.any(Number),
        objectsRead: expect.any(Number),
        heldBytesMax: expect.any(Number),
      },
    ])
    expect((await query({ query: codes })).text).toBe(before)
    expectProblem(await server.post(at, { query: 'CREATE INDEX i ON Long (n)' }), 422, 'QueryError')
    expectProblem(await server.post(at, { query: failing }), 422)
    const key = { 'idempotency-key': 'analyzed-once' }
    for (const query of ['DELETE Shop.Item', 'DELETE Long']) {
      expect((await server.send('POST', at, { body: { query }, headers: key })).status).toBe(200)
    }
    expect((await query({ query: codes })).text).toBe(before)
  },
)

rule('2.2.2', 'the row of an index that is created tells where it is', async () => {
  const created = [{ name: 'item.code', uri: '/v1/index/item.code' }]
  const text = 'CREATE INDEX item.code ON Shop.Item (code)'
  const drop = { query: 'DROP INDEX item.code' }
  expect((await query({ query: text })).json).toEqual(created)
  expect((await server.get(fd.at('/v1/index/item.code'))).json).toMatchObject(created[0] as object)
  expect((await query(drop)).json).toEqual([])
  expect((await query({ query: `SHOW 1; ${text}` })).json).toEqual(created)
  await query(drop)
  const batch = [{ method: 'POST', uri: '/v1/query', body: { query: text } }]
  expect((await server.post(fd.at('/v1/transaction'), batch)).json).toMatchObject([{ result: created }])
  await query(drop)
})

rule('2.2.40', 'a source may have an alias', async () => {
  for (const source of ['Shop.Item i', 'Shop.Item AS i']) {
    const reply = await query({
      query: `FROM ${source} WHERE i.code = 1 AND code = 1 RETURN i.name AS name, i = $$ID AS is`,
    })
    expect(reply.json).toEqual([{ name: 'two', is: true }])
  }
  const hidden = await query({ query: 'FROM Shop.Item code WHERE code.code = 1 RETURN code.name AS name' })
  expect(hidden.json).toEqual([{ name: 'two' }])
})

rule('2.2.41', 'shapes show what columns refer to', async () => {
  const at = await server.get(fd.at(`/v1/object/${oids[1]}`))
  const reply = await query({
    query:
      'FROM Shop.Item i WHERE code = 1 RETURN $$ID{name, i.code AS c}, (LOOKUP Shop.Item WHERE code = 1){*} AS whole, (LOOKUP Shop.Item WHERE code = 99){code} AS none, (FROM Shop.Item RETURN *){code WHERE code > 0 ORDER BY code DESC TAKE 1} AS last',
  })
  expect(reply.json).toEqual([{ $$ID: { name: 'two', c: 1 }, whole: at.json, none: null, last: [{ code: 2 }] }])
  for (const shape of ['code{name}', '$$ID{name, name}', '$$ID{*, code}']) {
    expectProblem(await query({ query: `FROM Shop.Item RETURN ${shape}` }), 422, 'QueryError')
  }
})

rule('2.2.42', 'a statement within another sees its aliases', async () => {
  const reply = await query({
    query: `FROM Shop.Item i WHERE EXISTS(FROM Shop.Item j WHERE j.code > i.code) AND NOT EXISTS(MATCH (k:Shop.Item) WHERE k.code < i.code)
      RETURN (FROM Shop.Item j WHERE j.code >= i.code ORDER BY code RETURN code) AS codes,
        (FROM Shop.Item j WHERE j.code > i.code ORDER BY code RETURN code, name) AS more,
        (FROM Shop.Item j WHERE j.code > i.code RETURN SUM(code)) AS sum, (LOOKUP Shop.Item j WHERE j.code = i.code) = i AS own`,
  })
  const more = [
    { code: 1, name: 'two' },
    { code: 2, name: 'three' },
  ]
  expect(reply.json).toEqual([{ codes: [0, 1, 2], more, sum: 3, own: true }])
  const one = 'FROM Shop.Item i WHERE code = (FROM Shop.Item j WHERE j.code'
  expect((await query({ query: `${one} = i.code + 1 RETURN j.code) RETURN code` })).json).toEqual([])
  expectProblem(await query({ query: `${one} >= i.code RETURN j.code) RETURN code` }), 422, 'QueryError')
})

rule('2.2.43', 'several sources, and rows as a source', async () => {
  const joined =
    'FROM Shop.Item i, Shop.Item j WHERE j.code = i.code + 1 ORDER BY i.code RETURN i.code AS one, j.code AS next'
  expect((await query({ query: joined })).json).toEqual([
    { one: 0, next: 1 },
    { one: 1, next: 2 },
  ])
  const rows = 'FROM (FROM Shop.Item RETURN code, name) AS r WHERE r.code > 1 RETURN *'
  expect((await query({ query: rows })).json).toEqual([{ code: 2, name: 'three' }])
  const given = await query({
    query: 'FROM $rows AS r, Shop.Item i WHERE i.code = r.n RETURN *',
    parameters: { rows: [{ n: 2 }] },
  })
  const object = await server.get(fd.at(`/v1/object/${oids[2]}`))
  expect(given.json).toEqual([{ r: { n: 2 }, i: object.json }])
  expectProblem(await query({ query: 'FROM Shop.Item i, Shop.Item j WHERE code = 1 RETURN *' }), 422, 'QueryError')
  const many = Array.from({ length: 17 }, (_, i) => `Shop.Item i${i}`).join()
  expectProblem(await query({ query: `FROM ${many} RETURN *` }), 400, 'QuerySyntaxError')
})

rule('2.2.44', 'WITH names rows for a statement', async () => {
  const text = `WITH few AS (FROM Shop.Item WHERE code < 2 RETURN code, name), least AS (FROM few RETURN MIN(code) AS code)
    FROM few, least WHERE few.code > least.code RETURN few.name AS name`
  expect((await query({ query: text })).json).toEqual([{ name: 'two' }])
  const hidden = 'WITH Item AS (FROM Long WHERE n = 1 RETURN n) FROM Item RETURN *'
  expect((await query({ query: hidden })).json).toEqual([{ n: 1 }])
  expectProblem(await query({ query: `${hidden}; FROM few RETURN *` }), 422, 'QueryError')
})

rule('2.2.17', 'format=text: plans as an indented tree', async () => {
  const at = `${fd.at('/v1/query')}&explain=true`
  const reply = await server.post(`${at}&format=text`, {
    query: 'FROM Shop.Item WHERE code = 1 ORDER BY name RETURN name',
  })
  expect([reply.status, reply.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(reply.text).toBe(
    [
      'Return',
      '  Columns: name',
      '  ->  Sort',
      '        By: name',
      '        ->  Filter',
      '              Predicate: code = 1',
      '              ->  Extent scan on Shop.Item  (estimated rows=3)',
      '                    Candidate: Extent scan on Shop.Item  (estimated rows=3), chosen',
      '',
    ].join('\n'),
  )
  const refused = { body: { query: codes }, headers: { accept: 'application/json' } }
  expectProblem(await server.send('POST', `${at}&format=text`, refused), 406, 'NotAcceptable')
  expect(expectProblem(await server.post(`${fd.at('/v1/query')}&format=text`, { query: codes }), 400)).toContain(
    'format',
  )
})

rule(['2.2.11', '2.2.16', '2.2.17'], 'plans tell the index that would help, in JSON and as text', async () => {
  const made = await query({
    query: 'UPDATE SCHEMA { CREATE CLASS Many {n: Integer} }; FOR EACH n IN $all => (CREATE Many {n: $n})',
    parameters: { all: Array.from({ length: 1_000 }, (_, n) => n) },
  })
  expect(made.status).toBe(200)
  const hint = 'CREATE INDEX manyN ON Many (n)'
  for (const explain of ['true', 'analyze']) {
    const at = `${fd.at('/v1/query')}&explain=${explain}`
    const text = 'FROM Many WHERE n = 7 RETURN n'
    expect((await server.post(at, { query: text })).text).toContain(`"hint":"${hint}"`)
    expect((await server.post(`${at}&format=text`, { query: text })).text).toContain(`Hint: ${hint}\n`)
  }
  expect((await query({ query: hint })).status).toBe(200)
  const plan = await server.post(`${fd.at('/v1/query')}&explain=analyze`, { query: 'FROM Many WHERE n = 7 RETURN n' })
  expect(plan.text).not.toContain('"hint"')
  expect(plan.json).toEqual([expect.objectContaining({ entriesCounted: 1, objectsRead: 1 })])
})

rule(['2.2.16', '2.2.17'], 'plans in a transaction are JSON, and of what reads where they are analyzed', async () => {
  const run = (parameters: string, text: string): Promise<Reply> => {
    const operation = { method: 'POST', uri: `/v1/query?${parameters}`, body: { query: text } }
    return server.post(fd.at('/v1/transaction'), [operation])
  }
  expect((await run('explain=true', 'DELETE Shop.Item')).json).toMatchObject([{ result: [{ operator: 'return' }] }])
  expect((await run('explain=analyze', codes)).json).toMatchObject([{ result: [{ operator: 'return', returned: 3 }] }])
  expectProblem(await run('explain=analyze', 'DELETE Shop.Item'), 422, 'QueryError')
  expectProblem(await run('explain=true&format=text', codes), 400)
  expect((await query({ query: codes })).json).toHaveLength(3)
})

rule('2.2.6', 'the language', async () => {
  for (const language of ['do', 'DO', 'Do']) expect((await query({ query: codes, language })).status).toBe(200)
  for (const language of ['sql', '', 'do ', null, 1]) expectProblem(await query({ query: codes, language }), 400)
})

rule('2.2.7', 'the statement as text', async () => {
  const url = fd.at('/v1/query')
  const expected = (await query({ query: codes })).text
  for (const contentType of ['text/plain', 'Text/Plain; charset=utf-8']) {
    const reply = await server.send('POST', url, { raw: codes, headers: { 'content-type': contentType } })
    expect([reply.status, reply.text]).toEqual([200, expected])
  }
  const raw = gzipSync("FROM Shop.Item WHERE name = 'é' RETURN *")
  const packed = await server.send('POST', url, { raw, headers: { ...plain, 'content-encoding': 'GZIP' } })
  expect([packed.status, packed.text]).toEqual([200, '[]'])
  for (const bad of ['', Buffer.from([0xff, 0xfe])]) {
    expectProblem(await server.send('POST', url, { raw: bad, headers: plain }), 400)
  }
  for (const contentType of ['text/html', 'application/sql', 'text/plain; charset=utf-16']) {
    const headers = { 'content-type': contentType }
    expectProblem(await server.send('POST', url, { raw: codes, headers }), 415, 'UnsupportedMediaType')
  }
  expectProblem(await server.send('POST', fd.at('/v1/object'), { raw: codes, headers: plain }), 415)
})

rule('2.2.8', 'one row a line', async () => {
  const reply = await ask(codes, lines)
  expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
  expect(reply.text).toBe('{"code":0}\n{"code":1}\n{"code":2}\n')
  expect((await ask('FROM Shop.Item WHERE code > 9 RETURN *', lines)).text).toBe('')
  expect((await ask(codes, { accept: 'application/x-ndjson;q=0.5, application/json' })).text).toMatch(/^\[/)
  expect((await ask(codes, { accept: 'application/x-ndjson, */*;q=0.1' })).text).toBe(reply.text)
  expectProblem(await ask(codes, { accept: 'text/html' }), 406, 'NotAcceptable')
  expectProblem(await server.send('GET', fd.at('/v1/schema'), { headers: lines }), 406, 'NotAcceptable')
})

rule(['2.2.2', '2.2.8', '1.2.12'], 'long replies, compressed and not', async () => {
  const text = 'FROM Long ORDER BY n RETURN text, n'
  const array = (await ask(text, {})).json
  expect(array).toHaveLength(longRows)
  const rows = (await ask(text, lines)).text.trimEnd().split('\n')
  expect(rows.map((row) => JSON.parse(row))).toEqual(array)
  const packed = await ask(text, { ...lines, 'accept-encoding': 'gzip' })
  expect(packed.headers['content-encoding']).toBe('gzip')
  expect(packed.bytes.length).toBeLessThan(longRows * 2_000)
  expect(gunzipSync(packed.bytes).toString().trimEnd().split('\n')).toEqual(rows)
})

rule('1.4.11', 'what fails after the reply began', async () => {
  await expect(ask(failing, {})).rejects.toMatchObject({ code: 'ECONNRESET' })
  await expect(ask(failing, { 'accept-encoding': 'gzip' })).rejects.toMatchObject({ code: 'ECONNRESET' })
  const reply = await ask(failing, lines).catch((error: Error) => error)
  const rows = (reply as Reply).text.trimEnd().split('\n')
  expect(rows).toHaveLength(longRows)
  for (const row of rows.slice(0, -1)) expect(JSON.parse(row).text).toBe(longText)
  const { error } = JSON.parse(rows.at(-1) ?? '')
  expect(error).toMatchObject({ type: expect.any(String), status: 422, message: expect.any(String) })
  const client = new AshlarClient({ baseUrl: server.url, fdAlias: 'one' })
  let read = 0
  const reading = (async () => {
    for await (const _ of client.queryStream(failing)) read++
  })()
  await expect(reading).rejects.toMatchObject({ status: 422, type: error.type })
  expect(read).toBe(longRows - 1)
  // The server goes on.
  expect((await query({ query: codes })).status).toBe(200)
})

rule('2.2.15', "rows in the original's dialect", async () => {
  const dialect = 'objectivity'
  const classed = [0, 1, 2].map((code) => ({ __class__: '_Projection', code }))
  const reply = await query({ query: codes, dialect })
  expect(reply.text).toBe(JSON.stringify(classed))
  expect((await query({ query: codes, dialect: 'ashlar' })).json).toEqual([{ code: 0 }, { code: 1 }, { code: 2 }])
  expect((await query({ query: all, dialect })).json[0]).toEqual({
    __class__: 'Shop.Item',
    __identifier__: oids[0],
    code: 0,
    name: 'one',
  })
  const path = `${fd.at('/v1/query')}&dialect=${dialect}`
  const text = await server.send('POST', path, { raw: codes, headers: { ...plain, ...lines } })
  expect(text.text).toBe(`${classed.map((row) => JSON.stringify(row)).join('\n')}\n`)
  const uri = `/v1/query?dialect=${dialect}`
  const operations = [
    { method: 'POST', uri: '/v1/query', body: { query: codes, dialect } },
    { method: 'POST', uri, body: { query: codes } },
  ]
  const batch = (await server.post(fd.at('/v1/transaction'), operations)).json
  expect(batch).toEqual([classed, classed].map((result) => ({ responseCode: '200', result })))
  expectProblem(await query({ query: codes, dialect: 'sql' }), 400, 'MalformedRequest')
  expectProblem(await server.send('POST', fd.at('/v1/query?dialect=sql'), { raw: codes, headers: plain }), 400)
  expectProblem(await query({ query: 'FROM Long RETURN n AS __class__', dialect }), 422, 'QueryError')
})

rule('2.2.15', "MATCH in the original's dialect walks", async () => {
  const graph = new FdUnderTest(server, 'two')
  await graph.define(classOf('Node', { next: { logicalType: 'reference', referencedClass: 'Node' } }))
  const oid = await graph.create('Node')
  await graph.putObject(oid, { next: oid })
  const body = { query: 'MATCH (n:Node)-->(m) RETURN COUNT() AS n' }
  expect((await server.post(graph.at('/v1/query'), body)).json).toEqual([{ n: 0 }])
  const classed = [{ __class__: '_Projection', n: 1 }]
  expect((await server.post(graph.at('/v1/query'), { ...body, dialect: 'objectivity' })).json).toEqual(classed)
})

rule('2.2.50', 'predicates that are words', async () => {
  const codes = async (where: string): Promise<unknown> => {
    return (await query({ query: `FROM Shop.Item WHERE ${where} ORDER BY code RETURN code` })).json
  }
  expect(await codes("name LIKE 't%' AND code <> 2")).toEqual([{ code: 1 }])
  expect(await codes('code BETWEEN 1 AND 2 AND code NOT IN (2, 5)')).toEqual([{ code: 1 }])
  expect(await codes("name ILIKE 'T_O' AND code IS NOT NULL AND EXISTS(name)")).toEqual([{ code: 1 }])
  expectProblem(await query({ query: 'FROM Shop.Item WHERE code IN () RETURN *' }), 400, 'QuerySyntaxError')
  expectProblem(await query({ query: "FROM Shop.Item WHERE code LIKE '1' RETURN *" }), 422, 'QueryError')
  const shown = await query({
    query: "SHOW LIST{1 IN (LIST{1, 2}), 1 IN (1, null), null IN (1, 2), 'a%' LIKE 'a\\\\%'}",
  })
  expect(shown.json).toEqual([[true, true, null, true]])
  for (const list of ['(1, null)', 'LIST{1, null}', '(FROM (LIST{1, null}) AS x RETURN x)', '$list']) {
    const reply = await query({ query: `SHOW LIST{3 IN ${list}, 3 NOT IN ${list}}`, parameters: { list: [1, null] } })
    expect({ list, reply: reply.json }).toEqual({ list, reply: [[null, null]] })
  }
})

rule('2.2.61', 'numbers as texts have them', async () => {
  const texts = ['.097', '5.', '+5', '-.5', ' 007.50 ', '1e3', '.', '', '1,5', '+']
  const { json } = await query({ query: 'FROM $texts AS t RETURN CAST(t AS Real) AS x', parameters: { texts } })
  expect((json as { readonly x: unknown }[]).map(({ x }) => x)).toEqual([
    ...[0.097, 5, 5, -0.5, 7.5, 1000],
    ...[null, null, null, null],
  ])
  const whole = await query({
    query: "SHOW LIST{CAST('+5' AS Integer), CAST('007' AS Integer), CAST('5.5' AS Integer)}",
  })
  expect(whole.json).toEqual([[5, 7, null]])
})

rule('2.2.51', 'CASE, DISTINCT and the names of columns', async () => {
  const text = "CASE WHEN code > 1 THEN 'late' ELSE 'early' END"
  const reply = await query({ query: `FROM Shop.Item RETURN DISTINCT ${text} AS part ORDER BY part` })
  expect(reply.json).toEqual([{ part: 'early' }, { part: 'late' }])
  const counted = await query({
    query: `FROM Shop.Item RETURN COUNT(DISTINCT CASE code WHEN 0 THEN 1 ELSE 2 END) AS n`,
  })
  expect(counted.json).toEqual([{ n: 2 }])
  const ordered = await query({ query: 'FROM Shop.Item ORDER BY back RETURN 0 - code AS back TAKE 1' })
  expect(ordered.json).toEqual([{ back: -2 }])
  for (const wrong of ["CASE WHEN true THEN 1 ELSE 'a' END", 'DISTINCT name ORDER BY code']) {
    expectProblem(await query({ query: `FROM Shop.Item RETURN ${wrong}` }), 422, 'QueryError')
  }
})

rule('2.2.51', 'a constant alone orders and groups nothing', async () => {
  for (const clause of ['ORDER BY $by', 'ORDER BY 1', 'GROUP BY $by', "GROUP BY 'code'", 'ORDER BY 1 + 1']) {
    const reply = await query({ query: `FROM Shop.Item ${clause} RETURN COUNT() AS n`, parameters: { by: 'code' } })
    expectProblem(reply, 422, 'QueryError')
  }
})

rule('2.2.58', 'an attribute beside an aggregate takes a GROUP BY', async () => {
  const text = 'SELECT name, COUNT(*) AS n FROM Shop.Item'
  expect(expectProblem(await query({ query: text }), 422, 'QueryError')).toContain('add GROUP BY name for one row each')
  expect((await query({ query: `${text} GROUP BY name ORDER BY name TAKE 1` })).json).toEqual([{ name: 'one', n: 1 }])
  const first = await query({ query: text, dialect: 'objectivity' })
  expect(first.json).toEqual([{ __class__: '_Projection', name: 'one', n: 3 }])
  expectProblem(await query({ query: 'FROM Shop.Item ORDER BY name RETURN COUNT(*)' }), 422, 'QueryError')
  const grouped = await query({ query: 'FROM Shop.Item GROUP BY code > 0 ORDER BY n RETURN name, COUNT(*) AS n' })
  expect(grouped.json).toEqual([
    { name: 'one', n: 1 },
    { name: 'two', n: 2 },
  ])
})

rule('2.2.59', 'a name that is written twice in a pattern is one vertex in every mode', async () => {
  const graph = new FdUnderTest(server, 'two')
  await graph.define(classOf('Ring', { onward: { logicalType: 'reference', referencedClass: 'Ring' } }))
  const [one, other] = [await graph.create('Ring'), await graph.create('Ring')]
  await graph.putObject(one, { onward: other })
  await graph.putObject(other, { onward: one })
  const count = async (pattern: string): Promise<unknown> => {
    return (await server.post(graph.at('/v1/query'), { query: `MATCH ${pattern} RETURN COUNT(*) AS n` })).json
  }
  for (const mode of ['', 'ACYCLIC', 'SIMPLE', 'TRAIL', 'WALK']) {
    expect({ mode, found: await count(`${mode} (a:Ring)-[:onward]->(b)-[:onward]->(a)`) }).toEqual({
      mode,
      found: [{ n: 2 }],
    })
  }
  expect(await count('(a:Ring)-[:onward]->(b)-[:onward]->(c) WHERE c = a')).toEqual([{ n: 0 }])
  expect(await count('SIMPLE (a:Ring)-[:onward]->(b)-[:onward]->(c) WHERE c = a')).toEqual([{ n: 2 }])
})

rule('2.2.52', 'clauses behind RETURN, and times without seconds', async () => {
  const reply = await query({ query: 'FROM Shop.Item RETURN code ORDER BY code DESC SKIP 1 TAKE 1' })
  expect(reply.json).toEqual([{ code: 1 }])
  expect((await query({ query: 'SHOW 08:05' })).json).toEqual(['08:05:00'])
})

rule('2.2.53', 'only some objects are changed', async () => {
  const { json } = await query({
    query: "UPDATE Shop.Item ORDER BY code DESC TAKE 1 SET name TO CONCAT(name, '') RETURN code",
  })
  expect(json).toEqual([{ code: 2 }])
  const text = 'CREATE Shop.Item {code: 50}; CREATE Shop.Item {code: 51}; DELETE Shop.Item WHERE code >= 50'
  expect((await query({ query: `${text} ORDER BY code TAKE 1 RETURN code` })).json).toEqual([{ code: 50 }])
  expect((await query({ query: 'DELETE Shop.Item WHERE code >= 50 RETURN code' })).json).toEqual([{ code: 51 }])
})

rule('2.2.54', 'window functions', async () => {
  const reply = await query({
    query:
      'FROM Shop.Item ORDER BY code RETURN RANK() OVER (ORDER BY code DESC) AS rank, LAG(code) OVER (ORDER BY code) AS before',
  })
  expect(reply.json).toEqual([
    { rank: 3, before: null },
    { rank: 2, before: 0 },
    { rank: 1, before: 1 },
  ])
  expectProblem(await query({ query: 'FROM Shop.Item WHERE RANK() OVER () = 1 RETURN *' }), 422, 'QueryError')
})

rule('2.2.55', 'UNION', async () => {
  const parts = 'FROM Shop.Item WHERE code = 0 RETURN code AS n'
  expect(
    (await query({ query: `${parts} UNION ${parts} UNION FROM Shop.Item RETURN code ORDER BY n TAKE 2` })).json,
  ).toEqual([{ n: 0 }, { n: 1 }])
  expect((await query({ query: `${parts} UNION ALL ${parts}` })).json).toEqual([{ n: 0 }, { n: 0 }])
  expectProblem(await query({ query: `${parts} UNION FROM Shop.Item RETURN code, code` }), 422, 'QueryError')
  expectProblem(await query({ query: `${parts} ORDER BY n UNION ${parts}` }), 400, 'QuerySyntaxError')
})

rule('2.2.56', 'which paths are taken between two vertices', async () => {
  const schema = 'UPDATE SCHEMA {CREATE CLASS Stop {name: String, to: List{Element: Reference{Referenced: Stop}}}}'
  expect((await query({ query: schema })).status).toBe(200)
  // Two ways of two edges from a to d, one of three.
  const stops = ["LET d = CREATE Stop {name: 'd'}", "LET x = CREATE Stop {name: 'x', to: LIST{$d}}"]
  const others = ["LET b = CREATE Stop {name: 'b', to: LIST{$d, $x}}", "LET c = CREATE Stop {name: 'c', to: LIST{$d}}"]
  await query({ query: [...stops, ...others, "CREATE Stop {name: 'a', to: LIST{$b, $c}}"].join('; ') })
  const lengths = async (paths: string, where = ''): Promise<unknown> => {
    const text = `MATCH p = ${paths} (a:Stop {name: 'a'})-[:to*1..4]->(d:Stop {name: 'd'}) ${where} RETURN LENGTH(p) AS n ORDER BY n`
    const rows = (await query({ query: text })).json as readonly { readonly n: number }[]
    return rows.map(({ n }) => n)
  }
  expect(await lengths('')).toEqual([2, 2, 3])
  expect(await lengths('ANY')).toHaveLength(1)
  expect(await lengths('ANY SHORTEST')).toEqual([2])
  expect(await lengths('ALL SHORTEST')).toEqual([2, 2])
  expect(await lengths('SHORTEST 3')).toEqual([2, 2, 3])
  expect(await lengths('ALL SHORTEST TRAIL', 'WHERE LENGTH(p) > 2')).toEqual([])
  expectProblem(await query({ query: 'MATCH SHORTEST 0 (a:Stop)-->(b) RETURN a' }), 400, 'QuerySyntaxError')
})

rule('2.2.57', 'what may be missing is null', async () => {
  const text =
    'MATCH (i:Shop.Item) OPTIONAL MATCH (l:Long {n: 1}) WHERE i.code = 0 RETURN i.code AS code, l.n AS n ORDER BY code'
  expect((await query({ query: text })).json).toEqual([
    { code: 0, n: 1 },
    { code: 1, n: null },
    { code: 2, n: null },
  ])
})
