/** Which access path each predicate takes, told by what it touches: rows and entries, never time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  kindNames,
  type OpenQueryDatabase,
  openQueryDatabase,
  type QueryDatabase,
  queryTest,
  type ShownPlan,
  storeKinds,
} from './query-database.ts'

const flights = 2_000
/** Where a test changes them, and has its own. */
const ownFlights = 200
/** Longer than the part of a text that an index entry holds: ten of them are alike up to there. */
const remarkOf = (i: number): string => `remark ${pad(i % 40)}, which is long enough ${pad(i % 400)}`
const pad = (i: number): string => String(i).padStart(3, '0')

const schema = `UPDATE SCHEMA {
  CREATE CLASS Air.Route EMBEDDABLE { gate: Integer, zone: String }
  CREATE CLASS Air.Airport { code: String, name: String, departures: List{Element: Reference{Referenced: Air.Flight, Inverse: origin}} }
  CREATE CLASS Air.Carrier { code: String }
  CREATE CLASS Air.Flight {
    number: Integer, seats: Integer, day: Date, carrierCode: String, remark: String, plain: Integer, isLate: Boolean,
    route: Object{Class: Air.Route}, origin: Reference{Referenced: Air.Airport, Inverse: departures},
    destination: Reference{Referenced: Air.Airport}, carrier: Reference{Referenced: Air.Carrier}
  }
  CREATE CLASS Air.Charter SUPERCLASS Air.Flight { customer: String }
}`

const indexes = [
  'CREATE UNIQUE INDEX flightNumber ON Air.Flight (number)',
  'CREATE INDEX flightCarrierSeats ON Air.Flight (carrierCode, seats)',
  'CREATE INDEX flightDay ON Air.Flight (day)',
  'CREATE INDEX flightRemark ON Air.Flight (remark)',
  'CREATE INDEX flightGate ON Air.Flight (route.gate)',
  'CREATE INDEX flightDestination ON Air.Flight (destination)',
  'CREATE UNIQUE INDEX airportCode ON Air.Airport (code)',
]

const fill = `
  FOR EACH a IN $airports => (CREATE Air.Airport {code: $a, name: $a});
  FOR EACH f IN $flights => (CREATE Air.Flight {number: $f.number, seats: $f.seats, plain: $f.seats, day: $f.day,
    carrierCode: $f.carrier, remark: $f.remark, isLate: $f.isLate, route.gate: $f.gate,
    origin: (LOOKUP Air.Airport WHERE code = $f.origin), destination: (LOOKUP Air.Airport WHERE code = $f.destination)});
  FOR EACH n IN LIST{5001, 5002, 5003} => (CREATE Air.Charter {number: $n, seats: 7, day: 2030-01-01, carrierCode: 'c3'})`

function given(count: number): Record<string, unknown> {
  const numbers = Array.from({ length: count }, (_, i) => i)
  return {
    airports: Array.from({ length: 50 }, (_, i) => `a${i}`),
    flights: numbers.map((i) => ({
      number: i,
      seats: i % 100,
      day: `2024-${String((i % 12) + 1).padStart(2, '0')}-01`,
      carrier: `c${i % 20}`,
      remark: remarkOf(i),
      isLate: i % 2 === 0,
      gate: i % 250,
      origin: `a${i % 50}`,
      destination: `a${(i * 7) % 40}`,
    })),
  }
}

type Test = (db: QueryDatabase) => Promise<void>

const opened: OpenQueryDatabase[] = []
beforeAll(async () => {
  for (const wrap of storeKinds) {
    const database = await openQueryDatabase([schema, ...indexes], {}, wrap)
    opened.push(database)
    await database.db.rows(fill, given(flights))
  }
})
afterAll(async () => {
  for (const database of opened) await database.close()
})

/** All that only read do so in the same data. */
function plannerTest(name: string, test: Test): void {
  for (const [kind, suffix] of kindNames.entries()) {
    it(`${name}${suffix}`, async () => test((opened[kind] as OpenQueryDatabase).db))
  }
}

function changingTest(name: string, test: Test): void {
  queryTest(name, [schema, ...indexes], async (db) => {
    await db.rows(fill, given(ownFlights))
    await test(db)
  })
}

function find(plan: ShownPlan, operator: string): ShownPlan {
  const found = [plan].concat(all(plan)).find((each) => each.operator === operator)
  if (found === undefined) throw new Error(`no ${operator} in ${JSON.stringify(plan, null, 1)}`)
  return found
}

function all(plan: ShownPlan): ShownPlan[] {
  return (plan.inputs ?? []).flatMap((input) => [input, ...all(input)])
}

/** What the plan reads of the data: index entries, and objects. */
function touched(plan: ShownPlan): number {
  return Math.max(...[plan, ...all(plan)].map(({ examined }) => examined))
}

