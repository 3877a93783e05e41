/** From where a MATCH is searched, told by EXPLAIN. */
import { describe, expect } from 'vitest'
import { queryTest, type ShownPlan } from '../query-database.ts'
import { network } from './network.ts'

describe('the plan of a pattern', () => {
  const leaves = (plan: ShownPlan): ShownPlan[] => (plan.inputs === undefined ? [plan] : plan.inputs.flatMap(leaves))

  queryTest(
    'begins where an index finds few, and goes back over inverse attributes',
    [...network, 'CREATE UNIQUE INDEX personName ON Person (name)', 'CREATE INDEX placeName ON Place (name)'],
    async (db) => {
      const plan = await db.analyze("MATCH (q:Place)<-[:governs]-(p:Person {name: 'Ann'}) RETURN q.name")
      expect(leaves(plan).map(({ index }) => index)).toContain('personName')
      const back = await db.analyze("MATCH (p:Person)-[:governs]->(q:Place {name: 'a'}) RETURN p.name")
      expect(leaves(back).map(({ index }) => index)).toContain('placeName')
      expect(JSON.stringify(back)).not.toMatch(/scan/)
    },
  )

  queryTest('says that an edge without an inverse is found by a scan', network, async (db) => {
    const plan = await db.analyze("MATCH (p:Place {name: 'e'})<-[:twins]-(q) RETURN q.name")
    expect(JSON.stringify(plan)).toMatch(/scan/)
  })
})
