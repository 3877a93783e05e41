/** What each kind of question about the flights touches of the data: no more than a plan has to with the indexes that are there. */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest, type ShownPlan } from '../query-database.ts'
import { airports, days, type FlightValues, flights, flightsTests } from './flights.ts'

const flightsTest = flightsTests()

interface Touched {
  /** Entries of indexes, or objects of a scan. */
  readonly entries: number
  /** Objects that were read by their OIDs. */
  readonly objects: number
  readonly links: number
  /** Entries counted for estimates. */
  readonly counted: number
  readonly rows: number
}

async function touchedBy(db: QueryDatabase, statement: string): Promise<Touched> {
  const plan = await db.analyze(statement)
  const { objectsRead, linksRead, entriesCounted = 0 } = plan as unknown as Record<string, number>
  return {
    entries: atLeaves(plan),
    objects: objectsRead as number,
    links: linksRead as number,
    counted: entriesCounted,
    rows: plan.returned,
  }
}

/** What is sorted by a trial of an order is below it, and was looked at beside it. */
function atLeaves(plan: ShownPlan): number {
  const below = (plan.inputs ?? []).reduce((sum, input) => sum + atLeaves(input), 0)
  const isAccess = plan.inputs === undefined || plan.inputs.length === 0 || plan.operator === 'orderedIndexScan'
  return isAccess ? plan.examined + below : below
}

const count = (is: (flight: FlightValues) => boolean): number => flights.filter(is).length
const ofHonolulu = count(({ from }) => from === 'HNL')

describe('the first rows', () => {
  flightsTest('of a page behind a key are all that is touched, and nothing is counted before', async (db) => {
    const pages = [
      'FROM Flight WHERE rowId > 2000 ORDER BY rowId TAKE 10 RETURN *',
      'FROM Flight WHERE distance > 500 ORDER BY distance TAKE 10 RETURN *',
      'FROM Flight WHERE date >= 2012-01-09 ORDER BY date, carrier TAKE 10 RETURN *',
    ]
    for (const page of pages) {
      expect(await touchedBy(db, page)).toEqual({ entries: 10, objects: 10, links: 0, counted: 0, rows: 10 })
    }
  })

  flightsTest('of a range are all that is touched, without an order, too', async (db) => {
    const touched = await touchedBy(db, 'FROM Flight WHERE rowId > 2000 TAKE 10 RETURN *')
    expect([touched.links, touched.counted, touched.rows]).toEqual([0, 0, 10])
    // Where each read is a trip, some more come with it.
    expect([10, 256]).toContain(touched.entries)
  })

  flightsTest(
    'in an order that has few of those that qualify: the order is abandoned soon, and all are scanned',
    async (db) => {
      const text = 'FROM Flight WHERE elapsedMinutes < 21 ORDER BY distance DESC TAKE 10 RETURN *'
      const { entries } = await touchedBy(db, text)
      expect(entries).toBeGreaterThanOrEqual(flights.length)
      expect(entries).toBeLessThanOrEqual(flights.length + 1_256)
    },
  )

  flightsTest('of few that both ends of a path find are sorted, whatever index has their order', async (db) => {
    const from = "FROM Flight WHERE origin.iata = 'HNL' AND destination.iata = 'SEA'"
    const sorted = await touchedBy(db, `${from} ORDER BY distance DESC TAKE 5 RETURN rowId`)
    const unsorted = await touchedBy(db, `${from} RETURN rowId`)
    expect([sorted.objects, sorted.links]).toEqual([unsorted.objects, unsorted.links])
    expect(unsorted.objects).toBeLessThanOrEqual(ofHonolulu + 2)
    const one = await touchedBy(db, "FROM Flight WHERE origin.iata = 'HNL' ORDER BY rowId DESC TAKE 5 RETURN rowId")
    expect(one.objects).toBeLessThanOrEqual(ofHonolulu + 1)
  })

  flightsTest('by more than an index has in order are sorted among those that it does not tell apart', async (db) => {
    const ofFirstDay = count(({ date }) => date === '2012-01-01')
    const first = await touchedBy(db, 'FROM Flight ORDER BY date, carrier, rowId TAKE 5 RETURN rowId')
    expect(first.entries).toBeLessThanOrEqual(ofFirstDay + 1)
    const last = await touchedBy(db, 'FROM Flight ORDER BY date DESC, carrier TAKE 5 RETURN rowId')
    expect(last.entries).toBeLessThanOrEqual(ofFirstDay + 256)
  })

  flightsTest('behind many that are skipped: entries are passed, without their objects', async (db) => {
    const touched = await touchedBy(db, 'FROM Flight ORDER BY rowId SKIP 3000 TAKE 5 RETURN *')
    expect([touched.objects, touched.rows]).toEqual([5, 5])
    // Entries are read 256 at a time.
    expect(touched.entries).toBeLessThanOrEqual(3_005 + 256)
    expect(await db.rows('FROM Flight ORDER BY rowId SKIP 3000 TAKE 2 RETURN rowId')).toEqual([
      { rowId: 3_001 },
      { rowId: 3_002 },
    ])
  })
})

