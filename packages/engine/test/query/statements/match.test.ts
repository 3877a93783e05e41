/** MATCH: its names, and what is done with the rows (DO, sections 1, 3 and 4, Graph patterns). */
import { describe, expect } from 'vitest'
import { found, network } from '../match/network.ts'
import { queryTest } from '../query-database.ts'

describe('names', () => {
  queryTest('bound twice are the same object', network, async (db) => {
    expect(
      await found(db, 'MATCH (p:Person)-[:governs]->(q), (q)-[:roads]->(r), (r)<-[:governs]-(o) RETURN p.name, o.name'),
    ).toEqual(['Ann Bob'])
    expect(await found(db, 'MATCH (p:Person)-[:friends]->(o:Person)-[:friends]->(p) RETURN p.name')).toEqual([
      'Ann',
      'Bob',
    ])
  })

  queryTest('may be used in WHERE, and in patterns that have no edge between them', network, async (db) => {
    expect(await found(db, 'MATCH (a:City), (b:City) WHERE a.zip < b.zip RETURN a.name, b.name')).toEqual(['a d'])
    expect(await found(db, 'MATCH (p:Place)-[:roads]->(q) WHERE q.size < p.size RETURN p.name, q.name')).toEqual([
      'c a',
    ])
    expect((await db.failure('MATCH (p:Place) RETURN q.name')).message).toMatch(/the pattern has no name 'q'/)
  })
})

describe('the clauses of MATCH', () => {
  queryTest('are those of FROM', network, async (db) => {
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

  queryTest('RETURN * gives each match as an object by names', network, async (db) => {
    const [row] = await db.rows("MATCH (p:Person {name: 'Ann'})-[e:governs]->(q) RETURN *")
    expect(row).toMatchObject({
      p: { __class__: 'Net.Person', name: 'Ann' },
      e: { attribute: 'governs' },
      q: { __class__: 'Net.City', name: 'a', zip: 11 },
    })
  })
})
