/** Searches from both ends, bounded walks and skip scans of callers who see some of the objects: they find what a look at each seen object finds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AccessPolicy } from '../../src/access/access-policy.ts'
import type { Database } from '../../src/database-operations.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { runs } from '../bytes/property-runs.ts'
import { kindNames, storeKinds } from '../query/query-database.ts'
import { rowTexts } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { on, rowsOf, user } from './access-notes.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS Port {name: String, zone: Integer, departures: List{Element: Reference{Referenced: Trip, Inverse: origin}},
    arrivals: List{Element: Reference{Referenced: Trip, Inverse: destination}}}
  CREATE CLASS Trip {n: Integer, day: Integer, hour: Integer, origin: Reference{Referenced: Port, Inverse: departures},
    destination: Reference{Referenced: Port, Inverse: arrivals}}
};
CREATE UNIQUE INDEX portByName ON Port (name); CREATE INDEX portByZone ON Port (zone);
CREATE INDEX tripByDay ON Trip (day, hour)`

interface Trip {
  readonly n: number
  readonly day: number
  readonly hour: number
  readonly from: number
  readonly to: number
}

const ports = 8
const tripCount = 700

/** The first ports have most of the trips. */
const trips = fc.integer({ min: 1, max: 2 ** 30 }).map((seed): Trip[] => {
  let state = seed
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
  const port = (): number => (next(10) < 8 ? next(3) : next(ports))
  return Array.from({ length: tripCount }, (_, n) => ({ n, day: next(6), hour: next(24), from: port(), to: port() }))
})

/** What is seen of the trips and of the ports, in DO and here. */
const rules: readonly (readonly [
  trip: string,
  port: string,
  sees: (trip: Trip) => boolean,
  has: (port: number) => boolean,
])[] = [
  ['day != 2', 'zone >= 0', ({ day }) => day !== 2, () => true],
  ['hour < 20', 'zone != 1', ({ hour }) => hour < 20, (port) => port !== 1],
  ['n % 3 != 0', 'zone != 4', ({ n }) => n % 3 !== 0, (port) => port !== 4],
  ['n >= 0', 'zone < 6', () => true, (port) => port < 6],
]

async function fill(given: readonly Trip[], kind: number): Promise<FederatedDatabase> {
  const wrap = storeKinds[kind] as (typeof storeKinds)[number]
  const fd = await FederatedDatabase.open({ alias: 'trips', store: wrap(await openStoreOfRun()) })
  await rowTexts(await fd.query({ text: setUp }))
  const named = Array.from({ length: ports }, (_, zone) => ({ class: 'Port', attributes: { name: `p${zone}`, zone } }))
  const oids = await fd.createObjects(named)
  const created = given.map(({ from, to, ...values }) => {
    return { class: 'Trip', attributes: { ...values, origin: oids[from], destination: oids[to] } }
  })
  await fd.createObjects(created)
  return fd
}

/** Of a caller, and what a look at each of the trips that it sees comes to. */
interface Asked {
  readonly from: number
  readonly to: number
  readonly day: number
}

async function sameEdges(database: Database, seen: readonly Trip[], { from, to, day }: Asked): Promise<boolean> {
  const text = `MATCH (a:Port {name = 'p${from}'})-[:departures]->(f:Trip {day = ${day}})-[:destination]->(h:Port)
    -[:departures]->(g:Trip {day = ${day}})-[:destination]->(z:Port {name = 'p${to}'})`
  const first = seen.filter((trip) => trip.from === from && trip.day === day && trip.to !== from && trip.to !== to)
  const expected = first.flatMap((f) => {
    const second = seen.filter((g) => g.from === f.to && g.day === day && g.to === to)
    return from === to ? [] : second.map((g) => ({ f: f.n, g: g.n }))
  })
  const rows = (await rowsOf(database, `${text} RETURN f.n AS f, g.n AS g`)) as typeof expected
  expect({ text, rows: rows.sort(byTrips) }).toEqual({ text, rows: expected.sort(byTrips) })
  return JSON.stringify(await rowsOf(database, `EXPLAIN ANALYZE ${text} RETURN f.n, g.n`)).includes('"foundFrom"')
}

function byTrips(one: { f: number; g: number }, other: { f: number; g: number }): number {
  return one.f - other.f || one.g - other.g
}

