/** Constraints of classes that exist, and of their stored objects, over HTTP. */
import { describe, expect } from 'vitest'
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
      age: { logicalType: 'integer', minimum: 0, maximum: 150 },
      address: { logicalType: 'object', class: 'Address' },
      homes: list({ logicalType: 'object', class: 'Address' }),
      tags: list('string'),
      boss: reference('Person'),
    }),
    classOf('Worker', { wage: 'real' }, { superClass: 'Person' }),
  )
})

const at = (path: string, parameters = ''): string => `${fd.at(path)}${parameters}`
const alter = (body: unknown, parameters = '', cls = 'Person'): Promise<Reply> => {
  return server.put(at(`/v1/schema/${cls}`, parameters), body)
}
const constrain = (attributeName: string, fields: object, parameters = '', cls = 'Person'): Promise<Reply> => {
  return alter({ attributesToConstrain: [{ attributeName, ...fields }] }, parameters, cls)
}
const done = async (change: Promise<Reply>): Promise<void> => {
  const reply = await change
  expect(reply.status, reply.text).toBe(201)
}
const classNamed = async (name: string): Promise<Loose> => (await server.get(fd.at(`/v1/schema/${name}`))).json
const attribute = async (name: string, cls = 'Person'): Promise<Loose> => {
  const { attributes } = await classNamed(cls)
  return attributes.find((one: { attributeName: string }) => one.attributeName === name)
}
const query = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
/** The refusal's counts by constraint, with the OIDs. */
async function violations(change: Promise<Reply>): Promise<Loose> {
  const reply = await change
  expectProblem(reply, 409, 'ObjectsViolateConstraint')
  return reply.json.violations
}
/** Of what is written. */
const violates = async (change: Promise<Reply>): Promise<void> => {
  const { status, json } = await change
  expect([status, json.type]).toEqual([422, 'ConstraintViolation'])
}
const violated = (attributeName: string, constraint: string, ...oids: string[]) => {
  return { className: 'Person', attributeName, constraint, objects: oids.length, oids }
}