describe('equality', () => {
  plannerTest('on a unique index touches one entry, by = and == and either way round', async (db) => {
    for (const predicate of ['number = 77', 'number == 77', '77 = number', '77 == number']) {
      const plan = await db.analyze(`FROM Flight WHERE ${predicate} RETURN *`)
      expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 1, 1])
    }
  })

  plannerTest('on an OID reads the object, not the extent', async (db) => {
    const [row] = await db.rows('FROM Flight WHERE number = 3 RETURN *')
    const oid = row?.__identifier__
    for (const predicate of ['$$ID = $oid', '$oid = $$ID', '$$ID IN LIST{$oid}']) {
      const plan = await db.analyze(`FROM Flight WHERE ${predicate} RETURN *`, { oid })
      expect([find(plan, 'oidLookup').examined, touched(plan), plan.returned]).toEqual([1, 1, 1])
    }
  })

  plannerTest('of a parameter, of $$ID within a class that it is not of', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number = $n RETURN *', { n: 78 })
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 1, 1])
    const [airport] = await db.rows("FROM Airport WHERE code = 'a1' RETURN *")
    expect(await db.rows('FROM Flight WHERE $$ID = $oid RETURN *', { oid: airport?.__identifier__ })).toEqual([])
  })

  plannerTest('on an attribute of an embedded object', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE route.gate = 7 RETURN *')
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightGate', 8, 8])
  })

  plannerTest('IN asks for each value', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number IN LIST{1, 5, 5, 99999, 7} RETURN *')
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 3, 3])
  })

  plannerTest('with subclasses, and ONLY without', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number = 5002 RETURN *')
    expect([touched(plan), plan.returned]).toEqual([1, 1])
    const only = await db.analyze('FROM ONLY Flight WHERE number = 5002 RETURN *')
    expect([touched(only), only.returned]).toEqual([1, 0])
    const below = await db.analyze('FROM Charter WHERE number = 5002 RETURN *')
    expect([find(below, 'indexScan').index, touched(below), below.returned]).toEqual(['flightNumber', 1, 1])
  })

  plannerTest('a cut text is compared in full on the object', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE remark = $r RETURN *', { r: remarkOf(12) })
    const scan = find(plan, 'indexScan')
    expect([scan.index, scan.recheck]).toEqual(['flightRemark', ['remark']])
    expect([touched(plan), plan.returned]).toEqual([flights / 40, flights / 400])
    expect(await db.rows('FROM Flight WHERE remark = $r RETURN *', { r: `${remarkOf(12)}!` })).toEqual([])
  })

  changingTest('null', async (db) => {
    await db.rows('UPDATE Flight WHERE number < 4 CLEAR day')
    const plan = await db.analyze('FROM Flight WHERE IS_NULL(day) RETURN number')
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightDay', 4, 4])
  })
})

describe('several predicates', () => {
  plannerTest('AND with one side indexed reads that side', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE plain > 10 AND number = 77 RETURN *')
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 1, 1])
  })

  plannerTest('AND with two sides indexed reads the one with fewer entries', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' AND route.gate = 7 RETURN *")
    expect([find(plan, 'indexScan').index, touched(plan)]).toEqual(['flightGate', 8])
    const other = await db.analyze("FROM Flight WHERE route.gate >= 0 AND carrierCode = 'c7' AND seats = 7 RETURN *")
    expect([find(other, 'indexScan').index, touched(other)]).toEqual(['flightCarrierSeats', 20])
  })

  plannerTest('OR with two sides indexed reads both, each object once', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number = 7 OR route.gate = 7 RETURN *')
    const union = find(plan, 'union')
    expect(union.inputs?.map(({ index, examined }) => [index, examined])).toEqual([
      ['flightNumber', 1],
      ['flightGate', 8],
    ])
    expect(plan.returned).toBe(8)
  })

  plannerTest('OR with one side that no index has reads the extent', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number = 7 OR plain = 7 RETURN *')
    expect([find(plan, 'extentScan').examined, plan.returned]).toEqual([flights + 3, 20])
  })

  plannerTest('OR within AND', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE plain >= 0 AND (number = 7 OR number = 8) RETURN *')
    expect([touched(plan), plan.returned]).toEqual([2, 2])
  })
})

describe('compound indexes', () => {
  plannerTest('by their first attribute alone', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' RETURN *")
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightCarrierSeats', 100, 100])
  })

  plannerTest('by a range on the attribute after equal ones', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' AND seats >= 40 AND seats < 60 RETURN *")
    const scan = find(plan, 'indexScan')
    expect([scan.index, scan.conditions]).toEqual([
      'flightCarrierSeats',
      ["carrierCode = 'c7'", 'seats >= 40', 'seats < 60'],
    ])
    expect([touched(plan), plan.returned]).toEqual([20, 20])
  })

  plannerTest('not by their second attribute', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE seats = 7 RETURN *')
    expect([find(plan, 'extentScan').examined, plan.returned]).toEqual([flights + 3, 23])
  })
})

