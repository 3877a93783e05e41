/** Walks with a known end, or few that it may be: they are bounded by what can still reach it, and shortest paths are searched from both ends. */
import { describe, expect, it } from 'vitest'
import type { Snapshot, Store } from '../../../src/store/store.ts'
import { openStoreOfRun } from '../../store/store-of-run.ts'
import { find } from '../plans.ts'
import { openQueryDatabase, type QueryDatabase, queryTest, type ShownPlan } from '../query-database.ts'

const links = 'Set{Element: Reference{Referenced: Stop, Inverse: '
const setUp = [
  `UPDATE SCHEMA { CREATE CLASS Stop {name: String, zone: Integer, next: ${links}before}}, before: ${links}next}}} }`,
  'CREATE UNIQUE INDEX stopByName ON Stop (name)',
  'CREATE INDEX stopByZone ON Stop (zone)',
]

/**
 * From `a`, edges to 10 stops with 70 edges each, and to the first of a chain of three to `z`. Beside the chain, `z` has an edge from one stop
 * that none leads to. The stops of zone 2 are `z` and 19 others to which nothing leads.
 */
async function fill({ fd }: QueryDatabase): Promise<void> {
  const create = (stops: readonly { name: string; next?: readonly string[]; zone?: number }[]): Promise<string[]> =>
    fd.createObjects(stops.map((attributes) => ({ class: 'Stop', attributes: { ...attributes } })))
  const [z] = await create([{ name: 'z', zone: 2 }])
  await create(Array.from({ length: 19 }, (_, i) => ({ name: `apart${i}`, zone: 2 })))
  await create([{ name: 'other', next: [z as string] }])
  const [c3] = await create([{ name: 'c3', next: [z as string] }])
  const [c2] = await create([{ name: 'c2', next: [c3 as string] }])
  const [c1] = await create([{ name: 'c1', next: [c2 as string] }])
  const hubs: string[] = []
  for (let hub = 0; hub < 10; hub++) {
    const leaves = await create(Array.from({ length: 60 }, (_, i) => ({ name: `h${hub}-${i}` })))
    const further = await create(leaves.slice(0, 10).map((leaf, i) => ({ name: `f${hub}-${i}`, next: [leaf] })))
    hubs.push(...(await create([{ name: `h${hub}`, next: [...leaves, ...further] }])))
  }
  await create([{ name: 'a', next: [...hubs, c1 as string] }])
}

/** Objects and links that are read. */
function touchedBy({ objectsRead, linksRead }: ShownPlan): number {
  return Number(objectsRead) + Number(linksRead)
}

const chain = ['a', 'c1', 'c2', 'c3', 'z']

describe('what walks touch that have to arrive', () => {
  for (const [what, pattern] of [
    ['from the vertex with the edges', "(a:Stop {name = 'a'})-[e:next*1..5]->(z:Stop {name = 'z'})"],
    ['over the inverse', "(z:Stop {name = 'z'})<-[e:next*1..5]-(a:Stop {name = 'a'})"],
    ['with an end that is one of several', "(a:Stop {name = 'a'})-[e:next*1..5]->(z:Stop {zone = 2})"],
    ['where the end is known by another pattern', "(z:Stop {name = 'z'}), (a:Stop {name = 'a'})-[e:next*1..5]->(z)"],
  ] as const) {
    queryTest(`is what leads to the end: ${what}`, setUp, async (db) => {
      await fill(db)
      for (const mode of ['WALK', 'TRAIL', 'ACYCLIC', 'SIMPLE']) {
        const text = `MATCH ${mode} ${pattern} RETURN z.name AS z, LENGTH(e) AS edges`
        expect(await db.rows(text)).toEqual([{ z: 'z', edges: 4 }])
        expect(touchedBy(await db.analyze(text))).toBeLessThan(200)
        expect(await db.rows(text.replace('*1..5', '*1..3'))).toEqual([])
      }
      const [first, ...others] = pattern.split(', ').reverse()
      for (const paths of ['ANY', 'ANY SHORTEST', 'ALL SHORTEST']) {
        const text = `MATCH p = ${paths} ${first}${others.map((other) => `, ${other}`).join('')} RETURN p`
        const rows = (await db.rows(text)) as unknown as { p: { from: string; to: string }[] }[]
        expect(rows.map(({ p }) => p.length)).toEqual([4])
        expect(touchedBy(await db.analyze(text))).toBeLessThan(200)
        const names = await db.rows('FROM Stop WHERE $$ID IN $oids RETURN name', {
          oids: [...new Set(rows[0]?.p.flatMap(({ from, to }) => [from, to]))],
        })
        expect(names.map(({ name }) => name).sort()).toEqual(chain)
      }
    })
  }

  queryTest('is told by EXPLAIN', setUp, async (db) => {
    await fill(db)
    const walk = "(a:Stop {name = 'a'})-[:next*1..5]->(z:Stop {name = 'z'}) RETURN z.name"
    const [bounded] = (await db.rows(`EXPLAIN MATCH ${walk}`)) as ShownPlan[]
    expect(find(bounded as ShownPlan, 'expand').boundedFrom).toMatch(/^[az]$/)
    const [shortest] = (await db.rows(`EXPLAIN MATCH ANY SHORTEST ${walk}`)) as ShownPlan[]
    expect(find(shortest as ShownPlan, 'shortestPaths').isBidirectional).toBe(true)
    const open = await db.analyze("MATCH (a:Stop {name = 'c1'})-[:next*1..5]->(z:Stop) RETURN z.name")
    expect(find(open, 'expand').boundedFrom).toBeUndefined()
  })
})

