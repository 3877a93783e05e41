/** Exports over HTTP: NDJSON, CSV and archives (contract 2.2.25 and those after it). */
import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { readTar } from '../tar-files.ts'
import { classOf, embedded, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

useFdPerTest(async (given) => {
  ;({ server, fd } = given)
  await fd.define(
    classOf('Address', { city: 'string', zip: 'integer' }, embedded),
    classOf('Person', {
      name: 'string',
      home: { logicalType: 'object', class: 'Address' },
      tags: list('string'),
      cars: list(reference('Car', 'owner')),
      big: { logicalType: 'integer', storage: 'b64' },
    }),
    classOf('Staff', { salary: 'real' }, { superClass: 'Person' }),
    classOf('Car', { plate: 'string', owner: reference('Person', 'cars') }),
  )
  await fd.index('byPlate', 'Car', true, 'plate')
})

const get = (query: string, headers: Record<string, string> = {}): Promise<Reply> =>
  server.send('GET', `${fd.at('/v1/export')}${query}`, { headers })

const linesOf = ({ text }: Reply): Loose[] =>
  text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))

/** People with cars: some with many. */
async function fill(): Promise<{ readonly people: string[]; readonly cars: string[] }> {
  const people = [
    await fd.create('Person', {
      name: 'Ann',
      home: { city: 'Ulm', zip: 89073 },
      tags: ['a', 'b'],
      big: '9007199254740993',
    }),
    await fd.create('Staff', { name: 'Bob, "the" one', salary: 1.5 }),
    await fd.create('Person', { name: null }),
  ]
  const plates = Array.from({ length: 150 }, (_, i) => ({
    class: 'Car',
    attributes: { plate: `P${i}`, owner: people[0] },
  }))
  const made = await server.post(fd.at('/v1/object'), [...plates, { class: 'Car', attributes: { owner: people[1] } }])
  return { people, cars: made.json.map(({ __identifier__: oid }: Loose) => oid) }
}

const oids = (objects: readonly Loose[]): string[] => objects.map(({ __identifier__: oid }) => oid)

