/** Lines that are committed together have the outcomes that they have one by one, also where they concern the same objects (contract 2.2.23, 10.6.28). */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { BulkCommand } from '../../src/bulk/bulk-command.ts'
import type { LineOutcome } from '../../src/bulk/bulk-load.ts'
import type { AshlarError } from '../../src/errors.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, read, toMany, toOne, withFd } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'

const following = (onTargetDelete: string): object => ({ ...toOne('S'), onTargetDelete })
const many = (logicalType: string, element: object, more: object = {}): object => ({
  logicalType,
  elementSpecification: element,
  ...more,
})
const classes = [
  classOf('S', {
    k: { logicalType: 'string', isUnique: true },
    n: { logicalType: 'integer', maximum: 5 },
    ro: { logicalType: 'integer', isReadOnly: true },
    up: { logicalType: 'integer', onUpdate: { expression: 'up + 1' } },
    twice: { logicalType: 'integer', computed: { expression: 'n * 2', isStored: true } },
    restricts: following('restrict'),
    clears: following('clear'),
    deletes: following('delete'),
    mate: toOne('S', 'mate'),
    set: many('set', toOne('S')),
    tree: many('list', toOne('S'), { collectionTypeName: 'TreeListOfReferences' }),
    plain: many('list', following('clear')),
    map: { logicalType: 'map', keySpecification: { logicalType: 'string' }, elementSpecification: toOne('S') },
    children: toMany('S', 'parent'),
    parent: toOne('S', 'children'),
  }),
]

const keys = ['a', 'b', 'c', 'd']
type Values = Record<string, unknown>
interface Line {
  readonly kind: 'upsert' | 'update' | 'delete'
  readonly key: string
  readonly values: Values
}

const key = fc.constantFrom(...keys)
const some = fc.array(key, { maxLength: 3 })
/** Of objects by their keys, which are replaced by OIDs. */
const values = fc.record(
  {
    n: fc.integer({ min: 4, max: 6 }),
    ro: fc.integer({ min: 0, max: 1 }),
    restricts: key,
    clears: key,
    deletes: key,
    mate: key,
    set: some,
    tree: some,
    plain: some,
    children: some,
    parent: key,
    map: fc.dictionary(fc.constantFrom('x', 'y'), key),
  },
  { requiredKeys: [] },
)
const line: fc.Arbitrary<Line> = fc.record({ kind: fc.constantFrom('upsert', 'update', 'delete'), key, values })

function withOids(value: unknown, oids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return oids.get(value) ?? value
  if (Array.isArray(value)) return value.map((one) => withOids(one, oids))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, withOids(one, oids)]))
}

function commandOf(
  { kind, key: k, values: given }: Line,
  number: number,
  oids: ReadonlyMap<string, string>,
): BulkCommand {
  const attributes = withOids(given, oids) as Values
  const common = { line: number, at: [], refersTo: undefined }
  const target = { key: { index: 'S.k', values: { k } } }
  if (kind === 'delete') return { ...common, kind, target }
  if (kind === 'update') return { ...common, kind, target, class: undefined, attributes }
  return { ...common, kind: 'create', class: 'S', attributes: { k, ...attributes }, id: undefined }
}

/** Loads of so many lines at once: their outcomes, and all objects with keys instead of OIDs. */
async function loaded(lines: readonly Line[], size: number): Promise<unknown> {
  let result: unknown
  await withFd(classes, async (fd) => {
    const oids = new Map<string, string>()
    for (const k of keys.slice(0, 3)) oids.set(k, await fd.createObject('S', { k }))
    const outcomes: unknown[] = []
    for (let at = 0; at < lines.length; at += size) {
      const load = fd.beginLoad({ onError: 'skip', upsertOn: 'S.k' })
      for (const [i, one] of lines.slice(at, at + size).entries()) await load.add(commandOf(one, i + 1, oids), 100)
      for (const outcome of await load.flush()) outcomes.push(wordOf(outcome))
      await load.end()
    }
    result = { outcomes, objects: await objectsOf(fd) }
  })
  return result
}