describe('paths and joins', () => {
  flightsTest('to an end that no index has go back from the few objects of its class', async (db) => {
    const city = await touchedBy(db, "FROM Flight WHERE origin.city = 'Honolulu' RETURN rowId")
    expect([city.entries, city.rows]).toEqual([airports, ofHonolulu])
    expect(city.objects).toBeLessThanOrEqual(ofHonolulu + 1)
    const country = await touchedBy(db, "FROM Flight WHERE origin.country = 'Guam' RETURN COUNT() AS n")
    expect(country.entries + country.objects).toBeLessThanOrEqual(airports + count(({ from }) => from === 'GUM') + 1)
  })

  flightsTest('back over an index on the reference use what else is asked of its keys', async (db) => {
    await db.rows('CREATE INDEX flightOfOrigin ON Flight (origin, date)')
    const text = "FROM Flight WHERE origin.iata = 'LAX' AND date = 2012-01-15 RETURN rowId"
    const found = count(({ from, date }) => from === 'LAX' && date === '2012-01-15')
    const { objects, rows } = await touchedBy(db, text)
    expect(rows).toBe(found)
    expect(objects).toBeLessThanOrEqual(found + 1)
    await db.rows('DROP INDEX flightOfOrigin')
  })

  flightsTest('by value look up the index of what is compared', async (db) => {
    const far = flights[6]?.distance
    const same = count(({ distance }) => distance === far)
    const join = 'FROM Flight a, Flight b WHERE a.rowId = 7 AND b.distance = a.distance RETURN b.rowId'
    const { objects, rows } = await touchedBy(db, join)
    expect([objects, rows]).toEqual([same + 1, same])
    const other = await touchedBy(
      db,
      "FROM Airport a, Flight b WHERE a.iata = 'GUM' AND b.rowId = a.airportId RETURN b.rowId",
    )
    expect([other.objects, other.rows]).toEqual([2, 1])
  })
})

