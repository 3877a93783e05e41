/** The vertices of MATCH: which objects they are (DO, sections 1, 3 and 4, Graph patterns). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { found, network } from './network.ts'

describe('a vertex', () => {
  queryTest('is any object, one of a class, or one for which a predicate holds', network, async (db) => {
    expect(await found(db, 'MATCH (x) RETURN COUNT() AS n')).toEqual(['7'])
    expect(await found(db, 'MATCH (p:Place) RETURN p.name')).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(await found(db, 'MATCH (p:City) RETURN p.name')).toEqual(['a', 'd'])
    expect(await found(db, "MATCH (p:Place {name = 'a' OR size > 4}) RETURN p.name")).toEqual(['a', 'e'])
    expect(await found(db, "MATCH (p:Place {name: 'a', size: 1}) RETURN p.name")).toEqual(['a'])
    expect(await found(db, "MATCH (p:Place {name: 'a', size: 2}) RETURN p.name")).toEqual([])
    expect(await found(db, 'MATCH (p:Net.Place {size: $s}) RETURN p.name', { s: 3 })).toEqual(['c'])
  })

  queryTest('may have its class in the plural, where no class has that name', network, async (db) => {
    const places = ['a', 'b', 'c', 'd', 'e']
    expect(await found(db, 'MATCH (p:Places) RETURN p.name')).toEqual(places)
    expect(await found(db, 'MATCH (p:Net.Places)-[:roads]->(:Net::Places {size: 4}) RETURN p.name')).toEqual(['c'])
    expect((await db.failure('MATCH (p:Placess) RETURN p.name')).message).toMatch(/there is no class 'Placess'/)
    await db.rows("UPDATE SCHEMA { CREATE CLASS Places {name: String} }; CREATE Places {name: 'own'}")
    expect(await found(db, 'MATCH (p:Places) RETURN p.name')).toEqual(['own'])
  })
})

describe('the vertices of one MATCH', () => {
  const separate = (count: number): string =>
    `MATCH ${Array.from({ length: count }, () => '(:Place)').join(', ')} RETURN 1`

  queryTest('are at most 501, in one pattern or in many', network, async (db) => {
    expect(await db.rows(`MATCH WALK (p:Person {name: 'Nobody'})${'-->()'.repeat(500)} RETURN p.name`)).toEqual([])
    for (const count of [502, 1500]) {
      const { type, message } = await db.failure(separate(count))
      expect([type, message]).toEqual(['QuerySyntaxError', expect.stringMatching(/MATCH has more than 501 vertices/)])
    }
  })
})

queryTest('rows in which nothing has a name are empty', network, async (db) => {
  expect(await db.rows("MATCH ({name = 'a'})-[:roads]->() RETURN *")).toEqual([{}])
})
