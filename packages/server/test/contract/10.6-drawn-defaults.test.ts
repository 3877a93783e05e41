/** Defaults that draw numbers from sequences, and expressions of existing attributes, over HTTP (contract 10.5.1, 10.6.18). */
import { expect } from 'vitest'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { classOf, type FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const ask = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
async function rows(text: string): Promise<Loose> {
  const reply = await ask(text)
  expect(reply.status, reply.text).toBe(200)
  return reply.json
}
const b64 = { logicalType: 'integer', storage: 'b64' }
const drawn = (expression: string, more: object = {}) => ({ ...b64, default: { expression }, ...more })
const numbers = async (): Promise<number[]> => {
  return (await rows('FROM Invoice ORDER BY number RETURN number')).map((row: { number: number }) => row.number)
}

rule('10.6.18', 'number what is created, on every way in', async () => {
  await rows('CREATE SEQUENCE bills START 1000 STEP 10')
  await fd.define(
    classOf('Invoice', {
      number: drawn("NEXT('bills')", { isRequired: true, isUnique: true }),
      label: { logicalType: 'string', default: { expression: "'B-' + CAST(NEXT('bills') AS String)" } },
      amount: 'integer',
    }),
  )
  const oid = await fd.create('Invoice', {})
  expect(await fd.read(oid)).toMatchObject({ number: 1000, label: 'B-1010' })
  await fd.create('Invoice', { label: 'own' })
  await fd.create('Invoice', { number: 5, label: 'own' })
  await rows(
    "CREATE Invoice {label: ''}; CREATE Invoice {label: ''}; UPSERT Invoice {number: 5, label: 'x'} ON (number)",
  )
  const array = [1, 2, 3].map(() => ({ class: 'Invoice', attributes: { label: '' } }))
  expect((await server.post(fd.at('/v1/object'), array)).status).toBe(201)
  const lines = [1, 2].map((amount) => `${JSON.stringify({ class: 'Invoice', attributes: { amount, label: '' } })}\n`)
  const headers = { 'content-type': 'application/x-ndjson' }
  const streamed = await server.send('POST', `${fd.at('/v1/object')}&atomic=true`, { raw: lines.join(''), headers })
  expect(streamed.status, streamed.text).toBe(200)
  const operation = { method: 'POST', uri: '/v1/object', body: { class: 'Invoice', attributes: { label: '' } } }
  expect((await server.post(fd.at('/v1/transaction'), [operation, operation])).status).toBe(200)
  const created = await numbers()
  expect(created.slice(0, 3)).toEqual([5, 1000, 1020])
  expect([created.length, new Set(created).size, created.filter((number) => number % 10 === 0).length]).toEqual([
    12, 12, 11,
  ])
  // As for other expressions, CLEAR gives the attribute what a creation would.
  await rows('UPDATE Invoice WHERE number = 5 CLEAR number')
  expect((await numbers())[0]).toBe(1000)
})

rule('10.6.18', 'take from a sequence of the same text, and only what they need', async () => {
  await rows(
    `CREATE SEQUENCE s; UPDATE SCHEMA {CREATE CLASS Invoice {number: Integer{Storage: b64, Default: (NEXT('s'))}}}; CREATE Invoice {}; CREATE Invoice {}`,
  )
  expect(await numbers()).toEqual([1, 2])
  expect((await rows('SHOW SEQUENCES'))[0].next).toBe(3)
  await rows('CREATE Invoice {number: 7}')
  expect((await rows('SHOW SEQUENCES'))[0].next).toBe(3)
})

rule('10.6.18', 'name a sequence that there is, which is kept while they do', async () => {
  const define = async (expression: string): Promise<Reply> => {
    return fd.putSchema(classOf('Invoice', { number: drawn(expression) }))
  }
  const unknown = await define("NEXT('s')")
  expect([unknown.status, unknown.json.type]).toEqual([422, 'InvalidDefinition'])
  expect(unknown.json.message).toContain("there is no sequence 's'")
  await rows('CREATE SEQUENCE s')
  for (const wrong of [
    "(IF EVERY x IN [1, 2] SATISFIES NEXT('s') > 0 THEN 1 ELSE 2)",
    "[1, 2][? NEXT('s') > 1][0]",
    Array(11).fill("NEXT('s')").join(' + '),
  ]) {
    expect((await define(wrong)).status, wrong).toBe(422)
  }
  const onUpdate = classOf('Other', { number: { ...b64, onUpdate: { expression: "NEXT('s')" } } })
  expect((await fd.putSchema(onUpdate)).json.type).toBe('InvalidDefinition')
  await fd.define(classOf('Invoice', { number: drawn("CASE WHEN FALSE THEN NEXT('s') ELSE 3 END") }))
  const inUse = await ask('DROP SEQUENCE s')
  expect([inUse.status, inUse.json.type]).toEqual([409, 'SequenceInUse'])
  expect(inUse.json.message).toContain('Invoice.number')
  await fd.create('Invoice', {})
  expect(await numbers()).toEqual([3])
  await rows('UPDATE SCHEMA {ALTER CLASS Invoice {ALTER number {Default: 0}}}; DROP SEQUENCE s')
})

rule('10.6.18', 'need the right to define on the whole, but none to create', async () => {
  const { app, token } = await openSecureServer({ aliases: ['fleet'] })
  const send = async (roles: readonly string[], url: string, payload: object) => {
    const headers = { authorization: await token({ roles }) }
    return (await app.inject({ method: 'POST', url: `${url}?fdAlias=fleet`, headers, payload })).statusCode
  }
  const grants = [
    { on: { kind: 'all' }, actions: ['read', 'query'] },
    { on: { kind: 'namespace', namespace: 'Fleet' }, actions: ['create', 'update', 'delete', 'define', 'index'] },
  ]
  expect(await send(['admin'], '/v1/security/role', { name: 'part', grants })).toBe(201)
  expect(await send(['designer'], '/v1/query', { query: 'CREATE SEQUENCE s' })).toBe(200)
  const query = "UPDATE SCHEMA {CREATE CLASS Fleet.Car {number: Integer{Default: (NEXT('s'))}}}"
  expect(await send(['part'], '/v1/query', { query })).toBe(403)
  // The reply does not reveal which sequences there are.
  expect(await send(['part'], '/v1/query', { query: query.replace("'s'", "'none'") })).toBe(403)
  expect(await send(['designer'], '/v1/query', { query })).toBe(200)
  expect(await send(['part'], '/v1/query', { query: 'CREATE Fleet.Car {}' })).toBe(200)
  expect(await send(['part'], '/v1/object', [{ class: 'Fleet.Car', attributes: {} }])).toBe(201)
  expect(await send(['part'], '/v1/object', [{ class: 'Fleet.Car', attributes: { number: 7 } }])).toBe(201)
  expect(await send(['part'], '/v1/query', { query: 'UPDATE Fleet.Car CLEAR number' })).toBe(200)
  const own = { on: { kind: 'class', className: 'Fleet.Car' }, actions: ['read', 'query', 'create', 'update'] }
  expect(await send(['admin'], '/v1/security/role', { name: 'own', grants: [own] })).toBe(201)
  const added = 'UPDATE SCHEMA {ALTER CLASS Fleet.Car {ADD isNew: Boolean{Default: (FALSE)}}}'
  expect(await send(['designer'], '/v1/query', { query: added })).toBe(200)
  const creation = { class: 'Fleet.Car', attributes: { number: 9, isNew: true } }
  expect(await send(['own'], '/v1/object', creation)).toBe(201)
  const clear = 'UPDATE Fleet.Car WHERE number = 9 AND isNew CLEAR isNew, number'
  expect(await send(['own'], '/v1/query', { query: clear })).toBe(200)
  const wrong = 'IF (FROM Fleet.Car WHERE number = 9 OR isNew RETURN COUNT()) > 0 THEN (DROP INDEX none)'
  expect(await send(['admin'], '/v1/query', { query: wrong })).toBe(200)
  await app.close()
})

rule('10.6.18', 'are drawn in blocks by a transaction that creates many objects', async () => {
  await rows('CREATE SEQUENCE s; UPDATE SCHEMA {CREATE CLASS Invoice {number: Integer{Storage: b64, Unique}}}')
  await rows("UPDATE SCHEMA {ALTER CLASS Invoice {ALTER number {Default: (NEXT('s'))}}}")
  await rows(`FOR EACH i IN LIST{${Array.from({ length: 300 }, (_, i) => i).join(', ')}} => (CREATE Invoice {})`)
  // A text that begins again in a thread leaves a gap.
  const created = await numbers()
  expect([created.length, new Set(created).size]).toEqual([300, 300])
  // Eight single numbers, then blocks of 16, 32, … 256.
  expect((await rows('SHOW SEQUENCES'))[0].next).toBeLessThanOrEqual(3 * 505)
})

rule(['10.5.1', '10.6.8'], 'expressions stay where other properties are changed, and are given by ALTER', async () => {
  const text = `UPDATE SCHEMA {CREATE CLASS W {b: Integer{Default: (1 + 1)}, d: Date{Default: (TODAY())}, u: Integer{OnUpdate: (5)},
    c: Integer = (b + 1), l: List{Element: Integer}, j: List{Element: Json}}}`
  expect((await ask(text)).status).toBe(200)
  for (const change of [
    'd {Required}',
    "u {Title: 'x'}",
    "c {Title: 'y'}",
    'b {Minimum: 1}',
    'l {Default: (1, 2)}',
    `j {Default: (1, JSON('{"x": [1]}'), 'y' // the last
      )}`,
    'u {Default: (1 + 6)}',
  ]) {
    const reply = await ask(`UPDATE SCHEMA {ALTER CLASS W {ALTER ${change}}}`)
    expect([change, reply.status], reply.text).toEqual([change, 200])
  }
  const wider = { attributesToChange: [{ attributeName: 'b', logicalType: 'integer', storage: 'b64' }] }
  const widened = await server.put(fd.at('/v1/schema/W'), wider)
  expect(widened.status, widened.text).toBeLessThan(300)
  expect((await server.get(fd.at('/v1/schema/W'))).json.attributes).toMatchObject([
    { storage: 'b64', default: { expression: '1 + 1' }, minimum: 1 },
    { default: { expression: 'TODAY()' }, isRequired: true },
    { onUpdate: { expression: '5' }, title: 'x', default: { expression: '1 + 6' } },
    { computed: { expression: 'b + 1' }, title: 'y' },
    { default: [1, 2] },
    { default: [1, { x: [1] }, 'y'] },
  ])
  const oid = await fd.create('W', {})
  expect(await fd.read(oid)).toMatchObject({ b: 2, u: 7, c: 3, l: [1, 2], d: expect.any(String) })
  const onJson = 'UPDATE SCHEMA {CREATE CLASS J {j: Json{OnUpdate: (JSON(1))}}}'
  expectProblem(await ask(onJson), 422, 'InvalidDefinition')
})
