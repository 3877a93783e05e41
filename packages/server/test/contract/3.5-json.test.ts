/** Values of type json over HTTP: in and out with their order and digits, on every way in. */
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, embedded, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import type { Reply } from './server-under-test.ts'
import { startTypesUnderTest, type TypesUnderTest } from './types-under-test.ts'

let types: TypesUnderTest
beforeAll(async () => {
  types = await startTypesUnderTest()
  await types.fd.define(
    classOf('Part', { data: 'json', name: 'string' }, embedded),
    classOf('Doc', {
      j: 'json',
      name: 'string',
      all: list('json'),
      part: { logicalType: 'object', class: 'Part' },
      parts: list({ logicalType: 'object', class: 'Part' }),
      other: reference('Doc'),
    }),
    classOf('Plain', { name: 'string' }),
  )
})
afterAll(() => types.server.remove())

/** What plain values would not keep: digits, names that look like numbers before others, text of numbers beyond a double. */
const odd = '{"b":1.50,"2":1e3,"1":-0,"a":[12345678901234567890123,0.1000,{"z":null,"10":{},"9":[]}],"":"\\u0041/\\/"}'
const spaced = odd.replaceAll(',', ' ,\n\t').replaceAll(':', ' : ')

const post = (path: string, raw: string, headers: Record<string, string> = {}, more = ''): Promise<Reply> =>
  types.server.send('POST', `${types.fd.at(path)}${more}`, { raw, headers })

async function textOf(oid: string, name = 'j'): Promise<string> {
  const { text } = await types.server.get(types.fd.at(`/v1/object/${oid}`))
  const from = text.indexOf(`"${name}":`) + name.length + 3
  return text.slice(from)
}

async function created(raw: string): Promise<string> {
  const reply = await post('/v1/object', raw)
  expect(reply.status, reply.text).toBe(201)
  return reply.json.__identifier__
}

rule('3.5.1', 'any value, shown with its order and digits as they were given', async () => {
  const json = { logicalType: 'json' }
  await types.shows(json, {
    [spaced]: odd,
    '1.50': '1.50',
    '-0': '-0',
    '1e400': '1e400',
    '123456789012345678901234567890.10': '123456789012345678901234567890.10',
    '"x"': '"x"',
    '"\\ud83d\\ude00"': '"\\ud83d\\ude00"',
    true: 'true',
    '[]': '[]',
    '[ { } , [ ] ]': '[{},[]]',
    null: 'null',
    '{"attributes":{"a":1}}': '{"attributes":{"a":1}}',
    '{"__proto__":1,"constructor":2}': '{"__proto__":1,"constructor":2}',
    '{"action":"add","elements":[1]}': '{"action":"add","elements":[1]}',
  })
  expect(await types.defaultOf(json)).toBeNull()
  await types.refusesDefinition({ ...json, encoding: 'utf8' }, { ...json, storage: 'variable' })
  const name = await types.classWith(json)
  expect((await types.server.get(types.fd.at(`/v1/schema/${name}`))).json.attributes).toEqual([
    { attributeName: 'a', logicalType: 'json' },
  ])
})

rule('3.5.2', 'a name twice, half a surrogate pair, too deep and too long', async () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  const long = (bytes: number): string => `"${'é'.repeat((bytes - 2) / 2)}"`
  await types.refuses(
    { logicalType: 'json' },
    422,
    '{"a":1,"a":2}',
    '[{"b":{"a":1,"c":2,"a":1}}]',
    '{"a":1,"\\u0061":2}',
    '"\\ud83d"',
    '["a\\ude00"]',
    '{"\\ud83d":1}',
    long(2 ** 20 + 2),
  )
  await types.shows({ logicalType: 'json' }, { [long(2 ** 20)]: long(2 ** 20), [deep(62)]: deep(62) })
  const tooDeep = await post('/v1/object', `{"class":"Doc","attributes":{"j":${deep(63)}}}`)
  expect(expectProblem(tooDeep, 400, 'MalformedRequest')).toContain('jsonDepthMax')
})

