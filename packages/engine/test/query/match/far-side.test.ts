/** Patterns with few objects at both ends: they are searched from both sides, and find what a search from one side finds. */
import { describe, expect, it } from 'vitest'
import { find } from '../plans.ts'
import { openQueryDatabase, type QueryDatabase, queryTest, type ShownPlan } from '../query-database.ts'

const setUp = [
  `UPDATE SCHEMA {
    CREATE CLASS Port {
      name: String, zone: Integer,
      departures: List{Element: Reference{Referenced: Trip, Inverse: origin}},
      arrivals: List{Element: Reference{Referenced: Trip, Inverse: destination}}
    }
    CREATE CLASS Trip {
      n: Integer, day: Integer, hour: Integer,
      origin: Reference{Referenced: Port, Inverse: departures},
      destination: Reference{Referenced: Port, Inverse: arrivals}
    }
  }`,
  'CREATE UNIQUE INDEX portByName ON Port (name)',
  'CREATE INDEX tripByNumber ON Trip (n)',
]
/** The first ones have many trips, the last two few. */
const names = ['hub1', 'hub2', 'hub3', 'hub4', 'small1', 'small2']
const trips = Array.from({ length: 2_000 }, (_, n) => {
  const isOfSmall = n % 100 === 0
  const from = isOfSmall ? 'small1' : (names[n % 4] as string)
  const to = n % 100 === 50 ? 'small2' : (names[(n * 7 + (n >> 3) + 1) % 4] as string)
  return { n, day: n % 5, hour: (n * 11) % 24, from, to }
}).filter(({ from, to }) => from !== to)

async function fill({ fd }: QueryDatabase, count = trips.length): Promise<void> {
  const ports = names.map((name, zone) => ({ class: 'Port', attributes: { name, zone } }))
  const oids = await fd.createObjects(ports)
  const oidOf = new Map(names.map((name, i) => [name, oids[i] as string]))
  const created = trips.slice(0, count).map(({ from, to, ...values }) => {
    return { class: 'Trip', attributes: { ...values, origin: oidOf.get(from), destination: oidOf.get(to) } }
  })
  await fd.createObjects(created)
}

function examinedBy(plan: ShownPlan): number {
  return plan.examined + (plan.inputs ?? []).reduce((sum, input) => sum + examinedBy(input), 0)
}

const withChange = `MATCH (a:Port {name = $from})-[:departures]->(f:Trip {day = $day})-[:destination]->(h:Port)
  -[:departures]->(g:Trip {day = $day})-[:destination]->(z:Port {name = $to}) WHERE g.hour > f.hour`

