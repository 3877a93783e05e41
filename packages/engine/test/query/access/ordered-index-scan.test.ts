/** ORDER BY in the order of an index. */
import { describe, expect, it } from 'vitest'
import { isOnPostgres } from '../../store/store-of-run.ts'
import { find, touched } from '../plans.ts'
import { openQueryDatabase } from '../query-database.ts'
import { airlineTests, remarkOf } from './airline.ts'

const plannerTest = airlineTests(800)

describe('ORDER BY', () => {
  plannerTest('and TAKE in the order of an index touches TAKE rows', async (db) => {
    for (const [direction, first] of [
      ['ASC', 0],
      ['DESC', 5003],
    ] as const) {
      const plan = await db.analyze(`FROM Flight ORDER BY number ${direction} TAKE 10 RETURN number`)
      expect([find(plan, 'orderedIndexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 10, 10])
      const [row] = await db.rows(`FROM Flight ORDER BY number ${direction} TAKE 10 RETURN number`)
      expect(row).toEqual({ number: first })
    }
  })

  plannerTest('and SKIP touches those skipped too', async (db) => {
    const plan = await db.analyze('FROM Flight ORDER BY number SKIP 5 TAKE 10 RETURN number')
    expect([touched(plan), plan.returned]).toEqual([15, 10])
  })

  plannerTest('and SKIP leaves out rows, whatever their objects are', async (db) => {
    const page = async (source: string, direction: string): Promise<unknown[]> => {
      const text = `FROM ${source} ORDER BY number ${direction} SKIP 600 TAKE 3 RETURN number`
      return (await db.rows(text)).map(({ number }) => number)
    }
    expect(await page('Flight', 'ASC')).toEqual([600, 601, 602])
    // Behind three charters.
    expect(await page('Flight', 'DESC')).toEqual([202, 201, 200])
    expect(await page('ONLY Flight', 'DESC')).toEqual([199, 198, 197])
    expect(await db.rows('FROM Charter ORDER BY number SKIP 2 TAKE 3 RETURN number')).toEqual([{ number: 5003 }])
    expect(await db.rows('FROM Flight ORDER BY number SKIP 803 TAKE 3 RETURN number')).toEqual([])
    expect(await db.rows('FROM Flight ORDER BY number DESC SKIP 802 RETURN number')).toEqual([{ number: 0 }])
  })

  plannerTest('after equality on the attributes before', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' ORDER BY seats DESC TAKE 3 RETURN seats")
    expect([find(plan, 'orderedIndexScan').index, plan.returned]).toEqual(['flightCarrierSeats', 3])
    expect(touched(plan)).toBe(3)
    expect(await db.rows("FROM Flight WHERE carrierCode = 'c7' ORDER BY seats DESC TAKE 3 RETURN seats")).toEqual([
      { seats: 87 },
      { seats: 87 },
      { seats: 87 },
    ])
  })

  plannerTest(
    'and TAKE by more than the index has in order sorts among those that it does not tell apart',
    async (db) => {
      const all = (await db.rows('FROM Flight RETURN number, carrierCode, seats')) as Record<string, string | number>[]
      const cases: [order: string, keys: [string, 1 | -1][], presortedBy: string[], entries: number][] = [
        [
          'carrierCode, number',
          [
            ['carrierCode', 1],
            ['number', 1],
          ],
          ['carrierCode'],
          48,
        ],
        [
          'carrierCode, number DESC',
          [
            ['carrierCode', 1],
            ['number', -1],
          ],
          ['carrierCode'],
          48,
        ],
        [
          'carrierCode DESC, number',
          [
            ['carrierCode', -1],
            ['number', 1],
          ],
          ['carrierCode'],
          48,
        ],
        [
          'carrierCode, seats, number DESC',
          [
            ['carrierCode', 1],
            ['seats', 1],
            ['number', -1],
          ],
          ['carrierCode', 'seats'],
          16,
        ],
      ]
      for (const [order, keys, presortedBy, entries] of cases) {
        const text = `FROM Flight ORDER BY ${order} TAKE 6 RETURN number`
        const plan = await db.analyze(text)
        const scan = find(plan, 'orderedIndexScan')
        expect([order, scan.index, scan.presortedBy]).toEqual([order, 'flightCarrierSeats', presortedBy])
        expect(touched(plan)).toBeLessThanOrEqual(entries)
        const sorted = all.toSorted((one, other) => {
          for (const [name, sign] of keys) {
            const [left, right] = [one[name] as string | number, other[name] as string | number]
            if (left !== right) return left < right ? -sign : sign
          }
          return 0
        })
        const first = sorted.slice(0, 6).map(({ number }) => ({ number }))
        expect([order, await db.rows(text)]).toEqual([order, first])
      }
      const within = await db.analyze(
        "FROM Flight WHERE carrierCode = 'c7' ORDER BY seats, number DESC TAKE 3 RETURN number",
      )
      expect(find(within, 'filter').examined).toBeLessThanOrEqual(40)
      expect(
        await db.rows("FROM Flight WHERE carrierCode = 'c7' ORDER BY seats, number DESC TAKE 3 RETURN number"),
      ).toEqual([707, 607, 507].map((number) => ({ number })))
    },
  )

  plannerTest('of cut texts puts those that look alike in order', async (db) => {
    const rows = await db.rows('FROM ONLY Flight ORDER BY remark, number TAKE 7 RETURN remark')
    expect(rows.map(({ remark }) => remark)).toEqual([0, 0, 40, 40, 80, 80, 120].map(remarkOf))
    const down = await db.rows('FROM ONLY Flight ORDER BY remark DESC TAKE 2 RETURN remark')
    expect(down.map(({ remark }) => remark)).toEqual([remarkOf(399), remarkOf(399)])
  })
})

// Where each read is a trip, entries come together with their objects.
it.skipIf(isOnPostgres)('SKIP in the order of an index reads none of the objects that are skipped', async () => {
  const { db, close } = await openQueryDatabase([
    'UPDATE SCHEMA { CREATE CLASS Item {n: Integer} }; CREATE UNIQUE INDEX itemN ON Item (n)',
  ])
  await db.fd.createObjects(Array.from({ length: 1_000 }, (_, n) => ({ class: 'Item', attributes: { n } })))
  const before = db.fd.counts().queries.touched
  expect(await db.rows('FROM Item ORDER BY n SKIP 900 TAKE 2 RETURN n')).toEqual([{ n: 900 }, { n: 901 }])
  expect(db.fd.counts().queries.touched - before).toBe(2)
  await close()
})

describe('ORDER BY an index and TAKE, with conditions that it does not answer', () => {
  const manyTest = airlineTests(4_000)

  manyTest('a page that begins behind a key touches its rows', async (db) => {
    const page = await db.analyze('FROM Flight WHERE number > 500 ORDER BY number TAKE 10 RETURN number')
    expect([find(page, 'orderedIndexScan').index, touched(page), page.entriesCounted]).toEqual([
      'flightNumber',
      10,
      undefined,
    ])
    const first = await db.analyze('FROM Flight WHERE number > 500 TAKE 10 RETURN number')
    expect([find(first, 'indexScan').index, touched(first) <= 256]).toEqual(['flightNumber', true])
  })

  manyTest('follows the index where the first entries qualify', async (db) => {
    const text = 'FROM Flight WHERE isLate ORDER BY number TAKE 10 RETURN number'
    const plan = await db.analyze(text)
    expect([find(plan, 'orderedIndexScan').index, touched(plan)]).toEqual(['flightNumber', 32])
    expect((await db.rows(text)).map(({ number }) => number)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
  })

  manyTest('gives up where they do not, and sorts what it finds otherwise', async (db) => {
    const text = 'FROM Flight WHERE isLate AND plain = 98 AND number > 3900 ORDER BY day, number TAKE 3 RETURN number'
    expect(await db.rows(text)).toEqual([{ number: 3998 }])
    const rare = "FROM Flight WHERE plain = 7 AND remark =~ '007$' ORDER BY number DESC TAKE 12 RETURN number"
    const plan = await db.analyze(rare)
    const [scan] = find(plan, 'orderedIndexScan').inputs ?? []
    expect([scan?.operator, scan?.examined]).toEqual(['extentScan', 4_003])
    expect(find(plan, 'orderedIndexScan').examined).toBeLessThanOrEqual(1_024)
    const expected = Array.from({ length: 10 }, (_, i) => ({ number: 3_607 - 400 * i }))
    expect(await db.rows(rare)).toEqual(expected)
  })

  manyTest('of few candidates sorts them', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE origin.code = 'a7' ORDER BY seats DESC TAKE 5 RETURN number")
    expect(touched(plan)).toBe(80)
  })

  manyTest('reads on where rows that are equal count once', async (db) => {
    const text = "FROM Flight WHERE carrierCode = 'c7' AND plain >= 0 ORDER BY seats TAKE 3 RETURN DISTINCT seats"
    expect(await db.rows(text)).toEqual([{ seats: 7 }, { seats: 27 }, { seats: 47 }])
  })
})
