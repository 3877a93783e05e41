/** Where the errors of changes of classes and indexes point: into the body that was sent, whether it was sent alone or in a transaction. */
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Reply, type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'one'] })
  fd = new FdUnderTest(server, 'one')
  await fd.define(
    classOf('Part', { code: 'integer' }, embedded),
    classOf('Owner', { name: 'string', cars: list(reference('Car', 'owner')) }),
    classOf('Car', {
      plate: 'string',
      part: { logicalType: 'object', class: 'Part' },
      owner: reference('Owner', 'cars'),
    }),
  )
  await fd.index('byPlate', 'Car', false, 'plate')
})
afterAll(() => server.remove())

type Refused = readonly [status: number, type: string, pointer: string, body: unknown]

const attribute = (attributeName: string, definition: object): object => ({ attributeName, ...definition })
const late = classOf('Late', { n: 'integer' })
/** With an attribute of that type. */
const typed = (type: object): unknown[] => [late, classOf('Later', { a: 'integer', b: { ...type } })]

/** PUT /v1/schema */
const definitions: readonly Refused[] = [
  [400, 'MalformedRequest', '', {}],
  [400, 'MalformedRequest', '/1', [late, 'Later']],
  [400, 'MalformedRequest', '/1/className', [late, { attributes: [] }]],
  [400, 'MalformedRequest', '/0/attributes', [{ className: 'Late' }]],
  [400, 'UnknownField', '/0/a~1b~0c', [{ ...late, 'a/b~c': 1 }]],
  [400, 'MalformedValue', '/0/superClass', [{ ...late, superClass: 5 }]],
  [422, 'UnknownClass', '/0/superClass', [{ ...late, superClass: 'Cra' }]],
  [422, 'UnknownClass', '/0/superClass', [{ ...late, superClass: { className: 'Cra' } }]],
  [422, 'UnknownClass', '/1/classNumber', [late, { classNumber: '5', attributes: [] }]],
  [409, 'SuperClassMismatch', '/0/superClass', [classOf('Car', {}, { superClass: 'Owner' })]],
  [409, 'ClassIsReferenceable', '/1/isReferenceable', [late, classOf('Car', {}, embedded)]],
  [409, 'ClassIsEmbedded', '/1/isReferenceable', [late, classOf('Part', {})]],
  [422, 'InvalidDefinition', '/0/isReferenceable', [{ className: 'Late', attributes: [] }]],
  [422, 'InvalidDefinition', '/1', [late, late]],
  [422, 'InvalidName', '/0/className', [classOf('__late', {})]],
  [422, 'InvalidName', '/0/attributes/1/attributeName', [classOf('Late', { a: 'integer', __b: 'integer' })]],
  [409, 'AttributeExists', '/1/attributes/1', [late, classOf('Car', { more: 'integer', plate: 'integer' })]],
  [400, 'MalformedRequest', '/0/attributes/0/logicalType', [{ ...late, attributes: [{ attributeName: 'a' }] }]],
  [400, 'MalformedValue', '/1/attributes/1/storage', typed({ logicalType: 'integer', storage: 8 })],
  [422, 'InvalidDefinition', '/1/attributes/1/storage', typed({ logicalType: 'integer', storage: 'b7' })],
  [422, 'InvalidDefinition', '/1/attributes/1/fixedLength', typed({ logicalType: 'string', storage: 'fixed' })],
  [422, 'UnknownClass', '/1/attributes/1/referencedClass', typed(reference('Cra'))],
  [422, 'UnknownAttribute', '/1/attributes/1/inverseAttribute', typed(reference('Car', 'drivers'))],
  [422, 'InvalidDefinition', '/1/attributes/1/inverseAttribute', typed(reference('Car', 'plate'))],
  [400, 'UnknownField', '/1/attributes/1/elementSpecification/x', typed(list({ logicalType: 'string', x: 1 }))],
  [
    422,
    'InvalidDefinition',
    '/1/attributes/1/elementSpecification/storage',
    typed(list({ logicalType: 'date', storage: 'b8' })),
  ],
  [422, 'UnknownClass', '/1/attributes/1/elementSpecification/referencedClass', typed(set(reference('Cra')))],
]

