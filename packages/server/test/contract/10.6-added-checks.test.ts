/** Checks that classes get which have objects (contract 10.6.7, 10.6.17, 10.6.19, 10.6.20). */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, embedded, type FdUnderTest } from './class-of.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import { type Loose, type Reply, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const query = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
const check = (name: string, expression: string) => ({ name, expression })

rule(['10.6.17', '10.6.7'], 'checks of a class that exists hold for stored objects, too', async () => {
  await fd.define(classOf('A', { a: 'integer', b: 'integer' }), classOf('E', { n: 'integer' }, embedded))
  await fd.define(classOf('B', { e: { logicalType: 'object', class: 'E' } }), classOf('Sub', {}, { superClass: 'A' }))
  const oid = await fd.create('Sub', { a: 5, b: 3 })
  await fd.create('A', { a: 1, b: 3 })
  await fd.create('B', { e: { n: 1 } })
  const names = async (name: string) => {
    const { checks = [] } = (await server.get(fd.at(`/v1/schema/${name}`))).json
    return checks.map((one: { name: string }) => one.name)
  }
  const refused = await query('UPDATE SCHEMA { ALTER CLASS A {ADD CHECK order: a <= b} }')
  expect(refused.json).toMatchObject({ status: 409, type: 'ObjectsViolateConstraint' })
  expect(refused.json.violations).toEqual([
    { className: 'A', checkName: 'order', constraint: 'checks', objects: 1, oids: [oid] },
  ])
  const ofEmbedded = { className: 'E', attributes: [], checks: [check('none', 'n != 1')] }
  expect((await fd.putSchema(ofEmbedded)).json.type).toBe('ObjectsViolateConstraint')
  const fields = { classFields: { checks: [check('order', 'a <= b')] } }
  expect((await server.put(fd.at('/v1/schema/A'), fields)).json.type).toBe('ObjectsViolateConstraint')
  expect((await server.put(`${fd.at('/v1/schema/A')}&dryRun=true`, fields)).json.violations).toEqual(
    refused.json.violations,
  )
  expect([await names('A'), await names('E')]).toEqual([[], []])
  await fd.update(oid, { b: 9 })
  expect(
    (
      await query(
        "UPDATE SCHEMA { ALTER CLASS A {ADD CHECK order: a <= b MESSAGE 'a is too large', ADD check: Integer} }",
      )
    ).status,
  ).toBe(200)
  expect((await fd.putSchema({ className: 'A', attributes: [], checks: [check('small', 'a < 100')] })).status).toBe(201)
  expect(await names('A')).toEqual(['order', 'small'])
  expect((await fd.putSchema({ className: 'A', attributes: [], checks: [check('small', 'a < 50')] })).json.type).toBe(
    'ClassExists',
  )
  expect((await query('UPDATE A SET a TO 10')).json.errors[0].checkName).toBe('order')
  expect((await query('UPDATE SCHEMA { ALTER CLASS A {DROP CHECK order, DROP check} }')).status).toBe(200)
  expect((await query('UPDATE A SET a TO 10')).status).toBe(200)
  expect((await query('UPDATE SCHEMA { ALTER CLASS A {DROP CHECK order} }')).json.type).toBe('InvalidDefinition')
  expect(await names('A')).toEqual(['small'])
})

const alter = (body: unknown, parameters = ''): Promise<Reply> => {
  return server.put(`${fd.at('/v1/schema/A')}${parameters}`, body)
}
const checksOf = async (name: string): Promise<Loose> => (await server.get(fd.at(`/v1/schema/${name}`))).json.checks
const runTool = async (tool: string): Promise<Loose> => (await server.post(fd.at('/v1/tool'), { tool })).json

rule('10.6.17', 'several checks and constraints are held against stored objects together', async () => {
  await fd.define(classOf('A', { a: 'integer', b: 'integer' }))
  const oid = await fd.create('A', { a: 5, b: 3 })
  const body = {
    attributesToConstrain: [{ attributeName: 'b', minimum: 4 }],
    classFields: { checks: [check('order', 'a <= b'), check('small', 'a < 5'), check('positive', 'a > 0')] },
  }
  const { json } = await alter(body)
  const violation = { className: 'A', objects: 1, oids: [oid] }
  expect(json.violations).toHaveLength(3)
  expect(json.violations).toEqual(
    expect.arrayContaining([
      { ...violation, attributeName: 'b', constraint: 'minimum' },
      { ...violation, checkName: 'order', constraint: 'checks' },
      { ...violation, checkName: 'small', constraint: 'checks' },
    ]),
  )
  expect(await checksOf('A')).toBeUndefined()
  await fd.update(oid, { a: 4, b: 4 })
  expect((await alter(body)).status).toBe(201)
  expect(await checksOf('A')).toEqual(body.classFields.checks)
})

