/** OPTIONAL MATCH: what is found for a row, or null. */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { found, network } from './network.ts'

describe('OPTIONAL MATCH', () => {
  queryTest('gives null where nothing is found', network, async (db) => {
    expect(await found(db, 'MATCH (a:Place) OPTIONAL MATCH (a)-[:roads]->(b) RETURN a.name AS a, b.name AS b')).toEqual(
      ['a b', 'b c', 'c a', 'c d', 'd ', 'e '],
    )
    const counted = 'MATCH (a:Place) OPTIONAL MATCH (a)-[:mayor]->(m) RETURN COUNT() AS n, COUNT(m) AS m'
    expect(await db.rows(counted)).toEqual([{ n: 5, m: 2 }])
    const [row] = await db.rows(
      "MATCH (a:Place {name: 'e'}) OPTIONAL MATCH p = (a)-[e:mayor]->(m) RETURN *, m{name} AS shape",
    )
    expect(row).toMatchObject({ a: { name: 'e' }, e: null, m: null, p: null, shape: null })
  })

  queryTest('has conditions of its own, which leave no row out', network, async (db) => {
    const asked =
      "MATCH (a:Place) OPTIONAL MATCH (a {size < 3})-[:roads]->(b) WHERE b.name = 'c' RETURN a.name AS a, b.name AS b"
    expect(await found(db, asked)).toEqual(['a ', 'b c', 'c ', 'd ', 'e '])
    const before =
      "MATCH (a:Place) WHERE a.name < 'c' OPTIONAL MATCH (a)-[:mayor]->(m {name: 'Bob'}) RETURN a.name AS a, m.name AS m"
    expect(await found(db, before)).toEqual(['a ', 'b Bob'])
  })

  queryTest('goes on from another one', network, async (db) => {
    const text = `MATCH (a:Place) OPTIONAL MATCH (a)-[:mayor]->(m) OPTIONAL MATCH (m)-[:friends]->(f)
      RETURN a.name AS a, m.name AS m, f.name AS f`
    expect(await found(db, text)).toEqual(['a Ann Bob', 'b Bob Ann', 'c  ', 'd  ', 'e  '])
    const shortest = `MATCH (a:Place) OPTIONAL MATCH p = SHORTEST 1 (a)-[:roads*]->(d:City {name: 'd'}) RETURN a.name AS a, LENGTH(p) AS n`
    expect(
      (await db.rows(`FROM (${shortest}) AS r WHERE r.n > 0 ORDER BY n, a RETURN a, n`)).map(({ a, n }) => `${a} ${n}`),
    ).toEqual(['c 1', 'b 2', 'a 3'])
  })

  queryTest('stands where MATCH does, and names nothing before it', network, async (db) => {
    expect(
      await db.rows(
        "FROM Place p WHERE EXISTS(MATCH ANY (x:Place)-[:roads*]->(y {name: 'd'}) WHERE x = p) ORDER BY name RETURN name",
      ),
    ).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }])
    const named =
      "MATCH (optional:Place {name: 'e'}) OPTIONAL MATCH (optional)-[:roads]->(match) RETURN optional.name AS o, match.name AS m"
    expect(await db.rows(named)).toEqual([{ o: 'e', m: null }])
    for (const [text, message] of [
      ["MATCH (a:Place) WHERE b.name = 'x' OPTIONAL MATCH (a)-->(b) RETURN a", "no name 'b'"],
      ['MATCH (a:Place) OPTIONAL MATCH (a:City)-->(b) RETURN a', 'it has no other class there'],
      ['MATCH (a:Place) OPTIONAL (a)-->(b) RETURN a', 'expected MATCH'],
      ['OPTIONAL MATCH (a:Place) RETURN a', 'OPTIONAL'],
      [`MATCH (a:Place)${' OPTIONAL MATCH (a)-->()'.repeat(17)} RETURN a`, 'at most 16 OPTIONAL MATCH'],
    ] as const) {
      expect((await db.failure(text)).message, text).toContain(message)
    }
  })

  queryTest('is shown in plans with what it does for all rows', network, async (db) => {
    const plan = await db.analyze('MATCH (a:Place) OPTIONAL MATCH (a)-[:roads]->(b) RETURN a.name AS a, b.name AS b')
    expect(JSON.stringify(plan)).toContain('"operator":"optional"')
  })

  queryTest('with ANY finds a path for each row, also behind a reference to itself', network, async (db) => {
    const text =
      "MATCH WALK (a:Place {name: 'd'})-[:roads]-(b:Place) OPTIONAL MATCH ANY WALK (b)-[:roads]->(c)-[:roads]->(d:Place) RETURN b.name, d.name"
    expect((await db.rows(text)).filter((row) => row['d.name'] === null)).toEqual([])
  })
})
