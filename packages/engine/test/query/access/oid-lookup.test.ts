/** Predicates on the OID. */
import { describe, expect } from 'vitest'
import { find, touched } from '../plans.ts'
import { airlineTests } from './airline.ts'

const plannerTest = airlineTests(80)

describe('equality', () => {
  plannerTest('on an OID reads the object, not the extent', async (db) => {
    const [row] = await db.rows('FROM Flight WHERE number = 3 RETURN *')
    const oid = row?.__identifier__
    for (const predicate of ['$$ID = $oid', '$oid = $$ID', '$$ID IN LIST{$oid}']) {
      const plan = await db.analyze(`FROM Flight WHERE ${predicate} RETURN *`, { oid })
      expect([find(plan, 'oidLookup').examined, touched(plan), plan.returned]).toEqual([1, 1, 1])
    }
  })
})