/** PUT /v1/schema/Car */
const changes: readonly Refused[] = [
  [400, 'MalformedRequest', '', {}],
  [400, 'MalformedRequest', '', []],
  [400, 'UnknownField', '/attributesToDrop', { attributesToDrop: ['plate'] }],
  [400, 'MalformedRequest', '/classRename', { classRename: 'Auto', attributesToDelete: ['plate'] }],
  [400, 'MalformedValue', '/classRename', { classRename: 5 }],
  [409, 'ClassExists', '/classRename', { classRename: 'Owner' }],
  [422, 'InvalidName', '/classRename', { classRename: '__car' }],
  [400, 'MalformedRequest', '/attributesToDelete', { attributesToDelete: 'plate' }],
  [400, 'MalformedValue', '/attributesToDelete/1', { attributesToDelete: ['part', 5] }],
  [422, 'UnknownAttribute', '/attributesToDelete/1', { attributesToDelete: ['part', 'colour'] }],
  [409, 'AttributeInUse', '/attributesToDelete/1', { attributesToDelete: ['part', 'plate'] }],
  [409, 'AttributeInUse', '/attributesToDelete/0', { attributesToDelete: ['owner'] }],
  [
    400,
    'MalformedValue',
    '/attributesToRename/0/newName',
    { attributesToRename: [{ originalName: 'part', newName: 5 }] },
  ],
  [400, 'UnknownField', '/attributesToRename/0/to', { attributesToRename: [{ originalName: 'part', to: 'piece' }] }],
  [
    422,
    'UnknownAttribute',
    '/attributesToRename/0/originalName',
    { attributesToRename: [{ originalName: 'colour', newName: 'shade' }] },
  ],
  [
    409,
    'AttributeExists',
    '/attributesToRename/0/newName',
    { attributesToRename: [{ originalName: 'part', newName: 'plate' }] },
  ],
  [
    422,
    'UnknownAttribute',
    '/attributesToChange/0/attributeName',
    { attributesToChange: [attribute('colour', { logicalType: 'string' })] },
  ],
  [
    422,
    'InvalidDefinition',
    '/attributesToChange/0',
    { attributesToChange: [attribute('part', { logicalType: 'string' })] },
  ],
  [
    422,
    'InvalidDefinition',
    '/attributesToChange/0/encoding',
    { attributesToChange: [attribute('plate', { logicalType: 'string', encoding: 'utf7' })] },
  ],
  [
    422,
    'InvalidName',
    '/attributesToAdd/0/attributeName',
    { attributesToAdd: [attribute('__n', { logicalType: 'integer' })] },
  ],
  [409, 'AttributeExists', '/attributesToAdd/0', { attributesToAdd: [attribute('plate', { logicalType: 'integer' })] }],
  [
    422,
    'UnknownClass',
    '/attributesToAdd/1/class',
    {
      attributesToAdd: [
        attribute('n', { logicalType: 'integer' }),
        attribute('piece', { logicalType: 'object', class: 'Prat' }),
      ],
    },
  ],
]

const index = (more: object): object => ({ name: 'late', indexedClass: 'Car', isUnique: false, ...more })
const keyed = (...keys: unknown[]): object => index({ keyAttributes: keys })
const plate = { attributeName: 'plate' }

