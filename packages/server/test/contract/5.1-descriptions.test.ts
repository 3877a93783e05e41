/** What class descriptions may say, and what of a class never changes by them, over HTTP. */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, ServerUnderTest } from './server-under-test.ts'

const fleet: Loose[] = JSON.parse(readFileSync(new URL('./rental-fleet-schema.json', import.meta.url), 'utf8'))
let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const classNamed = async (name: string) => (await server.get(fd.at(`/v1/schema/${name}`))).json
const shapeOf = async (name: string) => Number((await classNamed(name)).shapeNumber)

rule('5.1.22', 'what is no array of class descriptions', async () => {
  await fd.define(classOf('A', {}))
  const before = (await server.get(fd.at('/v1/schema'))).text
  const attribute = { attributeName: 'x', logicalType: 'integer' }
  const bodies = [
    ...[{}, null, 5, 'A', true, classOf('B', {})],
    ...[null, 5, 'A', []].map((description) => [description]),
    ...[{}, { isReferenceable: true, attributes: [] }, { className: 'B', isReferenceable: true }].map((cls) => [cls]),
    ...[null, 5, '', [], {}].map((className) => [{ className, isReferenceable: true, attributes: [] }]),
    ...[null, {}, 'x', 5].map((attributes) => [{ className: 'B', isReferenceable: true, attributes }]),
    ...[null, 5, 'x', []].map((one) => [{ className: 'B', isReferenceable: true, attributes: [attribute, one] }]),
    ...[{ logicalType: 'integer' }, { attributeName: 'x' }, { attributeName: 5, logicalType: 'integer' }].map((one) => [
      { className: 'B', isReferenceable: true, attributes: [one] },
    ]),
    ...[5, true, [], { className: 5 }, {}].map((superClass) => [classOf('B', {}, { superClass })]),
    ...[5, null, [], {}].map((logicalType) => [classOf('B', { x: { logicalType } })]),
    ...[5, [], {}].map((storage) => [classOf('B', { x: { logicalType: 'integer', storage } })]),
    ...['five', true, {}].map((fixedLength) => [
      classOf('B', { x: { logicalType: 'string', storage: 'fixed', fixedLength } }),
    ]),
    ...[5, {}].map((referencedClass) => [classOf('B', { x: { logicalType: 'reference', referencedClass } })]),
    ...[5, 'integer', []].map((elementSpecification) => [
      classOf('B', { x: { logicalType: 'list', elementSpecification } }),
    ]),
  ]
  for (const body of bodies) {
    for (const method of ['PUT', 'POST']) {
      const reply = await server.send(method, fd.at('/v1/schema'), { body })
      expectProblem(reply, 400)
      expect(reply.json.type, JSON.stringify(body)).toMatch(/^(MalformedRequest|MalformedValue|UnknownField)$/)
    }
  }
  expect((await server.get(fd.at('/v1/schema'))).text).toBe(before)
  expect((await server.put(fd.at('/v1/schema'), [])).json).toEqual({ classNumbers: [], uris: [] })
})

rule('5.1.21', 'no description renames a class, or takes an attribute away or changes one', async () => {
  await fd.define(classOf('A', { x: 'integer', y: { logicalType: 'string', storage: 'fixed', fixedLength: 3 } }))
  const before = (await classNamed('A')).attributes
  const oid = await fd.create('A', { x: 5, y: 'abc' })
  await fd.define({ classNumber: '1000000', className: 'B', attributes: [] })
  expectProblem(await server.get(fd.at('/v1/schema/B')), 404)
  await fd.define(classOf('A', {}))
  for (const type of [
    { x: 'real' },
    { x: { logicalType: 'integer', storage: 'b64' } },
    { x: { logicalType: 'integer', encoding: 'unsigned' } },
    { y: 'string' },
    { y: { logicalType: 'string', storage: 'fixed', fixedLength: 4 } },
    { y: { logicalType: 'string', encoding: 'byte', storage: 'fixed', fixedLength: 3 } },
  ]) {
    expectProblem(await fd.putSchema(classOf('A', { more: 'date', ...type })), 409, 'AttributeExists')
  }
  expect(await classNamed('A')).toMatchObject({ className: 'A', attributes: before, shapeNumber: '1000000' })
  await fd.define(classOf('A', { X: 'integer' }))
  expect(await fd.read(oid)).toMatchObject({ x: 5, y: 'abc', X: 0 })
})

