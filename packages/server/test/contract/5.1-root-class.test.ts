/** ooObj, the root of all referenceable classes, over HTTP. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  server = await startServer()
  fd = new FdUnderTest(server, 'default')
})
afterAll(() => server.remove())

const classNamed = async (name: string) => (await server.get(fd.at(`/v1/schema/${name}`))).json
const root = {
  className: 'ooObj',
  classNumber: '0',
  shapeNumber: '0',
  isReferenceable: true,
  isInternal: true,
  isDeleted: false,
  superClass: null,
  attributes: [],
}

describe('ooObj', () => {
  rule('5.2.7', 'is read by its name, and is in no list', async () => {
    expect(await classNamed('ooObj')).toEqual(root)
    for (const name of ['0', 'OOOBJ', 'ooobj', '00']) {
      expectProblem(await server.get(fd.at(`/v1/schema/${name}`)), 404, 'ClassNotFound')
    }
    await fd.define(classOf('Alone', {}))
    const names = (await server.get(fd.at('/v1/schema'))).json.map(({ className }: { className: string }) => className)
    expect(names).toEqual(['Alone'])
    const { classes } = (await server.get(fd.at('/v1/schema/namespace/Default'))).json
    expect(classes).toHaveLength(1)
  })

  rule('5.1.26', 'is a superclass that is none', async () => {
    await fd.define(
      classOf('Plain', { name: 'string' }, { superClass: 'ooObj' }),
      classOf('Below', {}, { superClass: 'Plain' }),
      classOf('Written', {}, { superClass: { className: 'ooObj' } }),
      classOf('Part', {}, embedded),
    )
    for (const name of ['Plain', 'Written']) expect((await classNamed(name)).superClass).toBe(null)
    await fd.define(classOf('Plain', {}, { superClass: 'ooObj' }))
    expectProblem(await fd.putSchema(classOf('Below', {}, { superClass: 'ooObj' })), 409, 'SuperClassMismatch')
    for (const name of ['Part', 'Part2']) {
      const reply = await fd.putSchema(classOf(name, {}, { ...embedded, superClass: 'ooObj' }))
      expectProblem(reply, 422, 'InvalidDefinition')
    }
    expectProblem(await fd.putSchema(classOf('Other', {}, { superClass: 'ooobj' })), 422, 'UnknownClass')
  })

  rule('5.1.26', 'is what references to objects of any class name', async () => {
    const any = { one: reference('ooObj'), many: list(reference('ooObj')), each: set(reference('ooObj')) }
    await fd.define(classOf('Note', any), classOf('Thing', {}))
    const { attributes } = await classNamed('Note')
    expect(attributes[0]).toEqual({ attributeName: 'one', logicalType: 'reference', referencedClass: 'ooObj' })
    expect(attributes[1].elementSpecification).toEqual({ logicalType: 'reference', referencedClass: 'ooObj' })
    const [thing, note] = [await fd.create('Thing'), await fd.create('Note')]
    const held = { one: thing, many: [note, thing], each: [thing, note].sort() }
    const oid = await fd.create('Note', held)
    expect(await fd.read(oid)).toMatchObject({ one: thing, many: [note, thing] })
    expectProblem(await fd.putObject(oid, { one: '3-9-1-1' }), 422, 'InvalidReference')
    for (const inverse of ['one', 'any']) {
      expectProblem(await fd.putSchema(classOf('Bad', { r: reference('ooObj', inverse) })), 422, 'UnknownAttribute')
    }
    expectProblem(
      await fd.putSchema(classOf('Bad', { r: { logicalType: 'object', class: 'ooObj' } })),
      422,
      'InvalidDefinition',
    )
  })

  rule('5.1.26', 'is what a reference is widened to, and narrowed from', async () => {
    await fd.define(classOf('Near', {}), classOf('Holder', { at: reference('Near') }))
    const near = await fd.create('Near')
    const [one, other] = [await fd.create('Holder', { at: near }), await fd.create('Holder')]
    const change = (referencedClass: string, query = '') => {
      const attributesToChange = [{ attributeName: 'at', ...reference(referencedClass) }]
      return server.put(`${fd.at('/v1/schema/Holder')}${query}`, { attributesToChange })
    }
    expect((await change('ooObj')).status).toBe(201)
    await fd.update(other, { at: one })
    expectProblem(await change('Near'), 409, 'ValuesWouldBeLost')
    expect((await change('Near', '&allowLoss=true')).status).toBe(201)
    expect([(await fd.read(one)).at, (await fd.read(other)).at]).toEqual([near, '0-0-0-0'])
  })

  rule('5.1.27', 'is a name that no class takes', async () => {
    expectProblem(await fd.putSchema(classOf('ooObj', {})), 422, 'InvalidName')
    expectProblem(await fd.putSchema(root), 422, 'InvalidName')
    expectProblem(await server.post(fd.at('/v1/schema'), [classOf('ooObj', {}, embedded)]), 422, 'InvalidName')
    await fd.define(classOf('Renamed', {}), classOf('Space.ooObj', {}))
    for (const classRename of ['ooObj', '.ooObj']) {
      expectProblem(await server.put(fd.at('/v1/schema/Renamed'), { classRename }), 422, 'InvalidName')
    }
    expect((await classNamed('ooObj')).isInternal).toBe(true)
    expect((await classNamed('Space.ooObj')).isInternal).toBe(false)
  })

  rule('5.3.16', 'is not changed, indexed or given objects', async () => {
    const attributesToAdd = [{ attributeName: 'x', logicalType: 'integer' }]
    for (const body of [{ attributesToAdd }, { classRename: 'Mine' }]) {
      expectProblem(await server.put(fd.at('/v1/schema/ooObj'), body), 422, 'ClassIsInternal')
      expectProblem(await server.put(`${fd.at('/v1/schema/ooObj')}&dryRun=true`, body), 422, 'ClassIsInternal')
    }
    expectProblem(await server.delete(fd.at('/v1/schema/ooObj')), 422, 'ClassIsInternal')
    expectProblem(await fd.postIndex('any', 'ooObj', false, 'x'), 422, 'ClassIsInternal')
    expectProblem(await fd.postObject('ooObj', {}), 422, 'ClassIsInternal')
    expectProblem(await server.get(fd.at('/v1/index/any')), 404)
  })
})