rule('2.2.25', 'the objects of a class and its subclasses, as single requests read them, by OID', async () => {
  const { people, cars } = await fill()
  const reply = await get('&class=Person')
  expect(reply.status, reply.text).toBe(200)
  expect(reply.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  expect(reply.headers['statement-id']).toBeDefined()
  const found = linesOf(reply)
  expect(oids(found).sort()).toEqual([...people].sort())
  for (const one of found) {
    const read = await server.get(fd.at(`/v1/object/${one.__identifier__}`))
    expect(reply.text.split('\n')).toContain(read.text)
  }
  expect(oids(linesOf(await get('&class=Car')))).toEqual(cars)
  expect((await get('&class=Staff')).text.trimEnd().split('\n')).toHaveLength(1)
})

rule('2.2.25', 'of a query its rows, and an empty body where there is nothing', async () => {
  await fill()
  const query = encodeURIComponent('FROM Car WHERE plate < "P1" ORDER BY plate RETURN plate, owner.name')
  expect(linesOf(await get(`&query=${query}`))).toEqual([
    { plate: '', 'owner.name': 'Bob, "the" one' },
    { plate: 'P0', 'owner.name': 'Ann' },
  ])
  expect((await get(`&query=${encodeURIComponent('FROM Car WHERE plate = "no" RETURN plate')}`)).text).toBe('')
  const change = encodeURIComponent('DELETE FROM Car')
  expect((await get(`&query=${change}`)).status).toBeGreaterThanOrEqual(400)
  expect(linesOf(await get('&class=Car'))).toHaveLength(151)
})

rule('2.2.26', 'goes on behind an OID', async () => {
  const { cars } = await fill()
  expect(oids(linesOf(await get(`&class=Car&after=${cars[100]}`)))).toEqual(cars.slice(101))
  expect(linesOf(await get(`&class=Car&after=${cars.at(-1)}`))).toEqual([])
  expect(oids(linesOf(await get('&class=Car&after=1-1-1-1')))).toEqual(cars)
  expectProblem(await get('&class=Car&after=x'), 400, 'MalformedOid')
})

rule('2.2.27', 'CSV has a header, and values by rule', async () => {
  const { people, cars } = await fill()
  const reply = await get('&class=Person&format=csv&columns=name,home.city,tags,big,salary')
  expect(reply.headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
  expect(reply.text.split('\n').sort()).toEqual(
    [
      'name,home.city,tags,big,salary',
      'Ann,Ulm,"[""a"",""b""]",9007199254740993,',
      '"Bob, ""the"" one","",[],0,1.5',
      ',"",[],0,',
      '',
    ].sort(),
  )
  const all = await get('&class=Staff&format=csv')
  const [header, row] = all.text.split('\n')
  expect(header).toBe('__class__,__identifier__,name,home.city,home.zip,tags,cars,big,salary')
  expect(row).toBe(`Staff,${people[1]},"Bob, ""the"" one","",0,[],"[""${cars.at(-1)}""]",0,1.5`)
  const query = encodeURIComponent('FROM Car WHERE plate < "P1" RETURN plate, owner.name')
  expect((await get(`&format=csv&query=${query}`)).text.split('\n')[0]).toBe('plate,owner.name')
  expect((await get('&class=Car&after=65535-1-1-1&format=csv')).text).toBe('__class__,__identifier__,plate,owner\n')
})

rule('2.2.27', 'CSV has values of type json as they were given: digits, order of names, and their parts', async () => {
  await fd.define(
    classOf('Note', { text: 'json' }, embedded),
    classOf('Doc', { j: 'json', all: list('json'), note: { logicalType: 'object', class: 'Note' } }),
  )
  const long = '12345678901234567890.123456789012345678901234567890'
  const texts = [
    `{"b":1.50,"2":1e3,"1":-0,"a":${long}}`,
    '{"a":1e400,"b":"\\u0041"}',
    '{"a":{"10":0.10,"9":[1.0,{}]}}',
    `{"a":-0,"${'z'.repeat(100)}":[${'9'.repeat(60)}]}`,
    `[{"10":1.0},${'7'.repeat(50)}]`,
    ...[long, '1e400', '1.50', '-0', '9007199254740993', '-1e-400', 'true', '{}', '[]', 'null'],
  ]
  const parts = [long, '1e400', '{"10":0.10,"9":[1.0,{}]}', '-0']
  for (const text of texts) {
    const raw = `{"class":"Doc","attributes":{"j":${text},"all":[${text === 'null' ? 1 : text}],"note":{"text":${text}}}}`
    const { status } = await server.send('POST', fd.at('/v1/object'), { raw })
    expect(status, text).toBe(201)
  }
  const plain = (text = ''): string =>
    /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text.replace(/^null$/, '')
  const rows = texts.map((text, i) => {
    return [text, `[${text === 'null' ? 1 : text}]`, text, parts[i], parts[i]].map(plain).join(',')
  })
  const columns = 'j,all,note.text,j.a,note.text.a'
  const exported = await get(`&class=Doc&format=csv&columns=${columns}`)
  expect(exported.text.trimEnd().split('\n')).toEqual([columns, ...rows])
  const query = encodeURIComponent(
    'FROM Doc AS d RETURN d.j AS j, d.all AS all, d.note.text AS note, d.j.a AS a, d.j.a',
  )
  const queried = await get(`&format=csv&query=${query}`)
  expect(queried.text.trimEnd().split('\n').slice(1)).toEqual(rows)
})

rule('2.2.27', 'CSV has strings of type json in the quotes of JSON, and those of other types without', async () => {
  await fd.define(
    classOf('Base', { s: 'string' }),
    classOf('Texts', { j: 'json' }, { superClass: 'Base' }),
    classOf('Plain', { j: 'string' }, { superClass: 'Base' }),
  )
  for (const text of ['12', 'a b', '']) {
    await fd.create('Texts', { s: text, j: text })
    await fd.create('Plain', { s: text, j: text })
  }
  await fd.create('Texts', { j: { a: '1' } })
  const { text } = await get('&class=Base&format=csv&columns=s,j,j.a')
  expect(text.trimEnd().split('\n').sort()).toEqual(
    [
      's,j,j.a',
      '12,"""12""",',
      '12,12,',
      'a b,"""a b""",',
      'a b,a b,',
      '"","""""",',
      '"","",',
      '"","{""a"":""1""}","""1"""',
    ].sort(),
  )
})

rule('2.2.27', 'texts that a spreadsheet would calculate are escaped where that is asked for', async () => {
  const texts = ['=1+1', '+49 731', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', "'=1", 'a=1', ' =1', '"=1', '']
  for (const name of texts) await fd.create('Staff', { name, salary: -1.5, tags: ['=1'], home: { city: name } })
  const query = encodeURIComponent('FROM Staff RETURN name AS "=name", home.city AS city, salary')
  const kept = await get(`&class=Staff&format=csv&columns=name,home.city,salary,tags`)
  const escaped = await get(`&class=Staff&format=csv&columns=name,home.city,salary,tags&escapeFormulas=true`)
  const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`
  const plain = (text: string): string => (/^\s|^"|^$/.test(text) ? cell(text) : text)
  const shown = (text: string): string => (/^[=+@＝\t\r\n-]/.test(text) ? cell(`'${text}`) : plain(text))
  const csv = (head: string, cellOf: (text: string) => string, tail: string): string =>
    `${[head, ...texts.map((text) => `${cellOf(text)},${cellOf(text)},-1.5${tail}`)].join('\n')}\n`
  expect(kept.text).toBe(csv('name,home.city,salary,tags', plain, ',"[""=1""]"'))
  expect(escaped.text).toBe(csv('name,home.city,salary,tags', shown, ',"[""=1""]"'))
  expect((await get(`&format=csv&query=${query}&escapeFormulas=true`)).text).toBe(
    csv('"\'=name",city,salary', shown, ''),
  )
  const named = encodeURIComponent('=name,city')
  const chosen = await get(`&format=csv&query=${query}&columns=${named}&escapeFormulas=true`)
  expect(chosen.text.split('\n')[0]).toBe('"\'=name",city')
})

rule('2.2.28', 'the whole federated database is an archive that tar and gzip open', async () => {
  const { people, cars } = await fill()
  const reply = await get('')
  expect(reply.headers['content-type']).toBe('application/gzip')
  const files = readTar(gunzipSync(reply.bytes))
  expect([...files.keys()]).toEqual([
    'archive.json',
    'schema.json',
    'indexes.json',
    'objects/00000001.ndjson',
    'end.json',
  ])
  const json = (name: string) => JSON.parse(String(files.get(name)))
  expect(json('archive.json')).toMatchObject({ format: 'ashlar-archive', version: 1 })
  expect(json('schema.json')).toEqual((await server.get(fd.at('/v1/schema'))).json)
  expect(json('indexes.json')).toMatchObject([{ name: 'byPlate', indexedClass: 'Car', isUnique: true }])
  const objects = String(files.get('objects/00000001.ndjson'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(oids(objects).sort()).toEqual([...people, ...cars].sort())
  const hash = createHash('sha256')
  for (const [name, content] of files) if (name !== 'end.json') hash.update(content)
  expect(json('end.json')).toEqual({ objects: objects.length, parts: 1, sha256: hash.digest('hex') })
})

rule('2.2.25', 'what does not go together is refused', async () => {
  const query = encodeURIComponent('FROM Car')
  for (const [asked, status, type] of [
    ['&class=Car&query=FROM', 400, 'MalformedRequest'],
    [`&query=${query}&after=3-3-1-1`, 400, 'MalformedRequest'],
    ['&class=Car&format=xml', 400, 'MalformedValue'],
    ['&class=', 400, 'MalformedValue'],
    ['&class=Car&columns=plate', 400, 'MalformedRequest'],
    ['&format=csv', 400, 'MalformedRequest'],
    ['&format=archive&class=Car', 400, 'MalformedRequest'],
    ['&class=Nobody', 404, 'ClassNotFound'],
    ['&class=Address', 422, 'ClassNotReferenceable'],
    ['&class=Person&format=csv&columns=name,nmae', 422, 'UnknownAttribute'],
    ['&class=Person&format=csv&columns=name,tags, name', 400, 'MalformedValue'],
    ['&class=Person&format=csv&columns=home.town', 422, 'UnknownAttribute'],
    ['&class=Car&escapeFormulas=true', 400, 'MalformedRequest'],
    ['&class=Car&format=csv&escapeFormulas=yes', 400, 'MalformedValue'],
    ['&classes=Car', 400, 'UnknownParameter'],
  ] as const) {
    expectProblem(await get(asked), status, type)
  }
  expectProblem(await get('&class=Car', { accept: 'application/json' }), 406, 'NotAcceptable')
})