rule(['5.1.23', '5.1.24', '5.1.9'], 'class and shape numbers are of one counter', async () => {
  await fd.define(classOf('E', { x: 'integer' }, embedded), classOf('Sub', {}, { ...embedded, superClass: 'E' }))
  await fd.define(classOf('E', {}), classOf('Sub', {}))
  const [shape, subShape] = [await shapeOf('E'), await shapeOf('Sub')]
  expect(Math.min(shape, subShape)).toBeGreaterThan(1_000_001)
  expect(shape).not.toBe(subShape)
  const [next] = await fd.define(classOf('Next', {}))
  expect(Number(next)).toBeGreaterThan(Math.max(shape, subShape))
  expect(await shapeOf('Next')).toBe(Number(next))
  const numbers = new Set<number>([1_000_000, 1_000_001, shape, subShape, Number(next)])
  for (let i = 0; i < 5; i++) {
    await fd.define(classOf('E', { [`a${i}`]: 'integer' }))
    for (const name of ['E', 'Sub']) {
      const number = await shapeOf(name)
      expect(numbers).not.toContain(number)
      expect(number).toBeGreaterThan(Math.max(...[...numbers].filter((other) => other !== number && other < number)))
      numbers.add(number)
    }
    const [made] = await fd.define(classOf(`Made${i}`, {}))
    expect(numbers).not.toContain(Number(made))
    numbers.add(Number(made))
  }
  expect((await classNamed('E')).classNumber).toBe('1000000')
})

rule('5.1.15', 'an embeddable class that a list embeds, or that has subclasses', async () => {
  const part = { logicalType: 'object', class: 'Part' }
  await fd.define(
    classOf('Part', {}, embedded),
    classOf('Box', { parts: list(part) }, embedded),
    classOf('Base', {}, embedded),
    classOf('Sub', {}, { ...embedded, superClass: 'Base' }),
  )
  const message = expectProblem(await fd.putSchema(classOf('Part', {})), 409, 'ClassIsEmbedded')
  for (const word of ['Part', 'Box', 'parts']) expect(message).toContain(word)
  const alone = await fd.putSchema(classOf('Base', {}))
  expect([409, 422]).toContain(alone.status)
  expectProblem(alone, alone.status)
  // A class that an attribute of the same batch embeds.
  const both = await fd.putSchema(classOf('Box', {}), classOf('New', { box: { logicalType: 'object', class: 'Box' } }))
  expect([409, 422]).toContain(both.status)
  for (const name of ['Part', 'Box', 'Base', 'Sub']) expect((await classNamed(name)).isReferenceable).toBe(false)
  await fd.define(classOf('Base', {}), classOf('Sub', {}))
  expect((await fd.read(await fd.create('Sub'))).__class__).toBe('Sub')
})

rule('5.1.19', 'links between classes that exist already, and the objects they have', async () => {
  await fd.define(classOf('A', {}), classOf('B', {}))
  const [a, b] = [await fd.create('A'), await fd.create('B')]
  expectProblem(await fd.putSchema(classOf('A', { b: reference('B', 'a') })), 422)
  await fd.define(classOf('A', { b: reference('B', 'as') }), classOf('B', { as: list(reference('A', 'b')) }))
  await fd.update(a, { b })
  expect((await fd.read(b)).as).toEqual([a])
})

rule(['5.1.25', '5.1.6', '5.2.1', '5.2.5'], 'the rental fleet, there and back', async () => {
  const order = [...fleet].sort((x, y) => (x.className < y.className ? 1 : -1))
  const numbers = await fd.define(...order)
  expect(numbers).toEqual(order.map((_, i) => String(1_000_000 + i)))
  const read: Loose[] = (await server.get(fd.at('/v1/schema'))).json
  expect(read.map(({ className }) => className)).toEqual(order.map(({ className }) => className))
  expect((await server.get(fd.at('/v1/schema/namespace/FleetData'))).json).toEqual({ name: 'FleetData', classes: read })
  for (const [i, given] of order.entries()) {
    const { classNumber, shapeNumber, isInternal, isDeleted, ...described } = read[i]
    expect({ ...described, superClass: described.superClass ?? null }).toMatchObject({
      ...given,
      superClass: given.superClass ?? null,
      attributes: given.attributes.map((attribute: Loose) => withoutEmpty(attribute)),
    })
    expect(await classNamed(classNumber)).toEqual(read[i])
  }
  await fd.define(...fleet)
  expect((await server.get(fd.at('/v1/schema'))).json).toEqual(read)
})

/** An empty inverse is none. */
function withoutEmpty(definition: Loose): Loose {
  const entries = Object.entries(definition).filter(([name, value]) => name !== 'inverseAttribute' || value !== '')
  return Object.fromEntries(
    entries.map(([name, value]) => [name, name === 'elementSpecification' ? withoutEmpty(value) : value]),
  )
}
