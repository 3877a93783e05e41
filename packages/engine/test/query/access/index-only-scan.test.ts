/** Groups and aggregates from the entries of indexes alone. */
import { tmpdir } from 'node:os'
import { describe, expect } from 'vitest'
import { TemporarySpace } from '../../../src/spill/temporary-space.ts'
import { find, touched } from '../plans.ts'
import { queryTest } from '../query-database.ts'
import { airlineTests, changingTest, ownFlights } from './airline.ts'

const flights = 1200
const plannerTest = airlineTests(flights)

describe('aggregates', () => {
  plannerTest('MIN and MAX read an end of the index each', async (db) => {
    const plan = await db.analyze('FROM Flight RETURN MIN(number), MAX(number)')
    expect(find(plan, 'indexOnlyScan').index).toBe('flightNumber')
    expect(touched(plan)).toBeLessThanOrEqual(32)
    expect(await db.rows('FROM Flight RETURN MIN(number) AS a, MAX(number) AS b')).toEqual([{ a: 0, b: 5003 }])
    expect(await db.rows('FROM Flight WHERE number < 700 RETURN MAX(number) AS b')).toEqual([{ b: 699 }])
    expect(await db.rows("FROM Flight WHERE carrierCode = 'c7' RETURN MAX(seats) AS b")).toEqual([{ b: 87 }])
    expect(await db.rows("FROM Flight WHERE carrierCode = 'c7' AND seats != 87 RETURN MAX(seats) AS b")).toEqual([
      { b: 67 },
    ])
    expect(await db.rows("FROM Flight WHERE carrierCode = 'none' RETURN MIN(seats) AS a")).toEqual([{ a: null }])
  })

  plannerTest('COUNT by a condition reads the entries of its range', async (db) => {
    const text = "FROM Flight WHERE carrierCode = 'c7' RETURN COUNT() AS n"
    const plan = await db.analyze(text)
    expect([find(plan, 'indexOnlyScan').examined, plan.objectsRead]).toEqual([flights / 20, 0])
    expect(await db.rows(text)).toEqual([{ n: flights / 20 }])
  })

  plannerTest('conditions on further attributes of the key are checked on the entries', async (db) => {
    const text =
      "FROM Flight WHERE carrierCode >= 'c18' AND carrierCode < 'c2' AND seats = 18 RETURN COUNT() AS n, SUM(seats) AS s"
    const plan = await db.analyze(text)
    expect([find(plan, 'indexOnlyScan').index, plan.objectsRead]).toEqual(['flightCarrierSeats', 0])
    expect(await db.rows(text)).toEqual([{ n: 12, s: 216 }])
  })
})

describe('GROUP BY', () => {
  plannerTest('attributes of an index reads its entries', async (db) => {
    const text =
      'FROM Flight GROUP BY carrierCode ORDER BY carrierCode TAKE 2 RETURN carrierCode, COUNT() AS n, AVG(seats) AS a'
    const plan = await db.analyze(text)
    expect([find(plan, 'indexOnlyScan').examined, plan.objectsRead]).toEqual([flights + 3, 0])
    expect(await db.rows(text)).toEqual([
      { carrierCode: 'c0', n: 60, a: 40 },
      { carrierCode: 'c1', n: 60, a: 41 },
    ])
    const byDay = await db.rows('FROM Flight GROUP BY day ORDER BY day DESC TAKE 2 RETURN day, COUNT() AS n')
    expect(byDay).toEqual([
      { day: '2030-01-01', n: 3 },
      { day: '2024-12-01', n: 100 },
    ])
  })

  plannerTest('texts that entries hold cut reads their objects', async (db) => {
    const text = 'FROM ONLY Flight GROUP BY remark ORDER BY remark RETURN remark, COUNT() AS n'
    const rows = await db.rows(text)
    expect([rows.length, rows[0]?.n]).toEqual([400, 3])
  })

  plannerTest('of a class without those that inherit from it reads the extent', async (db) => {
    const plan = await db.analyze('FROM ONLY Flight RETURN MAX(number) AS b')
    expect(find(plan, 'extentScan').examined).toBe(flights)
    expect(await db.rows('FROM Charter RETURN MIN(number) AS a')).toEqual([{ a: 5001 }])
  })

  plannerTest('references', async (db) => {
    const text = 'FROM Flight GROUP BY destination RETURN COUNT() AS n'
    const plan = await db.analyze(text)
    expect([find(plan, 'indexOnlyScan').examined, plan.objectsRead]).toEqual([flights + 3, 0])
    expect((await db.rows(text)).map(({ n }) => n)).toEqual(expect.arrayContaining([30, 3]))
  })
})

describe('a transaction', () => {
  changingTest('sees what it has changed itself', async (db) => {
    const text = `UPDATE Flight WHERE number = 7 SET number TO 9000; DELETE Flight WHERE number = 5003; FROM Flight RETURN MAX(number) AS b;
      FROM Flight WHERE carrierCode = 'c3' RETURN COUNT() AS n`
    expect((await db.rows(text)).at(-1)).toEqual({ n: ownFlights / 20 + 2 })
    expect(await db.rows('FROM Flight RETURN MAX(number) AS b')).toEqual([{ b: 9000 }])
  })
})