describe('walks whose far side is large', () => {
  /** From `a`, 100 stops with an edge to the last but one each, which has many others. */
  async function fillHub({ fd }: QueryDatabase): Promise<void> {
    const [z] = await fd.createObjects([{ class: 'Stop', attributes: { name: 'z' } }])
    const [hub] = await fd.createObjects([{ class: 'Stop', attributes: { name: 'hub', next: [z] } }])
    const stops = (letter: string, count: number): Promise<string[]> =>
      fd.createObjects(
        Array.from({ length: count }, (_, i) => ({
          class: 'Stop',
          attributes: { name: `${letter}${i}`, next: [hub] },
        })),
      )
    await stops('apart', 2_000)
    const through = await stops('m', 600)
    await fd.createObjects([{ class: 'Stop', attributes: { name: 'a', next: through } }])
  }
  const all = "MATCH (a:Stop {name = 'a'})-[e:next*1..3]->(z:Stop {name = 'z'}) RETURN COUNT() AS n"

  queryTest(
    'are found without it where there is no memory for it',
    setUp,
    async (db) => {
      const create = (letter: string, count: number, next: readonly string[]): Promise<string[]> => {
        const names = Array.from({ length: count }, (_, i) => `${letter}${i}`)
        return db.fd.createObjects(names.map((name) => ({ class: 'Stop', attributes: { name, next } })))
      }
      const ends = await create('z', 1, [])
      await create('apart', 300, ends)
      await create('a', 1, await create('m', 600, ends))
      // The edges to the end alone take more than the rest of the memory.
      const text = "MATCH (a:Stop {name = 'a0'})-[e:next*1..2]->(z:Stop {name = 'z0'}) RETURN COUNT() AS n"
      expect(await db.rows(text)).toEqual([{ n: 600 }])
    },
    { limits: { statementBytesMax: 2 ** 18 } },
  )

  queryTest('are followed from the near end while that is less', setUp, async (db) => {
    await fillHub(db)
    const plan = await db.analyze(all)
    expect(plan.linksRead).toBeLessThan(1_600)
  })
})

describe('what a search from the far end reads', () => {
  for (const [what, text] of [
    ['of edges', "MATCH (a:Stop {name = 'a'})-[:next]->(m)-[:next]->(z:Stop {zone = 3}) TAKE 1 RETURN m.name AS n"],
    ['of walks', "MATCH (a:Stop {name = 'a'})-[:next*1..4]->(z:Stop {zone = 3}) TAKE 1 RETURN z.name AS n"],
  ] as const) {
    it(`is let go of when no more rows are taken: ${what}`, async () => {
      const { store, open } = countScans(await openStoreOfRun())
      const { db, close } = await openQueryDatabase(setUp, { store })
      const create = (stops: readonly Record<string, unknown>[]): Promise<string[]> =>
        db.fd.createObjects(stops.map((attributes) => ({ class: 'Stop', attributes })))
      // More of them than are read at once, so that the search ends before the far side is through with them.
      const ends = await create(Array.from({ length: 900 }, (_, i) => ({ name: `z${i}`, zone: 3 })))
      const between = await create(ends.slice(0, 400).map((end, i) => ({ name: `m${i}`, next: [end] })))
      await create([{ name: 'a', next: between }])
      expect(await db.rows(text)).toHaveLength(1)
      expect(open()).toBe(0)
      await close()
    })
  }

  /** Scans that were begun and neither read to their end nor given up. */
  function countScans(below: Store): { readonly store: Store; open(): number } {
    let scans = 0
    const counted = (snapshot: Snapshot): Snapshot => {
      return new Proxy(snapshot, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (name !== 'scan') return typeof value === 'function' ? value.bind(target) : value
          return async function* <T>(...given: Parameters<typeof target.scan<T>>): AsyncGenerator<T[]> {
            scans++
            try {
              yield* target.scan(...given)
            } finally {
              scans--
            }
          }
        },
      })
    }
    return {
      open: () => scans,
      store: {
        ...below,
        snapshot(options) {
          const snapshot = below.snapshot(options)
          return snapshot instanceof Promise ? snapshot.then(counted) : counted(snapshot)
        },
      },
    }
  }
})
