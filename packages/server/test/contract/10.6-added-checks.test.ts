/** Checks that classes get which have objects (contract 10.6.7, 10.6.17). */
import { expect } from 'vitest'
import { classOf, embedded, type FdUnderTest } from './class-of.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Reply, ServerUnderTest } from './server-under-test.ts'

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
  expect((await server.put(`${fd.at('/v1/schema/A')}&validate=false`, fields)).json.type).toBe('InvalidDefinition')
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
