/** Lookups by a unique key: from the second time on they are answered in a way of their own, which must tell what the first time told. */
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { QueryProgress, QueryRequest } from '../../src/query/query-request.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { classOf, index, toOne } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'
import { queryTest, type Row } from './query-database.ts'

const classes = [
  classOf('Maker', { name: 'string' }),
  classOf('Car', {
    license: 'string',
    number: 'integer',
    day: 'date',
    weight: 'real',
    note: 'string',
    maker: toOne('Maker'),
  }),
  classOf('Van', { load: 'integer' }, { superClass: 'Car' }),
  classOf('Plot', { street: 'string', house: 'integer' }),
]

const long = 'x'.repeat(20_000)
const longKey = 'y'.repeat(3_000)

/** Statements, each with what it is given. */
const asked: readonly [string, Row?][] = [
  ['FROM Car WHERE license = $l RETURN *', { l: 'a' }],
  ['FROM Car WHERE license = $l RETURN *', { l: 'b' }],
  ['FROM Car WHERE license = $l RETURN *', { l: 'nobody' }],
  ['FROM Car WHERE license = $l RETURN *', { l: null }],
  ['FROM Car WHERE license = $l RETURN *', { l: 7 }],
  ['FROM Car WHERE license = $l RETURN *', { l: ['a'] }],
  ['FROM Car WHERE license = $l RETURN *', { l: 'a', other: [1, 'x'] }],
  ['FROM Car WHERE license = $l RETURN *', {}],
  ['FROM Car WHERE license = $l RETURN *'],
  ['FROM Car WHERE license = "a" RETURN license, number AS n, day'],
  ['FROM Car WHERE license = "b" RETURN license, number AS n, day'],
  ['FROM Car WHERE license = "a" RETURN license, maker.name'],
  ['FROM Car WHERE license = "a" RETURN maker, weight * 2'],
  ['FROM Car WHERE license = "a" AND number = 1 RETURN license'],
  ['FROM Car WHERE license = "a" AND number = 2 RETURN license'],
  ['FROM Car WHERE license = "a" AND weight = -1 RETURN license'],
  ['FROM Car WHERE license = "a" AND maker.name = "one" RETURN license'],
  ['FROM Car WHERE license = "a" OR license = "b" RETURN license'],
  ['FROM Car WHERE license = "a" TAKE 0 RETURN license'],
  ['FROM Car WHERE license = "a" SKIP 1 RETURN license'],
  ['FROM Car WHERE license = "a" ORDER BY number RETURN license'],
  ['FROM Car WHERE license = "a" RETURN COUNT()'],
  ['FROM Car WHERE license = LOWER($l) RETURN license', { l: 'A' }],
  ['FROM Car WHERE license = $l RETURN license', { l: longKey }],
  ['FROM Car WHERE license = "long" RETURN *'],
  ['FROM Car WHERE number = $n RETURN license', { n: 1 }],
  ['FROM Car WHERE number = $n RETURN license', { n: 1.5 }],
  ['FROM Car WHERE number = $n RETURN license', { n: 2 }],
  ['FROM Car WHERE license = "van" RETURN *'],
  ['FROM Van WHERE license = "van" RETURN license, load'],
  ['FROM Van WHERE license = "a" RETURN license'],
  ['FROM Plot WHERE street = $s AND house = $h RETURN *', { s: 'Elm', h: 3 }],
  ['FROM Plot WHERE street = $s AND house = $h RETURN *', { s: 'Elm', h: 4 }],
  ['FROM Plot WHERE street = "Elm" RETURN house'],
  ['FROM Car WHERE license = $l RETURN number / $d', { l: 'a', d: 0 }],
  ['FROM Car WHERE license = $$USER.name RETURN license'],
  ['FROM Car WHERE license = (FROM Maker TAKE 1 RETURN name) RETURN license'],
]

queryTest('each asks for the same the second time, and after another value', [], async ({ fd, rows }) => {
  await setUp(fd)
  const told = async (text: string, parameters?: Row): Promise<unknown> => {
    try {
      return await rows(text, parameters)
    } catch (error) {
      if (error instanceof AshlarError) return { type: error.type, message: error.message, ...error.extensions }
      throw error
    }
  }
  const first: unknown[] = []
  for (const [text, parameters] of asked) first.push(await told(text, parameters))
  expect(first[0]).toMatchObject([{ license: 'a', number: 1 }])
  expect(first[2]).toEqual([])
  for (const round of [1, 2]) {
    for (const [i, [text, parameters]] of asked.entries())
      expect(await told(text, parameters), `${text} (${round})`).toEqual(first[i])
  }
})

