/** References that are given inverses, and lose them, over HTTP. */
import { expect } from 'vitest'
import { classOf, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

useFdPerTest(async (given) => {
  ;({ server, fd } = given)
  await fd.define(classOf('V.A', { n: 'string' }), classOf('V.B', { a: reference('V.A') }))
})

const paired = (inverse = list(reference('V.B', 'a'))) => [
  { className: 'V.A', attributes: [{ attributeName: 'bs', ...inverse }] },
  { className: 'V.B', attributes: [{ attributeName: 'a', ...reference('V.A', 'bs') }] },
]
const put = (path: string, body: unknown, parameters = ''): Promise<Reply> =>
  server.put(`${fd.at(path)}${parameters}`, body)

rule(['5.1.30', '5.3.20'], 'an existing reference is given an inverse over its objects', async () => {
  const a = await fd.create('V.A', { n: 'x' })
  const bs = [await fd.create('V.B', { a }), await fd.create('V.B', { a })]
  expect((await put('/v1/schema', paired())).status).toBe(201)
  expect((await fd.read(a)).bs).toEqual(bs)
  expectProblem(
    await put('/v1/schema', [{ className: 'V.B', attributes: [{ attributeName: 'a', ...reference('V.A', 'n') }] }]),
    409,
  )
  await fd.define(classOf('Node', { parent: reference('Node') }))
  const root = await fd.create('Node')
  const child = await fd.create('Node', { parent: root })
  const change = {
    attributesToChange: [{ attributeName: 'parent', ...reference('Node', 'children') }],
    attributesToAdd: [{ attributeName: 'children', ...list(reference('Node', 'parent')) }],
  }
  expect((await put('/v1/schema/Node', change)).status).toBe(201)
  expect((await fd.read(root)).children).toEqual([child])
})

rule(
  '5.3.19',
  'references that do not fit an inverse are counted, and cleared only where that is allowed',
  async () => {
    const a = await fd.create('V.A', { n: 'x' })
    const [first, second] = [await fd.create('V.B', { a }), await fd.create('V.B', { a })]
    const single = paired(reference('V.B', 'a'))
    const refused = await put('/v1/schema', single)
    expectProblem(refused, 409, 'ValuesWouldBeLost')
    expect(refused.json).toMatchObject({ valuesLost: [{ className: 'V.B', attributeName: 'a', values: 1 }] })
    expect(refused.json.message).toContain(second)
    expect((await fd.read(second)).a).toBe(a)
    expect((await put('/v1/schema', single, '&allowLoss=true')).status).toBe(201)
    expect((await fd.read(a)).bs).toBe(first)
    expect((await fd.read(second)).a).toBe('0-0-0-0')
  },
)

rule('5.3.21', 'an inverse is removed, and the references stay', async () => {
  const a = await fd.create('V.A', { n: 'x' })
  const b = await fd.create('V.B', { a })
  await put('/v1/schema', paired())
  const change = { attributesToChange: [{ attributeName: 'a', ...reference('V.A') }] }
  expectProblem(await put('/v1/schema/V.B', change), 409, 'AttributeInUse')
  expect((await put('/v1/schema/V.B', change, '&cascade=true')).status).toBe(201)
  expect(await fd.read(a)).not.toHaveProperty('bs')
  expect((await fd.read(b)).a).toBe(a)
})

rule('5.3.22', 'an attribute that was changed is listed again as it is by then', async () => {
  const attribute = { attributeName: 'n', logicalType: 'integer' }
  const change = { attributesToChange: [attribute], attributesToAdd: [attribute] }
  expect((await put('/v1/schema/V.A', change)).status).toBe(201)
  const added = { ...attribute, attributeName: 'm' }
  expectProblem(await put('/v1/schema/V.A', { attributesToChange: [added], attributesToAdd: [added] }), 422)
})

rule('6.1.25', 'null is neither properties nor a length', async () => {
  for (const properties of [null, { maxStoredStringLength: null }]) {
    const keyAttributes = [{ attributeName: 'n', properties }]
    const body = { name: 'byN', indexedClass: 'V.A', isUnique: false, keyAttributes }
    expectProblem(await server.post(fd.at('/v1/index'), body), 400)
  }
})