describe('aggregates', () => {
  flightsTest('MIN and MAX read an end of an index', async (db) => {
    for (const [asked, least] of [
      ['MIN(distance)', 1],
      ['MAX(rowId)', 1],
      ['MIN(date), MAX(date)', 2],
    ]) {
      const { entries, objects } = await touchedBy(db, `FROM Flight RETURN ${asked}`)
      expect({ asked, entries, objects }).toEqual({ asked, entries: least, objects: 0 })
    }
  })

  flightsTest('COUNT by a condition reads the entries of its range, and that of a class its keys', async (db) => {
    const ofDay = count(({ date }) => date === '2012-01-02')
    const day = await touchedBy(db, 'FROM Flight WHERE date = 2012-01-02 RETURN COUNT() AS n')
    expect([day.entries, day.objects]).toEqual([ofDay, 0])
    const far = await touchedBy(db, 'FROM Flight WHERE distance > 0 RETURN COUNT() AS n')
    expect([far.entries, far.objects]).toEqual([flights.length, 0])
    const all = await db.analyze('FROM Flight RETURN COUNT() AS n')
    expect(JSON.stringify(all)).toContain('"extentCount"')
    expect((await touchedBy(db, 'FROM Flight RETURN COUNT() AS n')).objects).toBe(0)
  })

  flightsTest('groups by what an index has read its entries', async (db) => {
    for (const by of ['date', 'distance', 'date, carrier', 'carrier']) {
      const { entries, objects } = await touchedBy(db, `FROM Flight GROUP BY ${by} RETURN ${by}, COUNT() AS n`)
      expect([by, entries, objects]).toEqual([by, flights.length, 0])
    }
  })
})

describe('links', () => {
  const served = new Set(flights.map(({ from }) => from)).size

  flightsTest('whether there are any is told by one entry of each list', async (db) => {
    for (const asked of [
      'NOT IS_EMPTY(departures)',
      'EXISTS(departures)',
      'COUNT(departures) > 0',
      'COUNT(departures) >= 1',
      '0 < COUNT(departures)',
      'COUNT(departures) != 0',
    ]) {
      const { links, objects, rows } = await touchedBy(db, `FROM Airport WHERE ${asked} RETURN iata`)
      expect({ asked, objects, rows }).toEqual({ asked, objects: 0, rows: served })
      expect(links).toBeLessThanOrEqual(2 * served)
    }
    const none = await touchedBy(db, 'FROM Airport WHERE COUNT(departures) = 0 RETURN iata')
    expect([none.links, none.rows]).toEqual([served, airports - served])
  })

  flightsTest('that there are more than a few is told by that many and one', async (db) => {
    const { links, rows } = await touchedBy(db, 'FROM Airport WHERE COUNT(departures) > 12 RETURN iata')
    const more = [...new Set(flights.map(({ from }) => from))].filter((code) => count(({ from }) => from === code) > 12)
    expect(rows).toBe(more.length)
    expect(links).toBeLessThanOrEqual(13 * served)
  })

  flightsTest('are counted once each, by their keys, and not again for the reply', async (db) => {
    const texts = [
      'FROM Airport RETURN COUNT(departures) AS n',
      'FROM Airport WHERE COUNT(departures) > 500 RETURN iata, COUNT(departures) AS n',
      'FROM Airport ORDER BY COUNT(departures) DESC TAKE 5 RETURN iata, COUNT(departures) AS n',
      'FROM Airport RETURN MAX(COUNT(departures)) AS most, SUM(COUNT(departures)) AS sum',
    ]
    for (const text of texts) {
      const { links, objects } = await touchedBy(db, text)
      expect({ text, links, objects }).toEqual({ text, links: flights.length, objects: 0 })
    }
    const most = Math.max(
      ...[...new Set(flights.map(({ from }) => from))].map((iata) => count(({ from }) => from === iata)),
    )
    expect((await db.rows(`${texts[1]} ORDER BY n DESC TAKE 1`))[0]?.n).toBe(most)
  })
})

queryTest(
  'a very long list is counted in several turns, once',
  [
    'UPDATE SCHEMA { CREATE CLASS A {bs: List{Element: Reference{Referenced: B, Inverse: a}}} CREATE CLASS B {a: Reference{Referenced: A, Inverse: bs}} }',
  ],
  async (db) => {
    const links = 10_500
    const [a] = await db.fd.createObjects([{ class: 'A', attributes: {} }])
    await db.fd.createObjects(Array.from({ length: links }, () => ({ class: 'B', attributes: { a } })))
    const text = 'FROM A ORDER BY COUNT(bs) DESC TAKE 5 RETURN COUNT(bs) AS n'
    expect(await db.rows(text)).toEqual([{ n: links }])
    expect((await touchedBy(db, text)).links).toBe(links)
    expect((await touchedBy(db, 'FROM A RETURN COUNT(bs) AS n')).links).toBe(links)
    const many = await touchedBy(db, `FROM A WHERE COUNT(bs) > ${links - 1} RETURN COUNT(bs) AS n`)
    expect([many.links, many.rows]).toEqual([links, 1])
  },
)