queryTest('what has changed is seen, in the object and in the schema', [], async ({ fd, rows }) => {
  await setUp(fd)
  const find = () => rows('FROM Car WHERE license = "a" RETURN *')
  const [before] = await find()
  expect(await find()).toEqual([before])
  await rows('UPDATE Car WHERE license = "a" SET number TO 77')
  expect(await find()).toEqual([{ ...before, number: 77 }])
  await fd.defineClasses([classOf('Car', { colour: 'string' })], 'createOrExtend')
  expect(await find()).toEqual([{ ...before, number: 77, colour: '' }])
  expect(await find()).toEqual([{ ...before, number: 77, colour: '' }])
  await fd.deleteIndex('byLicense')
  expect(await find()).toEqual([{ ...before, number: 77, colour: '' }])
  await rows('DELETE Car WHERE license = "a"')
  expect(await find()).toEqual([])
})

queryTest(
  'a long row and a long parameter are charged to the request as any other time',
  [],
  async ({ fd, rows, failure }) => {
    await setUp(fd)
    await fd.createObject('Car', { license: 'much', number: 70, note: long.slice(0, 7_000) })
    const columns = Array.from({ length: 100 }, (_, n) => `note AS note${n}`).join(', ')
    const wide = `FROM Car WHERE license = $l RETURN ${columns}`
    expect(await rows(wide, { l: 'a' })).toHaveLength(1)
    expect((await failure(wide, { l: 'much' })).type).toBe('LimitExceeded')
    const narrow = 'FROM Car WHERE license = $l RETURN license'
    expect(await rows(narrow, { l: 'a', other: 'x' })).toEqual([{ license: 'a' }])
    expect((await failure(narrow, { l: 'a', other: 'x'.repeat(400_000) })).type).toBe('LimitExceeded')
    expect((await failure(narrow, { l: 'x'.repeat(400_000), other: 'x' })).type).toBe('LimitExceeded')
  },
  { limits: { statementBytesMax: 300_000 } },
)

it('rows and plans are counted, whoever watches is told, and a stopped request gets no rows', async () => {
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openStore('memory:') })
  await setUp(fd)
  const text = 'FROM Car WHERE license = $l RETURN license'
  let progress: QueryProgress | undefined
  const watch = {
    onStarted(begun: QueryProgress) {
      progress = begun
    },
  }
  const ask = (license: string, more: Partial<QueryRequest> = {}) =>
    fd.query({ text, parameters: { l: license }, watch, ...more })
  await ask('a')
  const before = structuredClone(fd.counts())
  const answered = ask('b')
  expect(answered).not.toBeInstanceOf(Promise)
  expect((await answered).chunks.atHand?.[0]?.bytes.toString()).toBe('\n{"license":"b"}')
  expect(progress).toMatchObject({ rows: 1, touched: 1, bytesHeld: 0 })
  expect(progress?.workedMs).toBeGreaterThanOrEqual(0)
  await ask('nobody')
  expect(progress).toMatchObject({ rows: 0, touched: 0 })
  const { queries, plansReused, plansMade } = fd.counts()
  expect([queries.rows - before.queries.rows, queries.touched - before.queries.touched]).toEqual([1, 1])
  expect([plansReused - before.plansReused, plansMade - before.plansMade]).toEqual([2, 0])
  const signal = AbortSignal.abort(new Error('gone'))
  expect(() => ask('b', { signal })).toThrow('gone')
  await fd.close()
})

async function setUp(fd: FederatedDatabase): Promise<void> {
  await fd.defineClasses(classes, 'create')
  await fd.createIndex(index('byLicense', 'Car', true, 'license'))
  await fd.createIndex(index('byNumber', 'Car', true, 'number'))
  await fd.createIndex(index('byPlace', 'Plot', true, 'street', 'house'))
  const maker = await fd.createObject('Maker', { name: 'one' })
  const car = { day: '2024-01-01', weight: 1.5, maker }
  const cars = ['a', 'b', longKey].map((license, n) => ({ ...car, license, number: n + 1 }))
  await fd.createObjects([
    ...cars.map((attributes) => ({ class: 'Car', attributes })),
    { class: 'Car', attributes: { ...car, license: 'long', number: 50, note: long } },
    { class: 'Van', attributes: { ...car, license: 'van', number: 60, load: 3 } },
    { class: 'Plot', attributes: { street: 'Elm', house: 3 } },
  ])
}

it('a lookup finds the schema that another process has changed', async () => {
  const address = `lmdb:${await temporaryDirectory()}`
  const open = async () => FederatedDatabase.open({ alias: 'test', store: await openStore(address) })
  const [own, other] = [await open(), await open()]
  await setUp(own)
  const find = async () => await rowTexts(await own.query({ text: 'FROM Car WHERE license = "a" RETURN *' }))
  const [found] = await find()
  await find()
  await find()
  expect(await find()).toEqual([found])
  await other.defineClasses([classOf('Car', { colour: 'string' })], 'createOrExtend')
  // The catalog that is known is an earlier one: its load must not go on behind the snapshot of the lookup, where it would fail unhandled.
  expect(JSON.parse((await find())[0] as string)).toEqual({ ...JSON.parse(found as string), colour: '' })
  await own.close()
  await other.close()
})