rule('3.5.1', 'within lists and embedded objects, and in arrays of objects', async () => {
  const attributes = `{"name":"x","all":[${spaced},1.50,"a"],"part":{"name":"y","data":${spaced}},"parts":[{"data":1.0},{"name":"z"},{"data":${odd}}]}`
  const shown = `[${odd},1.50,"a"],"part":{"data":${odd},"name":"y"},"parts":[{"data":1.0,"name":""},{"data":null,"name":"z"},{"data":${odd},"name":""}],"other":"0-0-0-0"}`
  expect(await textOf(await created(`{"class":"Doc","attributes":${attributes}}`), 'all')).toBe(shown)
  const bodies = `[{"class":"Plain","attributes":{"name":"p"}},{"class":"Doc"},{"attributes":${attributes},"class":"Doc"},{"class":"Doc","attributes":{"j":${odd}}}]`
  const reply = await post('/v1/object', bodies)
  expect(reply.status, reply.text).toBe(201)
  const oids = reply.json.map((one: { __identifier__: string }) => one.__identifier__)
  expect(await textOf(oids[2], 'all')).toBe(shown)
  expect((await textOf(oids[3])).startsWith(`${odd},`)).toBe(true)
  const many = Array.from(
    { length: 2_000 },
    (_, i) => `{"class":"Doc","attributes":{"name":"m${i}","j":{"2":${i}.50,"1":${i}}}}`,
  )
  const all = await post('/v1/object', `[${many.join(',\n')}]`)
  expect(all.status, all.text).toBe(201)
  expect((await textOf(all.json[1_999].__identifier__)).startsWith('{"2":1999.50,"1":1999},')).toBe(true)
  const added = await created(`{"class":"Doc","attributes":{"all":{"elements":[1.0]}}}`)
  const change = `{"attributes":{"all":{"action":"add","elements":[{"2":1,"1":2}]}}}`
  expect((await types.server.send('PUT', types.fd.at(`/v1/object/${added}`), { raw: change })).status).toBe(204)
  expect((await textOf(added, 'all')).startsWith('[1.0,{"2":1,"1":2}],')).toBe(true)
})

rule('3.5.1', 'in lines', async () => {
  const lines = [
    `{"class":"Doc","attributes":{"name":"l1","j":${odd}}}`,
    `{"method":"post","uri":"/v1/object","body":{"class":"Doc","attributes":{"name":"l2","j":1.50}}}`,
    `{"class":"Doc","attributes":{"name":"l3","j":{"a":1,"a":2}}}`,
  ]
  const ndjson = { 'content-type': 'application/x-ndjson' }
  const reply = await post('/v1/object', lines.join('\n'), ndjson, '&onError=skip')
  expect(reply.status, reply.text).toBe(200)
  const [first, second, third] = reply.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect((await textOf(first.__identifier__)).startsWith(`${odd},`)).toBe(true)
  expect((await textOf(second.__identifier__)).startsWith('1.50,')).toBe(true)
  expect(third.error).toMatchObject({ type: 'ValueNotAllowed', status: 422 })
  const change = `{"method":"put","uri":"/v1/object/${first.__identifier__}","body":{"attributes":{"j":[1.0]}}}`
  await post('/v1/object', `${change}\n${lines[0]}`, ndjson, '&atomic=true')
  expect((await textOf(first.__identifier__)).startsWith('[1.0],')).toBe(true)
  const count = 600
  const atomic = Array.from(
    { length: count },
    (_, i) => `{"class":"Doc","attributes":{"name":"a${i}","j":{"2":1.${i}0}}}`,
  )
  const loaded = await post('/v1/object', atomic.join('\n'), ndjson, '&atomic=true')
  const last = JSON.parse(loaded.text.trim().split('\n')[count - 1] as string)
  expect((await textOf(last.__identifier__)).startsWith(`{"2":1.${count - 1}0},`)).toBe(true)
})

