/** What can be a key, what counts as equal, and what makes it so, over HTTP. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
let classes = 0

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'keys'] })
  fd = new FdUnderTest(server, 'keys')
  await fd.define(classOf('Target', {}))
})
afterAll(() => server.remove())

const fresh = () => `K${++classes}`
const entryCount = async (name: string) => (await server.get(fd.at(`/v1/index/${name}`))).json.entryCount

/** Values with one JSON text each in a row stand for the same key. */
async function tellsApart(type: Record<string, unknown>, rows: string[][]): Promise<void> {
  const name = fresh()
  const part = `${name}Part`
  await fd.define(
    classOf(part, { a: type }, embedded),
    classOf(name, { a: type, part: { logicalType: 'object', class: part } }),
  )
  const post = (value: string) => {
    const raw = `{"class":"${name}","attributes":{"a":${value},"part":{"a":${value}}}}`
    return server.send('POST', fd.at('/v1/object'), { raw })
  }
  await fd.index(`${name}Own`, name, true, 'a')
  const oids: string[] = []
  for (const [value = ''] of rows) {
    const reply = await post(value)
    expect(reply.status, reply.text).toBe(201)
    oids.push(reply.json.__identifier__)
  }
  const refused = async () => {
    for (const value of rows.flat()) {
      const reply = await post(value)
      expect(reply.status, `${value}: ${reply.text}`).toBe(409)
      expectProblem(reply, 409, 'UniqueViolation')
    }
  }
  await refused()
  expect(await entryCount(`${name}Own`)).toBe(rows.length)
  await server.delete(fd.at(`/v1/index/${name}Own`))
  // The same for an attribute of an embedded object, over objects that exist.
  await fd.index(`${name}Part`, name, true, 'part.a')
  await refused()
  // A key that is abandoned is free, and one that is taken on is not.
  for (const oid of oids) await fd.remove(oid)
  expect(await entryCount(`${name}Part`)).toBe(0)
  for (const [value = ''] of rows) expect((await post(value)).status).toBe(201)
  await refused()
}

