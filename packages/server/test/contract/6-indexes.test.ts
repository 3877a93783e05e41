/** Indexes, over HTTP. */
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
let classes = 0

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'indexes'] })
  fd = new FdUnderTest(server, 'indexes')
  await fd.define(
    classOf('Place', { city: 'string', deep: { logicalType: 'object', class: 'Deep' } }, embedded),
    classOf('Deep', { n: 'integer' }, embedded),
  )
})
afterAll(() => server.remove())

/** A class of its own for each test. */
async function fresh(): Promise<string> {
  const name = `Car${++classes}`
  await fd.define(
    classOf(name, {
      license: 'string',
      year: 'integer',
      place: { logicalType: 'object', class: 'Place' },
      owner: reference(name),
      parts: list('string'),
    }),
  )
  return name
}

const post = (body: unknown) => server.post(fd.at('/v1/index'), body)
const record = async (name: string) => (await server.get(fd.at(`/v1/index/${name}`))).json

rule('6.1.1', 'POST answers with name and uri', async () => {
  const car = await fresh()
  const reply = await fd.postIndex('first', car, true, 'license')
  expect([reply.status, reply.json]).toEqual([201, { name: 'first', uri: '/v1/index/first' }])
})

rule(['6.1.2', '6.1.3', '6.1.4'], 'spellings, quoted values and lengths', async () => {
  const car = await fresh()
  const keys = [{ attributeName: 'license', properties: { maxStoredStringLength: '30' } }]
  const base = { indexedClass: car, isUnique: 'false' }
  expect((await post({ ...base, name: 'spelt', keyedAttributes: keys })).status).toBe(201)
  expect((await record('spelt')).keyAttributes).toEqual([
    { attributeName: 'license', properties: { maxStoredStringLength: 30 } },
  ])
  expect((await record('spelt')).isUnique).toBe(false)
  expect((await post({ ...base, name: 'both', keyedAttributes: keys, keyAttributes: keys })).status).toBe(201)
  expectProblem(
    await post({ ...base, name: 'no', keyedAttributes: keys, keyAttributes: [{ attributeName: 'year' }] }),
    400,
  )
  await fd.index('lengths', car, false, 'license', { attributeName: 'year', properties: { maxStoredStringLength: 5 } })
  expect((await record('lengths')).keyAttributes).toEqual([
    { attributeName: 'license', properties: { maxStoredStringLength: 24 } },
    { attributeName: 'year' },
  ])
  for (const maxStoredStringLength of [0, 1025, -1, 1.5]) {
    expectProblem(
      await fd.postIndex('no', car, false, { attributeName: 'license', properties: { maxStoredStringLength } }),
      422,
    )
  }
  expectProblem(
    await fd.postIndex('no', car, false, { attributeName: 'license', properties: { maxStoredStringLength: 'long' } }),
    400,
  )
  for (const isUnique of [undefined, null, 'yes', 1])
    expectProblem(await fd.postIndex('no', car, isUnique, 'year'), 400)
  for (const body of [{}, [], 5, null, { ...base, name: 'no' }, { ...base, name: 'no', keyAttributes: [] }])
    expectProblem(await post(body), 400)
})

rule('6.1.5', 'a unique key is refused the second time, on create and update', async () => {
  const car = await fresh()
  await fd.index(`${car}Unique`, car, true, 'license')
  const first = await fd.create(car, { license: 'A' })
  const message = expectProblem(await fd.postObject(car, { license: 'A' }), 409, 'UniqueViolation')
  for (const word of [car, 'license', 'A', first]) expect(message).toContain(word)
  const second = await fd.create(car, { license: 'B' })
  expectProblem(await fd.putObject(second, { license: 'A' }), 409, 'UniqueViolation')
  expect((await fd.read(second)).license).toBe('B')
  await fd.update(first, { license: 'A', year: 3 })
  await fd.update(first, { license: 'C' })
  await fd.update(second, { license: 'A' })
})

