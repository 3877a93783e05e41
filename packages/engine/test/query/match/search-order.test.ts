/** From where a MATCH is searched, told by EXPLAIN. */
import { describe, expect, vi } from 'vitest'
import { ExtentScan } from '../../../src/query/access/extent-scan.ts'
import { find, touched } from '../plans.ts'
import { type QueryDatabase, queryTest, type ShownPlan } from '../query-database.ts'
import { network } from './network.ts'

describe('the plan of a pattern', () => {
  const leaves = (plan: ShownPlan): ShownPlan[] => (plan.inputs === undefined ? [plan] : plan.inputs.flatMap(leaves))

  queryTest(
    'begins where an index finds few, and goes back over inverse attributes',
    [...network, 'CREATE UNIQUE INDEX personName ON Person (name)', 'CREATE INDEX placeName ON Place (name)'],
    async (db) => {
      const plan = await db.analyze("MATCH (q:Place)<-[:governs]-(p:Person {name: 'Ann'}) RETURN q.name")
      expect(leaves(plan).map(({ index }) => index)).toContain('personName')
      const back = await db.analyze("MATCH (p:Person)-[:governs]->(q:Place {name: 'a'}) RETURN p.name")
      expect(leaves(back).map(({ index }) => index)).toContain('placeName')
      expect(JSON.stringify(back)).not.toMatch(/scan/)
    },
  )

  queryTest('says that an edge without an inverse is found by a scan', network, async (db) => {
    const plan = await db.analyze("MATCH (p:Place {name: 'e'})<-[:twins]-(q) RETURN q.name")
    expect(JSON.stringify(plan)).toMatch(/scan/)
  })
})

describe('what is worked out to choose where a search begins', () => {
  queryTest('grows with the vertices of a pattern, not with their square', network, async ({ rows }) => {
    const estimate = vi.spyOn(ExtentScan.prototype, 'estimate')
    try {
      const vertices = Array.from({ length: 30 }, (_, i) => `(v${i}:Place {name: 'a'})`)
      await rows(`MATCH ${vertices.join(', ')} RETURN v0.name`)
      expect(estimate.mock.calls.length).toBeGreaterThanOrEqual(vertices.length)
      expect(estimate.mock.calls.length).toBeLessThanOrEqual(2 * vertices.length)
    } finally {
      estimate.mockRestore()
    }
  })
})

/** A hub with many departures and a small airport with few, and one flight between them. */
const airline = [
  `UPDATE SCHEMA {
    CREATE CLASS Air.Port {code: String, out: List{Element: Reference{Referenced: Air.Flight, Inverse: origin}},
      arriving: List{Element: Reference{Referenced: Air.Flight, Inverse: destination}}}
    CREATE CLASS Air.Flight {number: Integer, day: Integer, origin: Reference{Referenced: Air.Port, Inverse: out},
      destination: Reference{Referenced: Air.Port, Inverse: arriving}}
  }`,
  'CREATE UNIQUE INDEX portCode ON Port (code)',
  "CREATE Port {code: 'hub'}; CREATE Port {code: 'small'}; CREATE Port {code: 'none'}",
  `LET hub = (LOOKUP Port WHERE code = 'hub'); LET small = (LOOKUP Port WHERE code = 'small');
   FOR EACH n IN LIST{${Array.from({ length: 200 }, (_, n) => n).join(', ')}} =>
     (CREATE Flight {number: $n, day: $n % 20, origin: $hub, destination: $hub});
   CREATE Flight {number: 900, day: 3, origin: $small, destination: $hub};
   CREATE Flight {number: 901, day: 4, origin: $hub, destination: $small}`,
]