describe('fields are changed', () => {
  rule('10.5.1', 'those given take the place of those that there are, and null takes one away', async () => {
    const { shapeNumber } = await classNamed('Person')
    await done(constrain('age', { isRequired: true, minimum: 18, maximum: null, title: 'Age', isValidated: false }))
    expect(await attribute('age')).toMatchObject({ isRequired: true, minimum: 18, title: 'Age' })
    expect(await attribute('age')).not.toHaveProperty('maximum')
    expect(await attribute('age')).not.toHaveProperty('isValidated')
    await done(constrain('age', { isRequired: false, title: null, minimum: null }))
    expect(await attribute('age')).toEqual({
      attributeName: 'age',
      logicalType: 'integer',
      encoding: 'signed',
      storage: 'b32',
    })
    await done(constrain('tags', { maxItems: 3, elementSpecification: { pattern: '^a' } }))
    expect(await attribute('tags')).toMatchObject({ maxItems: 3, elementSpecification: { pattern: '^a' } })
    await violates(fd.postObject('Person', { tags: ['b'] }))
    await done(constrain('tags', { elementSpecification: { pattern: null } }))
    expect((await attribute('tags')).elementSpecification).not.toHaveProperty('pattern')
    expect((await classNamed('Person')).shapeNumber).toBe(shapeNumber)
  })

  rule('10.5.1', 'a default of null is null, and changes no object', async () => {
    const before = await fd.create('Person')
    await done(constrain('name', { default: 'nobody' }))
    expect(await fd.read(await fd.create('Worker'))).toMatchObject({ name: 'nobody' })
    await done(constrain('name', { default: null }))
    expect(await fd.read(await fd.create('Person'))).toMatchObject({ name: null })
    expect(await fd.read(before)).toMatchObject({ name: '' })
    expectProblem(await constrain('age', { default: 200 }), 422, 'InvalidDefinition')
    await done(constrain('age', { default: 20 }))
    expectProblem(await constrain('age', { minimum: 21 }), 422, 'InvalidDefinition')
  })

  rule('10.1.7', 'those that no value would satisfy with the present ones are refused', async () => {
    const message = expectProblem(await constrain('age', { minimum: 151 }), 422, 'InvalidDefinition')
    expect(message).toContain('Class Person, attribute age: maximum is 150 and minimum is 151: no value satisfies both')
    const change = { attributesToChange: [{ attributeName: 'age', logicalType: 'real', maximum: -0.5 }] }
    expectProblem(await alter(change), 422, 'InvalidDefinition')
    const text = 'UPDATE SCHEMA { ALTER CLASS Person {ALTER tags {Element: {MinLength: 2, MaxLength: 1}}} }'
    expect(expectProblem(await query(text), 422, 'InvalidDefinition')).toContain('maxLength is 1 and minLength is 2')
    await done(constrain('age', { minimum: 151, maximum: null }))
  })

  rule('10.5.1', 'own attributes alone, each once, last of all', async () => {
    expectProblem(await constrain('nome', { title: 'a' }), 422, 'UnknownAttribute')
    expectProblem(await constrain('age', { title: 'a' }, '', 'Worker'), 422, 'UnknownAttribute')
    const twice = [{ attributeName: 'age' }, { attributeName: 'age' }]
    expectProblem(await alter({ attributesToConstrain: twice }), 422, 'InvalidDefinition')
    expectProblem(await constrain('age', { logicalType: 'string' }), 400, 'UnknownField')
    expectProblem(await constrain('age', { pattern: 'a' }), 422, 'InvalidDefinition')
    await done(
      alter({
        attributesToConstrain: [
          { attributeName: 'years', minimum: 1 },
          { attributeName: 'more', maxLength: 3 },
        ],
        attributesToAdd: [{ attributeName: 'more', logicalType: 'string', minLength: 1 }],
        attributesToRename: [{ originalName: 'age', newName: 'years' }],
      }),
    )
    expect(await attribute('years')).toMatchObject({ minimum: 1, maximum: 150 })
    expect(await attribute('more')).toMatchObject({ minLength: 1, maxLength: 3 })
  })

  rule('10.5.2', 'fields of the class', async () => {
    await done(alter({ classFields: { title: 'A person', displayAttribute: 'name' } }))
    expect(await classNamed('Person')).toMatchObject({ title: 'A person', displayAttribute: 'name' })
    await done(alter({ classFields: { title: null, annotations: { a: 'b' } } }))
    expect(await classNamed('Person')).toMatchObject({ displayAttribute: 'name', annotations: { a: 'b' } })
    expect(await classNamed('Person')).not.toHaveProperty('title')
    expectProblem(await alter({ classFields: { displayAttribute: 'nome' } }), 422, 'InvalidDefinition')
    expectProblem(await alter({ classFields: { attributes: [] } }), 400, 'UnknownField')
  })

  rule('10.5.3', 'a class becomes abstract while it has no objects of its own', async () => {
    const oid = await fd.create('Person')
    const worker = await fd.create('Worker')
    const abstract = (parameters = '') => alter({ classFields: { isAbstract: true } }, parameters)
    const refused = [{ className: 'Person', constraint: 'isAbstract', objects: 1, oids: [oid] }]
    expect(await violations(abstract())).toEqual(refused)
    expect(await violations(abstract('&dryRun=true'))).toEqual(refused)
    expect(await violations(query('UPDATE SCHEMA {ALTER CLASS Person {SET {Abstract}}}'))).toEqual(refused)
    await fd.remove(oid)
    await done(abstract())
    expectProblem(await fd.postObject('Person'), 422, 'ClassIsAbstract')
    expect(await fd.read(worker)).toMatchObject({ name: '' })
    expect((await query('UPDATE SCHEMA {ALTER CLASS Person {SET {Abstract: FALSE}}}')).status).toBe(200)
    expect((await fd.postObject('Person')).status).toBe(201)
    expectProblem(await alter({ classFields: { isAbstract: true } }, '', 'Address'), 422, 'ClassIsAbstract')
  })

  rule('10.5.4', 'a change of type keeps what is not given, with its values converted', async () => {
    const retype = (attributeName: string, logicalType: string, more: object = {}, parameters = '') => {
      return alter({ attributesToChange: [{ attributeName, logicalType, ...more }] }, parameters)
    }
    await done(constrain('age', { default: 7, title: 'Age' }))
    await done(retype('age', 'real'))
    expect(await attribute('age')).toMatchObject({ default: 7, minimum: 0, maximum: 150, title: 'Age' })
    await done(constrain('age', { maximum: 150.5 }))
    expectProblem(await retype('age', 'integer'), 422, 'InvalidDefinition')
    await done(retype('age', 'integer', { maximum: 150 }))
    expectProblem(await retype('age', 'string'), 422, 'InvalidDefinition')
    const choices = [{ value: '7', label: 'seven' }, '8']
    await done(retype('age', 'string', { minimum: null, maximum: null, enumeration: choices }))
    expect(await attribute('age')).toMatchObject({ default: '7', enumeration: choices })
    await done(retype('age', 'integer', { isRequired: true }))
    const whole = [{ value: 7, label: 'seven' }, 8]
    expect(await attribute('age')).toMatchObject({ isRequired: true, default: 7, enumeration: whole })
    const oid = await fd.create('Person', { name: 'Ann', age: 8 })
    await done(constrain('name', { isRequired: true }))
    const lost = () => retype('name', 'integer', {}, '&allowLoss=true')
    expect(await violations(lost())).toEqual([violated('name', 'isRequired', oid)])
    await done(constrain('name', { default: '9' }))
    await done(lost())
    expect(await fd.read(oid)).toMatchObject({ name: 9, age: 8 })
    await done(retype('name', 'integer', { isRequired: null, minimum: 9 }))
    const long = await fd.create('Person', { name: 10 })
    // No value is lost, and yet one violates what is given.
    expect(await violations(retype('name', 'string', { minimum: null, maxLength: 1 }))).toEqual([
      violated('name', 'maxLength', long),
    ])
    const boss = { attributeName: 'boss', ...reference('Person'), isRequired: true }
    expect((await violations(alter({ attributesToChange: [boss] })))[0]).toMatchObject({ objects: 2 })
    await fd.remove(long)
    expect(await violations(retype('name', 'integer', { minimum: 10, default: null }))).toEqual([
      violated('name', 'minimum', oid),
    ])
  })
})