rule('3.5.3', 'references to objects of the same request are replaced', async () => {
  const steps = `[
    {"method":"post","uri":"/v1/object","id":"x","body":{"class":"Doc","attributes":{"j":"\${x}"}}},
    {"method":"post","uri":"/v1/object","body":{"class":"Doc","attributes":{"other":"\${x}","j":{"2":1.50,"1":["\${x}","$\${x}","\${y}","a\${x}"],"\${x}":1}}}},
    {"method":"post","uri":"/v1/query","body":{"query":"CREATE Doc {j: $p}","parameters":{"p":{"2":1.0,"1":"\${x}"}}}}]`
  const reply = await post('/v1/transaction', steps)
  expect(reply.status, reply.text).toBe(200)
  const [x, y] = reply.json.map(({ result }: { result: { __identifier__: string } }) => result.__identifier__)
  expect((await textOf(x)).startsWith('"$'.concat('{x}",'))).toBe(true)
  expect((await textOf(y)).startsWith(`{"2":1.50,"1":["${x}","\${x}","\${y}","a\${x}"],"\${x}":1},`)).toBe(true)
  const byQuery = reply.json[2].result[0].__identifier__
  expect((await textOf(byQuery)).startsWith(`{"2":1.0,"1":"${x}"},`)).toBe(true)
  const lines = `{"class":"Doc","attributes":{"name":"n1"},"id":"n"}\n{"class":"Doc","attributes":{"j":{"2":1.50,"1":"\${n}"}}}`
  const bulk = await post('/v1/object', lines, { 'content-type': 'application/x-ndjson' })
  const [n, m] = bulk.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).__identifier__)
  expect((await textOf(m)).startsWith(`{"2":1.50,"1":"${n}"},`)).toBe(true)
})

rule('3.5.4', 'changed as a whole, no key', async () => {
  const oid = await created(`{"class":"Doc","attributes":{"j":{"a":1,"b":2},"part":{"data":{"a":1},"name":"n"}}}`)
  const put = (raw: string): Promise<Reply> => types.server.send('PUT', types.fd.at(`/v1/object/${oid}`), { raw })
  expect((await put('{"attributes":{"j":{"a":2.0},"part":{"data":[2.0]}}}')).status).toBe(204)
  expect((await textOf(oid)).startsWith('{"a":2.0},')).toBe(true)
  expect((await textOf(oid, 'part')).startsWith('{"data":[2.0],"name":"n"},')).toBe(true)
  expect((await put('{"attributes":{"j":null}}')).status).toBe(204)
  expect((await textOf(oid)).startsWith('null,')).toBe(true)
  const index = { name: 'byJ', indexedClass: 'Doc', isUnique: false, keyAttributes: [{ attributeName: 'j' }] }
  const refused = await types.server.post(types.fd.at('/v1/index'), index)
  expect(expectProblem(refused, 422, 'AttributeNotIndexable')).toContain('json')
  const wrong = await put('{"attributes":{"part":{"data":{"a":{"b":1,"b":1}}}}}')
  expect(expectProblem(wrong, 422, 'ValueNotAllowed')).toContain("'Doc'".slice(1, -1))
  expect(wrong.json.errors[0].pointer).toBe('/attributes/part/data')
})

const ask = async (query: string, parameters: object = {}): Promise<Reply> => {
  const raw = `{"query":${JSON.stringify(query)},"parameters":${typeof parameters === 'string' ? parameters : JSON.stringify(parameters)}}`
  const reply = await post('/v1/query', raw)
  expect(reply.status, reply.text).toBe(200)
  return reply
}

rule('3.5.5', 'JSON, single values and parameters where json is expected', async () => {
  const made = await post('/v1/query', `{"query":"CREATE Doc {name: 'p', j: $p}","parameters":{"p":${spaced}}}`)
  expect(made.status, made.text).toBe(200)
  expect((await textOf(made.json[0].__identifier__)).startsWith(`${odd},`)).toBe(true)
  const rows = `FOR EACH $row IN $rows => (CREATE Doc {name: 'each', j: $row.data})`
  const all = await post(
    '/v1/query',
    `{"query":"${rows}","parameters":{"rows":[{"data":{"2":1.50,"1":2}},{"data":{"2":3,"1":4.0}}]}}`,
  )
  expect(all.status, all.text).toBe(200)
  expect((await ask("FROM Doc WHERE name = 'each' ORDER BY $$ID RETURN j")).text).toBe(
    '[{"j":{"2":1.50,"1":2}},{"j":{"2":3,"1":4.0}}]',
  )
  await ask(`CREATE Doc {name: 't', j: JSON('{"2": 1.50, "1": [1, "x"]}')}; CREATE Doc {name: 't', j: 'text'}`)
  expect((await ask("FROM Doc WHERE name = 't' ORDER BY $$ID RETURN j")).text).toBe(
    '[{"j":{"2":1.50,"1":[1,"x"]}},{"j":"text"}]',
  )
})

