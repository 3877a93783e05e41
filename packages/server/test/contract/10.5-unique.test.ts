/** Attributes with isUnique, whose indexes come and go with them, over HTTP. */
import { describe, expect } from 'vitest'
import { classOf, type FdUnderTest, list } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

useFdPerTest(async (given) => {
  ;({ server, fd } = given)
  await fd.define(
    classOf('P.Person', { mail: { logicalType: 'string', isUnique: true }, name: 'string', tags: list('string') }),
    classOf('P.Worker', {}, { superClass: 'P.Person' }),
  )
})

const at = (path: string, parameters = ''): string => `${fd.at(path)}${parameters}`
const alter = (body: unknown, parameters = ''): Promise<Reply> => {
  return server.put(at('/v1/schema/P.Person', parameters), body)
}
const constrain = (attributeName: string, fields: object, parameters = ''): Promise<Reply> => {
  return alter({ attributesToConstrain: [{ attributeName, ...fields }] }, parameters)
}
const retype = (attributeName: string, logicalType: string, more: object = {}, parameters = '') => {
  return alter({ attributesToChange: [{ attributeName, logicalType, ...more }] }, parameters)
}
const done = async (change: Promise<Reply>): Promise<void> => {
  const reply = await change
  expect(reply.status, reply.text).toBe(201)
}
const indexes = async (): Promise<string[]> => {
  return (await server.get(fd.at('/v1/index'))).json.map(({ name }: Loose) => name)
}
const query = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
const unique = async (change: Promise<Reply>): Promise<void> => {
  expectProblem(await change, 409, 'UniqueViolation')
}

