/**
 * A small federated database with something of everything that is stored: each type, each kind of link, indexes, embedded objects,
 * classes that have changed since their objects were written. It is made by operations alone, so that an earlier build can make it too.
 */

import type { FederatedDatabase } from '../../src/federated-database.ts'
import { rowTexts } from '../row-texts.ts'

/** What an earlier build has of these operations as well. */
export type ExampleDatabase = Pick<
  FederatedDatabase,
  | 'defineClasses'
  | 'alterClass'
  | 'deleteClass'
  | 'createIndex'
  | 'deleteIndex'
  | 'createObject'
  | 'updateObject'
  | 'deleteObject'
  | 'readObject'
  | 'listClasses'
  | 'listIndexes'
  | 'readIndex'
  | 'query'
>

/** Everything that clients can see of it, as JSON. */
export interface ExampleContent {
  readonly classes: unknown
  readonly indexes: unknown
  /** By OID. */
  readonly objects: Readonly<Record<string, unknown>>
  /** By statement: such as go by an index, a link or a cut text. */
  readonly queries: Readonly<Record<string, unknown>>
}

type Types = Record<string, string | object>

const classOf = (className: string, types: Types, more: object = {}): object => ({
  className,
  isReferenceable: true,
  attributes: Object.entries(types).map(([attributeName, type]) => {
    return { attributeName, ...(typeof type === 'string' ? { logicalType: type } : type) }
  }),
  ...more,
})
const typed = (logicalType: string, more: object): object => ({ logicalType, ...more })
const toOne = (referencedClass: string, inverseAttribute?: string): object => {
  return typed('reference', { referencedClass, ...(inverseAttribute === undefined ? {} : { inverseAttribute }) })
}
const toEdge = (referencedClass: string): object => {
  return typed('reference', { referencedClass, edgeClass: 'Rock.Road', edgeAttribute: 'end' })
}
const collection = (kind: string, element: string | object, collectionTypeName?: string): object => {
  const elementSpecification = typeof element === 'string' ? { logicalType: element } : element
  return typed(kind, { elementSpecification, ...(collectionTypeName === undefined ? {} : { collectionTypeName }) })
}

const mapByReference = (collectionTypeName: string): object => {
  const item = toOne('Rock.Item')
  return typed('map', { collectionTypeName, keySpecification: item, elementSpecification: item })
}

const scalars: Types = {
  flag: 'boolean',
  letter8: typed('character', { storage: 'b8' }),
  letter16: typed('character', { storage: 'b16' }),
  letter32: typed('character', { storage: 'b32' }),
  ...Object.fromEntries(
    ['signed', 'unsigned'].flatMap((encoding) => {
      return ['b8', 'b16', 'b32', 'b64'].map((storage) => [
        `${encoding}_${storage}`,
        typed('integer', { encoding, storage }),
      ])
    }),
  ),
  real32: typed('real', { storage: 'b32' }),
  real64: 'real',
  ...Object.fromEntries(
    ['byte', 'utf8', 'utf16', 'utf32'].flatMap((encoding) => [
      [`${encoding}_variable`, typed('string', { encoding, storage: 'variable' })],
      [`${encoding}_fixed`, typed('string', { encoding, storage: 'fixed', fixedLength: 6 })],
      [`${encoding}_optimized`, typed('string', { encoding, storage: 'optimized', fixedLength: 4 })],
    ]),
  ),
  id: 'guid',
  day: 'date',
  clock: 'time',
  moment: 'datetime',
  instant: typed('datetime', { storage: 'datetimeoffset' }),
  span: 'interval',
}

const integers = (sign: -1 | 1): Record<string, unknown> => {
  const max = { b8: '255', b16: '65535', b32: '4294967295', b64: '18446744073709551615' }
  const signed = { b8: ['-128', '127'], b16: ['-32768', '32767'], b32: ['-2147483648', '2147483647'] }
  return {
    ...Object.fromEntries(Object.entries(max).map(([storage, value]) => [`unsigned_${storage}`, sign < 0 ? 0 : value])),
    ...Object.fromEntries(
      Object.entries(signed).map(([storage, values]) => [`signed_${storage}`, values[sign < 0 ? 0 : 1]]),
    ),
    signed_b64: sign < 0 ? '-9223372036854775808' : '9223372036854775807',
  }
}