/** Of every type that keys are made of, with the least and the greatest. */
const valuesByType: Readonly<Record<string, readonly unknown[]>> = {
  Boolean: [true, false],
  Character: ['a', '\u00ff', '😀'],
  'Integer{Encoding: Signed, Storage: B8}': [-128, -1, 0, 1, 127],
  'Integer{Encoding: Signed, Storage: B32}': [-2147483648, -256, 0, 255, 65536, 2147483647],
  'Integer{Encoding: Unsigned, Storage: B64}': [0, 4294967296, '18446744073709551615', '9007199254740993'],
  'Integer{Encoding: Signed, Storage: B64}': ['-9223372036854775808', -9007199254740991, 0, '9223372036854775807'],
  'Real{Storage: B32}': [-1.5, 0, 0.1, 1e30],
  'Real{Storage: B64}': [-1e300, -0.1, 0, 5e-324, 0.30000000000000004],
  String: ['', 'a', 'a\u0000b', '\u00ff', '😀', 'x'.repeat(600), `${'x'.repeat(600)}y`],
  Date: ['0001-01-01', '1969-12-31', '9999-12-31'],
  Time: ['00:00:00', '23:59:59.9999'],
  DateTime: ['0001-01-01T00:00:00', '2024-02-29T12:00:00.0001', '9999-12-31T23:59:59'],
  Guid: ['00000000-0000-0000-0000-000000000001', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
}

const asked = [
  'FROM K GROUP BY x ORDER BY x RETURN x, COUNT() AS n',
  'FROM K RETURN MIN(x) AS least, MAX(x) AS greatest',
  'FROM K RETURN MAX(x) AS greatest',
  'FROM K WHERE NOT IS_NULL(x) RETURN COUNT() AS n, COUNT(DISTINCT x) AS d',
  'FROM K WHERE IS_NULL(x) RETURN COUNT() AS n, MIN(x) AS least',
  'FROM K GROUP BY x HAVING COUNT() > 1 RETURN COUNT(x) AS n',
]

describe('values of every type', () => {
  for (const [type, values] of Object.entries(valuesByType)) {
    queryTest(
      `are those of the objects: ${type}`,
      [`UPDATE SCHEMA { CREATE CLASS K {x: ${type}, i: Integer} }`],
      async (db) => {
        const all = [...values, ...values.slice(1), null, null]
        await db.fd.createObjects(all.map((x, i) => ({ class: 'K', attributes: { x, i } })))
        const expected = []
        for (const text of asked) expected.push(await db.rows(text))
        await db.rows('CREATE INDEX kx ON K (x)')
        for (const [i, text] of asked.entries()) {
          expect(find(await db.analyze(text), 'indexOnlyScan').index).toBe('kx')
          expect(await db.rows(text)).toEqual(expected[i])
        }
        await db.rows('DROP INDEX kx; CREATE INDEX kix ON K (i, x)')
        for (const [i, text] of asked.entries()) expect(await db.rows(text)).toEqual(expected[i])
      },
    )
  }
})

const pairs = [
  'UPDATE SCHEMA { CREATE CLASS T {k: Integer, i: Integer, s: String} }',
  'CREATE INDEX byK ON T (k)',
  'CREATE INDEX byIK ON T (i, k)',
  'CREATE INDEX bySK ON T (s, k)',
]
const manyPairs = Array.from({ length: 1000 }, (_, k) => ({ class: 'T', attributes: { k, i: k, s: `text ${k}` } }))

describe('entries instead of objects', () => {
  queryTest(
    'are grouped beyond memory',
    pairs,
    async (db) => {
      await db.fd.createObjects(manyPairs)
      const plan = await db.analyze('FROM T WHERE i >= 0 GROUP BY i RETURN i, COUNT() AS n')
      expect(find(plan, 'indexOnlyScan').index).toBe('byIK')
      const rows = await db.rows('FROM T WHERE i >= 0 GROUP BY i ORDER BY i RETURN i, COUNT() AS n')
      expect(rows).toEqual(manyPairs.map(({ attributes: { i } }) => ({ i, n: 1 })))
      const texts = await db.rows("FROM T WHERE s >= '' GROUP BY s RETURN s, k")
      expect(new Set(texts.map(({ s, k }) => `${s} ${k}`))).toEqual(
        new Set(manyPairs.map(({ attributes: { s, k } }) => `${s} ${k}`)),
      )
    },
    { limits: { sortedRowsMax: 300 }, temporary: new TemporarySpace(tmpdir()) },
  )

  queryTest('are not gone through for MIN where another index finds few objects', pairs, async (db) => {
    await db.fd.createObjects(manyPairs)
    const text = 'FROM T WHERE k = 990 RETURN MIN(i) AS least'
    expect(touched(await db.analyze(text))).toBeLessThan(100)
    expect(await db.rows(text)).toEqual([{ least: 990 }])
    expect(find(await db.analyze('FROM T WHERE i > 5 RETURN MIN(i) AS least'), 'indexOnlyScan').examined).toBeLessThan(
      100,
    )
  })
})