describe('what can be a key', () => {
  const prefix = 'x'.repeat(24)
  const types: [string, Record<string, unknown>, string[][]][] = [
    ['boolean', { logicalType: 'boolean' }, [['true', '"true"'], ['false']]],
    ['character', { logicalType: 'character' }, [['"a"'], ['"A"'], ['"\\u0000"'], ['"😀"']]],
    ['integer', { logicalType: 'integer' }, [['0', '"0"'], ['-1'], ['1'], ['2147483647'], ['-2147483648']]],
    [
      'integer of 64 bits',
      { logicalType: 'integer', storage: 'b64', encoding: 'unsigned' },
      [['9007199254740992'], ['9007199254740993', '"9007199254740993"'], ['18446744073709551615']],
    ],
    ['real', { logicalType: 'real' }, [['0'], ['0.1', '"0.1"', '1e-1'], ['-0.1'], ['1e300'], ['-1e300'], ['5e-324']]],
    [
      'real of 32 bits',
      { logicalType: 'real', storage: 'b32' },
      [
        ['0.1', '0.100000001'],
        ['16777216', '16777217'],
      ],
    ],
    [
      'decimal',
      { logicalType: 'decimal', precision: 20, scale: 2 },
      [
        ['0', '"-0.00"'],
        ['0.1', '"0.10"', '1e-1'],
        ['-0.1'],
        ['0.11'],
        ['900719925474099300.01'],
        ['900719925474099300.02'],
      ],
    ],
    [
      'string',
      { logicalType: 'string' },
      [
        ['""'],
        ['"a"'],
        ['"A"'],
        ['"a\\u0000"'],
        ['"a\\u0000\\u0000"'],
        [`"${prefix}"`],
        [`"${prefix}1"`],
        [`"${prefix}2"`],
      ],
    ],
    ['string of bytes', { logicalType: 'string', encoding: 'byte' }, [['"ÿ"'], ['"y"'], ['""']]],
    [
      'guid',
      { logicalType: 'guid' },
      [['"0a1b2c3d-0000-4000-8000-abcdefabcdef"', '"0A1B2C3D-0000-4000-8000-ABCDEFABCDEF"']],
    ],
    ['date', { logicalType: 'date' }, [['"2024-02-29"', '"2024/02/29"'], ['"0001-01-01"'], ['"9999-12-31"']]],
    ['time', { logicalType: 'time' }, [['"00:00:00"'], ['"08:05:09.25"', '"08:05:09.2500"', '"08:05:09.25001"']]],
    [
      'datetime',
      { logicalType: 'datetime' },
      [['"2024-02-29T08:05:09"', '"2024-02-29 08:05:09.0"'], ['"2024-02-29T08:05:10"']],
    ],
    [
      'datetimeoffset',
      { logicalType: 'datetime', storage: 'datetimeoffset' },
      [
        ['"2024-02-29T08:05:09Z"', '"2024-02-29T09:05:09+01:00"', '"2024-02-29T08:05:09"'],
        ['"2024-02-29T08:05:09+01:00"'],
      ],
    ],
    [
      'bytes',
      { logicalType: 'bytes' },
      [
        ['""'],
        ['"AA=="', '"AA"'],
        ['"AAA="'],
        ['"/w=="', '"_w"'],
        [`"${'/'.repeat(32)}"`],
        [`"${'/'.repeat(32)}AAAA"`],
      ],
    ],
    ['interval', { logicalType: 'interval' }, [['"P1D"', '"PT24H"', '{"hours":24}'], ['"-P1D"'], ['"PT0S"']]],
  ]
  for (const [name, type, rows] of types) {
    rule(['6.1.23', '6.1.22', '6.1.16'], name, () => tellsApart(type, rows))
  }

  rule(['6.1.23', '6.1.22'], 'reference', async () => {
    const [one, two] = [await fd.create('Target'), await fd.create('Target')]
    await tellsApart(reference('Target'), [[`"${one}"`], [`"${two}"`]])
  })
})

rule('6.1.17', 'null and 0-0-0-0 parts do not count as equal; 0, "" and false do', async () => {
  const name = fresh()
  await fd.define(classOf(name, { s: 'string', n: 'integer', b: 'boolean', d: 'date', r: reference('Target') }))
  await fd.index(`${name}All`, name, true, 's', 'n', 'b', 'd', 'r')
  const r = await fd.create('Target')
  const full = { s: '', n: 0, b: false, d: '2024-02-29', r }
  await fd.create(name, full)
  expectProblem(await fd.postObject(name, full), 409, 'UniqueViolation')
  for (const part of ['s', 'n', 'b', 'd', 'r']) {
    const first = await fd.create(name, { ...full, [part]: null })
    const second = await fd.create(name, { ...full, [part]: null })
    const third = await fd.create(name, { ...full, [part]: part === 'r' ? '0-0-0-0' : null })
    // It counts as soon as no part is null.
    expectProblem(await fd.putObject(second, { [part]: full[part as 's'] }), 409, 'UniqueViolation')
    for (const oid of [first, second, third]) await fd.remove(oid)
  }
})