const texts = (value: string): Record<string, string> => {
  return Object.fromEntries(Object.keys(scalars).flatMap((name) => (/^(byte|utf)/.test(name) ? [[name, value]] : [])))
}

const high: Record<string, unknown> = {
  flag: true,
  letter8: 'ÿ',
  letter16: '✓',
  letter32: '🪨',
  ...integers(1),
  real32: 3.4028234663852886e38,
  real64: 1.7976931348623157e308,
  ...texts('grès'),
  utf8_variable: `"quoted"\n\u0000 and ${'long '.repeat(1_200)}`,
  id: '0189ABCD-0123-4567-89ab-cdef01234567',
  day: '9999-12-31',
  clock: '23:59:59.9999',
  moment: '2024-02-29T12:34:56.7891',
  instant: '2024-02-29T12:34:56.7891+05:30',
  span: 'P4DT3H2M1.5S',
}
const low: Record<string, unknown> = {
  ...integers(-1),
  real32: -1.401298464324817e-45,
  real64: -5e-324,
  ...texts('a'),
  id: '00000000-0000-0000-0000-000000000000',
  day: '0001-01-01',
  clock: '00:00:00',
  moment: '0001-01-01T00:00:00',
  instant: '0001-01-01T00:00:00Z',
  span: '-P1DT0.0001S',
}
const nulls = Object.fromEntries(Object.keys(scalars).map((name) => [name, null]))

const schema: readonly object[] = [
  classOf('Rock.Scalars', scalars),
  classOf('Rock.Place', { street: 'string', number: 'integer', owner: toOne('Rock.Item') }, { isReferenceable: false }),
  classOf(
    'Rock.Nested',
    { place: typed('object', { class: 'Rock.Place' }), label: 'string' },
    { isReferenceable: false },
  ),
  classOf('Rock.Item', {
    name: 'string',
    amount: 'integer',
    home: typed('object', { class: 'Rock.Nested' }),
    other: toOne('Rock.Item'),
    plain: collection('list', toOne('Rock.Item')),
    numbers: collection('list', 'integer'),
    words: collection('list', 'string', 'SegmentedArray'),
    places: collection('list', typed('object', { class: 'Rock.Place' })),
    row: collection('list', toOne('Rock.Item'), 'TreeListOfReferences'),
    tree: collection('set', toOne('Rock.Item'), 'TreeSetOfReferences'),
    hash: collection('set', toOne('Rock.Item'), 'HashSetOfReferences'),
    byName: typed('map', { collectionTypeName: 'NameToReferenceMap', elementSpecification: toOne('Rock.Item') }),
    byHash: mapByReference('HashMapOfReferences'),
    byTree: mapByReference('TreeMapOfReferences'),
    left: toOne('Rock.Item', 'right'),
    right: toOne('Rock.Item', 'left'),
    spouse: toOne('Rock.Item', 'spouse'),
    owner: toOne('Rock.Hub', 'items'),
    group: toOne('Rock.Hub', 'members'),
    tags: collection('list', toOne('Rock.Hub', 'tagged')),
    liked: collection('set', toOne('Rock.Hub', 'likers')),
  }),
  classOf('Rock.Special', { name: 'string', extra: 'integer' }, { superClass: 'Rock.Item' }),
  classOf('Rock.Hub', {
    title: 'string',
    items: collection('list', toOne('Rock.Item', 'owner')),
    members: collection('set', toOne('Rock.Item', 'group')),
    tagged: collection('list', toOne('Rock.Item', 'tags')),
    likers: collection('list', toOne('Rock.Item', 'liked')),
  }),
  classOf('Evolved', { kept: 'string', renamed: 'integer', deleted: 'string', retyped: 'integer' }),
  classOf('Rock.Road', { length: 'integer', end: toOne('ooObj') }),
  classOf('Rock.Map', { any: toOne('ooObj'), first: toEdge('Rock.Road'), roads: collection('list', toEdge('ooObj')) }),
  classOf('Gone', { name: 'string', items: collection('set', toOne('Rock.Item')) }),
]