describe('checks that name an attribute whose type changes', () => {
  const check = (name: string, expression: string) => ({ classFields: { checks: [{ name, expression }] } })
  const to = (attributeName: string, logicalType: string) => ({ attributesToChange: [{ attributeName, logicalType }] })
  const broken = (className: string, checkName: string, ...oids: string[]) => [
    { className, checkName, constraint: 'checks', objects: oids.length, oids },
  ]

  rule('10.5.14', 'are held against stored objects with their new values', async () => {
    // Division of integers truncates.
    await done(alter(check('half', 'age / 2 != 2.5')))
    const oid = await fd.create('Person', { age: 5 })
    const toReal = to('age', 'real')
    expect(await violations(alter(toReal))).toEqual(broken('Person', 'half', oid))
    expect(await violations(alter(toReal, '&dryRun=true'))).toEqual(broken('Person', 'half', oid))
    const step = { method: 'PUT', uri: '/v1/schema/Person', body: toReal }
    const inBatch = await server.post(fd.at('/v1/transaction'), [step])
    expect(inBatch.json).toMatchObject({ status: 409, violations: broken('Person', 'half', oid) })
    expect(await attribute('age')).toMatchObject({ logicalType: 'integer' })
    await fd.update(oid, { age: 6 })
    await done(alter(toReal))
    expect((await fd.putObject(oid, { age: 5 })).status).toBe(422)
  })

  rule('10.5.14', 'also of other classes, through computed attributes, and where values are lost', async () => {
    await done(alter(check('zip', 'address.zip / 2 != 2.5')))
    const doubled = { attributeName: 'doubled', logicalType: 'real', computed: { expression: 'wage * 2' } }
    await done(alter({ attributesToAdd: [doubled], ...check('paid', 'doubled != 10') }, '', 'Worker'))
    const person = await fd.create('Person', { address: { zip: 5 } })
    const worker = await fd.create('Worker', { wage: 5.5 })
    expect(await violations(alter(to('zip', 'real'), '', 'Address'))).toEqual(broken('Person', 'zip', person))
    const lossy = () => alter(to('wage', 'integer'), '&allowLoss=true', 'Worker')
    expect(await violations(lossy())).toEqual(broken('Worker', 'paid', worker))
    await fd.update(worker, { wage: 6.5 })
    await done(lossy())
  })

  rule('10.5.14', 'are left as not validated by validate=false', async () => {
    await done(alter(check('half', 'age / 2 != 2.5')))
    await fd.create('Person', { age: 5 })
    await done(alter(to('age', 'real'), '&validate=false'))
    expect((await classNamed('Person')).checks).toEqual([
      { name: 'half', expression: 'age / 2 != 2.5', isValidated: false },
    ])
  })
})

