/** How often MATCH reads, where each read is a trip: a few times for many vertices, and not once or twice for each. */
import { describe, expect, it } from 'vitest'
import { openStoreOfRun } from '../../store/store-of-run.ts'
import { type Counted, counting } from '../counted-trips.ts'
import { openQueryDatabase, type QueryDatabase } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Port {n: Integer, out: List{Element: Reference{Referenced: Way, Inverse: start}},
    into: List{Element: Reference{Referenced: Way, Inverse: goal}}}
  CREATE CLASS Way {n: Integer, start: Reference{Referenced: Port, Inverse: out}, goal: Reference{Referenced: Port, Inverse: into}}
}`

const indexes = ['CREATE INDEX portByN ON Port (n)', 'CREATE INDEX wayByN ON Way (n)']

/** Ports in a circle, each with ways to the next three. */
async function fill(db: QueryDatabase, count: number): Promise<void> {
  await db.rows('DELETE Port; DELETE Way')
  await db.rows('FOR EACH n IN $all => (CREATE Port {n: $n})', { all: Array.from({ length: count }, (_, n) => n) })
  const ways = Array.from({ length: count * 3 }, (_, n) => ({
    n,
    from: n % count,
    to: (n + 1 + Math.floor(n / count)) % count,
  }))
  await db.rows(
    'FOR EACH w IN $ways => (CREATE Way {n: $w.n, start: (LOOKUP Port WHERE n = $w.from), goal: (LOOKUP Port WHERE n = $w.to)})',
    { ways },
  )
}

async function tripsOf(text: string, counts: readonly number[]): Promise<number[]> {
  const counted: Counted = counting(await openStoreOfRun())
  const { db, close } = await openQueryDatabase([schema, ...indexes], { store: counted.store })
  const trips: number[] = []
  for (const count of counts) {
    await fill(db, count)
    counted.trips = 0
    await db.rows(text)
    trips.push(counted.trips)
  }
  await close()
  return trips
}

describe('MATCH', () => {
  for (const [text, max] of [
    ['MATCH (a:Port)-[:out]->(w:Way) RETURN a.n, w.n AS m', 12],
    ['MATCH (a:Port)-[:out]->(w)-[:goal]->(b:Port) RETURN a.n, b.n AS m', 22],
    ['MATCH (a:Port)<-[:start]-(w) RETURN a.n, w.n AS m', 12],
    ['MATCH (a:Port)-[e:out|goal*1..4]->(b) RETURN a.n, COUNT(e) AS c', 70],
    ['MATCH ANY SHORTEST (a:Port {n = 1})-[e:out|goal*1..4]->(b:Port) RETURN b.n, COUNT(e) AS c', 12],
    ['MATCH ANY (a:Port {n = 1})-[:out|goal*1..4]->(b:Port) RETURN b.n', 12],
    ['MATCH ANY SHORTEST (a:Port {n = 1})-[e:out|goal*1..8]->(b:Port {n = 7}) RETURN COUNT(e) AS c', 20],
    // Searched from both ends: the edges at the one are known when those at the other are followed.
    ['MATCH (w:Way {n >= 0})-[:goal]->(p:Port)-[:out]->(v:Way {n = 3}) RETURN w.n', 24],
    [
      'MATCH (w:Way {n >= 0})-[:start]->(p:Port)<-[:goal]-(v:Way {n < 12})-[:start]->(q:Port {n < 9}) RETURN w.n, v.n AS m',
      30,
    ],
  ] as const) {
    it(`reads the edges at many vertices together: ${text}`, async () => {
      const [few, many] = (await tripsOf(text, [12, 60])) as [number, number]
      expect(many).toBeLessThanOrEqual(max)
      expect(few).toBeLessThanOrEqual(max)
    })
  }
})

describe('what MATCH reads together', () => {
  it('is there when the first edges are followed, also where memory keeps little of it', async () => {
    const counted: Counted = counting(await openStoreOfRun())
    const filled = await openQueryDatabase([schema, ...indexes], { store: { ...counted.store, close: async () => {} } })
    await fill(filled.db, 60)
    await filled.close()
    const { db, close } = await openQueryDatabase([], { store: counted.store, limits: { statementBytesMax: 2 ** 14 } })
    const text = 'MATCH ANY SHORTEST (a:Port {n = 1})-[e:out|goal*1..4]->(b:Port) RETURN b.n, COUNT(e) AS c'
    expect((await db.analyze(text)).linksRead).toBeLessThanOrEqual(18)
    await close()
  })
})