const byText = (name: string, indexedClass: string, isUnique: boolean, ...attributes: string[]): object => ({
  name,
  indexedClass,
  isUnique,
  keyAttributes: attributes.map((attributeName) => ({ attributeName })),
})

/** Makes it, and tells the OIDs of its objects. */
export async function fillExample(fd: ExampleDatabase): Promise<string[]> {
  await fd.defineClasses(schema, 'create')
  await fd.createIndex(byText('uniqueName', 'Rock.Item', true, 'name'))
  await fd.createIndex(byText('byAmount', 'Rock.Item', false, 'amount', 'home.place.street'))
  await fd.createIndex(byText('byOwner', 'Rock.Item', false, 'owner'))
  await fd.createIndex(byText('dropped', 'Rock.Item', false, 'amount'))
  const oids: string[] = [
    await fd.createObject('Rock.Scalars', high),
    await fd.createObject('Rock.Scalars', low),
    await fd.createObject('Rock.Scalars', nulls),
    await fd.createObject('Rock.Scalars', {}),
  ]
  for (const [nth, name] of Object.keys(scalars).entries()) {
    await fd.createIndex(byText(`scalar${nth}`, 'Rock.Scalars', false, name))
  }
  oids.push(...(await fillLinks(fd)))
  oids.push(...(await fillEvolved(fd)))
  oids.push(...(await fillEdges(fd, oids)))
  await fd.deleteIndex('dropped')
  await fillSequences(fd)
  return oids
}

/** One that goes up, one that has given its last number, and one that is gone. */
async function fillSequences(fd: ExampleDatabase): Promise<void> {
  const texts = [
    'CREATE SEQUENCE up START -3 STEP 4; CREATE SEQUENCE spent START -9223372036854775808 STEP -1; CREATE SEQUENCE gone',
    "SHOW NEXT('up'); SHOW NEXT('up'); SHOW NEXT('spent'); DROP SEQUENCE gone",
  ]
  for (const text of texts) await rowTexts(await fd.query({ text }))
}

async function fillEdges(fd: ExampleDatabase, ends: readonly string[]): Promise<string[]> {
  const roads: string[] = []
  for (const [length, end] of ends.slice(0, 3).entries())
    roads.push(await fd.createObject('Rock.Road', { length, end }))
  return [...roads, await fd.createObject('Rock.Map', { any: roads[0], first: roads[1], roads })]
}

async function fillLinks(fd: ExampleDatabase): Promise<string[]> {
  const hubs = [
    await fd.createObject('Rock.Hub', { title: 'one' }),
    await fd.createObject('Rock.Hub', { title: 'two' }),
  ]
  const items: string[] = []
  for (let nth = 0; nth < 6; nth++) {
    const name = nth < 2 ? `${'a name that is longer than what an index keeps of it '.repeat(2)}${nth}` : `item ${nth}`
    const home = { label: 'home', place: { street: `street ${nth % 2}`, number: nth, owner: items[0] ?? null } }
    const attributes = { name, amount: nth % 3 === 0 ? null : nth * 1_000, home, owner: hubs[nth % 2], group: hubs[0] }
    const more = nth === 5 ? { extra: 5, 'Rock.Item::name': 'hidden' } : {}
    items.push(await fd.createObject(nth === 5 ? 'Rock.Special' : 'Rock.Item', { ...attributes, ...more }))
  }
  const [first, second, third, fourth, fifth] = items as [string, string, string, string, string]
  await fd.updateObject(first, {
    other: second,
    plain: [second, second, '0-0-0-0', third],
    numbers: [1, -2, 300_000],
    words: ['one', '', 'drei'],
    places: [{ street: 'somewhere', number: 7 }, {}],
    row: [third, second, third],
    tree: [third, second],
    hash: [fourth, first],
    byName: { one: first, 'zwei ü': second, [`${'long key '.repeat(60)}`]: third },
    byHash: { pairs: [{ key: second, value: third }] },
    byTree: {
      pairs: [
        { key: third, value: second },
        { key: second, value: first },
      ],
    },
    left: fourth,
    spouse: fifth,
    tags: [hubs[1], hubs[0]],
    liked: hubs,
  })
  await fd.updateObject(second, { spouse: second, tags: [hubs[0]], left: third })
  await fd.updateObject(hubs[0] as string, { items: { action: 'add', elements: [fourth] } })
  // A reference that dangles, and links that went with their object.
  const gone = await fd.createObject('Rock.Item', { name: 'gone', owner: hubs[0], tags: [hubs[1]] })
  await fd.updateObject(third, { other: gone })
  await fd.deleteObject(gone)
  return [...hubs, ...items]
}