describe('a pattern with few objects at both ends', () => {
  queryTest('is searched from both: no more edges are followed than there are at the ends', setUp, async (db) => {
    await fill(db)
    for (const [from, to] of [
      ['small1', 'small2'],
      ['hub1', 'small2'],
      ['small1', 'hub2'],
      ['hub1', 'hub2'],
      ['small2', 'small1'],
    ] as const) {
      const expected = trips
        .filter((f) => f.from === from && f.day === 0 && f.to !== to)
        .flatMap((f) => {
          const next = trips.filter((g) => g.from === f.to && g.day === 0 && g.to === to && g.hour > f.hour)
          return next.map((g) => ({ f: f.n, g: g.n }))
        })
        .filter(({ f }) => trips.find(({ n }) => n === f)?.to !== from)
      const parameters = { from, to, day: 0 }
      const rows = await db.rows(`${withChange} RETURN f.n AS f, g.n AS g ORDER BY f, g`, parameters)
      expect(rows).toEqual(expected.toSorted((one, other) => one.f - other.f || one.g - other.g))
      const plan = await db.analyze(`${withChange} RETURN COUNT() AS n`, parameters)
      const atEnds = trips.filter((trip) => trip.from === from || trip.to === to).length
      // The list of a hub is read once before the other side is asked, and each object found there is looked at.
      expect(examinedBy(plan)).toBeLessThanOrEqual(6 * atEnds + trips.length)
    }
    const [{ n } = { n: 0 }] = await db.rows(`${withChange} RETURN COUNT() AS n`, { from: 'hub1', to: 'hub2', day: 2 })
    expect(n).toBeGreaterThan(300)
  })

  it('follows no links of a hub that take more than it takes to know from the other end which of them are needed', async () => {
    const { db, close } = await openQueryDatabase(setUp)
    await fill(db)
    for (const [from, to] of [
      ['small1', 'small2'],
      ['hub1', 'hub2'],
    ]) {
      const { linksRead } = await db.analyze(`${withChange} RETURN COUNT() AS n`, { from, to, day: 0 })
      const atEnds = trips.filter((trip) => trip.from === from || trip.to === to).length
      // The links of one hub are followed while the other end is not known yet.
      expect(linksRead).toBeLessThanOrEqual(atEnds + 1_000)
    }
    await close()
  })

  queryTest('says from which side its edges were found', setUp, async (db) => {
    await fill(db)
    const plan = await db.analyze(`${withChange} RETURN f.n`, { from: 'hub1', to: 'hub2', day: 1 })
    expect(JSON.stringify(plan)).toMatch(/"foundFrom":"[az]"/)
    const short = await db.analyze("MATCH (a:Port {name = 'small1'})-[:departures]->(f:Trip {n = 100}) RETURN f.n")
    expect(find(short, 'expand').foundFrom).toBeUndefined()
  })

  queryTest('in any direction, mode and order of writing, edges and walks are the same', setUp, async (db) => {
    await fill(db, 500)
    const ends =
      "(a:Port {name = 'hub1'})-[e:departures|arrivals]-(f:Trip {hour < 1})-[d]-(h:Port)-[g]-(i:Trip {hour < 1})"
    for (const mode of ['', 'WALK', 'TRAIL', 'ACYCLIC']) {
      const text = `MATCH p = ${mode} ${ends}-[k]-(z:Port {name = 'small1'}) RETURN f.n AS n1, i.n AS n2, h.name AS via, e.fromClass + e.attribute + e.toClass AS e1,
        d.fromClass + d.attribute + d.toClass AS e2, g.fromClass + g.attribute + g.toClass AS e3, k.fromClass + k.attribute + k.toClass AS e4, LENGTH(p) AS l ORDER BY n1, n2, via, e1, e2, e3, e4`
      const turned = `MATCH p = ${mode} (z:Port {name = 'small1'})-[k]-(i:Trip {hour < 1})-[g]-(h:Port)-[d]-(f:Trip {hour < 1})-[e:departures|arrivals]-(a:Port {name = 'hub1'})
        RETURN f.n AS n1, i.n AS n2, h.name AS via, e.fromClass + e.attribute + e.toClass AS e1, d.fromClass + d.attribute + d.toClass AS e2, g.fromClass + g.attribute + g.toClass AS e3, k.fromClass + k.attribute + k.toClass AS e4,
        LENGTH(p) AS l ORDER BY n1, n2, via, e1, e2, e3, e4`
      const ofOneSide = `MATCH p = ${mode} ${ends}-[k]-(z:Port) WHERE z.name + '' = 'small1' RETURN f.n AS n1, i.n AS n2, h.name AS via,
        e.fromClass + e.attribute + e.toClass AS e1, d.fromClass + d.attribute + d.toClass AS e2, g.fromClass + g.attribute + g.toClass AS e3, k.fromClass + k.attribute + k.toClass AS e4, LENGTH(p) AS l ORDER BY n1, n2, via, e1, e2, e3, e4`
      const rows = await db.rows(text)
      expect(rows.length).toBeGreaterThan(0)
      expect(JSON.stringify(await db.analyze(text))).toMatch(/"foundFrom":"[az]"/)
      expect(await db.rows(turned)).toEqual(rows)
      expect(await db.rows(ofOneSide)).toEqual(rows)
    }
  })

  const links = 'Set{Element: Reference{Referenced: Stop, Inverse: '
  const stops = [
    `UPDATE SCHEMA { CREATE CLASS Stop {name: String, next: ${links}before}}, before: ${links}next}}} }`,
    'CREATE UNIQUE INDEX stopByName ON Stop (name)',
  ]

  queryTest('does not take the steps of a walk from one of the ends for its last ones', stops, async ({ fd, rows }) => {
    const layer = (letter: string, next: (i: number) => string[], count = 300): Promise<string[]> => {
      const names = Array.from({ length: count }, (_, i) => `${letter}${i}`)
      return fd.createObjects(names.map((name, i) => ({ class: 'Stop', attributes: { name, next: next(i) } })))
    }
    const last = await layer('z', () => [], 1)
    let reached = await layer('c', () => last)
    for (const letter of ['b', 'a']) {
      const behind = reached
      reached = await layer(letter, (i) => [behind[i] as string])
    }
    await layer('hub', () => reached, 1)
    const walk = "MATCH (a:Stop {name = 'hub0'})-[:next*1..3]->(m:Stop)-[:next]->(z:Stop {name = 'z0'})"
    expect(await rows(`${walk} RETURN COUNT() AS n`)).toEqual([{ n: 300 }])
  })

  queryTest(
    'does not follow the links of a hub at the other end that are more than it has to itself',
    stops,
    async (db) => {
      const { fd } = db
      const layer = (letter: string, next: readonly string[], count: number): Promise<string[]> => {
        const names = Array.from({ length: count }, (_, i) => `${letter}${i}`)
        return fd.createObjects(names.map((name) => ({ class: 'Stop', attributes: { name, next } })))
      }
      const last = await layer('z', [], 1)
      await layer('other', last, 4_000)
      await layer('hub', await layer('a', last, 300), 1)
      const walk = "MATCH (a:Stop {name = 'hub0'})-[:next]->(m:Stop)-[:next]->(z:Stop {name = 'z0'})"
      const plan = await db.analyze(`${walk} RETURN COUNT() AS n`)
      expect(plan.linksRead).toBeLessThan(2_000)
      expect(await db.rows(`${walk} RETURN COUNT() AS n`)).toEqual([{ n: 300 }])
    },
  )
})
