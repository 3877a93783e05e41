/** The schema, over HTTP. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

const fleet = JSON.parse(readFileSync(new URL('./rental-fleet-schema.json', import.meta.url), 'utf8'))
/** One for each test, and three more that some ask for. */
const aliases = Array.from({ length: 22 }, (_, i) => `fd${i}`)
let server: ServerUnderTest
let used = 0
let fd: FdUnderTest

function nextAlias(): string {
  const alias = aliases[used++]
  if (alias === undefined) throw new Error(`the tests use more than ${aliases.length} federated databases`)
  return alias
}

beforeAll(async () => {
  server = await startServer({ words: aliases.flatMap((alias) => ['--fd', alias]) })
})
afterAll(() => server.remove())
/** Each test has an FD of its own. */
beforeEach(() => {
  fd = new FdUnderTest(server, nextAlias())
})

const schema = async () => (await server.get(fd.at('/v1/schema'))).json
const classNamed = async (name: string) => (await server.get(fd.at(`/v1/schema/${name}`))).json

describe('define and extend', () => {
  rule(['5.1.1', '5.1.2', '5.1.3', '5.1.8'], 'classes are created and extended; numbers in request order', async () => {
    const reply = await fd.putSchema(classOf('A', { x: 'integer' }), classOf('N.B', { y: 'string' }))
    expect(reply.status).toBe(201)
    expect(reply.json).toEqual({
      classNumbers: ['1000000', '1000001'],
      uris: ['/v1/schema/1000000', '/v1/schema/1000001'],
    })
    expect((await classNamed('A')).shapeNumber).toBe('1000000')
    const extended = await fd.putSchema(classOf('N.B', { z: 'real' }), classOf('C', {}), classOf('A', {}))
    expect(extended.json.classNumbers).toEqual(['1000001', '1000002', '1000000'])
    const names = (await classNamed('N.B')).attributes.map((a: { attributeName: string }) => a.attributeName)
    expect(names).toEqual(['y', 'z'])
  })

  rule('5.1.4', 'POST is for new classes only', async () => {
    const reply = await server.post(fd.at('/v1/schema'), [classOf('A', { x: 'integer' })])
    expect([reply.status, reply.json]).toEqual([201, { classNumbers: ['1000000'], uris: ['/v1/schema/1000000'] }])
    expectProblem(await server.post(fd.at('/v1/schema'), [classOf('B', {}), classOf('A', {})]), 409, 'ClassExists')
    expectProblem(await server.get(fd.at('/v1/schema/B')), 404)
  })

  rule('5.1.5', 'all or nothing', async () => {
    expectProblem(await fd.putSchema(classOf('A', {}), classOf('B', { r: reference('Nope') })), 422, 'UnknownClass')
    expect(await schema()).toEqual([])
    expect(await fd.define(classOf('A', {}))).toEqual(['1000000'])
  })

  rule('5.1.6', 'any order, and mutual references', async () => {
    for (const classes of [fleet, [...fleet].reverse()]) {
      await fd.define(...classes)
      const names = (await schema()).map((cls: { className: string }) => cls.className).sort()
      expect(names).toEqual(fleet.map((cls: { className: string }) => cls.className).sort())
      fd = new FdUnderTest(server, nextAlias())
    }
  })

  rule('5.1.7', 'the same class twice in one batch', async () => {
    expectProblem(await fd.putSchema(classOf('A', {}), classOf('A', {})), 422)
    await fd.define(classOf('A', {}))
    expectProblem(await fd.putSchema(classOf('A', {}), classOf('1000000', {})), 422)
    expectProblem(
      await fd.putSchema({
        ...classOf('B', {}),
        attributes: [
          { attributeName: 'x', logicalType: 'integer' },
          { attributeName: 'x', logicalType: 'integer' },
        ],
      }),
      422,
    )
  })

  rule('5.1.9', 'shape numbers grow with changes of shape, for subclasses too', async () => {
    await fd.define(classOf('Base', {}), classOf('Sub', {}, { superClass: 'Base' }), classOf('Apart', {}))
    await fd.define(classOf('Base', { x: 'integer' }))
    const numbers = (await schema()).map((cls: { shapeNumber: string }) => Number(cls.shapeNumber))
    expect(numbers[0]).toBeGreaterThan(1000002)
    expect(numbers[1]).toBeGreaterThan(1000002)
    expect(numbers[2]).toBe(1000002)
    await fd.define(classOf('Base', { x: 'integer' }))
    expect((await schema()).map((cls: { shapeNumber: string }) => Number(cls.shapeNumber))).toEqual(numbers)
    expect(await fd.define(classOf('Later', {}))).toEqual([String(Math.max(...numbers) + 1)])
  })

  rule('5.1.10', 'a class by name or number, the number first', async () => {
    await fd.define(classOf('A', {}), classOf('B', {}))
    expect(await fd.define(classOf('1000001', { x: 'integer' }))).toEqual(['1000001'])
    expect(await fd.define({ classNumber: '1000000', attributes: [] })).toEqual(['1000000'])
    expect(
      await fd.define({
        classNumber: 1000000,
        className: 'B',
        attributes: [{ attributeName: 'y', logicalType: 'real' }],
      }),
    ).toEqual(['1000000'])
    expect((await classNamed('A')).attributes).toHaveLength(1)
    expect((await classNamed('A')).className).toBe('A')
    expectProblem(await fd.putSchema({ classNumber: '42', attributes: [] }), 422, 'UnknownClass')
    expectProblem(await fd.putSchema(classOf('42', {})), 422, 'UnknownClass')
    await fd.define(classOf('C', { r: reference('1000001') }, { superClass: '1000000' }))
    expect(await classNamed('C')).toMatchObject({ superClass: 'A', attributes: [{ referencedClass: 'B' }] })
  })

  rule('5.1.11', 'a schema that was read can be put into another FD', async () => {
    await fd.define(classOf('Shift', {}), ...fleet)
    const read = await schema()
    const other = new FdUnderTest(server, nextAlias())
    await other.define(classOf('First', {}))
    const copied = (await other.putSchema(...read)).json.classNumbers
    expect(copied).toHaveLength(read.length)
    const bare = (classes: { classNumber: string; shapeNumber: string }[]) =>
      classes.map(({ classNumber, shapeNumber, ...rest }) => rest)
    expect(bare((await server.get(other.at('/v1/schema'))).json).slice(1)).toEqual(bare(read))
    expect((await other.putSchema(...read)).status).toBe(201)
  })

  rule('5.1.12', 'isReferenceable is needed for a new class', async () => {
    expectProblem(await fd.putSchema({ className: 'A', attributes: [] }), 422)
    await fd.define(classOf('A', {}))
    expect(await fd.define({ className: 'A', attributes: [] })).toEqual(['1000000'])
    expectProblem(await fd.putSchema({ className: 'B', isReferenceable: true }), 400)
  })

  rule('5.1.13', 'superClass in all its forms', async () => {
    await fd.define(classOf('A', {}), classOf('B', {}, { superClass: null }))
    await fd.define(classOf('C', {}, { superClass: { className: 'A' } }), classOf('D', {}, { superClass: '1000000' }))
    expect([(await classNamed('C')).superClass, (await classNamed('D')).superClass]).toEqual(['A', 'A'])
    await fd.define(classOf('C', { x: 'integer' }, { superClass: 'A' }))
    expectProblem(await fd.putSchema(classOf('C', {}, { superClass: 'B' })), 409, 'SuperClassMismatch')
    expectProblem(await fd.putSchema(classOf('A', {}, { superClass: 'B' })), 409, 'SuperClassMismatch')
    await fd.define(classOf('C', {}, { superClass: null }))
    expectProblem(await fd.putSchema(classOf('E', {}, { superClass: 'Nope' })), 422, 'UnknownClass')
    expectProblem(await fd.putSchema(classOf('E', {}, { superClass: 'F' }), classOf('F', {}, { superClass: 'E' })), 422)
  })

  rule('5.1.14', 'an attribute listed again', async () => {
    await fd.define(classOf('A', { x: 'integer', r: reference('A') }))
    await fd.define(
      classOf('A', {
        x: { logicalType: 'Integer', encoding: 'signed', storage: 'b32' },
        r: { ...reference('A'), inverseAttribute: '' },
      }),
    )
    expectProblem(await fd.putSchema(classOf('A', { x: 'string' })), 409, 'AttributeExists')
    expectProblem(
      await fd.putSchema(classOf('A', { x: { logicalType: 'integer', storage: 'b64' } })),
      409,
      'AttributeExists',
    )
  })

  rule(['5.1.15', '5.1.16'], 'embeddable → referenceable, and not back', async () => {
    await fd.define(classOf('Free', { x: 'integer' }, embedded), classOf('Used', {}, embedded))
    await fd.define(classOf('Owner', { u: { logicalType: 'object', class: 'Used' } }))
    await fd.define(classOf('Free', {}))
    expect(await classNamed('Free')).toMatchObject({ isReferenceable: true })
    expect((await fd.create('Free', { x: 1 })).length).toBeGreaterThan(0)
    const message = expectProblem(await fd.putSchema(classOf('Used', {})), 409, 'ClassIsEmbedded')
    expect(message).toContain('Owner')
    expect(message).toContain('u')
    expect((await classNamed('Used')).isReferenceable).toBe(false)
    expectProblem(await fd.putSchema(classOf('Free', {}, embedded)), 409, 'ClassIsReferenceable')
  })

  rule('5.1.17', 'kinds of classes', async () => {
    await fd.define(classOf('R', {}), classOf('E', {}, embedded))
    const embed = (name: string) => ({ logicalType: 'object', class: name })
    for (const cls of [
      classOf('X', { r: reference('E') }),
      classOf('X', { e: embed('R') }),
      classOf('X', {}, { superClass: 'E' }),
      classOf('X', {}, { superClass: 'R', ...embedded }),
      classOf('X', { e: embed('X') }, embedded),
      classOf('X', { e: list(embed('X')) }, embedded),
    ]) {
      expectProblem(await fd.putSchema(cls), 422)
    }
    expectProblem(
      await fd.putSchema(classOf('X', { e: embed('Y') }, embedded), classOf('Y', { e: embed('X') }, embedded)),
      422,
    )
    expectProblem(
      await fd.putSchema(
        classOf('Sub', { e: embed('X') }, { ...embedded, superClass: 'X' }),
        classOf('X', { e: embed('Sub') }, embedded),
      ),
      422,
    )
  })

  rule('5.1.18', 'existing objects show the defaults of attributes added later', async () => {
    await fd.define(
      classOf('Part', { p: 'integer' }, embedded),
      classOf('A', { x: 'integer', part: { logicalType: 'object', class: 'Part' } }),
    )
    await fd.define(classOf('Sub', { s: 'integer' }, { superClass: 'A' }))
    const [oid, sub] = [await fd.create('A', { x: 1, part: { p: 2 } }), await fd.create('Sub', { s: 3, x: 4 })]
    await fd
      .define(
        classOf('Part', { q: 'string' }),
        classOf('A', { y: 'real', d: 'date', l: list('integer'), t: set(reference('A')) }),
      )
      .catch(() => undefined)
    await fd.define({ className: 'Part', attributes: [{ attributeName: 'q', logicalType: 'string' }] })
    await fd.define(classOf('A', { y: 'real', d: 'date', l: list('integer'), t: set(reference('A')) }))
    expect(await fd.read(oid)).toMatchObject({ x: 1, part: { p: 2, q: '' }, y: 0, d: null, l: [], t: [] })
    expect(Object.keys(await fd.read(sub))).toEqual([
      '__class__',
      '__identifier__',
      'x',
      'part',
      'y',
      'd',
      'l',
      't',
      's',
    ])
    await fd.update(sub, { y: 2.5, part: { q: 'new' } })
    expect(await fd.read(sub)).toMatchObject({ x: 4, s: 3, y: 2.5, part: { p: 0, q: 'new' } })
  })

  rule('5.1.19', 'bidirectional links are declared on both sides', async () => {
    await fd.define(classOf('Apart', { x: 'integer' }))
    for (const classes of [
      [classOf('A', { b: reference('B', 'a') }), classOf('B', { a: reference('A') })],
      [classOf('A', { b: reference('B', 'nope') }), classOf('B', { a: reference('A', 'b') })],
      [classOf('A', { b: reference('B', 'a') }), classOf('B', { a: reference('Apart', 'x') })],
      [classOf('A', { b: reference('B', 'a') }), classOf('B', { a: 'integer' })],
      [
        classOf('A', { m: { logicalType: 'map', elementSpecification: reference('B', 'a') } }),
        classOf('B', { a: reference('A', 'm') }),
      ],
      [classOf('A', { b: reference('B', 'a') }, embedded), classOf('B', { a: reference('A', 'b') })],
    ]) {
      expectProblem(await fd.putSchema(...classes), 422)
    }
    await fd.define(
      classOf('A', { b: reference('B', 'a'), u: reference('B', '') }),
      classOf('B', { a: list(reference('A', 'b')) }),
    )
    expect((await classNamed('A')).attributes).toEqual([
      { attributeName: 'b', logicalType: 'reference', referencedClass: 'B', inverseAttribute: 'a' },
      { attributeName: 'u', logicalType: 'reference', referencedClass: 'B' },
    ])
  })

  rule('5.1.20', 'unknown names, with near ones', async () => {
    await fd.define(classOf('Fleet.Vehicle', { model: 'string' }))
    const reply = await fd.putSchema(classOf('A', { v: reference('Fleet.Vehicel') }))
    expect(expectProblem(reply, 422, 'UnknownClass')).toContain('Fleet.Vehicle')
    expect(reply.json.errors[0].pointer).toContain('/0/attributes/0')
  })
})

