/** Lines that are committed together have the outcomes that they have one by one, also where they concern the same objects (contract 2.2.23, 10.6.28). */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { BulkCommand } from '../../src/bulk/bulk-command.ts'
import type { LineLoad, LineOutcome } from '../../src/bulk/bulk-load.ts'
import type { AshlarError } from '../../src/errors.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, index, read, toMany, toOne, withFd } from '../engine/open-fd.ts'
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
    u: { logicalType: 'string', isUnique: true },
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
  /** `put`: by its OID. */
  readonly kind: 'upsert' | 'update' | 'put' | 'delete'
  readonly key: string
  readonly values: Values
}

const key = fc.constantFrom(...keys)
const some = fc.array(key, { maxLength: 3 })
/** Of objects by their keys, which are replaced by OIDs. */
const values = fc.record(
  {
    u: fc.constantFrom('p', 'q'),
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
const line: fc.Arbitrary<Line> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('upsert', 'update', 'delete'), key, values }) },
  // A key may be changed, taken and freed.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('put'), key, values: fc.record({ k: key, n: fc.nat(5) }) }) },
)

function withOids(value: unknown, oids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return oids.get(value) ?? value
  if (Array.isArray(value)) return value.map((one) => withOids(one, oids))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, one]) => [field, field === 'k' || field === 'u' ? one : withOids(one, oids)]),
  )
}

