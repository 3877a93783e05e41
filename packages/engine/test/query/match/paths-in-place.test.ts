/** Paths whose edges nobody asks for: the same rows, in the same order, as where somebody does, however their objects are read. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { openQueryDatabase, type QueryDatabase, queryTest } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Base {n: Integer, next: Reference{Referenced: Base}}
  CREATE CLASS Hub SUPERCLASS Base {
    some: List{Element: Reference{Referenced: Base}}, each: Set{Element: Reference{Referenced: Base}},
    owned: List{Element: Reference{Referenced: Leaf, Inverse: owner}},
    known: Set{Element: Reference{Referenced: Leaf, Inverse: knows}}
  }
  CREATE CLASS Leaf SUPERCLASS Base {
    owner: Reference{Referenced: Hub, Inverse: owned}, knows: Set{Element: Reference{Referenced: Hub, Inverse: known}}
  }
}`

const count = 18
const names = ['next', 'some', 'each', 'owned', 'owner', 'known', 'knows'] as const
type Link = readonly [from: number, name: (typeof names)[number], to: number]

function classOf(n: number): string {
  return n % 3 === 0 ? 'Hub' : 'Leaf'
}

async function link(db: QueryDatabase, links: readonly Link[]): Promise<void> {
  await db.rows('UPDATE Base CLEAR next')
  await db.rows('UPDATE Hub CLEAR some, each, owned, known')
  for (const [from, name, to] of links) {
    const of = name === 'next' ? 'Base' : name === 'owner' || name === 'knows' ? 'Leaf' : 'Hub'
    const toClass =
      name === 'owned' || name === 'known' ? 'Leaf' : name === 'owner' || name === 'knows' ? 'Hub' : 'Base'
    if ((of !== 'Base' && classOf(from) !== of) || (toClass !== 'Base' && classOf(to) !== toClass)) continue
    const target = `(LOOKUP ${toClass} WHERE n = ${to})`
    const isOne = name === 'next' || name === 'owner'
    await db.rows(`UPDATE ${of} WHERE n = ${from} ${isOne ? `SET ${name} TO ${target}` : `ADD ${target} TO ${name}`}`)
  }
}

interface Hop {
  readonly names: readonly string[]
  readonly isBack: boolean
  readonly label: string
}

const hop: fc.Arbitrary<Hop> = fc.record({
  names: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
  isBack: fc.boolean(),
  label: fc.constantFrom(':Base', ':Hub', ':Leaf', ':Base {n > 6}'),
})

const question = fc.record({
  mode: fc.constantFrom('', 'WALK ', 'TRAIL ', 'ACYCLIC ', 'SIMPLE '),
  start: fc.constantFrom(':Base', ':Hub', ':Leaf', ':Base {n < 4}'),
  hops: fc.array(hop, { minLength: 1, maxLength: 3 }),
  where: fc.constantFrom('', ' WHERE v0.n != v1.n', ' WHERE v1.next.n > 4', ' WHERE NOT IS_NULL(v0.next)'),
  clauses: fc.constantFrom(
    'RETURN *',
    'ORDER BY v1.n DESC, v0.n TAKE 7 RETURN v0.n, v1.n AS m',
    'GROUP BY v1.next.n RETURN v1.next.n AS n, COUNT() AS count, SUM(v0.n) AS sum',
    'GROUP BY v0 RETURN v0.n, COLLECT(v1.n) AS all',
    'TAKE 5 RETURN v0.n, v1.next.n AS m',
  ),
})

describe('paths whose edges nobody asks for', () => {
  it('are those of which somebody asks for the edges', async () => {
    const { db, close } = await openQueryDatabase([schema])
    try {
      for (let n = 0; n < count; n++) await db.rows(`CREATE ${classOf(n)} {n: ${n}}`)
      const node = fc.integer({ min: 0, max: count - 1 })
      const links = fc.array(fc.tuple(node, fc.constantFrom(...names), node), { maxLength: 50 })
      const isSame = async (
        all: readonly Link[],
        { mode, start, hops, where, clauses }: typeof question extends fc.Arbitrary<infer Q> ? Q : never,
      ): Promise<void> => {
        await link(db, all)
        const pattern = (edge: string): string => {
          const path = hops.map(({ names: of, isBack, label }, i) => {
            const between = `-[${edge === '' ? '' : edge + i}:${of.join('|')}]-`
            return `${isBack ? '<' : ''}${between}${isBack ? '' : '>'}(v${i + 1}${label})`
          })
          return `MATCH ${mode}(v0${start})${path.join('')}${where} ${clauses.replace('RETURN *', 'RETURN v0.n, v1.n AS m')}`
        }
        expect(await db.rows(pattern(''))).toEqual(await db.rows(pattern('e')))
      }
      await fc.assert(fc.asyncProperty(links, question, isSame), runs(60))
    } finally {
      await close()
    }
  }, 120_000)

  queryTest('go on behind long lists, and what is kept of them stays', [schema], async (db) => {
    const leaves = Array.from({ length: 1_300 }, (_, n) => ({ class: 'Leaf', attributes: { n } }))
    const oids = await db.fd.createObjects(leaves)
    const [hub] = await db.fd.createObjects([
      { class: 'Hub', attributes: { n: -1, owned: oids, some: oids.slice(0, 3) } },
    ])
    await db.fd.createObjects([{ class: 'Hub', attributes: { n: -2, some: [hub, hub] } }])
    const through = 'MATCH (h:Hub {n: -2})-[:some]->(g)-[:owned]->(l)-[:owner]->(o)'
    expect(await db.rows(`${through} RETURN COUNT()`)).toEqual([{ 'COUNT()': 0 }])
    const walk = 'MATCH WALK (h:Hub {n: -2})-[:some]->(g:Hub)-[:owned]->(l)-[:owner]->(o)'
    expect(
      await db.rows(`${walk} GROUP BY o RETURN o.n, COUNT() AS count, MIN(l.n) AS first, MAX(l.n) AS last`),
    ).toEqual([{ 'o.n': -1, count: 1_300, first: 0, last: 1_299 }])
    expect(await db.rows(`${walk} ORDER BY l.n DESC TAKE 2 RETURN l.n`)).toEqual([{ 'l.n': 1_299 }, { 'l.n': 1_298 }])
    const all = await db.rows(`${walk} RETURN l.n`)
    expect(all.map((row) => row['l.n'])).toEqual(leaves.map(({ attributes }) => attributes.n))
  })
})
