/** The modes of MATCH: what a walk may repeat, where the words stand, and how far walks go (DO, section 5, Path modes). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query-database.ts'

/** a → b → c → a, c → d, d → d; Ann and Bob are friends of each other. */
const data = [
  `UPDATE SCHEMA {
    CREATE CLASS Place {name: String, roads: List{Element: Reference{Referenced: Place}}}
    CREATE CLASS Person {name: String, boss: Reference{Referenced: Person, Inverse: staff},
      staff: List{Element: Reference{Referenced: Person, Inverse: boss}}}
  }`,
  `LET d = CREATE Place {name: 'd'};
   LET c = CREATE Place {name: 'c'};
   LET b = CREATE Place {name: 'b', roads: LIST{$c}};
   LET a = CREATE Place {name: 'a', roads: LIST{$b}};
   UPDATE Place WHERE $$ID = $c SET roads TO LIST{$a, $d};
   UPDATE Place WHERE $$ID = $d SET roads TO LIST{$d};
   LET ann = CREATE Person {name: 'Ann'};
   CREATE Person {name: 'Bob', boss: $ann}`,
]

async function found(db: QueryDatabase, text: string): Promise<string[]> {
  const rows = await db.rows(text)
  return rows.map((row) => Object.values(row).join(' ')).sort()
}

describe('a mode', () => {
  queryTest('says what a walk may repeat', data, async (db) => {
    const from = (mode: string, start: string, length: string): Promise<string[]> =>
      found(db, `MATCH ${mode} (p:Place {name: '${start}'})-[:roads${length}]->(q) RETURN q.name`)
    expect(await from('WALK', 'd', '*1..4')).toEqual(['d', 'd', 'd', 'd'])
    expect(await from('TRAIL', 'd', '*1..4')).toEqual(['d'])
    expect(await from('SIMPLE', 'd', '*1..4')).toEqual(['d'])
    expect(await from('ACYCLIC', 'd', '*1..4')).toEqual([])
    expect(await from('', 'd', '*1..4')).toEqual([])
    // a b c a b, and a b c d d
    expect(await from('WALK', 'a', '*4')).toEqual(['b', 'd'])
    expect(await from('TRAIL', 'a', '*4')).toEqual(['d'])
    expect(await from('SIMPLE', 'a', '*3')).toEqual(['a', 'd'])
    expect(await from('SIMPLE', 'a', '*4')).toEqual([])
    expect(await from('ACYCLIC', 'a', '*3')).toEqual(['d'])
    expect(await from('', 'a', '*3')).toEqual(['d'])
  })

  queryTest('is that of all patterns, or of one', data, async (db) => {
    const twice = (all: string, first: string, second: string): Promise<string[]> =>
      found(
        db,
        `MATCH ${all} w = ${first} (p:Place {name: 'd'})-[:roads*1..3]->(q), ${second} (p)-[:roads*1..2]->(r) RETURN COUNT(w)`,
      )
    expect(await twice('', '', '')).toEqual([])
    expect(await twice('WALK', '', '')).toEqual(['1', '1', '2', '2', '3', '3'])
    expect(await twice('WALK', '', 'TRAIL')).toEqual(['1', '2', '3'])
    expect(await twice('', 'WALK', 'SIMPLE')).toEqual(['1', '2', '3'])
    expect(await twice('TRAIL', 'WALK', '')).toEqual(['1', '2', '3'])
    expect(await twice('TRAIL', 'WALK', 'ACYCLIC')).toEqual([])
    expect(await twice('walk', 'Trail Path', 'walk PATHS')).toEqual(['1', '1'])
    expect(await twice('', 'PATH', 'PATHS')).toEqual([])
  })

  queryTest('holds for each pattern by itself, and one name is one object in every mode', data, async (db) => {
    const circle = (mode: string): Promise<string[]> =>
      found(db, `MATCH ${mode} (p:Place)-[:roads*3]->(p) RETURN p.name`)
    for (const mode of ['', 'ACYCLIC', 'SIMPLE']) expect(await circle(mode)).toEqual(['a', 'b', 'c'])
    expect(await circle('TRAIL')).toEqual(['a', 'b', 'c'])
    expect(await circle('WALK')).toEqual(['a', 'b', 'c', 'd'])
    expect(await found(db, 'MATCH TRAIL (p:Place)-[:roads]->(q), (p)-[:roads]->(q) RETURN p.name, q.name')).toEqual([
      'a b',
      'b c',
      'c a',
      'c d',
      'd d',
    ])
    expect(await found(db, 'MATCH TRAIL (p:Place)-[:roads]->(q)<-[:roads]-(p) RETURN p.name')).toEqual([])
    expect(
      await found(db, 'MATCH SIMPLE (p:Place)-[:roads]->(q)-[:roads]->(r)-[:roads]->(s) RETURN p.name, s.name'),
    ).toEqual(['a a', 'a d', 'b b', 'c c'])
  })

  queryTest('is no reserved word', data, async (db) => {
    for (const word of ['walk', 'TRAIL', 'Acyclic', 'simple', 'path', 'PATHS']) {
      expect(await found(db, `MATCH ${word} = (p:Place {name: 'a'})-->(q) RETURN COUNT(${word})`)).toEqual(['1'])
      expect(
        await found(db, `MATCH WALK ${word} = TRAIL PATH (p:Place {name: 'a'})-->(q) RETURN COUNT(${word})`),
      ).toEqual(['1'])
    }
    const error = await db.failure('MATCH `walk` (p:Place) RETURN p')
    expect(error).toMatchObject({ type: 'QuerySyntaxError', extensions: { column: 7 } })
    expect((await db.failure('MATCH WALK TRAIL ACYCLIC (p:Place) RETURN p')).type).toBe('QuerySyntaxError')
    expect((await db.failure('MATCH PATH WALK (p:Place) RETURN p')).type).toBe('QuerySyntaxError')
  })

  queryTest('is told by EXPLAIN', data, async (db) => {
    const plan = await db.analyze("MATCH TRAIL (p:Place {name: 'a'})-[:roads*2]->(q) RETURN q.name")
    expect(JSON.stringify(plan)).toMatch(/"mode":"trail"/)
  })
})