function commandOf(
  { kind, key: k, values: given }: Line,
  number: number,
  oids: ReadonlyMap<string, string>,
): BulkCommand {
  const attributes = withOids(given, oids) as Values
  const common = { line: number, at: [], refersTo: undefined }
  const target = { key: { index: 'S.k', values: { k } } }
  if (kind === 'put')
    return { ...common, kind: 'update', target: { oid: oids.get(k) ?? '3-3-1-99' }, class: undefined, attributes }
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
      const part = lines.slice(at, at + size).map((one, i) => commandOf(one, i + 1, oids))
      outcomes.push(...(await outcomesOf(load, part)))
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

/** Commits pending lines before one that has to find what they have changed, as a server does. */
async function outcomesOf(load: LineLoad, commands: readonly BulkCommand[]): Promise<string[]> {
  const outcomes: string[] = []
  for (const command of commands) {
    if (load.needsCommitBefore(command)) outcomes.push(...[...(await load.flush())].map(wordOf))
    await load.add(command, 100)
  }
  outcomes.push(...[...(await load.flush())].map(wordOf))
  await load.end()
  return outcomes
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
const put = (k: string, given: Values): Line => ({ kind: 'put', key: k, values: given })
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
  ['a key that a later line frees', [put('a', { k: 'b' }), put('b', { k: 'd' })]],
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

const composite = [
  classOf('S', {
    k: 'string',
    n: 'integer',
    parent: toOne('S', 'children'),
    children: toMany('S', 'parent'),
    clears: following('clear'),
    fixed: { ...toMany('S', 'fixedIn'), isReadOnly: true },
    fixedIn: toOne('S', 'fixed'),
  }),
]

/** Loads all lines at once, or one by one, into three objects whose keys are `a`, `b` and `c`, where `c` is a child of `a` and refers to it. */
async function loadedByLinks(
  lines: (oids: readonly string[]) => readonly Partial<BulkCommand>[],
  size: number,
): Promise<unknown> {
  let result: unknown
  await withFd(composite, async (fd) => {
    await fd.createIndex(index('pk', 'S', true, 'parent', 'k') as never)
    await fd.createIndex(index('ck', 'S', true, 'clears', 'k') as never)
    const oids: string[] = []
    for (const k of ['a', 'b']) oids.push(await fd.createObject('S', { k }))
    oids.push(await fd.createObject('S', { k: 'c', parent: oids[0], clears: oids[0] }))
    const all = lines(oids)
    const outcomes: string[] = []
    for (let at = 0; at < all.length; at += size) {
      const load = fd.beginLoad({ onError: 'skip', upsertOn: 'pk' })
      const part = all.slice(at, at + size).map((one, n) => {
        return { line: n + 1, at: [], refersTo: undefined, class: undefined, ...one } as BulkCommand
      })
      outcomes.push(...(await outcomesOf(load, part)))
    }
    result = {
      outcomes,
      rows: await rowValues(
        await fd.query({ text: 'FROM S RETURN k, n, parent.k AS p, fixedIn.k AS f ORDER BY k, n' }),
      ),
    }
  })
  return result
}

const by = (name: string, found: Values): Partial<BulkCommand> =>
  ({ target: { key: { index: name, values: found } } }) as never
const change = (target: Partial<BulkCommand>, attributes: Values): object => ({ kind: 'update', attributes, ...target })
const removal = (target: Partial<BulkCommand>): object => ({ kind: 'delete', ...target })
const creation = (attributes: Values, id?: string): object => ({ kind: 'create', class: 'S', attributes, id })

it.each<[string, (oids: readonly string[]) => readonly object[]]>([
  [
    'a deletion that changes a key by which the next line looks',
    ([a]) => [removal({ target: { oid: a } } as never), removal(by('pk', { parent: a, k: 'c' }))],
  ],
  [
    'a deletion that clears a key by which the next line looks',
    ([a]) => [removal({ target: { oid: a } } as never), removal(by('ck', { clears: a, k: 'c' }))],
  ],
  [
    'a change from the other side of a key by which the next line looks',
    ([a, b, c]) => [
      change({ target: { oid: b } } as never, { children: [c] }),
      change(by('pk', { parent: a, k: 'c' }), { n: 2 }),
    ],
  ],
  [
    'a creation that takes over an object which the next line looks for',
    ([a, _, c]) => [creation({ parent: a, k: 'd', children: [c] }), creation({ parent: a, k: 'c', n: 2 })],
  ],
  [
    'a read-only collection of an object that a line before has created',
    ([a]) => [
      { ...creation({ parent: a, k: 'd' }, 'x') },
      { ...creation({ parent: a, k: 'e', fixedIn: ['$', '{x}'].join('') }), refersTo: ['x'] },
    ],
  ],
])('as %s', async (_, lines) => {
  const given = lines as Parameters<typeof loadedByLinks>[0]
  expect(await loadedByLinks(given, 9)).toEqual(await loadedByLinks(given, 1))
})

it('and an id is that of the object that takes the key of a deleted one', async () => {
  await withFd(composite, async (fd) => {
    await fd.createIndex(index('pk', 'S', true, 'parent', 'k') as never)
    const parent = await fd.createObject('S', { k: 'a' })
    await fd.createObject('S', { k: 'c', parent })
    const named = { target: { oid: ['$', '{x}'].join('') }, refersTo: ['x'] }
    const lines = [
      removal(by('pk', { parent, k: 'c' })),
      creation({ parent, k: 'c', n: 3 }, 'x'),
      change(named as never, { n: 4 }),
      removal({ target: { oid: parent } } as never),
      { ...removal(named as never) },
    ]
    const commands = lines.map((one, i): object => ({
      line: i + 1,
      at: [],
      refersTo: undefined,
      class: undefined,
      ...one,
    }))
    const load = fd.beginLoad({ onError: 'skip', upsertOn: 'pk' })
    expect(await outcomesOf(load, commands as BulkCommand[])).toEqual(['done', 'done', 'done', 'done', 'done'])
    expect(await rowValues(await fd.query({ text: 'FROM S RETURN k' }))).toEqual([])
  })
})

it.each([false, true])('and a key may contain the object of a line before (atomic: %s)', async (isAtomic) => {
  await withFd(composite, async (fd) => {
    await fd.createIndex(index('pk', 'S', true, 'parent', 'k') as never)
    const root = await fd.createObject('S', { k: 'r' })
    const ofX = (n: number): object => ({
      ...creation({ k: 'c', parent: ['$', '{x}'].join(''), n }),
      refersTo: ['x'],
    })
    const lines = [creation({ k: 'p', parent: root }, 'x'), ofX(1), ofX(2)]
    const commands = lines.map((one, i): object => ({ line: i + 1, at: [], refersTo: undefined, ...one }))
    const load = fd.beginLoad({ onError: 'skip', upsertOn: 'pk', isAtomic })
    expect(await outcomesOf(load, commands as BulkCommand[])).toEqual(['done', 'done', 'done'])
    const rows = await rowValues(await fd.query({ text: 'FROM S WHERE n > 0 RETURN k, n, parent.k AS p' }))
    expect(rows).toEqual([{ k: 'c', n: 2, p: 'p' }])
  })
})
