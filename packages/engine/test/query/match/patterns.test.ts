/** MATCH: vertices, edges in every direction and length, names, walks and limits (DO, sections 1, 3 and 4, Graph patterns). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest, type ShownPlan } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Net.Place {name: String, size: Integer, roads: List{Element: Reference{Referenced: Net.Place}},
    mayor: Reference{Referenced: Net.Person, Inverse: governs}, twins: Set{Element: Reference{Referenced: Net.Place}}}
  CREATE CLASS Net.City SUPERCLASS Net.Place {zip: Integer, byName: Map{Key: String, Element: Reference{Referenced: Net.Person}}}
  CREATE CLASS Net.Person {name: String, governs: Reference{Referenced: Net.Place, Inverse: mayor},
    friends: List{Element: Reference{Referenced: Net.Person, Inverse: friends}}}
}`

/** a → b → c → a, c → d, d → d; e apart. Ann governs a, Bob b; Ann and Bob are friends. */
const net = `
  LET e = CREATE Place {name: 'e', size: 5};
  LET d = CREATE City {name: 'd', size: 4, zip: 44};
  LET c = CREATE Place {name: 'c', size: 3};
  LET b = CREATE Place {name: 'b', size: 2, roads: LIST{$c}};
  LET a = CREATE City {name: 'a', size: 1, zip: 11, roads: LIST{$b}, twins: SET{$e}};
  UPDATE Place WHERE $$ID = $c SET roads TO LIST{$a, $d};
  UPDATE Place WHERE $$ID = $d SET roads TO LIST{$d};
  LET ann = CREATE Person {name: 'Ann', governs: $a};
  LET bob = CREATE Person {name: 'Bob', governs: $b, friends: LIST{$ann}};
  UPDATE City WHERE $$ID = $a SET byName TO MAP{'x': $bob}`

const data = [schema, net]

async function found(db: QueryDatabase, text: string, parameters = {}): Promise<string[]> {
  const rows = await db.rows(text, parameters)
  return rows.map((row) => Object.values(row).join(' ')).sort()
}

describe('a vertex', () => {
  queryTest('is any object, one of a class, or one for which a predicate holds', data, async (db) => {
    expect(await found(db, 'MATCH (x) RETURN COUNT() AS n')).toEqual(['7'])
    expect(await found(db, 'MATCH (p:Place) RETURN p.name')).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(await found(db, 'MATCH (p:City) RETURN p.name')).toEqual(['a', 'd'])
    expect(await found(db, "MATCH (p:Place {name = 'a' OR size > 4}) RETURN p.name")).toEqual(['a', 'e'])
    expect(await found(db, "MATCH (p:Place {name: 'a', size: 1}) RETURN p.name")).toEqual(['a'])
    expect(await found(db, "MATCH (p:Place {name: 'a', size: 2}) RETURN p.name")).toEqual([])
    expect(await found(db, 'MATCH (p:Net.Place {size: $s}) RETURN p.name', { s: 3 })).toEqual(['c'])
  })

  queryTest('may have its class in the plural, where no class has that name', data, async (db) => {
    const places = ['a', 'b', 'c', 'd', 'e']
    expect(await found(db, 'MATCH (p:Places) RETURN p.name')).toEqual(places)
    expect(await found(db, 'MATCH (p:Net.Places)-[:roads]->(:Net::Places {size: 4}) RETURN p.name')).toEqual(['c'])
    expect((await db.failure('MATCH (p:Placess) RETURN p.name')).message).toMatch(/there is no class 'Placess'/)
    await db.rows("UPDATE SCHEMA { CREATE CLASS Places {name: String} }; CREATE Places {name: 'own'}")
    expect(await found(db, 'MATCH (p:Places) RETURN p.name')).toEqual(['own'])
  })
})