describe('the length of a walk', () => {
  queryTest(
    'is at most 8 where no bound is written, in every mode, and at most walkEdgesMax where one is',
    data,
    async (db) => {
      const lengths = (mode: string, length: string): Promise<string[]> =>
        found(db, `MATCH w = ${mode} (p:Place {name: 'd'})-[:roads${length}]->(d) RETURN COUNT(w)`)
      expect(await lengths('WALK', '*')).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
      expect(await lengths('WALK', '*9..12')).toEqual(['10', '11', '12', '9'])
      for (const mode of ['', 'WALK', 'TRAIL', 'ACYCLIC', 'SIMPLE']) {
        const { message } = await db.failure(`MATCH ${mode} (p:Place)-[*1..13]->(q) RETURN q`)
        expect(message).toMatch(/at most 12 edges, not 13/)
      }
    },
    { limits: { walkEdgesMax: 12 } },
  )

  queryTest(
    'is bounded by the edges tried, where vertices are repeated too',
    data,
    async (db) => {
      const error = await db.failure('MATCH WALK (p:Place)-[*1..8]-(q) RETURN COUNT() AS n')
      expect(error).toMatchObject({ type: 'LimitExceeded', message: expect.stringMatching(/pathExpansionsMax/) })
    },
    { limits: { pathExpansionsMax: 200 } },
  )
})

describe('a paired link', () => {
  queryTest('is two edges, and -- follows each of them', data, async (db) => {
    const text = (mode: string): string =>
      `MATCH ${mode} (p:Person {name: 'Ann'})-[e]-(q)-[f]-(r) RETURN q.name, e.attribute, r.name, f.attribute`
    expect(await found(db, "MATCH (p:Person {name: 'Ann'})-[e]-(q) RETURN q.name, e.attribute")).toEqual([
      'Bob boss',
      'Bob staff',
    ])
    expect(await found(db, text('TRAIL'))).toEqual(['Bob boss Ann staff', 'Bob staff Ann boss'])
    expect(await found(db, text('SIMPLE'))).toHaveLength(4)
    expect(await found(db, text('WALK'))).toHaveLength(4)
    expect(await found(db, text('ACYCLIC'))).toEqual([])
  })
})