rule('6.1.18', 'what the other side of a link makes equal', async () => {
  const name = fresh()
  const [stall, model] = [`${name}Stall`, `${name}Model`]
  await fd.define(
    classOf(stall, { car: reference(name, 'stall') }),
    classOf(model, { cars: list(reference(name, 'model')) }),
    classOf(name, { stall: reference(stall, 'car'), model: reference(model, 'cars') }),
  )
  await fd.index(`${name}Stall`, name, true, 'stall')
  await fd.index(`${name}Model`, name, true, 'model')
  const [a, b] = [await fd.create(name), await fd.create(name)]
  const m = await fd.create(model)
  expectProblem(await fd.putObject(m, { cars: [a, b] }), 409, 'UniqueViolation')
  expectProblem(await fd.postObject(model, { cars: [a, b] }), 409, 'UniqueViolation')
  expect([(await fd.read(m)).cars, (await fd.read(a)).model]).toEqual([[], '0-0-0-0'])
  await fd.update(m, { cars: [a] })
  expectProblem(await fd.putObject(m, { cars: { action: 'add', elements: [b] } }), 409, 'UniqueViolation')
  await fd.update(m, { cars: [b] })
  expectProblem(await fd.putObject(a, { model: m }), 409, 'UniqueViolation')
  expect([(await fd.read(m)).cars, (await fd.read(a)).model, (await fd.read(b)).model]).toEqual([[b], '0-0-0-0', m])
  const s = await fd.create(stall, { car: a })
  await fd.update(s, { car: b })
  await fd.update(a, { stall: s })
  expect([(await fd.read(a)).stall, (await fd.read(b)).stall]).toEqual([s, '0-0-0-0'])
  await fd.remove(s)
  await fd.remove(m)
  expect((await fd.read(b)).model).toBe('0-0-0-0')
  expect(await entryCount(`${name}Stall`)).toBe(await entryCount(`${name}Model`))
})

rule('6.1.19', 'subclasses and attributes that come later', async () => {
  const name = fresh()
  await fd.define(classOf(name, { license: 'string' }))
  await fd.index(`${name}Index`, name, true, 'license')
  await fd.create(name, { license: 'A' })
  await fd.define(classOf(`${name}Sub`, { n: 'integer' }, { superClass: name }))
  await fd.define(classOf(`${name}SubSub`, { license: 'string' }, { superClass: `${name}Sub` }))
  expectProblem(await fd.postObject(`${name}Sub`, { license: 'A' }), 409, 'UniqueViolation')
  await fd.create(`${name}SubSub`, { license: 'A', [`${name}::license`]: 'B' })
  expectProblem(await fd.postObject(name, { license: 'B' }), 409, 'UniqueViolation')
  const other = await fd.create(name, { license: 'C' })
  await fd.define(classOf(name, { year: 'integer', built: 'date' }))
  expectProblem(await fd.postIndex(`${name}Year`, name, true, 'year'), 409, 'UniqueViolation')
  await fd.index(`${name}Built`, name, true, 'built')
  await fd.update(other, { year: 5, built: '2024-02-29' })
  expectProblem(await fd.postObject(`${name}Sub`, { license: 'D', built: '2024-02-29' }), 409, 'UniqueViolation')
  expectProblem(await fd.putObject(other, { license: 'B' }), 409, 'UniqueViolation')
})

rule('6.1.9', 'objects of superclasses and of sister classes are not covered', async () => {
  const name = fresh()
  const [left, right] = [`${name}Left`, `${name}Right`]
  await fd.define(
    classOf(name, { license: 'string' }),
    classOf(left, {}, { superClass: name }),
    classOf(right, {}, { superClass: name }),
  )
  await fd.index(`${name}Index`, left, true, 'license')
  await fd.create(left, { license: 'A' })
  for (const className of [name, right]) for (let i = 0; i < 2; i++) await fd.create(className, { license: 'A' })
  expectProblem(await fd.postObject(left, { license: 'A' }), 409, 'UniqueViolation')
  expect(await entryCount(`${name}Index`)).toBe(1)
})