/** Loads all lines or none: the line that is refused, if any, and all objects. */
async function loadedAtomically(lines: readonly Line[]): Promise<{ refused: unknown; objects: unknown }> {
  let result = { refused: undefined as unknown, objects: undefined as unknown }
  await withFd(classes, async (fd) => {
    const oids = new Map<string, string>()
    for (const k of keys.slice(0, 3)) oids.set(k, await fd.createObject('S', { k }))
    const load = fd.beginLoad({ onError: 'stop', isAtomic: true, upsertOn: 'S.k' })
    for (const [i, one] of lines.entries()) await load.add(commandOf(one, i + 1, oids), 100)
    const refused = await load.flush().then(
      () => undefined,
      (error: AshlarError) => error.extensions.line,
    )
    await load.end()
    result = { refused, objects: await objectsOf(fd) }
  })
  return result
}

/** Of a line that has several faults, any may be reported. */
const wordOf = (outcome: LineOutcome): string => ('error' in outcome ? 'refused' : 'done')

async function objectsOf(fd: FederatedDatabase): Promise<unknown> {
  const rows = (await rowValues(await fd.query({ text: 'FROM S RETURN $$ID AS oid, k ORDER BY k' }))) as Values[]
  const names = new Map(rows.map(({ oid, k }) => [oid as string, `object ${k}`]))
  const objects = await Promise.all(rows.map(({ oid }) => read(fd, oid as string)))
  return objects.map(({ __identifier__: _, set, ...rest }) =>
    withOids({ ...rest, set: [...(set as string[])].sort() }, names),
  )
}

it('as random ones', async () => {
  const property = fc.asyncProperty(fc.array(line, { minLength: 2, maxLength: 8 }), async (lines) => {
    const alone = (await loaded(lines, 1)) as { outcomes: string[]; objects: unknown }
    expect(await loaded(lines, lines.length)).toEqual(alone)
    const refused = alone.outcomes.indexOf('refused')
    const atomic = await loadedAtomically(lines)
    if (refused < 0) expect(atomic).toEqual({ refused: undefined, objects: alone.objects })
    else expect(atomic.refused).toBe(refused + 1)
  })
  await fc.assert(property, runs(400))
})

const upsert = (k: string, given: Values): Line => ({ kind: 'upsert', key: k, values: given })
const update = (k: string, given: Values): Line => ({ kind: 'update', key: k, values: given })
const deletion = (k: string): Line => ({ kind: 'delete', key: k, values: {} })

it.each<[string, readonly Line[]]>([
  [
    'collections of an object that a line before has created',
    [
      upsert('d', { set: ['a'], tree: ['a'], children: ['a'], map: { x: 'a' } }),
      upsert('d', { set: ['b'], tree: [], children: ['b'], map: { y: 'b' } }),
    ],
  ],
  ['read-only values of an object that a line before has created', [upsert('d', { ro: 1 }), upsert('d', { ro: 2 })]],
  [
    'references of objects that are deleted then',
    [update('a', { restricts: 'b', clears: 'b' }), deletion('a'), deletion('b')],
  ],
  ['lines after a refused deletion', [update('a', { restricts: 'b' }), deletion('b'), update('b', { n: 4 })]],
  [
    'an object that is deleted and created again',
    [deletion('a'), upsert('a', { n: 1 }), upsert('a', { n: 2 }), deletion('a')],
  ],
])('as %s', async (_, lines) => {
  expect(await loaded(lines, lines.length)).toEqual(await loaded(lines, 1))
})

const limited = [
  classOf('S', {
    k: { logicalType: 'string', isUnique: true },
    n: 'integer',
    set: many('set', toOne('S'), { maxItems: 1 }),
  }),
]

it('but that a line may mend the number of links that one before has left, and the others are not refused for it', async () => {
  await withFd(limited, async (fd) => {
    const oids = new Map<string, string>()
    for (const k of keys) oids.set(k, await fd.createObject('S', { k }))
    const load = async (...lines: Line[]): Promise<string[]> => {
      const begun = fd.beginLoad({ onError: 'skip', upsertOn: 'S.k' })
      for (const [i, one] of lines.entries()) await begun.add(commandOf(one, i + 1, oids), 100)
      const outcomes = [...(await begun.flush())].map(wordOf)
      await begun.end()
      return outcomes
    }
    const tooMany = update('a', { set: ['b', 'c'] })
    expect(await load(tooMany, update('a', { set: ['d'] }))).toEqual(['done', 'done'])
    expect(await load(tooMany, update('a', { n: 1 }), update('a', { n: 2 }))).toEqual(['refused', 'done', 'done'])
    expect(await read(fd, oids.get('a') as string)).toMatchObject({ n: 2, set: [oids.get('d')] })
  })
})