/** POST /v1/index */
const indexes: readonly Refused[] = [
  [400, 'MalformedRequest', '', []],
  [400, 'MalformedRequest', '/name', { ...keyed(plate), name: 5 }],
  [400, 'MalformedRequest', '/isUnique', { ...keyed(plate), isUnique: 'maybe' }],
  [400, 'UnknownField', '/unique', { ...keyed(plate), unique: true }],
  [400, 'MalformedRequest', '/keyAttributes', index({})],
  [400, 'MalformedRequest', '/keyAttributes/0', keyed('plate')],
  [400, 'MalformedRequest', '/keyAttributes/1/attributeName', keyed(plate, {})],
  [
    400,
    'MalformedValue',
    '/keyAttributes/0/properties/maxStoredStringLength',
    keyed({ ...plate, properties: { maxStoredStringLength: 'long' } }),
  ],
  [
    422,
    'ValueNotAllowed',
    '/keyAttributes/0/properties/maxStoredStringLength',
    keyed({ ...plate, properties: { maxStoredStringLength: 0 } }),
  ],
  [400, 'MalformedRequest', '/keyedAttributes', { ...keyed(plate), keyedAttributes: [] }],
  [400, 'MalformedRequest', '/keyedAttributes/0', index({ keyedAttributes: ['plate'] })],
  [
    422,
    'UnknownAttribute',
    '/keyedAttributes/1/attributeName',
    index({ keyedAttributes: [plate, { attributeName: 'colour' }] }),
  ],
  [422, 'UnknownAttribute', '/keyAttributes/1/attributeName', keyed(plate, { attributeName: 'part.nr' })],
  [422, 'AttributeNotIndexable', '/keyAttributes/0/attributeName', keyed({ attributeName: 'part' })],
  [422, 'InvalidDefinition', '/keyAttributes/1', keyed(plate, plate)],
  [422, 'LimitExceeded', '/keyAttributes', keyed(...Array.from({ length: 17 }, () => plate))],
  [422, 'UnknownClass', '/indexedClass', { ...keyed(plate), indexedClass: 'Cra' }],
  [422, 'ClassNotReferenceable', '/indexedClass', { ...keyed(plate), indexedClass: 'Part' }],
  [422, 'ClassIsInternal', '/indexedClass', { ...keyed(plate), indexedClass: 'ooObj' }],
  [422, 'InvalidName', '/name', { ...keyed(plate), name: 'a b' }],
  [409, 'IndexExists', '/name', { ...keyed(plate), name: 'byPlate' }],
]

const pointersOf = ({ json }: Reply): unknown => json.errors?.map(({ pointer }: { pointer: string }) => pointer)

/** Alone, as a dry run where there is one, and as the second step of a transaction. */
async function expectPlaces(method: 'PUT' | 'POST', uri: string, refused: readonly Refused[]): Promise<void> {
  const steps = (path: string, body: unknown): unknown[] => [
    { method: 'GET', uri: '/v1/schema' },
    { method, uri: path, body },
  ]
  const ways = uri === '/v1/index' ? [''] : ['', 'dryRun=true']
  for (const [status, type, pointer, body] of refused) {
    for (const way of ways) {
      const alone = await server.send(method, `${fd.at(uri)}&${way}`, { body })
      const words = expectProblem(alone, status, type)
      expect(pointersOf(alone), words).toEqual([pointer])
      const within = await server.post(fd.at('/v1/transaction'), steps(`${uri}?${way}`, body))
      expect(expectProblem(within, status, type)).toBe(`While executing operation 2, encountered: ${words}`)
      expect(pointersOf(within), words).toEqual([`/1/body${pointer}`])
    }
  }
}

rule(['1.4.1', '7.1.9'], 'of classes that are defined', () => expectPlaces('PUT', '/v1/schema', definitions))

rule(['1.4.1', '7.1.9'], 'of classes that are created', async () => {
  const existing: Refused = [409, 'ClassExists', '/1/className', [late, classOf('Car', {})]]
  const isOfCreation = ([, type]: Refused): boolean => !/^(SuperClass|ClassIs|AttributeExists)/.test(type)
  await expectPlaces('POST', '/v1/schema', [existing, ...definitions.filter(isOfCreation)])
})

rule(['1.4.1', '7.1.9'], 'of a class that is changed', () => expectPlaces('PUT', '/v1/schema/Car', changes))

rule(['1.4.1', '7.1.9'], 'of an index that is created', () => expectPlaces('POST', '/v1/index', indexes))