rule('6.1.6', 'unique means the full values; null does not count', async () => {
  const car = await fresh()
  await fd.index(`${car}Unique`, car, true, 'license')
  await fd.index(`${car}Owner`, car, true, 'owner')
  const prefix = 'x'.repeat(24)
  await fd.create(car, { license: `${prefix}1` }).then((owner) => fd.update(owner, { owner }))
  const two = await fd.create(car, { license: `${prefix}2` })
  expectProblem(await fd.postObject(car, { license: `${prefix}1` }), 409, 'UniqueViolation')
  expectProblem(await fd.putObject(two, { license: `${prefix}1` }), 409, 'UniqueViolation')
  await fd.create(car, { license: prefix })
  for (let i = 0; i < 2; i++) await fd.create(car, { license: null })
  await fd.create(car, { license: '' })
  expectProblem(await fd.postObject(car, { license: '' }), 409)
  await fd.update(two, { owner: two })
  expectProblem(await fd.postObject(car, { license: 'z', owner: two }), 409, 'UniqueViolation')
  expect((await record(`${car}Unique`)).entryCount).toBe(6)
})

rule('6.1.7', '40 concurrent creations with one unique key: one succeeds', async () => {
  const car = await fresh()
  await fd.index(`${car}Unique`, car, true, 'license')
  const replies = await Promise.all(Array.from({ length: 40 }, () => fd.postObject(car, { license: 'one' })))
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(replies.filter(({ status }) => status === 409)).toHaveLength(39)
})

rule('6.1.8', 'a compound key is unique as a whole', async () => {
  const car = await fresh()
  await fd.index(`${car}Both`, car, true, 'license', 'year')
  await fd.create(car, { license: 'A', year: 1 })
  await fd.create(car, { license: 'A', year: 2 })
  await fd.create(car, { license: 'B', year: 1 })
  expectProblem(await fd.postObject(car, { license: 'A', year: 2 }), 409, 'UniqueViolation')
  await fd.create(car, { license: null, year: 2 })
  await fd.create(car, { license: null, year: 2 })
})

rule(['6.1.9', '6.1.21', '6.1.22'], 'subclasses, inherited and hidden attributes, embedded keys', async () => {
  const car = await fresh()
  await fd.define(classOf(`${car}Sub`, { license: 'string' }, { superClass: car }))
  await fd.index(`${car}Super`, car, true, 'license')
  await fd.index(`${car}Hidden`, `${car}Sub`, false, `${car}::license`, 'license', 'year')
  await fd.index(`${car}City`, car, true, 'place.city', 'place.deep.n')
  expect((await record(`${car}Hidden`)).keyAttributes[0].attributeName).toBe(`${car}::license`)
  expect((await record(`${car}City`)).keyAttributes.map((key: { attributeName: string }) => key.attributeName)).toEqual(
    ['place.city', 'place.deep.n'],
  )
  await fd.create(car, { license: 'A' })
  expectProblem(await fd.postObject(`${car}Sub`, { [`${car}::license`]: 'A', place: { city: 'x' } }), 409)
  const sub = await fd.create(`${car}Sub`, {
    [`${car}::license`]: 'B',
    license: 'A',
    place: { city: 'Rome', deep: { n: 1 } },
  })
  expectProblem(await fd.postObject(car, { license: 'C', place: { city: 'Rome', deep: { n: 1 } } }), 409)
  await fd.update(sub, { place: { deep: { n: 2 } } })
  await fd.create(car, { license: 'C', place: { city: 'Rome', deep: { n: 1 } } })
})

rule('6.1.10', 'existing objects are indexed; duplicates leave no index', async () => {
  const car = await fresh()
  for (let i = 0; i < 30; i++) await fd.create(car, { license: `L${i}`, year: i % 7 })
  await fd.index(`${car}License`, car, true, 'license')
  expect(await record(`${car}License`)).toMatchObject({ state: 'ready', entryCount: 30 })
  expectProblem(await fd.postObject(car, { license: 'L7' }), 409)
  const message = expectProblem(await fd.postIndex(`${car}Year`, car, true, 'year'), 409, 'UniqueViolation')
  expect(message).toContain('year')
  expectProblem(await server.get(fd.at(`/v1/index/${car}Year`)), 404)
  await fd.create(car, { license: 'later', year: 3 })
  await fd.index(`${car}Year`, car, false, 'year')
  expect((await record(`${car}Year`)).entryCount).toBe(31)
})

