/** References to edge objects in the schema, over HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

const aliases = Array.from({ length: 8 }, (_, i) => `fd${i}`)
let server: ServerUnderTest
let used = 0
let fd: FdUnderTest

beforeAll(async () => {
  server = await startServer({ words: aliases.flatMap((alias) => ['--fd', alias]) })
})
afterAll(() => server.remove())
beforeEach(async () => {
  fd = new FdUnderTest(server, aliases[used++] as string)
  await fd.define(...classes)
})

const edge = { edgeClass: 'Residence', edgeAttribute: 'place' }
const toEdge = (more: object = {}) => ({ logicalType: 'reference', ...edge, ...more })
const classes = [
  classOf('Person', {
    name: 'string',
    livesAt: toEdge({ referencedClass: 'Residence' }),
    stays: list(toEdge()),
    visits: set(toEdge({ referencedClass: 'Thing' })),
    byYear: { logicalType: 'map', elementSpecification: toEdge({ referencedClass: 'ooObj' }) },
    plain: reference('Residence'),
  }),
  classOf('Place', { name: 'string' }),
  classOf('Thing', { note: 'string', leads: reference('Place') }),
  classOf(
    'Residence',
    { since: 'integer', place: reference('Place'), places: list(reference('Place')) },
    { superClass: 'Thing' },
  ),
  classOf('Lot', { size: 'integer' }, embedded),
]

const attribute = async (className: string, name: string) => {
  const { attributes } = (await server.get(fd.at(`/v1/schema/${className}`))).json
  return attributes.find(({ attributeName }: { attributeName: string }) => attributeName === name)
}
const alter = (className: string, body: object, query = '') =>
  server.put(`${fd.at(`/v1/schema/${className}`)}${query}`, body)

describe('references to edge objects', () => {
  rule('5.1.28', 'are read back as given, and may be given again', async () => {
    const written = { logicalType: 'reference', referencedClass: 'Residence', ...edge }
    expect(await attribute('Person', 'livesAt')).toEqual({ attributeName: 'livesAt', ...written })
    expect((await attribute('Person', 'stays')).elementSpecification).toEqual(written)
    expect((await attribute('Person', 'visits')).elementSpecification).toEqual({ ...written, referencedClass: 'Thing' })
    expect((await attribute('Person', 'byYear')).elementSpecification).toEqual({ ...written, referencedClass: 'ooObj' })
    expect(await attribute('Person', 'plain')).not.toHaveProperty('edgeClass')
    const read = (await server.get(fd.at('/v1/schema'))).json
    await fd.define(...classes)
    await fd.define(...read)
    expect((await server.get(fd.at('/v1/schema'))).json).toEqual(read)
    const other = { livesAt: toEdge({ referencedClass: 'Residence', edgeAttribute: 'leads' }) }
    for (const attributes of [other, { livesAt: reference('Residence') }, { plain: toEdge() }])
      expectProblem(await fd.putSchema(classOf('Person', attributes)), 409, 'AttributeExists')
    // By number, inherited, and hidden under a name of its own.
    const { classNumber } = (await server.get(fd.at('/v1/schema/Residence'))).json
    await fd.define(classOf('Late', { a: toEdge({ edgeClass: classNumber, edgeAttribute: 'leads' }) }))
    expect(await attribute('Late', 'a')).toMatchObject({ edgeClass: 'Residence', edgeAttribute: 'leads' })
    await fd.define(classOf('Residence', { leads: 'string' }))
    expect(await attribute('Late', 'a')).toMatchObject({ edgeAttribute: 'Thing::leads' })
    await fd.define(classOf('Late', { a: toEdge({ edgeAttribute: 'Thing::leads' }) }))
  })

  rule('5.1.28', 'have both, of a class and an attribute that fit', async () => {
    const refused = async (type: object, error: string, field: string, at = '') => {
      const reply = await fd.putSchema(classOf('Bad', { a: type as Record<string, unknown> }))
      expectProblem(reply, 422, error)
      expect(reply.json.errors[0].pointer).toBe(`/0/attributes/0${at}/${field}`)
    }
    await refused({ logicalType: 'reference', edgeClass: 'Residence' }, 'InvalidDefinition', 'edgeAttribute')
    await refused({ ...reference('Residence'), edgeAttribute: 'place' }, 'InvalidDefinition', 'edgeClass')
    await refused(toEdge({ referencedClass: 'Place' }), 'InvalidDefinition', 'referencedClass')
    await refused(
      list(toEdge({ referencedClass: 'Place' })),
      'InvalidDefinition',
      'referencedClass',
      '/elementSpecification',
    )
    await refused(toEdge({ edgeAttribute: 'since' }), 'InvalidDefinition', 'edgeAttribute')
    await refused(toEdge({ edgeAttribute: 'places' }), 'InvalidDefinition', 'edgeAttribute')
    await refused(toEdge({ edgeAttribute: 'plcae' }), 'UnknownAttribute', 'edgeAttribute')
    await refused(toEdge({ edgeClass: 'Residenc' }), 'UnknownClass', 'edgeClass')
    await refused(toEdge({ edgeClass: 'Lot', edgeAttribute: 'size' }), 'InvalidDefinition', 'edgeClass')
    await refused(toEdge({ edgeClass: 'ooObj' }), 'UnknownAttribute', 'edgeAttribute')
    await refused(toEdge({ referencedClass: 'Residence', edgeClass: 'Thing' }), 'UnknownAttribute', 'edgeAttribute')
    const narrow = { referencedClass: 'Residence', edgeClass: 'Thing', edgeAttribute: 'leads' }
    await refused(toEdge(narrow), 'InvalidDefinition', 'referencedClass')
    const map = { logicalType: 'map', keySpecification: toEdge(), elementSpecification: reference('Place') }
    await refused(map, 'InvalidDefinition', 'keySpecification')
    await refused({ logicalType: 'string', ...edge }, 'InvalidDefinition', 'edgeClass')
    expectProblem(await fd.putSchema(classOf('Bad', { a: toEdge({ edgeClass: 7 }) })), 400)
    await fd.define(classOf('Good', { a: toEdge({ edgeClass: '', edgeAttribute: '', referencedClass: 'Place' }) }))
    expect(await attribute('Good', 'a')).toEqual({ attributeName: 'a', ...reference('Place') })
  })

  rule('5.1.29', 'hold edge objects, as references do', async () => {
    const oslo = await fd.create('Place', { name: 'Oslo' })
    const [one, other] = [await fd.create('Residence', { place: oslo }), await fd.create('Residence', { since: 5 })]
    const note = await fd.create('Thing', {})
    const oid = await fd.create('Person', {
      livesAt: one,
      stays: [one, other, one],
      visits: [note],
      byYear: { a: oslo },
    })
    expect(await fd.read(oid)).toMatchObject({
      livesAt: one,
      stays: [one, other, one],
      visits: [note],
      byYear: { a: oslo },
    })
    expectProblem(await fd.putObject(oid, { livesAt: oslo }), 422, 'InvalidReference')
    expectProblem(await fd.putObject(oid, { stays: [note] }), 422, 'InvalidReference')
    await fd.index('byHome', 'Person', true, 'livesAt')
    expectProblem(await fd.postObject('Person', { livesAt: one }), 409, 'UniqueViolation')
    const query = 'MATCH (a:Person)-[:livesAt]->(b) RETURN b.name AS name'
    expect((await server.post(fd.at('/v1/query'), { query })).json).toEqual([{ name: 'Oslo' }])
  })

  rule('5.3.17', 'follow renames, and keep what they need', async () => {
    const { attributes } = (await server.get(fd.at('/v1/schema/Residence'))).json
    expect(attributes).toHaveLength(3)
    expectProblem(await alter('Residence', { attributesToDelete: ['place'] }), 409, 'AttributeInUse')
    expectProblem(await alter('Residence', { attributesToDelete: ['place'] }, '&cascade=true'), 409, 'AttributeInUse')
    expectProblem(await alter('Residence', { attributesToDelete: ['place'] }, '&dryRun=true'), 409, 'AttributeInUse')
    for (const name of ['Residence', 'Place']) {
      expectProblem(await server.delete(fd.at(`/v1/schema/${name}`)), 409, 'ClassInUse')
      expectProblem(await server.delete(`${fd.at(`/v1/schema/${name}`)}&dryRun=true`), 409, 'ClassInUse')
    }
    expect((await alter('Residence', { classRename: 'Home' })).status).toBe(201)
    expect((await alter('Home', { attributesToRename: [{ originalName: 'place', newName: 'spot' }] })).status).toBe(201)
    expect(await attribute('Person', 'livesAt')).toMatchObject({
      referencedClass: 'Home',
      edgeClass: 'Home',
      edgeAttribute: 'spot',
    })
    expect((await server.delete(fd.at('/v1/schema/Person'))).status).toBe(204)
    expect((await alter('Home', { attributesToDelete: ['spot'] })).status).toBe(201)
    // A class whose own edges need it, and nothing else, goes with them.
    const own = { next: { logicalType: 'reference', edgeClass: 'Own', edgeAttribute: 'to' }, to: reference('Own') }
    await fd.define(classOf('Own', own))
    expectProblem(await alter('Own', { attributesToDelete: ['to'] }), 409, 'AttributeInUse')
    expect((await alter('Own', { attributesToDelete: ['to', 'next'] })).status).toBe(201)
    await fd.define(classOf('Own', own))
    expect((await server.delete(fd.at('/v1/schema/Own'))).status).toBe(204)
  })

  rule('5.3.18', 'come and go by a change of the type', async () => {
    const home = await fd.create('Residence', { place: await fd.create('Place', { name: 'Oslo' }) })
    const oid = await fd.create('Person', { plain: home, stays: [home] })
    const change = (name: string, type: object, query = '') =>
      alter('Person', { attributesToChange: [{ attributeName: name, ...type }] }, query)
    expect((await change('plain', toEdge({ referencedClass: 'Thing' }))).status).toBe(201)
    expect((await change('stays', list(reference('Thing')))).status).toBe(201)
    expect(await attribute('Person', 'plain')).toMatchObject({ referencedClass: 'Thing', ...edge })
    expect((await attribute('Person', 'stays')).elementSpecification).toEqual(reference('Thing'))
    expect((await change('stays', set(toEdge()))).status).toBe(201)
    expect(await fd.read(oid)).toMatchObject({ plain: home, stays: [home] })
    const query = 'MATCH w = (a:Person)-->(b:Place) ORDER BY w[0].attribute RETURN w[0].attribute AS by'
    expect((await server.post(fd.at('/v1/query'), { query })).json).toEqual([{ by: 'plain' }, { by: 'stays' }])
    expectProblem(await change('plain', toEdge({ edgeAttribute: 'places' })), 422, 'InvalidDefinition')
    await fd.update(oid, { plain: await fd.create('Thing') })
    expectProblem(await change('plain', toEdge()), 409, 'ValuesWouldBeLost')
    expect((await change('plain', toEdge(), '&allowLoss=true')).status).toBe(201)
    expect(await fd.read(oid)).toMatchObject({ plain: '0-0-0-0' })
  })
})