/** Walks that turn at no vertex twice, from a port over one or two trips to another. */
async function sameWalks(database: Database, seen: readonly Trip[], { from, to }: Asked): Promise<void> {
  const step = '-[e:departures|destination*1..4]->'
  const direct = seen.filter((trip) => trip.from === from && trip.to === to && from !== to)
  const over = seen.filter((trip) => trip.from === from && trip.to !== from && trip.to !== to)
  const lengths = [
    ...direct.map(() => 2),
    ...(from === to ? [] : over.flatMap((f) => seen.filter((g) => g.from === f.to && g.to === to).map(() => 4))),
  ]
  for (const end of [`{name = 'p${to}'}`, `{zone = ${to}}`]) {
    const text = `(a:Port {name = 'p${from}'})${step}(z:Port ${end})`
    const walks = (await rowsOf(
      database,
      `MATCH ${text} GROUP BY LENGTH(e) ORDER BY l RETURN LENGTH(e) AS l, COUNT() AS n`,
    )) as {
      l: number
      n: number
    }[]
    const counted = [2, 4].map((l) => ({ l, n: lengths.filter((one) => one === l).length })).filter(({ n }) => n > 0)
    expect({ text, walks }).toEqual({ text, walks: counted })
    const least = Math.min(...lengths)
    for (const [paths, count] of [
      ['ANY SHORTEST', Math.min(1, lengths.length)],
      ['ALL SHORTEST', lengths.filter((one) => one === least).length],
    ] as const) {
      const found = (await rowsOf(database, `MATCH ${paths} ${text} RETURN LENGTH(e) AS l`)) as { l: number }[]
      const shown = { text, paths, rows: found.length, l: found[0]?.l }
      expect(shown).toEqual({ text, paths, rows: count, l: count === 0 ? undefined : least })
    }
  }
}

async function sameSkips(
  database: Database,
  seen: readonly Trip[],
  has: (port: number) => boolean,
  hour: number,
): Promise<void> {
  const text = `FROM Trip WHERE hour = ${hour} ORDER BY n RETURN n`
  const expected = seen.filter((trip) => trip.hour === hour).map(({ n }) => ({ n }))
  expect({ text, rows: await rowsOf(database, text) }).toEqual({ text, rows: expected })
  const begun = seen.filter((trip) => trip.hour === hour && has(trip.from))
  const match = `MATCH (t:Trip {hour = ${hour}})-[:origin]->(a:Port) RETURN COUNT() AS n`
  expect({ match, rows: await rowsOf(database, match) }).toEqual({ match, rows: [{ n: begun.length }] })
}

describe('a caller who sees some objects', () => {
  for (const [kind, suffix] of kindNames.entries()) {
    it(`finds what a look at each of them finds${suffix}`, async () => {
      const worlds = runs(12)
      let fromFarEnd = 0
      const asked = fc.record({ from: fc.nat(ports - 1), to: fc.nat(ports - 1), day: fc.nat(5) })
      await fc.assert(
        fc.asyncProperty(
          trips,
          fc.constantFrom(...rules),
          fc.array(asked, { minLength: 2, maxLength: 2 }),
          fc.nat(23),
          async (given, [trip, port, sees, has], all, hour) => {
            const fd = await fill(given, kind)
            const policy: AccessPolicy = {
              user,
              grants: [on('Trip', { rules: { read: trip } }), on('Port', { rules: { read: port } })],
            }
            const seen = given.filter(sees)
            // To what is hidden, nothing leads.
            const between = seen.filter(({ from, to }) => has(from) && has(to))
            const database = fd.as(policy)
            // Two of those with many trips have enough for the other end to be asked.
            for (const one of [{ from: 0, to: 2, day: 0 }, ...all]) {
              const isThere = has(one.from) && has(one.to)
              if (await sameEdges(database, isThere ? between : [], one)) fromFarEnd++
              await sameWalks(database, isThere ? between : [], one)
            }
            await sameSkips(database, seen, has, hour)
            await fd.close()
          },
        ),
        worlds,
      )
      // Among fewer there may be none.
      if (worlds.numRuns >= 12) expect(fromFarEnd).toBeGreaterThan(0)
    })
  }
})