rule('6.1.11', 'what cannot be a key', async () => {
  const car = await fresh()
  for (const key of ['parts', 'place', 'place.deep'])
    expectProblem(await fd.postIndex('no', car, false, key), 422, 'AttributeNotIndexable')
  expectProblem(await fd.postIndex('no', car, false, 'license', 'license'), 422)
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`a${i}`, 'integer']))
  await fd.define(classOf(`${car}Many`, many))
  expectProblem(await fd.postIndex('no', `${car}Many`, false, ...Object.keys(many)), 422, 'LimitExceeded')
  await fd.index(`${car}Sixteen`, `${car}Many`, true, ...Object.keys(many).slice(1))
})

rule('6.1.12', 'unknown classes and attributes, embeddable classes, names that are taken', async () => {
  const car = await fresh()
  await fd.index(`${car}Taken`, car, false, 'year')
  expectProblem(await fd.postIndex(`${car}Taken`, car, false, 'license'), 409, 'IndexExists')
  expectProblem(await fd.postIndex('no', 'Nope', false, 'x'), 422, 'UnknownClass')
  expectProblem(await fd.postIndex('no', 'Place', false, 'city'), 422, 'ClassNotReferenceable')
  expect(expectProblem(await fd.postIndex('no', car, false, 'licence'), 422, 'UnknownAttribute')).toContain('license')
  expectProblem(await fd.postIndex('no', car, false, 'year.x'), 422)
  expectProblem(await fd.postIndex('no', car, false, 'place.nope'), 422, 'UnknownAttribute')
})

rule(['6.1.13', '6.1.14'], 'records, by name', async () => {
  const car = await fresh()
  await fd.index(`${car}B`, car, false, 'year')
  await fd.index(`${car}A`, car, true, 'license')
  const all = (await server.get(fd.at('/v1/index'))).json
  const names = all.map(({ name }: { name: string }) => name)
  expect(names).toEqual([...names].sort())
  expect(all).toContainEqual(await record(`${car}A`))
  expect(await record(`${car}A`)).toEqual({
    name: `${car}A`,
    uri: `/v1/index/${car}A`,
    indexedClass: car,
    isUnique: true,
    keyAttributes: [{ attributeName: 'license', properties: { maxStoredStringLength: 24 } }],
    state: 'ready',
    entryCount: 0,
  })
  expectProblem(await server.get(fd.at('/v1/index/Nope')), 404, 'IndexNotFound')
})

rule('6.1.15', 'a deleted index no longer binds', async () => {
  const car = await fresh()
  await fd.index(`${car}Gone`, car, true, 'license')
  await fd.create(car, { license: 'A' })
  const reply = await server.delete(fd.at(`/v1/index/${car}Gone`))
  expect([reply.status, reply.text]).toEqual([204, ''])
  await fd.create(car, { license: 'A' })
  expectProblem(await server.delete(fd.at(`/v1/index/${car}Gone`)), 404, 'IndexNotFound')
  expectProblem(await fd.postIndex(`${car}Gone`, car, true, 'license'), 409, 'UniqueViolation')
  await fd.index(`${car}Gone`, car, false, 'license')
  expect((await record(`${car}Gone`)).entryCount).toBe(2)
})

rule('6.1.16', 'a deleted object leaves its indexes', async () => {
  const car = await fresh()
  await fd.index(`${car}Unique`, car, true, 'license')
  const oid = await fd.create(car, { license: 'A' })
  await fd.remove(oid)
  expect((await record(`${car}Unique`)).entryCount).toBe(0)
  await fd.create(car, { license: 'A' })
})