describe('a unique attribute', () => {
  rule('10.5.9', 'has a unique index of its name, which is shown and used like any', async () => {
    const oid = await fd.create('P.Person', { mail: 'a' })
    const worker = await fd.create('P.Worker')
    expect(await fd.read(worker)).toMatchObject({ mail: null, name: '' })
    await fd.create('P.Worker')
    await unique(fd.postObject('P.Worker', { mail: 'a' }))
    await unique(fd.putObject(worker, { mail: 'a' }))
    expect((await server.get(fd.at('/v1/index/P.Person.mail'))).json).toEqual({
      name: 'P.Person.mail',
      uri: '/v1/index/P.Person.mail',
      indexedClass: 'P.Person',
      isUnique: true,
      keyAttributes: [{ attributeName: 'mail', properties: { maxStoredStringLength: 24 } }],
      state: 'ready',
      entryCount: 3,
    })
    const plan = await server.post(at('/v1/query', '&explain=true'), {
      query: "FROM P.Person WHERE mail = 'a' RETURN *",
    })
    expect(plan.text).toContain('P.Person.mail')
    expectProblem(await fd.postIndex('P.Person.mail', 'P.Person', false, 'name'), 409, 'IndexExists')
    await fd.remove(oid)
    await fd.update(worker, { mail: 'a' })
  })

  rule('10.5.10', 'takes its index along: it cannot be dropped, and follows renames', async () => {
    expectProblem(await server.delete(fd.at('/v1/index/P.Person.mail')), 409, 'IndexInUse')
    expectProblem(await query('DROP INDEX P.Person.mail'), 409, 'IndexInUse')
    await fd.create('P.Person', { mail: 'a' })
    await done(alter({ attributesToRename: [{ originalName: 'mail', newName: 'email' }] }))
    expect(await indexes()).toEqual(['P.Person.email'])
    await done(alter({ classRename: 'Human' }))
    expect(await indexes()).toEqual(['P.Human.email'])
    await unique(fd.postObject('P.Human', { email: 'a' }))
    await done(server.put(fd.at('/v1/schema/P.Human'), { attributesToDelete: ['email'] }))
    expect(await indexes()).toEqual([])
  })

  rule('10.5.10', 'loses its index with the field, and with its class', async () => {
    await fd.create('P.Person', { mail: 'a' })
    await done(constrain('mail', { isUnique: null }))
    expect(await indexes()).toEqual([])
    await fd.create('P.Person', { mail: 'a' })
    expect((await query('UPDATE SCHEMA {CREATE CLASS P.Car {plate: String{Unique}}}')).status).toBe(200)
    expect(await indexes()).toEqual(['P.Car.plate'])
    expect((await server.delete(fd.at('/v1/schema/P.Car'))).status).toBe(204)
    expect(await indexes()).toEqual([])
  })

  rule('10.5.11', 'gets it for the objects that there are', async () => {
    const one = await fd.create('P.Person', { name: 'a' })
    const other = await fd.create('P.Worker', { name: 'a' })
    const before = (await server.get(fd.at('/v1/schema'))).json
    await unique(constrain('name', { isUnique: true }))
    await unique(constrain('name', { isUnique: true }, '&validate=false'))
    await unique(constrain('name', { isUnique: true }, '&dryRun=true'))
    await unique(query('UPDATE SCHEMA {ALTER CLASS P.Person {ALTER name {Unique}}}'))
    expect((await server.get(fd.at('/v1/schema'))).json).toEqual(before)
    expect(await indexes()).toEqual(['P.Person.mail'])
    await fd.update(other, { name: 'b' })
    await done(constrain('name', { isUnique: true, minLength: 1 }))
    expect(await indexes()).toEqual(['P.Person.mail', 'P.Person.name'])
    await unique(fd.putObject(one, { name: 'b' }))
    await done(constrain('name', { isUnique: false }))
    expect((await query('UPDATE SCHEMA {ALTER CLASS P.Person {ALTER name {Unique}}}')).status).toBe(200)
    await unique(fd.putObject(one, { name: 'b' }))
  })

  rule('10.5.11', 'counts the objects with equal values, beside those that violate other constraints', async () => {
    const oids: string[] = []
    for (const name of ['a', 'b', 'a', 'c', 'b', 'a']) oids.push(await fd.create('P.Person', { name }))
    const [a, b, a2, , b2, a3] = oids
    const equal = { className: 'P.Person', attributeName: 'name', constraint: 'isUnique', objects: 5 }
    const inTransaction = (...attributesToConstrain: object[]): Promise<Reply> => {
      const operation = { method: 'put', uri: '/v1/schema/P.Person', body: { attributesToConstrain } }
      return server.post(fd.at('/v1/transaction'), [operation])
    }
    const inDryRun = (...attributesToConstrain: object[]) => alter({ attributesToConstrain }, '&dryRun=true')
    for (const change of [inTransaction, inDryRun]) {
      const alone = await change({ attributeName: 'name', isUnique: true })
      expectProblem(alone, 409, 'UniqueViolation')
      expect(alone.json.message).toMatch(/name "a" is already held by .* 5 objects have values that others have\.$/)
      expect(alone.json.violations).toEqual([{ ...equal, oids: expect.any(Array) }])
      expect(alone.json.violations[0].oids.sort()).toEqual([a, b, a2, b2, a3].sort())
      const both = await change(
        { attributeName: 'name', isUnique: true },
        { attributeName: 'tags', minItems: 1 },
        { attributeName: 'mail', isRequired: true },
      )
      expectProblem(both, 409, 'ObjectsViolateConstraint')
      const found = both.json.violations.map((one: Loose) => [one.attributeName, one.constraint, one.objects])
      expect(found.sort()).toEqual([
        ['mail', 'isRequired', 6],
        ['name', 'isUnique', 5],
        ['tags', 'minItems', 6],
      ])
    }
  })

  rule('10.5.11', 'also where it is new', async () => {
    const one = await fd.create('P.Person')
    const add = (fields: object, parameters = '') => {
      return alter(
        { attributesToAdd: [{ attributeName: 'nr', logicalType: 'integer', isUnique: true, ...fields }] },
        parameters,
      )
    }
    await done(add({ default: 7 }))
    await unique(fd.postObject('P.Person'))
    await done(alter({ attributesToDelete: ['nr'] }))
    const other = await fd.create('P.Worker')
    await unique(add({ default: 7 }))
    await unique(add({ default: 7 }, '&dryRun=true'))
    expect(await indexes()).toEqual(['P.Person.mail'])
    await done(add({}))
    expect(await fd.read(other)).toMatchObject({ nr: null })
    await fd.update(one, { nr: 1 })
    await unique(fd.putObject(other, { nr: 1 }))
    expect((await server.get(fd.at('/v1/index/P.Person.nr'))).json).toMatchObject({ state: 'ready', entryCount: 2 })
  })

  rule('10.5.11', 'and under another type', async () => {
    const oid = await fd.create('P.Person', { mail: '1', name: '1' })
    const other = await fd.create('P.Person', { mail: '2', name: ' 1' })
    await done(retype('mail', 'integer'))
    expect(await indexes()).toEqual(['P.Person.mail'])
    await unique(fd.putObject(oid, { mail: 2 }))
    await unique(retype('name', 'integer', { isUnique: true }))
    await fd.update(other, { name: '2' })
    await done(retype('name', 'integer', { isUnique: true }))
    await unique(fd.putObject(oid, { name: 2 }))
    expectProblem(await constrain('tags', { isUnique: true }), 422, 'InvalidDefinition')
    await done(retype('name', 'string', { isUnique: null }))
    expect(await indexes()).toEqual(['P.Person.mail'])
  })

  rule('10.5.11', 'unless an index has its name', async () => {
    await fd.index('P.Person.name', 'P.Worker', false, 'name')
    expectProblem(await constrain('name', { isUnique: true }), 409, 'IndexExists')
    const renames = [
      { originalName: 'mail', newName: 'name' },
      { originalName: 'name', newName: 'other' },
    ].reverse()
    expectProblem(await alter({ attributesToRename: renames }), 409, 'IndexExists')
  })
})