/** Objects of several shapes of one class. */
async function fillEvolved(fd: ExampleDatabase): Promise<string[]> {
  const create = async (attributes: Record<string, unknown>): Promise<string> => fd.createObject('Evolved', attributes)
  const oids: string[] = [await create({ kept: 'first', renamed: 1, deleted: 'x', retyped: 11 })]
  await fd.alterClass('Evolved', { attributesToAdd: [{ attributeName: 'added', logicalType: 'date' }] })
  oids.push(await create({ kept: 'second', renamed: 2, retyped: 22, added: '2024-01-01' }))
  await fd.alterClass('Evolved', {
    attributesToDelete: ['deleted'],
    attributesToRename: [{ originalName: 'renamed', newName: 'named' }],
    attributesToChange: [{ attributeName: 'retyped', logicalType: 'string' }],
  })
  oids.push(await create({ kept: 'third', named: 3, retyped: 'thirty-three' }))
  await fd.alterClass('Evolved', { classRename: 'Rock.Evolved' })
  const gone = await fd.createObject('Gone', { name: 'gone', items: [] })
  await fd.deleteObject(gone)
  await fd.deleteClass('Gone')
  return oids
}

const statements = [
  'FROM Rock.Item WHERE name = "item 3" RETURN *',
  `FROM Rock.Item WHERE name = "${'a name that is longer than what an index keeps of it '.repeat(2)}1" RETURN amount`,
  'FROM Rock.Item WHERE amount > 1000 ORDER BY amount DESC RETURN name, amount',
  'FROM Rock.Item WHERE owner.title = "one" ORDER BY name RETURN name',
  'FROM Rock.Hub ORDER BY title RETURN title, COUNT(items), COUNT(members), COUNT(tagged), COUNT(likers)',
  'FROM Rock.Scalars WHERE unsigned_b64 = 18446744073709551615 RETURN id, day, span',
  'FROM Rock.Evolved ORDER BY kept RETURN *',
  'MATCH (m:Rock.Map)-[r:roads]->(e) ORDER BY r.length RETURN r.length AS length, e, m.any AS any',
  'SHOW SEQUENCES',
]

/** `asked`: what an earlier example has been asked. */
export async function readExample(
  fd: ExampleDatabase,
  oids: readonly string[],
  asked: readonly string[] = statements,
): Promise<ExampleContent> {
  const objects: Record<string, unknown> = {}
  for (const oid of oids) objects[oid] = textOf(await fd.readObject(oid))
  const queries: Record<string, unknown> = {}
  for (const text of asked) queries[text] = (await rowTexts(await fd.query({ text }))).join(',')
  // As replies show them, and with them the examples.
  const indexes = (await fd.listIndexes()).map((index) => ({ ...index, uri: `/v1/index/${index.name}` }))
  const content = { classes: await fd.listClasses(), indexes, objects, queries }
  return JSON.parse(JSON.stringify(content)) as ExampleContent
}

/** Texts, for values that JSON numbers do not hold. */
function textOf(json: Uint8Array): string {
  return Buffer.from(json).toString()
}