describe('what a pattern touches', () => {
  for (const text of [
    "MATCH (h:Port {code = 'hub'})<-[:destination]-(f:Flight)<-[:out]-(s:Port {code = 'small'}) RETURN f.number",
    "MATCH (s:Port {code = 'small'})-[:out]->(f:Flight)-[:destination]->(h:Port {code = 'hub'}) RETURN f.number",
  ]) {
    queryTest(`begins at the end with fewer edges: ${text}`, airline, async (db) => {
      expect(await db.rows(text)).toEqual([{ 'f.number': 900 }])
      const plan = await db.analyze(text)
      expect(touched(plan)).toBeLessThanOrEqual(2)
      // Of the 201 edges at the hub no more are counted than tell at which end there are fewer.
      expect(plan).toMatchObject({ entriesCounted: expect.toSatisfy((count: number) => count > 0 && count <= 64) })
    })
  }

  queryTest(
    'follows an index that begins with the edge and goes on with what is asked of the vertex behind it',
    [...airline, 'CREATE INDEX flightOfDay ON Flight (origin, day)'],
    async (db) => {
      for (const pattern of ['-[:out]->(f:Flight {day = 4})', '<-[:origin]-(f:Flight {day = 4})']) {
        const text = `MATCH (h:Port {code = 'hub'})${pattern} RETURN f.number ORDER BY f.number`
        const plan = await db.analyze(text)
        expect((await db.rows(text)).length).toBe(11)
        expect(find(plan, 'expand')).toMatchObject({
          examined: 11,
          backwardBy: ['origin: index flightOfDay (day = 4)'],
        })
      }
    },
  )

  queryTest(
    'is explained also where values are not known yet',
    [...airline, 'CREATE INDEX flightOfDay ON Flight (origin, day)'],
    async (db) => {
      const day = '(FROM Flight WHERE number = 900 RETURN day)'
      const [plan] = await db.rows(
        `EXPLAIN MATCH (h:Port {code = 'hub'})-[:out]->(f:Flight {day = ${day}})-[:destination]->(s:Port {code = 'small'}) RETURN f.number`,
      )
      expect(JSON.stringify(plan)).toContain('expand')
    },
  )

  queryTest('ends at once where a vertex has no objects', airline, async (db) => {
    const text = "MATCH (a:Port)-[:out]->(f:Flight)-[:destination]->(b:Port {code = 'nowhere'}) RETURN f.number"
    expect(await db.rows(text)).toEqual([])
    expect(touched(await db.analyze(text))).toBe(0)
  })

  const byValue = [...airline, 'CREATE INDEX flightByDay ON Flight (day)']

  queryTest('looks up by an index what is equal to a value of another vertex', byValue, async (db) => {
    const text =
      'MATCH (f:Flight {number = 900}), (g:Flight) WHERE g.day = f.day AND g.number > 100 RETURN g.number AS n'
    const plan = await db.analyze(text)
    expect((await db.rows(text)).map(({ n }) => n)).toEqual(expect.arrayContaining([103, 123, 143, 163, 183, 900]))
    expect(await db.rows(text)).toHaveLength(6)
    expect(find(plan, 'lookupJoin')).toMatchObject({ name: 'g', returned: 6 })
    expect(find(plan, 'indexScan')).toMatchObject({ index: 'flightByDay', examined: 11 })
  })

  queryTest('goes on from what it has looked up, and asks what the modes ask', byValue, async (db) => {
    const text = `MATCH (s:Port {code = 'small'})-[:out]->(f:Flight), (g:Flight)-[:destination]->(p:Port)
      WHERE g.day = f.day AND p.code = 'small' RETURN g.number AS n`
    expect(await db.rows(text)).toEqual([])
    expect(await db.rows(text.replace("p.code = 'small'", "p.code = 'hub'"))).toHaveLength(11)
    const optional = `MATCH (f:Flight {number = 901}) OPTIONAL MATCH (g:Flight) WHERE g.day = f.day AND g.number = 900 RETURN g.number AS n`
    expect(await db.rows(optional)).toEqual([{ n: null }])
    expect(await db.rows(optional.replace('number = 900', 'number = 4'))).toEqual([{ n: 4 }])
  })
})

describe('a vertex with edges on both sides', () => {
  const ports = 60
  const routes = 40
  const network = [
    `UPDATE SCHEMA {
      CREATE CLASS Port {n: Integer, routesTo: List{Element: Reference{Referenced: Route, Inverse: port}},
        trips: List{Element: Reference{Referenced: Trip, Inverse: port}}}
      CREATE CLASS Route {n: Integer, port: Reference{Referenced: Port, Inverse: routesTo}}
      CREATE CLASS Trip {n: Integer, day: Integer, port: Reference{Referenced: Port, Inverse: trips}}
    }`,
  ]
  const fill = async ({ fd }: QueryDatabase): Promise<void> => {
    const named = Array.from({ length: ports }, (_, n) => ({ class: 'Port', attributes: { n } }))
    const oids = await fd.createObjects(named)
    const ofPorts = oids.flatMap((port, p) => [
      ...Array.from({ length: routes }, (_, r) => ({ class: 'Route', attributes: { n: p * 100 + r, port } })),
      { class: 'Trip', attributes: { n: p, day: p % 30, port } },
    ])
    await fd.createObjects(ofPorts)
  }

  for (const text of [
    'MATCH (r:Route)<-[:routesTo]-(p:Port)-[:trips]->(t:Trip {day + 0 = 7}) RETURN r.n AS r, t.n AS t ORDER BY r, t',
    'MATCH (t:Trip {day + 0 = 7})<-[:trips]-(p:Port)-[:routesTo]->(r:Route) RETURN r.n AS r, t.n AS t ORDER BY r, t',
    'MATCH (p:Port)-[:routesTo]->(r:Route), (p)-[:trips]->(t:Trip {day + 0 = 7}) RETURN r.n AS r, t.n AS t ORDER BY r, t',
  ]) {
    queryTest(`follows first the one behind which few qualify: ${text}`, network, async (db) => {
      await fill(db)
      const plan = await db.analyze(text)
      const rows = [7, 37].flatMap((t) => Array.from({ length: routes }, (_, r) => ({ r: t * 100 + r, t })))
      expect(await db.rows(text)).toEqual(rows)
      // The ports, a trip of each, and the routes of two of them; and the edges of sixteen ports as a sample.
      expect(plan.linksRead).toBeLessThanOrEqual(ports + 2 * routes + 16 * (routes + 1))
      expect(plan.entriesCounted ?? 0).toBeLessThanOrEqual(16 * 4 * (routes + 1))
    })
  }
})