describe('an edge', () => {
  queryTest('goes forward, backward or either way, by one attribute or by any', data, async (db) => {
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

  queryTest('that is named tells where it goes', data, async (db) => {
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

  queryTest('of an attribute that no class has is an error', data, async (db) => {
    const error = await db.failure('MATCH (p:Place)-[:raods]->(q) RETURN q')
    expect(error).toMatchObject({ type: 'QueryError', extensions: { line: 1, column: 19, text: 'raods' } })
    expect(error.message).toMatch(/Did you mean roads/)
    expect((await db.failure('MATCH (p:Place)-[:name]->(q) RETURN q')).type).toBe('QueryError')
    expect((await db.failure('MATCH (p:Plaec) RETURN p')).message).toMatch(/Did you mean Place/)
  })
})

describe('a walk', () => {
  queryTest('has as many edges as it says, and visits no vertex twice', data, async (db) => {
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
    expect(await found(db, "MATCH (p:Place {name: 'd'})<-[:roads*1..3]-(q) RETURN q.name")).toEqual(['a', 'b', 'c'])
    expect(await found(db, "MATCH (p:Place {name: 'b'})-[:roads*2]-(q) RETURN q.name")).toEqual(['a', 'c', 'd'])
  })

  queryTest('that is named is an array of its edges', data, async (db) => {
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

  queryTest('may end where it began only if that vertex is named before', data, async (db) => {
    expect(await found(db, 'MATCH (p:Place)-[:roads*3]->(p) RETURN p.name')).toEqual(['a', 'b', 'c'])
    expect(await found(db, 'MATCH (p:Place)-[:roads]->(p) RETURN p.name')).toEqual(['d'])
  })

  queryTest(
    'is bounded: by what is written, by the largest bound, and by the edges that it tries',
    data,
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

describe('names', () => {
  queryTest('bound twice are the same object', data, async (db) => {
    expect(
      await found(db, 'MATCH (p:Person)-[:governs]->(q), (q)-[:roads]->(r), (r)<-[:governs]-(o) RETURN p.name, o.name'),
    ).toEqual(['Ann Bob'])
    expect(await found(db, 'MATCH (p:Person)-[:friends]->(o:Person)-[:friends]->(p) RETURN p.name')).toEqual([
      'Ann',
      'Bob',
    ])
  })

  queryTest('may be used in WHERE, and in patterns that have no edge between them', data, async (db) => {
    expect(await found(db, 'MATCH (a:City), (b:City) WHERE a.zip < b.zip RETURN a.name, b.name')).toEqual(['a d'])
    expect(await found(db, 'MATCH (p:Place)-[:roads]->(q) WHERE q.size < p.size RETURN p.name, q.name')).toEqual([
      'c a',
    ])
    expect((await db.failure('MATCH (p:Place) RETURN q.name')).message).toMatch(/the pattern has no name 'q'/)
  })
})

describe('the clauses of MATCH', () => {
  queryTest('are those of FROM', data, async (db) => {
    const grouped = 'MATCH (p:Place)-[:roads]->(q) GROUP BY p.name HAVING COUNT() > 1 RETURN p.name AS n, COUNT() AS c'
    expect(await db.rows(grouped)).toEqual([{ n: 'c', c: 2 }])
    expect(await db.rows('MATCH (p:Place) ORDER BY p.size DESC SKIP 1 TAKE 2 RETURN p.name AS n')).toEqual([
      { n: 'd' },
      { n: 'c' },
    ])
    expect(await db.rows('MATCH (p:Place) ORDER BY p.size TAKE WHILE p.size < 3 RETURN p.name AS n')).toEqual([
      { n: 'a' },
      { n: 'b' },
    ])
    expect(await db.rows('MATCH (p:Place) RETURN AVG(p.size) AS avg')).toEqual([{ avg: 3 }])
  })

  queryTest('RETURN * gives each match as an object by names', data, async (db) => {
    const [row] = await db.rows("MATCH (p:Person {name: 'Ann'})-[e:governs]->(q) RETURN *")
    expect(row).toMatchObject({
      p: { __class__: 'Net.Person', name: 'Ann' },
      e: { attribute: 'governs' },
      q: { __class__: 'Net.City', name: 'a', zip: 11 },
    })
  })
})

describe('the vertices of one MATCH', () => {
  const separate = (count: number): string =>
    `MATCH ${Array.from({ length: count }, () => '(:Place)').join(', ')} RETURN 1`

  queryTest('are at most 501, in one pattern or in many', data, async (db) => {
    expect(await db.rows(`MATCH WALK (p:Person {name: 'Nobody'})${'-->()'.repeat(500)} RETURN p.name`)).toEqual([])
    for (const count of [502, 2000]) {
      const { type, message } = await db.failure(separate(count))
      expect([type, message]).toEqual(['QuerySyntaxError', expect.stringMatching(/MATCH has more than 501 vertices/)])
    }
  })
})

describe('the plan of a pattern', () => {
  const leaves = (plan: ShownPlan): ShownPlan[] => (plan.inputs === undefined ? [plan] : plan.inputs.flatMap(leaves))

  queryTest(
    'begins where an index finds few, and goes back over inverse attributes',
    [...data, 'CREATE UNIQUE INDEX personName ON Person (name)', 'CREATE INDEX placeName ON Place (name)'],
    async (db) => {
      const plan = await db.analyze("MATCH (q:Place)<-[:governs]-(p:Person {name: 'Ann'}) RETURN q.name")
      expect(leaves(plan).map(({ index }) => index)).toContain('personName')
      const back = await db.analyze("MATCH (p:Person)-[:governs]->(q:Place {name: 'a'}) RETURN p.name")
      expect(leaves(back).map(({ index }) => index)).toContain('placeName')
      expect(JSON.stringify(back)).not.toMatch(/scan/)
    },
  )

  queryTest('says that an edge without an inverse is found by a scan', data, async (db) => {
    const plan = await db.analyze("MATCH (p:Place {name: 'e'})<-[:twins]-(q) RETURN q.name")
    expect(JSON.stringify(plan)).toMatch(/scan/)
  })
})