rule('10.6.17', 'an expression that the class has is not held against them again', async () => {
  await fd.define(classOf('A', { a: 'integer' }))
  await fd.create('A', { a: 5 })
  const left = { classFields: { checks: [check('small', 'a < 5')] } }
  expect((await alter(left, '&validate=false')).status).toBe(201)
  const renamed = { classFields: { checks: [{ ...check('tiny', 'a < 5'), message: 'a is too large' }] } }
  expect((await alter(renamed)).status).toBe(201)
  expect(await checksOf('A')).toEqual([{ ...renamed.classFields.checks[0], isValidated: false }])
})

rule('10.6.19', 'with validate=false, checks hold for what is written alone, until they are validated', async () => {
  await fd.define(classOf('A', { a: 'integer', b: 'integer' }))
  const oid = await fd.create('A', { a: 5 })
  const fields = { classFields: { checks: [check('small', 'a < 5'), check('all', 'b = 0')] } }
  expect((await alter(fields, '&validate=false')).status).toBe(201)
  const unvalidated = fields.classFields.checks.map((one) => ({ ...one, isValidated: false }))
  expect(await checksOf('A')).toEqual(unvalidated)
  expect(await fd.update(oid, { b: 0 })).toBeUndefined()
  expect((await fd.putObject(oid, { a: 6 })).json.errors[0].checkName).toBe('small')
  expect(await runTool('Verify')).toMatchObject({ returnCode: 0 })
  // What is shown is ignored where it is given.
  expect((await alter({ classFields: { checks: unvalidated } })).status).toBe(201)
  expect(await checksOf('A')).toEqual(unvalidated)
  expect(await runTool('ValidateConstraints')).toMatchObject({
    returnCode: 1,
    toolError: '1 object violates check small of class A (3-3-1-1): not validated. Validated: check all of class A.',
  })
  expect(await checksOf('A')).toEqual([unvalidated[0], fields.classFields.checks[1]])
  await fd.update(oid, { a: 4 })
  expect(await runTool('ValidateConstraints')).toMatchObject({
    toolOutput: 'Objects read: 1. Validated: check small of class A.',
  })
  expect(await checksOf('A')).toEqual(fields.classFields.checks)
})

describe('more objects than one transaction looks at', () => {
  let small: ServerUnderTest
  beforeAll(async () => {
    const data = temporaryDirectory()
    const config = join(data, 'ashlar.json')
    writeFileSync(config, JSON.stringify({ limits: { transactionIndexObjectsMax: 3 } }))
    small = await startServer({ words: ['--config', config], data })
  })
  afterAll(() => small.remove())

  rule(['10.6.17', '10.6.20'], 'are held against a check by a request, and not within a transaction', async () => {
    await small.put('/v1/schema', [classOf('A', { a: 'integer' })])
    for (let a = 0; a < 5; a++) await small.post('/v1/object', { class: 'A', attributes: { a } })
    const change = (expression: string) => ({ classFields: { checks: [check('small', expression)] } })
    const put = (body: unknown) => small.put('/v1/schema/A', body)
    expect((await put(change('a < 4'))).json).toMatchObject({
      type: 'ObjectsViolateConstraint',
      violations: [{ checkName: 'small', objects: 1 }],
    })
    const tooMany = {
      status: 422,
      type: 'LimitExceeded',
      message: expect.stringContaining('transactionIndexObjectsMax'),
    }
    const text = { query: 'UPDATE SCHEMA { ALTER CLASS A {ADD CHECK small: a < 5} }' }
    expect((await small.post('/v1/query', text)).json).toMatchObject(tooMany)
    const operation = { method: 'put', uri: '/v1/schema/A', body: change('a < 5') }
    expect((await small.post('/v1/transaction', [operation])).json).toMatchObject(tooMany)
    const attributesToRename = [{ originalName: 'a', newName: 'b' }]
    expect((await put({ attributesToRename, ...change('b < 5') })).json).toMatchObject(tooMany)
    const attributesToAdd = [{ attributeName: 'b', logicalType: 'integer' }]
    expect((await put({ attributesToAdd, ...change('a + b < 5') })).json).toMatchObject(tooMany)
    expect((await put({ attributesToAdd, ...change('a < 5') })).status).toBe(201)
    const listed = { className: 'A', attributes: [], checks: [check('positive', 'a >= 0')] }
    expect((await small.put('/v1/schema', [listed])).status).toBe(201)
    expect((await small.get('/v1/schema/A')).json.checks).toHaveLength(2)
  })
})