describe('stored objects', () => {
  rule('10.5.5', 'are held against constraints that are not surely looser', async () => {
    const young = await fd.create('Person', { name: 'Ann', age: 10 })
    const old = await fd.create('Worker', { name: '', age: 30, tags: ['a', 'b'] })
    await fd.create('Person', { name: 'Bob', age: 40, tags: ['a'] })
    const stricter = {
      attributesToConstrain: [
        { attributeName: 'name', minLength: 1 },
        { attributeName: 'age', minimum: 18 },
        { attributeName: 'tags', maxItems: 1, elementSpecification: { pattern: 'a' } },
      ],
    }
    const expected = [
      violated('age', 'minimum', young),
      violated('name', 'minLength', old),
      violated('tags', 'maxItems', old),
      violated('tags', 'pattern', old),
    ]
    const before = await classNamed('Person')
    const sorted = (found: Loose[]) =>
      found.sort((a, b) => (`${a.attributeName}${a.constraint}` < `${b.attributeName}${b.constraint}` ? -1 : 1))
    expect(sorted(await violations(alter(stricter)))).toEqual(expected)
    expect(sorted(await violations(alter(stricter, '&dryRun=true')))).toEqual(expected)
    const batch = [{ method: 'put', uri: '/v1/schema/Person', body: stricter }]
    expect(sorted(await violations(server.post(fd.at('/v1/transaction'), batch)))).toEqual(expected)
    expect(await classNamed('Person')).toEqual(before)
    await fd.update(young, { age: 18 })
    await fd.update(old, { name: 'Cy', tags: ['a'] })
    await done(alter(stricter))
    await violates(fd.putObject(young, { age: 17 }))
  })

  rule('10.5.5', 'are found through embedded objects, and those of references', async () => {
    const none = await fd.create('Person', { homes: [{ zip: 1 }] })
    const one = await fd.create('Person', { boss: none, address: { zip: 7 }, homes: [{ zip: 1 }, { zip: 0 }] })
    const zips = constrain('zip', { minimum: 1 }, '', 'Address')
    expect(await violations(zips)).toEqual([
      { className: 'Address', attributeName: 'zip', constraint: 'minimum', objects: 2, oids: [none, one] },
    ])
    expect(await violations(constrain('boss', { isRequired: true }))).toEqual([violated('boss', 'isRequired', none)])
    await fd.update(none, { boss: one, address: { zip: 1 } })
    await fd.update(one, { homes: [{ zip: 1 }] })
    await done(constrain('boss', { isRequired: true }))
    await done(constrain('zip', { minimum: 1 }, '', 'Address'))
    await violates(fd.postObject('Person', { address: { zip: 1 } }))
  })

  rule('10.5.5', 'are counted with the elements of their collections, which may be links', async () => {
    const some = (inverse: string) => ({ logicalType: 'set', elementSpecification: reference('Member', inverse) })
    await fd.define(
      classOf('Club', { members: list(reference('Member', 'club')), guests: some('visits') }),
      classOf('Member', { club: reference('Club', 'members'), visits: list(reference('Club', 'guests')) }),
    )
    const [a, b] = [await fd.create('Member'), await fd.create('Member')]
    const empty = await fd.create('Club')
    const one = await fd.create('Club', { guests: [a, b] })
    const two = await fd.create('Club', { members: [a, b], guests: [a] })
    const limit = (attributeName: string, fields: object) => ({ attributesToConstrain: [{ attributeName, ...fields }] })
    const club = (constraint: string, attributeName: string, ...oids: string[]) => {
      return [{ className: 'Club', attributeName, constraint, objects: oids.length, oids }]
    }
    const asBatch = (body: object) =>
      server.post(fd.at('/v1/transaction'), [{ method: 'put', uri: '/v1/schema/Club', body }])
    for (const change of [(body: object) => alter(body, '', 'Club'), asBatch]) {
      expect(await violations(change(limit('members', { minItems: 1 })))).toEqual(
        club('minItems', 'members', empty, one),
      )
      expect(await violations(change(limit('members', { maxItems: 1 })))).toEqual(club('maxItems', 'members', two))
      expect(await violations(change(limit('guests', { maxItems: 1 })))).toEqual(club('maxItems', 'guests', one))
    }
    await done(alter(limit('members', { maxItems: 2 }), '', 'Club'))
    expect((await asBatch(limit('guests', { maxItems: 2 }))).status).toBe(200)
    const more = { attributeName: 'more', ...list(reference('Club'), 'TreeListOfReferences'), minItems: 1 }
    expect(await violations(alter({ attributesToAdd: [more] }, '', 'Club'))).toEqual(
      club('minItems', 'more', empty, one, two),
    )
  })

  rule('10.5.5', 'are told of with their number and the first ten', async () => {
    const oids: string[] = []
    for (let i = 0; i < 12; i++) oids.push(await fd.create('Person', { name: 'x' }))
    const found = await violations(constrain('name', { maxLength: 0 }))
    expect(found).toEqual([{ ...violated('name', 'maxLength'), objects: 12, oids: oids.slice(0, 10) }])
  })

  rule('10.5.6', 'satisfy the constraints of a new attribute by what they are given', async () => {
    const add = (fields: object, parameters = '') =>
      alter({ attributesToAdd: [{ attributeName: 'more', logicalType: 'string', ...fields }] }, parameters)
    await done(add({ isRequired: true }))
    await done(alter({ attributesToDelete: ['more'] }))
    const oid = await fd.create('Worker')
    const refused = [violated('more', 'isRequired', oid)]
    expect(await violations(add({ isRequired: true }))).toEqual(refused)
    expect(await violations(add({ isRequired: true }, '&dryRun=true'))).toEqual(refused)
    const attributes = [{ attributeName: 'more', logicalType: 'string', isRequired: true }]
    expect(await violations(fd.putSchema({ className: 'Person', attributes }))).toEqual(refused)
    expect(await violations(query('UPDATE SCHEMA {ALTER CLASS Person {ADD more: String{Required}}}'))).toEqual(refused)
    await done(add({ isRequired: true, default: 'd' }))
    expect(await fd.read(oid)).toMatchObject({ more: 'd' })
    await done(alter({ attributesToDelete: ['more'] }))
    await done(add({ minLength: 1 }))
    expect(await fd.read(oid)).toMatchObject({ more: null })
    await fd.update(oid, { more: 'x' })
    await done(constrain('more', { isRequired: true }))
  })

  rule('10.5.6', 'and those of a new attribute of what they embed', async () => {
    const add = () => {
      const more = { attributeName: 'more', logicalType: 'string', isRequired: true }
      return alter({ attributesToAdd: [more] }, '', 'Address')
    }
    await fd.define(classOf('Town', { all: list({ logicalType: 'object', class: 'Address' }) }))
    const oid = await fd.create('Town', { all: [{ zip: 1 }] })
    const refused = { className: 'Address', attributeName: 'more', constraint: 'isRequired', objects: 1, oids: [oid] }
    expect(await violations(add())).toEqual([refused])
    await fd.update(oid, { all: [] })
    await done(add())
  })

  rule(['10.5.6', '10.1.4'], 'by what a new attribute embeds in them, as its class is then', async () => {
    const oid = await fd.create('Worker', { name: 'Ann' })
    const office = { attributeName: 'office', logicalType: 'object', class: 'Address' }
    const add = (parameters = '') => alter({ attributesToAdd: [office] }, parameters, 'Worker')
    const taken = () => alter({ attributesToDelete: ['office'] }, '', 'Worker')
    const positive = (expression: string | null) => {
      const checks = expression === null ? null : [{ name: 'positive', expression }]
      return done(alter({ classFields: { checks } }, '', 'Address'))
    }
    const broken = [{ className: 'Address', checkName: 'positive', constraint: 'checks', objects: 1, oids: [oid] }]
    await fd.update(oid, { address: { zip: 7 } })
    await positive('zip > 0')
    for (const parameters of ['', '&dryRun=true', '&validate=false']) {
      expect(await violations(add(parameters))).toEqual(broken)
    }
    expect(await violations(query('UPDATE SCHEMA {ALTER CLASS Worker {ADD office: Object{Class: Address}}}'))).toEqual(
      broken,
    )
    const { className, attributeName, ...type } = { className: 'Worker', ...office }
    expect(await violations(fd.putSchema({ className, attributes: [{ attributeName, ...type }] }))).toEqual(broken)
    // Defaults are those of the time when the attribute is added.
    await done(constrain('zip', { default: 8 }, '', 'Address'))
    await done(add())
    expect(await fd.read(oid)).toMatchObject({ address: { zip: 7 }, office: { zip: 8 } })
    await done(constrain('zip', { default: 9 }, '', 'Address'))
    expect(await fd.read(oid)).toMatchObject({ office: { zip: 8 } })
    await done(taken())
    await positive(null)
    await done(constrain('zip', { default: null }, '', 'Address'))
    await done(add())
    expect(await fd.read(oid)).toMatchObject({ office: { zip: null } })
    await done(taken())
    await done(constrain('zip', { isRequired: true }, '', 'Address'))
    const needed = { className: 'Address', attributeName: 'zip', constraint: 'isRequired', objects: 1, oids: [oid] }
    expect(await violations(add())).toEqual([needed])
    expect(await violations(add('&validate=false'))).toEqual([needed])
  })

  rule(
    '10.5.7',
    'may violate constraints that are not validated, which only what is written is held against',
    async () => {
      const oid = await fd.create('Person', { age: 10 })
      await done(constrain('age', { minimum: 18 }, '&validate=false'))
      expect(await attribute('age')).toMatchObject({ minimum: 18, isValidated: false })
      await fd.update(oid, { name: 'Ann', age: 10 })
      await violates(fd.putObject(oid, { age: 11 }))
      await violates(fd.postObject('Person', { age: 10 }))
      const more = { attributeName: 'more', logicalType: 'string', isRequired: true }
      await done(alter({ attributesToAdd: [more] }, '&validate=false'))
      expect(await attribute('more')).toMatchObject({ isValidated: false })
      await done(constrain('age', { minimum: null, maximum: null }))
      expect(await attribute('age')).not.toHaveProperty('isValidated')
    },
  )

  rule('10.5.8', 'satisfy constraints that the tool ValidateConstraints has found them to satisfy', async () => {
    const validate = async (): Promise<Loose> =>
      (await server.post(fd.at('/v1/tool'), { tool: 'ValidateConstraints' })).json
    const oid = await fd.create('Person', { name: 'Ann', age: 10 })
    const verify = async (): Promise<Loose> => (await server.post(fd.at('/v1/tool'), { tool: 'Verify' })).json
    await done(
      alter(
        {
          attributesToConstrain: [
            { attributeName: 'age', minimum: 18 },
            { attributeName: 'name', minLength: 3 },
          ],
        },
        '&validate=false',
      ),
    )
    expect(await verify()).toMatchObject({ returnCode: 0 })
    expect(await validate()).toMatchObject({
      returnCode: 1,
      toolError:
        '1 object violates minimum of attribute age of class Person (3-3-1-1): not validated. Validated: attribute name of class Person.',
    })
    expect(await attribute('age')).toMatchObject({ isValidated: false })
    expect(await attribute('name')).not.toHaveProperty('isValidated')
    await fd.update(oid, { age: 18 })
    expect(await validate()).toMatchObject({
      toolOutput: 'Objects read: 1. Validated: attribute age of class Person.',
    })
    expect(await validate()).toMatchObject({
      returnCode: 0,
      toolOutput: 'Objects read: 0. Nothing was left to validate.',
    })
    expect(await attribute('age')).not.toHaveProperty('isValidated')
    expect(await verify()).toMatchObject({ returnCode: 0 })
  })
})