describe('read', () => {
  rule(['5.2.1', '5.2.3'], 'all classes by number, each in its full form', async () => {
    await fd.define(classOf('Z', { x: 'integer' }), classOf('A', { y: 'string' }, { superClass: 'Z' }))
    expect(await schema()).toEqual([
      {
        className: 'Z',
        classNumber: '1000000',
        shapeNumber: '1000000',
        isReferenceable: true,
        isInternal: false,
        isDeleted: false,
        superClass: null,
        attributes: [{ attributeName: 'x', logicalType: 'integer', encoding: 'signed', storage: 'b32' }],
      },
      {
        className: 'A',
        classNumber: '1000001',
        shapeNumber: '1000001',
        isReferenceable: true,
        isInternal: false,
        isDeleted: false,
        superClass: 'Z',
        attributes: [{ attributeName: 'y', logicalType: 'string', encoding: 'utf8', storage: 'variable' }],
      },
    ])
  })

  rule('5.2.2', 'one class by name or number', async () => {
    await fd.define(classOf('N.A', {}))
    expect((await classNamed('N.A')).classNumber).toBe('1000000')
    expect((await classNamed('1000000')).className).toBe('N.A')
    for (const name of ['A', '1000001', 'n.a', '%20'])
      expectProblem(await server.get(fd.at(`/v1/schema/${name}`)), 404, 'ClassNotFound')
  })

  rule(['5.2.4', '5.2.5', '5.2.6'], 'namespaces', async () => {
    expect((await server.get(fd.at('/v1/schema/namespace'))).json).toEqual([{ name: null }])
    await fd.define(classOf('A', {}), classOf('N.B', {}), classOf('N.M.C', {}))
    expect((await server.get(fd.at('/v1/schema/namespace'))).json).toEqual([
      { name: null },
      { name: 'N' },
      { name: 'N.M' },
    ])
    const read = async (name: string) => (await server.get(fd.at(`/v1/schema/namespace/${name}`))).json
    const one = await read('N')
    expect(one).toEqual({ name: 'N', classes: [await classNamed('N.B')] })
    for (const name of ['null', 'Default'])
      expect(await read(name)).toEqual({ name: null, classes: [await classNamed('A')] })
    expectProblem(await server.get(fd.at('/v1/schema/namespace/Nope')), 404, 'NamespaceNotFound')
    await fd.define(classOf('Default.D', {}))
    expect((await read('Default')).name).toBe('Default')
    expect((await read('null')).name).toBe(null)
  })
})