describe('conditions', () => {
  flightsTest('on the second attribute of an index are checked on its entries', async (db) => {
    const days3 = count(({ date }) => date <= '2012-01-03')
    const text = "FROM Flight WHERE date >= 2012-01-01 AND date <= 2012-01-03 AND carrier = 'HA' RETURN rowId"
    const found = count(({ date, carrier }) => date <= '2012-01-03' && carrier === 'HA')
    const { entries, objects, rows } = await touchedBy(db, text)
    expect([objects, rows]).toEqual([found, found])
    expect(entries).toBeLessThanOrEqual(days3)
    expect(days3).toBeLessThanOrEqual((flights.length / days) * 3 + 3)
  })

  flightsTest('on an element of a collection find that first, and follow it back', async (db) => {
    const ofGuam = count(({ from }) => from === 'GUM')
    const one = await touchedBy(db, 'FROM Airport WHERE departures ANY (rowId = 401) RETURN iata')
    expect([one.rows, one.links]).toEqual([1, 0])
    expect(one.entries + one.objects).toBeLessThanOrEqual(4)
    expect(await db.rows('FROM Airport WHERE departures ANY (rowId = 401) RETURN iata')).toEqual([{ iata: 'GUM' }])
    const known = await touchedBy(db, 'FROM Airport WHERE (LOOKUP Flight WHERE rowId = 401) IN departures RETURN iata')
    expect([known.rows, known.links]).toEqual([1, 0])
    // Of one flight each: no flight has both numbers.
    const both = 'FROM Airport WHERE departures ANY (rowId = 401) AND departures ANY (rowId = 801) RETURN iata'
    expect(await db.rows(both)).toEqual([{ iata: 'GUM' }])
    expect((await touchedBy(db, both)).links).toBe(0)
    // Whichever way the airport is found, its list is not read.
    const ofOne =
      "FROM Airport WHERE iata = 'GUM' AND departures ANY (rowId = 401) AND departures ANY (rowId = 801) RETURN iata"
    const ofNone = "FROM Airport WHERE iata = 'HNL' AND departures ANY (rowId = 401) RETURN iata"
    const first =
      "FROM Airport WHERE iata >= 'G' AND departures ANY (rowId IN (401, 801)) ORDER BY iata TAKE 1 RETURN iata"
    for (const [text, rows] of [
      [ofOne, 1],
      [ofNone, 0],
      [first, 1],
    ] as const) {
      const { links, rows: found } = await touchedBy(db, text)
      expect({ text, links, found }).toEqual({ text, links: 0, found: rows })
    }
    // Of many flights, the list of the one airport tells.
    const far = "FROM Airport WHERE iata = 'GUM' AND departures ANY (distance > 0) RETURN iata"
    expect(await db.rows(far)).toEqual([{ iata: 'GUM' }])
    expect((await touchedBy(db, far)).links).toBeLessThanOrEqual(ofGuam)
    expect(await db.rows('FROM Airport WHERE departures ANY (rowId = 401 AND rowId = 801) RETURN iata')).toEqual([])
    const without = 'FROM Airport WHERE NOT departures ANY (rowId = 401) RETURN COUNT() AS n'
    expect(await db.rows(without)).toEqual([{ n: airports - 1 }])
    const either = "FROM Airport WHERE departures ANY (rowId = 401) OR iata = 'LAX' ORDER BY iata RETURN iata"
    expect(await db.rows(either)).toEqual([{ iata: 'GUM' }, { iata: 'LAX' }])
    expect((await touchedBy(db, either)).links).toBeLessThan(flights.length / 2)
  })

  flightsTest('on a pattern at the row begin there, and count nothing of the other end', async (db) => {
    const pattern = "MATCH (x)-[:departures]->(f:Flight {carrier: 'HA'}) WHERE x = a"
    const far = await touchedBy(db, `FROM Airport a WHERE a.iata = 'GUM' AND EXISTS(${pattern}) RETURN iata`)
    expect(far.links).toBeLessThanOrEqual(count(({ from }) => from === 'GUM'))
    const none = `FROM Airport a WHERE COUNT(departures) = 0 AND EXISTS(${pattern}) RETURN COUNT() AS n`
    expect((await touchedBy(db, none)).links).toBeLessThanOrEqual(airports)
    const { nested } = await db.analyze(none)
    expect((nested as readonly { entriesCounted?: number }[])[0]?.entriesCounted ?? 0).toBe(0)
    const found = new Set(flights.filter(({ carrier }) => carrier === 'HA').map(({ from }) => from))
    const rows = await db.rows(`FROM Airport a WHERE EXISTS(${pattern}) RETURN iata`)
    expect(new Set(rows.map(({ iata }) => iata))).toEqual(found)
  })

  flightsTest('that are negated, calculated or patterns are ranges of an index all the same', async (db) => {
    const near = (is: (miles: number) => boolean): number => count(({ distance }) => is(distance))
    const cases: readonly (readonly [condition: string, rows: number])[] = [
      ['NOT (distance > 40)', near((miles) => miles <= 40)],
      ['distance + 1 = 32', near((miles) => miles === 31)],
      ['1 + distance + 1 < 43', near((miles) => miles < 41)],
      ['distance - 2000 >= 0', near((miles) => miles >= 2_000)],
      ['50 > distance + 10', near((miles) => miles < 40)],
      ['100 - distance > 60', near((miles) => miles < 40)],
    ]
    for (const [condition, found] of cases) {
      const { entries, objects, rows } = await touchedBy(db, `FROM Flight WHERE ${condition} RETURN rowId`)
      expect({ condition, entries, objects, rows }).toEqual({ condition, entries: found, objects: found, rows: found })
      expect(found).toBeGreaterThan(0)
    }
    for (const condition of [
      "iata =~ '^LA'",
      "SUBSTR(iata, 0, 2) = 'LA'",
      "'LA' = SUBSTRING(iata, 0, 2)",
      "iata LIKE 'LA%'",
      "STARTS_WITH(iata, 'LA')",
    ]) {
      const { entries, objects, rows } = await touchedBy(db, `FROM Airport WHERE ${condition} RETURN iata`)
      expect({ condition, entries, objects, rows }).toEqual({ condition, entries: 2, objects: 2, rows: 2 })
    }
  })

  flightsTest(
    'that are calculated are shown as they are asked, and find what they found without an index',
    async (db) => {
      const plan = await db.analyze('FROM Flight WHERE distance + 1 = 32 RETURN rowId')
      expect(JSON.stringify(plan)).toContain('"conditions":["distance + 1 = 32"]')
      expect(await db.rows("FROM Airport WHERE SUBSTR(iata, 1, 2) = 'AX' RETURN iata")).toEqual([{ iata: 'LAX' }])
      expect(await db.rows("FROM Airport WHERE SUBSTR(iata, 0, 1) = 'LA' RETURN iata")).toEqual([])
      expect(await db.rows('FROM Flight WHERE distance + null = 32 RETURN rowId')).toEqual([])
      const { message } = await db.failure('FROM Flight WHERE distance + 18446744073709551615 = 3 RETURN rowId')
      expect(message).toContain('beyond what an integer holds')
    },
  )
})