rule('6.1.7', 'under concurrent creations, updates and deletions, no key is held twice and none is lost', async () => {
  const name = fresh()
  await fd.define(classOf(name, { key: 'integer', n: 'integer' }))
  await fd.index(`${name}Index`, name, true, 'key')
  const held = await Promise.all(Array.from({ length: 8 }, (_, key) => fd.create(name, { key })))
  // All move to one key, and to each other's.
  const moves = await Promise.all(held.map((oid) => fd.putObject(oid, { key: 100 })))
  expect(moves.filter(({ status }) => status === 204)).toHaveLength(1)
  expect(moves.filter(({ status }) => status === 409)).toHaveLength(7)
  await Promise.all(held.map((oid, i) => fd.putObject(oid, { key: (i + 1) % 8 })))
  const keys = (await Promise.all(held.map((oid) => fd.read(oid)))).map(({ key }) => key)
  expect(new Set(keys).size).toBe(8)
  // A key is taken by one as soon as another gives it up.
  const [first] = held as [string]
  const key = (await fd.read(first)).key
  const rivals = await Promise.all([
    server.delete(fd.at(`/v1/object/${first}`)),
    ...Array.from({ length: 10 }, () => fd.postObject(name, { key })),
  ])
  expect(rivals[0]?.status).toBe(204)
  expect(rivals.slice(1).every(({ status }) => status === 201 || status === 409)).toBe(true)
  expect(rivals.slice(1).filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1)
  expect(await entryCount(`${name}Index`)).toBe(7 + rivals.slice(1).filter(({ status }) => status === 201).length)
})

rule('6.1.6', 'texts far longer than any stored length', async () => {
  const name = fresh()
  await fd.define(classOf(name, { s: 'string', t: 'string' }))
  const properties = { maxStoredStringLength: 1024 }
  await fd.index(`${name}Index`, name, true, { attributeName: 's', properties }, { attributeName: 't', properties })
  const long = '😀'.repeat(3_000)
  for (const [s, t] of [
    [long, long],
    [`${long}1`, long],
    [long, `${long}1`],
    [long.slice(0, 2_048), long],
  ]) {
    await fd.create(name, { s, t })
    expectProblem(await fd.postObject(name, { s, t }), 409, 'UniqueViolation')
  }
})

rule(
  ['6.1.21', '6.1.5', '1.4.5'],
  'a key goes on meaning the attribute that it named, also once another hides it',
  async () => {
    const [base, sub] = [fresh(), fresh()]
    await fd.define(classOf(base, { name: 'string' }), classOf(sub, {}, { superClass: base }))
    await fd.index(`${sub}Index`, sub, true, 'name')
    const oid = await fd.create(sub, { name: 'x' })
    await fd.define(classOf(sub, { name: 'string' }))
    expect(await fd.read(oid)).toMatchObject({ [`${base}::name`]: 'x', name: '' })
    const { json } = await server.get(fd.at(`/v1/index/${sub}Index`))
    expect(json.keyAttributes[0].attributeName).toBe(`${base}::name`)
    await fd.create(sub, { name: 'x', [`${base}::name`]: 'y' })
    const reply = await fd.postObject(sub, { [`${base}::name`]: 'x' })
    expect(expectProblem(reply, 409, 'UniqueViolation')).toContain(`${base}::name`)
  },
)

rule(['6.1.22', '6.1.5', '1.4.5'], 'a violation names the attribute of the embedded object by its path', async () => {
  const [root, twig, tree] = [fresh(), fresh(), fresh()]
  await fd.define(
    classOf(root, { a: 'integer' }, embedded),
    classOf(twig, { a: 'integer' }, { ...embedded, superClass: root }),
    classOf(tree, { twig: { logicalType: 'object', class: twig } }),
  )
  await fd.index(`${tree}Near`, tree, true, 'twig.a')
  await fd.index(`${tree}Far`, tree, true, `twig.${root}::a`)
  await fd.create(tree, { twig: { a: 1, [`${root}::a`]: 2 } })
  const near = await fd.postObject(tree, { twig: { a: 1, [`${root}::a`]: 3 } })
  expect(expectProblem(near, 409, 'UniqueViolation')).toContain('twig.a')
  const far = await fd.postObject(tree, { twig: { a: 3, [`${root}::a`]: 2 } })
  expect(expectProblem(far, 409, 'UniqueViolation')).toContain(`twig.${root}::a`)
})