describe('ranges', () => {
  plannerTest('open and closed, from either side', async (db) => {
    const cases: [string, number][] = [
      ['number > 1990 AND number < 5001', 9],
      ['number >= 1990 AND number <= 5001', 11],
      ['1990 <= number AND 5001 >= number', 11],
      ['number < 5', 5],
      ['number > 4.5 AND number <= 6.0', 2],
      ['number > 7 AND number < 7', 0],
    ]
    for (const [predicate, rows] of cases) {
      const plan = await db.analyze(`FROM Flight WHERE ${predicate} RETURN *`)
      expect([predicate, touched(plan), plan.returned]).toEqual([predicate, rows, rows])
    }
  })

  plannerTest('of dates', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE day >= 2024-12-01 RETURN number')
    const rows = Math.floor(flights / 12) + 3
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightDay', rows, rows])
  })

  plannerTest('that most objects are in read the extent', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number > 3 RETURN number')
    expect([find(plan, 'extentScan').examined, plan.returned]).toEqual([flights + 3, flights - 1])
  })
})

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

  plannerTest('after equality on the attributes before', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' ORDER BY seats DESC TAKE 3 RETURN seats")
    expect([find(plan, 'orderedIndexScan').index, plan.returned]).toEqual(['flightCarrierSeats', 3])
    expect(touched(plan)).toBe(32)
    expect(await db.rows("FROM Flight WHERE carrierCode = 'c7' ORDER BY seats DESC TAKE 3 RETURN seats")).toEqual([
      { seats: 87 },
      { seats: 87 },
      { seats: 87 },
    ])
  })

  plannerTest('of cut texts puts those that look alike in order', async (db) => {
    const rows = await db.rows('FROM ONLY Flight ORDER BY remark, number TAKE 7 RETURN remark')
    expect(rows.map(({ remark }) => remark)).toEqual([0, 0, 0, 0, 0, 40, 40].map(remarkOf))
    const down = await db.rows('FROM ONLY Flight ORDER BY remark DESC TAKE 2 RETURN remark')
    expect(down.map(({ remark }) => remark)).toEqual([remarkOf(399), remarkOf(399)])
  })

  plannerTest('without an index sorts, and holds only the rows taken', async (db) => {
    const plan = await db.analyze('FROM Flight ORDER BY plain TAKE 4 RETURN plain')
    expect([find(plan, 'sort').first, find(plan, 'extentScan').examined, plan.returned]).toEqual([4, flights + 3, 4])
  })
})

describe('paths through references', () => {
  plannerTest('with an indexed end go back over the inverse', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE origin.code = 'a7' RETURN number")
    const back = find(plan, 'reverseNavigation')
    expect([back.inverse, find(back, 'indexScan').index]).toEqual(['departures', 'airportCode'])
    expect([touched(plan), plan.returned]).toEqual([40, 40])
  })

  plannerTest('with an indexed end go back over an index on the reference', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE destination.code = 'a7' RETURN number")
    const back = find(plan, 'reverseNavigation')
    expect([back.index, find(back, 'indexScan').index]).toEqual(['flightDestination', 'airportCode'])
    expect([touched(plan), plan.returned]).toEqual([50, 50])
  })

  plannerTest('to a known object go over the inverse', async (db) => {
    const [airport] = await db.rows("FROM Airport WHERE code = 'a7' RETURN *")
    const plan = await db.analyze('FROM Flight WHERE origin = $o RETURN number', { o: airport?.__identifier__ })
    expect([find(plan, 'reverseNavigation').inverse, touched(plan), plan.returned]).toEqual(['departures', 40, 40])
  })

  plannerTest('without a way back read the extent', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrier.code = 'x' RETURN number")
    expect([find(plan, 'extentScan').examined, plan.returned]).toEqual([flights + 3, 0])
  })
})

describe('plans', () => {
  plannerTest('follow the data: the same text, other values', async (db) => {
    const text = 'FROM Flight WHERE number >= $from RETURN number'
    expect(find(await db.analyze(text, { from: 5000 }), 'indexScan').index).toBe('flightNumber')
    expect(find(await db.analyze(text, { from: 0 }), 'extentScan').examined).toBe(flights + 3)
  })

  changingTest('follow the schema: an index comes and goes', async (db) => {
    const text = 'FROM Flight WHERE plain = 7 RETURN number'
    expect(find(await db.analyze(text), 'extentScan').examined).toBe(ownFlights + 3)
    await db.rows('CREATE INDEX flightPlain ON Flight (plain)')
    expect(find(await db.analyze(text), 'indexScan').examined).toBe(ownFlights / 100)
    await db.rows('DROP INDEX flightPlain')
    expect(find(await db.analyze(text), 'extentScan').examined).toBe(ownFlights + 3)
  })

  plannerTest('COUNT() of all reads no record', async (db) => {
    const plan = await db.analyze('FROM Flight RETURN COUNT()')
    expect(await db.rows('FROM Flight RETURN COUNT() AS n')).toEqual([{ n: flights + 3 }])
    expect(plan.objectsRead).toBe(0)
  })

  plannerTest('EXPLAIN alone estimates and reads no rows', async (db) => {
    const [plan] = await db.rows("EXPLAIN FROM Flight WHERE carrierCode = 'c7' RETURN *")
    const text = JSON.stringify(plan)
    expect(text).toContain('"estimatedRows":')
    expect(text).not.toContain('"examined"')
  })
})