rule(['3.5.6', '3.5.7', '3.5.8'], 'paths, comparison and CAST', async () => {
  await ask(`CREATE Doc {name: 'path', j: JSON('{"a": {"b c": [1, {"d": 2.50}, "x"]}}')}`)
  const from = "FROM Doc WHERE name = 'path'"
  expect(
    (await ask(`${from} RETURN j.a['b c'][1] AS one, j.a['b c'][-1] AS last, j.a.b AS none, j[0] AS no`)).text,
  ).toBe('[{"one":{"d":2.50},"last":"x","none":null,"no":null}]')
  const test = `j.a['b c'][0] = 1.0 AND j.a['b c'][1].d IN (3, 2.5) AND j.a['b c'] = JSON('[1.0,{"d":25e-1},"x"]')`
  expect((await ask(`${from} AND ${test} AND CAST(j.a['b c'][0] AS Integer) < 2 RETURN name`)).json).toHaveLength(1)
  expect((await ask(`${from} RETURN CAST(j.a['b c'][2] AS String) AS s, CAST(j.a AS Integer) AS i`)).json).toEqual([
    { s: 'x', i: null },
  ])
  const decimals = "CAST(j.a['b c'][1].d AS Decimal) AS d, CAST(j.a['b c'][2] AS Decimal) AS none"
  expect((await ask(`${from} RETURN ${decimals}`)).json).toEqual([{ d: '2.50', none: null }])
})

rule('3.5.7', 'literals beyond 64 bits by all their digits', async () => {
  await ask(`CREATE Doc {name: 'long', j: JSON('{"a":18446744073709551616,"c":36893488147419103232.0}')}`)
  for (const [test, count] of [
    ['j.a = 18446744073709551616', 1],
    ['j.a = 18446744073709551616.0', 1],
    ['j.a != 18446744073709551616', 0],
    ['j.a IN (1, 18446744073709551616)', 1],
    ['j.a = 18446744073709551617', 0],
    ['j.c = 36893488147419103232.0', 1],
  ]) {
    expect((await ask(`FROM Doc WHERE name = 'long' AND ${test} RETURN name`)).json, `${test}`).toHaveLength(
      count as number,
    )
  }
})

rule('3.5.4', 'without an order', async () => {
  for (const clause of [
    'ORDER BY j RETURN name',
    'GROUP BY j RETURN COUNT()',
    'RETURN DISTINCT j',
    'RETURN MAX(j)',
    'WHERE j < 1 RETURN j',
  ]) {
    const reply = await types.server.post(types.fd.at('/v1/query'), { query: `FROM Doc ${clause}` })
    expect(expectProblem(reply, 422, 'QueryError'), clause).toContain('json')
  }
})

rule('3.5.9', 'from string and to string by the text form', async () => {
  const name = await types.classWith({ logicalType: 'string' })
  const given = [odd, ' [1.0] ', '"abc"', '5']
  const oids: string[] = []
  for (const a of given) oids.push(await types.fd.create(name, { a }))
  const change = (logicalType: string, more = ''): Promise<Reply> =>
    types.server.send('PUT', `${types.fd.at(`/v1/schema/${name}`)}${more}`, {
      raw: JSON.stringify({ attributesToChange: [{ attributeName: 'a', logicalType }] }),
    })
  const wrong = await types.fd.create(name, { a: 'no json' })
  expectProblem(await change('json'), 409, 'ValuesWouldBeLost')
  await types.fd.remove(wrong)
  expect((await change('json')).status).toBe(201)
  const shown = async (): Promise<string[]> =>
    Promise.all(oids.map(async (oid) => (await textOf(oid, 'a')).slice(0, -1)))
  expect(await shown()).toEqual([odd, '[1.0]', '"abc"', '5'])
  expect((await change('string')).status).toBe(201)
  expect(await shown()).toEqual([odd, '[1.0]', '"abc"', '5'].map((text) => JSON.stringify(text)))
})

