/** Indexes that are used by a key attribute behind one of which nothing, or only a range, is asked. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { isOnPostgres } from '../../store/store-of-run.ts'
import { find } from '../plans.ts'
import { openQueryDatabase, queryTest, type Row } from '../query-database.ts'

const setUp = [
  'UPDATE SCHEMA { CREATE CLASS T {n: Integer, kind: Integer, size: Integer, mark: String, day: Date} }',
  'CREATE INDEX byKindAndSize ON T (kind, size)',
  'CREATE INDEX byNumberAndMark ON T (n, mark)',
  'CREATE INDEX byKindDayAndMark ON T (kind, day, mark)',
]
const objects = 3_000
const kinds = 6
const values = Array.from({ length: objects }, (_, i) => ({
  n: i,
  kind: i % kinds,
  size: i % 500,
  mark: `m${i % 50}`,
  day: `2030-01-${String((i % 4) + 1).padStart(2, '0')}`,
}))
const ofSize7 = values.filter(({ size }) => size === 7).length

// A store beyond the process has other costs: there a few thousand objects are read sooner.
describe.skipIf(isOnPostgres)('a key attribute behind one that is not asked for', () => {
  const skipTest = (name: string, test: (db: Awaited<ReturnType<typeof filled>>['db']) => Promise<void>): void => {
    it(name, async () => {
      const { db, close } = await filled()
      await test(db)
      await close()
    })
  }

  skipTest('is found by one range of entries a value of the first', async (db) => {
    const plan = await db.analyze('FROM T WHERE size = 7 RETURN n')
    const scan = find(plan, 'skipScan')
    expect([scan.index, scan.conditions, scan.skipped]).toEqual(['byKindAndSize', ['size = 7'], 'kind'])
    expect([scan.examined, plan.returned, plan.objectsRead]).toEqual([ofSize7, ofSize7, ofSize7])
    const counted = plan.entriesCounted as number
    // Of the first eight values it is seen whether they have many entries; of each, where the next begins.
    expect(counted).toBeLessThanOrEqual(kinds * 16 + (kinds + 1) + 2 * ofSize7 + 64)
  })

  skipTest('is counted by these entries alone', async (db) => {
    const text = 'FROM T WHERE size >= 7 AND size < 9 RETURN COUNT() AS n'
    const plan = await db.analyze(text)
    const scan = find(plan, 'indexOnlyScan')
    expect([scan.skipped, scan.examined, plan.objectsRead]).toEqual(['kind', 2 * ofSize7, 0])
    expect(await db.rows(text)).toEqual([{ n: 2 * ofSize7 }])
  })

  skipTest('is counted by a large part of the entries, which are still fewer than all', async (db) => {
    const text = 'FROM T WHERE size >= 100 AND size < 250 RETURN COUNT() AS n, MAX(size) AS most'
    const some = values.filter(({ size }) => size >= 100 && size < 250).length
    const scan = find(await db.analyze(text), 'indexOnlyScan')
    expect([scan.skipped, scan.examined]).toEqual(['kind', some])
    expect(await db.rows(text)).toEqual([{ n: some, most: 249 }])
    const most = await db.analyze('FROM T WHERE size >= 100 RETURN COUNT() AS n')
    expect(find(most, 'indexOnlyScan')).toMatchObject({ examined: objects })
  })

  skipTest('is found behind a range of the first, and between others', async (db) => {
    const behind = find(await db.analyze('FROM T WHERE kind > 3 AND size = 11 RETURN n'), 'skipScan')
    expect(behind.conditions).toEqual(['kind > 3', 'size = 11'])
    const found = values.filter(({ kind, size }) => kind > 3 && size === 11).length
    expect(behind.examined).toBe(found)
    const between = await db.analyze("FROM T WHERE kind = 1 AND mark = 'm7' RETURN n")
    expect(find(between, 'skipScan')).toMatchObject({
      index: 'byKindDayAndMark',
      conditions: ['kind = 1', "mark = 'm7'"],
      skipped: 'day',
      examined: values.filter(({ kind, mark }) => kind === 1 && mark === 'm7').length,
    })
  })

  skipTest('is not looked for where the first has as many values as there are objects: that shows soon', async (db) => {
    await db.rows('UPDATE SCHEMA { CREATE CLASS U {n: Integer, mark: String} }')
    await db.rows('CREATE INDEX u ON U (n, mark)')
    await db.fd.createObjects(values.map(({ n, mark }) => ({ class: 'U', attributes: { n, mark } })))
    const plan = await db.analyze("FROM U WHERE mark = 'm7' RETURN n")
    expect(find(plan, 'extentScan').examined).toBe(objects)
    expect(plan.entriesCounted).toBeLessThanOrEqual(32)
  })

  skipTest('is not looked for where another index has few', async (db) => {
    const plan = await db.analyze('FROM T WHERE n < 20 AND size = 7 RETURN n')
    expect(find(plan, 'indexScan')).toMatchObject({ index: 'byNumberAndMark', examined: 20 })
  })
})

describe.skipIf(isOnPostgres)('the ranges of a skip scan', () => {
  const setUpOfMany = [
    'UPDATE SCHEMA { CREATE CLASS T {kind: Integer, size: Integer} }',
    'CREATE INDEX byKindAndSize ON T (kind, size)',
  ]
  const ofManyKinds = async (statementBytesMax: number): ReturnType<typeof openQueryDatabase> => {
    const database = await openQueryDatabase(setUpOfMany, { limits: { statementBytesMax } })
    const all = Array.from({ length: 4_800 }, (_, i) => ({ kind: i % 100, size: Math.floor(i / 100) }))
    await database.db.fd.createObjects(all.map((attributes) => ({ class: 'T', attributes })))
    return database
  }
  const text = 'FROM T WHERE size = 7 RETURN COUNT(kind) AS n'

  it('are held in memory, and counted so', async () => {
    const { db, close } = await ofManyKinds(2 ** 24)
    const plan = await db.analyze(text)
    expect(find(plan, 'indexOnlyScan')).toMatchObject({ skipped: 'kind', examined: 100 })
    expect(plan.heldBytesMax).toBeGreaterThan(100 * 200)
    await close()
  })

  it('are done without where there is no memory for them', async () => {
    const { db, close } = await ofManyKinds(2 ** 14)
    expect(await db.rows(text)).toEqual([{ n: 100 }])
    const plan = await db.analyze(text)
    expect(JSON.stringify(plan)).not.toMatch(/"skipped":"kind","examined"/)
    await close()
  })
})

async function filled(): ReturnType<typeof openQueryDatabase> {
  const database = await openQueryDatabase(setUp)
  await database.db.fd.createObjects(values.map((attributes) => ({ class: 'T', attributes })))
  return database
}

const longText = 'a text that is longer than what an entry holds of it '
const some = {
  kind: fc.constantFrom(null, -1, 0, 2 ** 30),
  label: fc.constantFrom(null, '', 'b', `${longText}1`, `${longText}2`, '\0'),
  size: fc.oneof(fc.constant(null), fc.integer({ min: -20, max: 20 })),
  mark: fc.constantFrom(null, '', 'b', `${longText}1`, `${longText}2`, '\0'),
}
type Value = number | string | null
interface Asked {
  readonly attribute: keyof typeof some
  readonly operator: '=' | '<' | '<=' | '>' | '>=' | 'IS NULL'
  readonly value: Value
}

function asked(attribute: keyof typeof some): fc.Arbitrary<Asked> {
  return fc.record({
    attribute: fc.constant(attribute),
    operator: fc.constantFrom('=', '=', '<', '<=', '>', '>=', 'IS NULL'),
    value: some[attribute].map((value: Value) => value ?? (attribute === 'label' || attribute === 'mark' ? '' : 0)),
  })
}

function isTrue(row: Row, { attribute, operator, value }: Asked): boolean {
  const own = row[attribute] as Value
  if (operator === 'IS NULL') return own === null
  if (own === null || value === null) return false
  const order =
    typeof own === 'string' ? Buffer.compare(Buffer.from(own), Buffer.from(String(value))) : own - Number(value)
  if (operator === '=') return order === 0
  return operator === '<' ? order < 0 : operator === '<=' ? order <= 0 : operator === '>' ? order > 0 : order >= 0
}

const indexesOfAll = [
  'UPDATE SCHEMA { CREATE CLASS T {n: Integer, kind: Integer, label: String, size: Integer, mark: String} }',
  'CREATE INDEX one ON T (kind, size)',
  'CREATE INDEX two ON T (label, mark, size)',
  'CREATE INDEX three ON T (kind, label, mark)',
]

queryTest('whatever is asked, it finds what a look at each object finds', indexesOfAll, async (db) => {
  const given = fc.sample(fc.record(some), { numRuns: 400, seed: 7 }).map((one, n) => ({ n, ...one }))
  await db.fd.createObjects(given.map((attributes) => ({ class: 'T', attributes })))
  let skipped = 0
  const predicate = fc.uniqueArray(fc.oneof(asked('kind'), asked('label'), asked('size'), asked('mark')), {
    minLength: 1,
    maxLength: 3,
    selector: ({ attribute, operator }) => `${attribute} ${operator}`,
  })
  await fc.assert(
    fc.asyncProperty(predicate, async (conditions) => {
      const parameters: Row = {}
      const where = conditions
        .map(({ attribute, operator, value }, i) => {
          if (operator === 'IS NULL') return `${attribute} IS NULL`
          parameters[`p${i}`] = value
          return `${attribute} ${operator} $p${i}`
        })
        .join(' AND ')
      const expected = given.filter((row) => conditions.every((one) => isTrue(row, one))).map(({ n }) => n)
      const rows = await db.rows(`FROM T WHERE ${where} ORDER BY n RETURN n`, parameters)
      expect(rows.map(({ n }) => n)).toEqual(expected)
      const counted = await db.rows(`FROM T WHERE ${where} RETURN COUNT() AS n`, parameters)
      expect(counted).toEqual([{ n: expected.length }])
      const plan = await db.analyze(`FROM T WHERE ${where} RETURN n`, parameters)
      if (JSON.stringify(plan).includes('"skipped"')) skipped++
    }),
    runs(300),
  )
  if (!isOnPostgres) expect(skipped).toBeGreaterThan(0)
})
