/** The edges of MATCH, in every direction, and walks of several of them (DO, sections 1, 3 and 4, Graph patterns). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { found, network } from './network.ts'

describe('an edge', () => {
  queryTest('goes forward, backward or either way, by one attribute or by any', network, async (db) => {
    expect(await found(db, "MATCH (p:Place {name: 'a'})-->(q) RETURN CAST(q AS Place).name AS n")).toEqual([
      '',
      '',
      'b',
      'e',
    ])
    expect(await found(db, "MATCH (p:Place {name: 'a'})-[:roads]->(q) RETURN q.name")).toEqual(['b'])
    expect(await found(db, "MATCH (p:Place {name: 'a'})<-[:roads]-(q) RETURN q.name")).toEqual(['c'])
    expect(await found(db, "MATCH (p:Place {name: 'a'})-[:roads]-(q) RETURN q.name")).toEqual(['b', 'c'])
    expect(await found(db, "MATCH (p:Place {name: 'e'})<--(q:Place) RETURN q.name")).toEqual(['a'])
    expect(await found(db, "MATCH (p:Place {name: 'b'})--(q:Place) RETURN q.name")).toEqual(['a', 'c'])
    expect(await found(db, "MATCH (p:Person {name: 'Ann'})-[:governs]->(q) RETURN q.name")).toEqual(['a'])
    expect(await found(db, "MATCH (p:Person {name: 'Ann'})<-[:mayor]-(q) RETURN q.name")).toEqual(['a'])
    expect(await found(db, 'MATCH (p:City)-[:byName]->(q) RETURN p.name, q.name')).toEqual(['a Bob'])
    expect(await found(db, "MATCH (p:Person {name: 'Bob'})<-[:byName]-(q) RETURN q.name")).toEqual(['a'])
  })

  queryTest('of an object to itself is one, in whichever direction', network, async (db) => {
    for (const edge of ['-[e:roads]->', '<-[e:roads]-', '-[e:roads]-']) {
      const rows = await db.rows(
        `MATCH WALK (p:Place {name: 'd'})${edge}(q:Place {name: 'd'}) RETURN e.from = e.to AS is`,
      )
      expect(rows).toEqual([{ is: true }])
    }
    expect(await found(db, "MATCH WALK (p:Place {name: 'd'})-[:roads]-(q) RETURN q.name")).toEqual(['c', 'd'])
  })

  queryTest('goes by any of several attributes', network, async (db) => {
    const goes = (body: string): Promise<unknown> =>
      found(db, `MATCH (p:Place {name: 'a'})-[e:${body}]->(q) RETURN e.attribute`)
    expect(await goes('roads|mayor')).toEqual(['mayor', 'roads'])
    expect(await goes('roads | mayor | roads')).toEqual(['mayor', 'roads'])
    expect(await goes('Net.Place.roads|byName*1..1')).toEqual(await goes('byName|roads*1'))
    expect(await found(db, "MATCH (p:Place {name: 'a'})<-[e:governs|roads]-(q) RETURN e.attribute")).toEqual([
      'governs',
      'roads',
    ])
    await expect(goes('roads|rods')).rejects.toThrow(/no class has references called 'rods'/)
    await expect(goes('roads|')).rejects.toThrow(/expected an attribute/)
  })

  queryTest('that is named tells where it goes', network, async (db) => {
    const [row] = await db.rows(
      "MATCH (p:Place {name: 'b'})-[e:roads]->(q) RETURN e, e.attribute, e.fromClass, e.to = q AS same, p AS p, q AS q",
    )
    expect(row).toEqual({
      e: { from: row?.p, fromClass: 'Net.Place', attribute: 'roads', to: row?.q, toClass: 'Net.Place' },
      'e.attribute': 'roads',
      'e.fromClass': 'Net.Place',
      same: true,
      p: row?.p,
      q: row?.q,
    })
    expect(await found(db, "MATCH (p:Place {name: 'b'})<-[e]-(q) RETURN e.attribute")).toEqual(['governs', 'roads'])
    expect(await found(db, 'MATCH (p:Place)-[e:roads]->(q) WHERE e.from = q RETURN p.name')).toEqual([])
  })

  queryTest('of an attribute that no class has is an error', network, async (db) => {
    const error = await db.failure('MATCH (p:Place)-[:raods]->(q) RETURN q')
    expect(error).toMatchObject({ type: 'QueryError', extensions: { line: 1, column: 19, text: 'raods' } })
    expect(error.message).toMatch(/Did you mean roads/)
    expect((await db.failure('MATCH (p:Place)-[:name]->(q) RETURN q')).type).toBe('QueryError')
    expect((await db.failure('MATCH (p:Plaec) RETURN p')).message).toMatch(/Did you mean Place/)
  })
})

describe('a walk', () => {
  queryTest('has as many edges as it says, and visits no vertex twice', network, async (db) => {
    const from = async (length: string): Promise<string[]> => {
      return found(db, `MATCH (p:Place {name: 'a'})-[:roads${length}]->(q) RETURN q.name`)
    }
    expect(await from('*1')).toEqual(['b'])
    expect(await from('*2')).toEqual(['c'])
    expect(await from('*3')).toEqual(['d'])
    expect(await from('*4')).toEqual([])
    expect(await from('*2..3')).toEqual(['c', 'd'])
    expect(await from('*..2')).toEqual(['b', 'c'])
    expect(await from('*')).toEqual(['b', 'c', 'd'])
    expect(await from('*0..1')).toEqual(['a', 'b'])
    expect(await from('*0..0')).toEqual(['a'])
    expect(await from('*0')).toEqual(['a'])
    expect(await found(db, "MATCH (p:Place {name: 'd'})<-[:roads*1..3]-(q) RETURN q.name")).toEqual(['a', 'b', 'c'])
    expect(await found(db, "MATCH (p:Place {name: 'b'})-[:roads*2]-(q) RETURN q.name")).toEqual(['a', 'c', 'd'])
  })

  queryTest('that is named is an array of its edges', network, async (db) => {
    const rows = await db.rows("MATCH w = (p:Place {name: 'a'})-[e:roads*2]->(q)<-[:roads]-(r) RETURN w, e, q.name")
    expect(rows).toHaveLength(0)
    const [row] = await db.rows(
      "MATCH w = (p:Place {name: 'a'})-[e:roads*2]->(q)-[:roads]->(d:City) RETURN w, e, COUNT(w) AS n",
    )
    expect(row?.n).toBe(3)
    const walk = row?.w as { from: string; to: string; attribute: string }[]
    expect(walk.map(({ attribute }) => attribute)).toEqual(['roads', 'roads', 'roads'])
    expect(walk[0]?.to).toBe(walk[1]?.from)
    expect(row?.e).toEqual(walk.slice(0, 2))
    expect(
      await db.rows(
        "MATCH (a:Place {name: 'a'}), w = (a)-[:roads*3]->(d) RETURN w[-1].to = d AS ends, w[0].from = a AS begins",
      ),
    ).toEqual([{ ends: true, begins: true }])
  })

  queryTest('may end where it began only if that vertex is named before', network, async (db) => {
    expect(await found(db, 'MATCH (p:Place)-[:roads*3]->(p) RETURN p.name')).toEqual(['a', 'b', 'c'])
    expect(await found(db, 'MATCH (p:Place)-[:roads]->(p) RETURN p.name')).toEqual(['d'])
  })

  queryTest(
    'is bounded: by what is written, by the largest bound, and by the edges that it tries',
    network,
    async (db) => {
      expect((await db.failure('MATCH (p:Place)-[*1..7]->(q) RETURN q')).message).toMatch(/6/)
      expect((await db.failure('MATCH (p:Place)-[*7]->(q) RETURN q')).type).toBe('QueryError')
      expect((await db.failure('MATCH (p:Place)-[*3..2]->(q) RETURN q')).type).toBe('QueryError')
      const error = await db.failure('MATCH (p)-[*1..6]-(q) RETURN COUNT() AS n')
      expect(error).toMatchObject({ type: 'LimitExceeded', message: expect.stringMatching(/pathExpansionsMax/) })
    },
    { limits: { walkEdgesMax: 6, pathExpansionsMax: 40 } },
  )
})
