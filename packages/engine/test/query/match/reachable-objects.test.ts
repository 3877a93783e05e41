/** Objects that are met once each, without the edges: the same, in the same order, as where somebody asks for the edges. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OidSet } from '../../../src/query/access/oid-set.ts'
import { runs } from '../../bytes/property-runs.ts'
import { openQueryDatabase, queryTest } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Base {n: Integer, next: Reference{Referenced: Base}}
  CREATE CLASS Hub SUPERCLASS Base {
    some: List{Element: Reference{Referenced: Base}}, each: Set{Element: Reference{Referenced: Base}},
    owned: List{Element: Reference{Referenced: Leaf, Inverse: owner}}
  }
  CREATE CLASS Leaf SUPERCLASS Base {owner: Reference{Referenced: Hub, Inverse: owned}}
}`

describe('objects that are met once each', () => {
  it('are the same where nobody asks for the edges', async () => {
    const { db, close } = await openQueryDatabase([schema])
    try {
      const count = 24
      for (let n = 0; n < count; n++) await db.rows(`CREATE ${n % 3 === 0 ? 'Hub' : 'Leaf'} {n: ${n}}`)
      const node = fc.integer({ min: 0, max: count - 1 })
      const edges = fc.array(fc.tuple(node, fc.constantFrom('next', 'some', 'each', 'owned'), node), { maxLength: 60 })
      const path = fc.tuple(
        fc.constantFrom('ANY', 'ANY SHORTEST'),
        fc.uniqueArray(fc.constantFrom('next', 'some', 'each', 'owned', 'owner'), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 2, max: 6 }),
        fc.constantFrom('', ':Hub', ':Leaf', ':Base'),
      )
      const isSame = async (
        all: readonly (readonly [number, string, number])[],
        [kind, names, max, label]: readonly [string, readonly string[], number, string],
      ): Promise<void> => {
        await db.rows('UPDATE Base CLEAR next')
        await db.rows('UPDATE Hub CLEAR some, each, owned')
        for (const [from, name, to] of all) {
          const target = `(LOOKUP Base WHERE n = ${to})`
          if (name === 'next') await db.rows(`UPDATE Base WHERE n = ${from} SET next TO ${target}`)
          else if (name !== 'owned' || to % 3 !== 0)
            await db.rows(
              `UPDATE Hub WHERE n = ${from} ADD (LOOKUP ${name === 'owned' ? 'Leaf' : 'Base'} WHERE n = ${to}) TO ${name}`,
            )
        }
        // What several attributes refer to need not have a class in common.
        const end = names.length > 1 && label === '' ? ':Base' : label
        const pattern = (edge: string): string =>
          `MATCH ${kind} (a:Base)-[${edge}:${names.join('|')}*1..${max}]->(b${end}) RETURN a.n, b.n AS m`
        expect(await db.rows(pattern(''))).toEqual(await db.rows(pattern('e')))
      }
      await fc.assert(fc.asyncProperty(edges, path, isSame), runs(30))
    } finally {
      await close()
    }
  })

  queryTest(
    'are read once, and no edge more often',
    [schema, 'FOR EACH i IN LIST{1, 2, 3, 4} => (CREATE Hub {n: $i})'],
    async (db) => {
      await db.rows('UPDATE Hub SET some TO (FROM Hub RETURN *)')
      const text = 'MATCH ANY (a:Hub {n: 1})-[:some*1..5]->(b) RETURN b.n'
      expect(await db.rows(text)).toEqual([2, 3, 4].map((n) => ({ 'b.n': n })))
      expect((await db.analyze(text)).inputs?.at(-1)).toMatchObject({
        operator: 'shortestPaths',
        examined: 16,
        returned: 3,
      })
    },
  )
})

describe('a set of OIDs', () => {
  it('has each once, in the order in which they came', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer(), fc.integer({ min: -9, max: 9 })), { maxLength: 5_000 }), (all) => {
        const set = new OidSet()
        const known = new Set<string>()
        for (const [high, low] of all) {
          expect(set.add(high, low)).toBe(!known.has(`${high} ${low}`))
          known.add(`${high} ${low}`)
        }
        expect(Array.from({ length: set.count }, (_, i) => `${set.highAt(i)} ${set.lowAt(i)}`)).toEqual([...known])
      }),
    )
  })
})