describe('in the background', () => {
  const startConstrain = (fields: object): Promise<Reply> => {
    const body = { attributesToConstrain: [{ attributeName: 'age', ...fields }] }
    return server.send('PUT', at('/v1/schema/Person'), { body, headers: { prefer: 'respond-async' } })
  }
  const ended = async (): Promise<Loose> => {
    for (;;) {
      const { validation } = await classNamed('Person')
      if (validation?.state !== 'running') return validation
    }
  }

  rule(['10.5.12', '10.5.13'], 'the class shows the change until it is made, or why it failed', async () => {
    const oid = await fd.create('Person', { age: 10 })
    const { status, headers, json } = await startConstrain({ minimum: 18 })
    expect([status, headers['preference-applied']]).toEqual([202, 'respond-async'])
    expect(json).toEqual({ classNumbers: [expect.any(String)], uris: [headers.location] })
    expect(await ended()).toEqual({
      state: 'failed',
      failure: {
        type: 'ObjectsViolateConstraint',
        message: expect.any(String),
        violations: [violated('age', 'minimum', oid)],
      },
    })
    expect(await attribute('age')).toMatchObject({ minimum: 0 })
    await fd.update(oid, { age: 18 })
    expect((await startConstrain({ minimum: 18 })).status).toBe(202)
    expect(await ended()).toBeUndefined()
    expect(await attribute('age')).toMatchObject({ minimum: 18 })
    expect((await startConstrain({ title: 'Age' })).status).toBe(201)
    expect(await attribute('age')).toMatchObject({ title: 'Age' })
  })
})