rule('3.2.19', 'bytes in DO', async () => {
  await types.fd.define(classOf('Blob', { data: 'bytes', n: 'integer' }))
  await ask("CREATE Blob {n: 1, data: BYTES('-_8')}; CREATE Blob {n: 2, data: 'AP8'}; CREATE Blob {n: 3, data: $p}", {
    p: '/w==',
  })
  expect((await ask('FROM Blob ORDER BY data RETURN n, data, LENGTH(data) AS l')).json).toEqual([
    { n: 2, data: 'AP8=', l: 2 },
    { n: 1, data: '+/8=', l: 2 },
    { n: 3, data: '/w==', l: 1 },
  ])
  expect((await ask("FROM Blob WHERE data > BYTES('AP8=') ORDER BY n RETURN n")).json).toEqual([{ n: 1 }, { n: 3 }])
})

rule('3.5.10', 'a default in DO is a literal, or a text of JSON', async () => {
  const query = (text: string): Promise<Reply> => types.server.post(types.fd.at('/v1/query'), { query: text })
  const define = (value: string): Promise<Reply> => {
    return query(`UPDATE SCHEMA {CREATE CLASS Defaulted {a: String, j: Json{Default: ${value}}}}`)
  }
  for (const wrong of ['(CAST(a AS Json))', "JSON('{')", 'JSON(1)', 'JSON']) {
    const { status } = await define(wrong)
    expect([wrong, status >= 400 && status < 500]).toEqual([wrong, true])
  }
  const reply = await define(`JSON('{"b": [1], "a": {"expression": "x"}}')`)
  expect(reply.status, reply.text).toBe(200)
  const oid = await types.fd.create('Defaulted', {})
  expect((await types.server.get(types.fd.at(`/v1/object/${oid}`))).text).toContain(
    '"j":{"b":[1],"a":{"expression":"x"}}',
  )
})

rule('3.5.10', 'the numbers of a default are doubles, and others are refused', async () => {
  const attribute = (more: string): string => `{"attributeName":"j",${more}}`
  const single = (value: string): string => attribute(`"logicalType":"json","default":${value}`)
  const listed = (value: string): string =>
    attribute(`"logicalType":"list","elementSpecification":{"logicalType":"json"},"default":[1,${value}]`)
  const put = (raw: string): Promise<Reply> => {
    return types.server.send('PUT', types.fd.at('/v1/schema'), {
      raw: `[{"className":"Numbers","isReferenceable":true,"attributes":[${raw}]}]`,
    })
  }
  const inDo = (type: string): Promise<Reply> =>
    types.server.post(types.fd.at('/v1/query'), { query: `UPDATE SCHEMA {CREATE CLASS Numbers {j: ${type}}}` })
  for (const number of ['12345678901234567890123', '1e400', '0.1000000000000000000001', '-9007199254740993.5']) {
    for (const value of [number, `{"a":[${number}]}`]) {
      const replies = [
        await put(single(value)),
        await put(listed(value)),
        await inDo(`Json{Default: JSON('${value}')}`),
      ]
      if (value === number && number !== '1e400') {
        replies.push(await inDo(`Json{Default: ${number}}`), await inDo(`List{Element: Json, Default: (1, ${number})}`))
      }
      for (const reply of replies) {
        expect(expectProblem(reply, 422, 'InvalidDefinition'), value).toContain('Class Numbers, attribute j: default')
        expect(reply.text, value).toMatch(/double|a number beyond/)
      }
    }
  }
  const made = await put(single('{"a":[1.50,-0,1e300,0.1,9007199254740992,"1e400"]}'))
  expect(made.status, made.text).toBe(201)
  const text = await textOf(await types.fd.create('Numbers', {}))
  expect(text.startsWith('{"a":[1.5,0,1e+300,0.1,9007199254740992,"1e400"]}'), text).toBe(true)
})
