/** Classes changed and deleted under stored objects, over HTTP. */
import { describe, expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

useFdPerTest(async (given) => {
  ;({ server, fd } = given)
  await fd.define(
    classOf('Shop.Address', { city: 'string', zip: 'integer' }, embedded),
    classOf('Shop.Client', {
      name: 'string',
      age: 'integer',
      address: { logicalType: 'object', class: 'Shop.Address' },
      orders: list(reference('Shop.Order', 'client')),
    }),
    classOf('Shop.Order', { number: 'integer', client: reference('Shop.Client', 'orders') }),
  )
})

const at = (path: string, parameters = ''): string => `${fd.at(path)}${parameters}`
const alter = (body: unknown, parameters = '', cls = 'Shop.Client'): Promise<Reply> => {
  return server.put(at(`/v1/schema/${cls}`, parameters), body)
}
const classNamed = async (name: string) => (await server.get(fd.at(`/v1/schema/${name}`))).json
const query = async (text: string) => (await server.post(fd.at('/v1/query'), { query: text })).json
const change = (attributeName: string, type: object) => ({ attributesToChange: [{ attributeName, ...type }] })
const names = (cls: { attributes: { attributeName: string }[] }) => cls.attributes.map((one) => one.attributeName)

describe('a class is changed', () => {
  rule(['5.3.1', '5.3.4'], 'renamed in its namespace, or out of it', async () => {
    const { classNumber } = await classNamed('Shop.Client')
    const reply = await alter({ classRename: 'Customer' })
    expect([reply.status, reply.json]).toEqual([
      201,
      { classNumbers: [classNumber], uris: [`/v1/schema/${classNumber}`] },
    ])
    expect((await classNamed(classNumber)).className).toBe('Shop.Customer')
    expect((await alter({ classRename: '.Customer' }, '', classNumber)).status).toBe(201)
    expect((await classNamed(classNumber)).className).toBe('Customer')
    expect((await alter({ classRename: 'People.Customer' }, '', 'Customer')).status).toBe(201)
    expectProblem(await alter({ classRename: 'X' }), 404, 'ClassNotFound')
    expectProblem(await alter({ classRename: 'Shop.Order' }, '', classNumber), 409, 'ClassExists')
    expectProblem(await alter({ classRename: '__x' }, '', classNumber), 422, 'InvalidName')
  })

  rule(['5.3.5', '5.3.11'], 'attributes are deleted, renamed, changed and added, in this order', async () => {
    const oid = await fd.create('Shop.Client', { name: 'Ann', age: 30, address: { city: 'Oslo', zip: 5 } })
    const reply = await alter({
      attributesToAdd: [{ attributeName: 'age', logicalType: 'date' }],
      attributesToChange: [{ attributeName: 'years', logicalType: 'string' }],
      attributesToRename: [{ originalName: 'age', newName: 'years' }],
      attributesToDelete: ['name'],
    })
    expect(reply.status, reply.text).toBe(201)
    expect(names(await classNamed('Shop.Client'))).toEqual(['years', 'address', 'orders', 'age'])
    expect(await fd.read(oid)).toMatchObject({ years: '30', age: null, address: { city: 'Oslo', zip: 5 }, orders: [] })
    await fd.update(oid, { age: '2024-02-29' })
    expect(await fd.read(oid)).toMatchObject({ years: '30', age: '2024-02-29' })
  })

  rule('5.3.6', 'a rename stands alone, and a change changes something', async () => {
    expectProblem(await alter({ classRename: 'A', attributesToDelete: ['age'] }), 400, 'MalformedRequest')
    expectProblem(await alter({}), 400, 'MalformedRequest')
    expectProblem(await alter({ attributesToDrop: ['age'] }), 400, 'UnknownField')
    expectProblem(await server.send('PUT', at('/v1/schema/Shop.Client')), 400, 'MalformedRequest')
  })

  rule('5.3.7', 'references, indexes, links and queries follow a rename, and no shape changes', async () => {
    const client = await fd.create('Shop.Client', { name: 'Ann' })
    await fd.create('Shop.Order', { number: 1, client })
    await fd.index('byName', 'Shop.Client', true, 'name')
    const { shapeNumber, classNumber } = await classNamed('Shop.Client')
    await alter({ attributesToRename: [{ originalName: 'name', newName: 'title' }] })
    await alter({ classRename: 'Customer' })
    expect((await classNamed(classNumber)).shapeNumber).toBe(shapeNumber)
    expect((await server.get(fd.at('/v1/index/byName'))).json).toMatchObject({
      indexedClass: 'Shop.Customer',
      keyAttributes: [{ attributeName: 'title' }],
      entryCount: 1,
    })
    expect(await query("FROM Customer WHERE title = 'Ann' RETURN orders.number AS n")).toEqual([{ n: [1] }])
    expect((await classNamed('Shop.Order')).attributes[1].referencedClass).toBe('Shop.Customer')
  })

  rule('5.3.8', 'what an index or a link uses is deleted with cascade alone', async () => {
    await fd.index('byAge', 'Shop.Client', false, 'age')
    const message = expectProblem(await alter({ attributesToDelete: ['age'] }), 409, 'AttributeInUse')
    expect(message).toContain("index 'byAge'")
    expectProblem(await alter({ attributesToDelete: ['orders'] }), 409, 'AttributeInUse')
    expect((await alter({ attributesToDelete: ['age', 'orders'] }, '&cascade=true')).status).toBe(201)
    expectProblem(await server.get(fd.at('/v1/index/byAge')), 404, 'IndexNotFound')
    expect(names(await classNamed('Shop.Order'))).toEqual(['number'])
    expectProblem(await alter({ attributesToDelete: ['name'] }, '&cascade=perhaps'), 400, 'MalformedValue')
    expectProblem(await alter({ attributesToDelete: ['name'] }, '&cascades=true'), 400, 'UnknownParameter')
  })

  rule('5.3.9', 'a type, where no value is lost, or the loss is allowed', async () => {
    const oids = [await fd.create('Shop.Client', { age: 200 }), await fd.create('Shop.Client', { age: 300 })]
    const toByte = change('age', { logicalType: 'integer', encoding: 'unsigned', storage: 'b8' })
    const reply = await alter(toByte)
    expect(expectProblem(reply, 409, 'ValuesWouldBeLost')).toContain('1 value of age of class Shop.Client')
    expect(reply.json.valuesLost).toEqual([{ className: 'Shop.Client', attributeName: 'age', values: 1 }])
    expect((await alter(toByte, '&allowLoss=true')).status).toBe(201)
    expect(await Promise.all(oids.map(async (oid) => (await fd.read(oid)).age))).toEqual([200, 0])
    expectProblem(await alter(change('age', { logicalType: 'guid' })), 422, 'InvalidDefinition')
  })

  rule('5.3.10', 'indexes follow a changed type, unless values become equal', async () => {
    await fd.index('byName', 'Shop.Client', true, 'name')
    for (const name of ['7', '07', '8']) await fd.create('Shop.Client', { name })
    const toInteger = change('name', { logicalType: 'integer' })
    expectProblem(await alter(toInteger, '&allowLoss=true'), 409, 'UniqueViolation')
    expect((await server.get(fd.at('/v1/index'))).json).toMatchObject([
      { name: 'byName', state: 'ready', entryCount: 3 },
    ])
    await query("UPDATE Client WHERE name = '07' SET name TO '9'")
    expect((await alter(toInteger, '&allowLoss=true')).status).toBe(201)
    expect(await query('FROM Client WHERE name > 7 ORDER BY name RETURN name')).toEqual([{ name: 8 }, { name: 9 }])
    expectProblem(await fd.postObject('Shop.Client', { name: 9 }), 409, 'UniqueViolation')
  })
})

describe('a class is deleted', () => {
  rule(
    ['5.3.2', '5.3.13', '5.3.14'],
    'its number answers, its name is free, what refers to it goes with it',
    async () => {
      const { classNumber } = await classNamed('Shop.Order')
      await fd.index('byNumber', 'Shop.Order', false, 'number')
      const reply = await server.delete(fd.at('/v1/schema/Shop.Order'))
      expect([reply.status, reply.text]).toEqual([204, ''])
      expectProblem(await server.get(fd.at('/v1/schema/Shop.Order')), 404, 'ClassNotFound')
      expect(await classNamed(classNumber)).toMatchObject({ className: 'Shop.Order', isDeleted: true })
      const all = (await server.get(fd.at('/v1/schema'))).json
      expect(all.map((cls: { className: string }) => cls.className)).toEqual(['Shop.Address', 'Shop.Client'])
      expect(names(await classNamed('Shop.Client'))).toEqual(['name', 'age', 'address'])
      expect((await server.get(fd.at('/v1/index'))).json).toEqual([])
      const [again] = await fd.define(classOf('Shop.Order', { other: 'string' }))
      expect(again).not.toBe(classNumber)
      expectProblem(await server.delete(fd.at(`/v1/schema/${classNumber}`)), 404, 'ClassNotFound')
    },
  )

  rule(['5.3.12', '5.3.15'], 'only where nothing uses it, in queries too', async () => {
    await fd.define(classOf('Shop.Company', {}, { superClass: 'Shop.Client' }))
    const oid = await fd.create('Shop.Order', { number: 1 })
    for (const name of ['Shop.Client', 'Shop.Order', 'Shop.Address']) {
      const message = expectProblem(await server.delete(fd.at(`/v1/schema/${name}`)), 409, 'ClassInUse')
      const inQuery = await server.post(fd.at('/v1/query'), { query: `UPDATE SCHEMA { DROP CLASS ${name} }` })
      expect(expectProblem(inQuery, 409, 'ClassInUse')).toBe(`Line 1, column 17: ${message}`)
    }
    expect(await fd.read(oid)).toMatchObject({ number: 1 })
  })
})

rule('5.3.3', 'a dry run tells and does nothing', async () => {
  await fd.create('Shop.Client', { name: 'Ann', age: 300 })
  const before = (await server.get(fd.at('/v1/schema'))).text
  const planned = await alter(
    { attributesToDelete: ['name'], ...change('age', { logicalType: 'integer', storage: 'b8' }) },
    '&dryRun=true&allowLoss=true',
  )
  expect(planned.status).toBe(200)
  expect(planned.json).toMatchObject({
    classes: [
      {
        className: 'Shop.Client',
        change: 'change',
        attributesDeleted: ['name'],
        attributesChanged: [{ attributeName: 'age' }],
      },
    ],
    objects: 1,
    valuesLost: [
      { className: 'Shop.Client', attributeName: 'age', values: 1 },
      { className: 'Shop.Client', attributeName: 'name', values: 1 },
    ],
  })
  const narrower = change('age', { logicalType: 'integer', storage: 'b8' })
  const refused = await alter(narrower, '&dryRun=true')
  expectProblem(refused, 409, 'ValuesWouldBeLost')
  expect(refused.json.valuesLost).toEqual([{ className: 'Shop.Client', attributeName: 'age', values: 1 }])
  await fd.index('byName', 'Shop.Client', true, 'name')
  for (const name of ['7', ' 7']) await fd.create('Shop.Client', { name })
  const toInteger = change('name', { logicalType: 'integer' })
  for (const flags of ['&allowLoss=true&dryRun=true', '&allowLoss=true']) {
    expectProblem(await alter(toInteger, flags), 409, 'UniqueViolation')
  }
  await server.delete(fd.at('/v1/index/byName'))
  for (const name of ['7', ' 7']) await query(`DELETE Client WHERE name = '${name}'`)
  const more = [classOf('Shop.New', { a: 'string' }), classOf('Shop.Client', { more: 'real' })]
  for (const send of [() => server.put(at('/v1/schema', '&dryRun=true'), more)]) {
    expect(await send()).toMatchObject({ status: 200, json: { objects: 1, valuesLost: [] } })
  }
  expectProblem(await server.post(at('/v1/schema', '&dryRun=true'), more), 409, 'ClassExists')
  expectProblem(await server.delete(at('/v1/schema/Shop.Client', '&dryRun=true')), 409, 'ClassInUse')
  const deletion = await server.delete(at('/v1/schema/Shop.Order', '&dryRun=true'))
  expect(deletion.json).toMatchObject({
    classes: [
      { change: 'change', attributesDeleted: ['orders'] },
      { className: 'Shop.Order', change: 'delete' },
    ],
  })
  expect((await server.get(fd.at('/v1/schema'))).text).toBe(before)
})
