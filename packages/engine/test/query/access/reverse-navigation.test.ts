/** Paths through references, from the end that has an index. */
import { describe, expect } from 'vitest'
import { rowValues } from '../../row-texts.ts'
import { find, touched } from '../plans.ts'
import { queryTest } from '../query-database.ts'
import { airlineTests, changingTest } from './airline.ts'

const flights = 400
const plannerTest = airlineTests(flights)

describe('paths through references', () => {
  plannerTest('with an indexed end go back over the inverse', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE origin.code = 'a7' RETURN number")
    const back = find(plan, 'reverseNavigation')
    expect([back.inverse, find(back, 'indexScan').index]).toEqual(['departures', 'airportCode'])
    expect([touched(plan), plan.returned]).toEqual([flights / 50, flights / 50])
  })

  plannerTest('with an indexed end go back over an index on the reference', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE destination.code = 'a7' RETURN number")
    const back = find(plan, 'reverseNavigation')
    expect([back.index, find(back, 'indexScan').index]).toEqual(['flightDestination', 'airportCode'])
    expect([touched(plan), plan.returned]).toEqual([flights / 40, flights / 40])
  })

  changingTest('go back over an index on the reference and what else is asked of its keys', async (db) => {
    await db.rows('CREATE INDEX flightDestinationSeats ON Air.Flight (destination, seats)')
    const cases: [predicate: string, conditions: unknown, entryFilter: unknown][] = [
      ["destination.code = 'a7' AND seats = 61", ['seats = 61'], undefined],
      ["destination.code = 'a7' AND seats >= 41 AND seats < 81", ['seats >= 41', 'seats < 81'], undefined],
      ["destination.code = 'a7' AND seats IN (21, 61, 62)", undefined, ['seats IN (21, 61, 62)']],
    ]
    const some = await db.rows("FROM Flight WHERE destination.code = 'a7' RETURN seats")
    expect(new Set(some.map(({ seats }) => seats))).toEqual(new Set([1, 41, 81, 21, 61]))
    for (const [predicate, conditions, entryFilter] of cases) {
      const text = `FROM Flight WHERE ${predicate} ORDER BY number RETURN number`
      const plan = await db.analyze(text)
      const back = find(plan, 'reverseNavigation')
      expect([back.index, back.conditions, back.entryFilter]).toEqual([
        'flightDestinationSeats',
        conditions,
        entryFilter,
      ])
      expect([predicate, find(plan, 'filter').examined]).toEqual([predicate, plan.returned])
    }
  })

  plannerTest('without an index at their end go back from the few objects that are there', async (db) => {
    for (const condition of [
      "origin.name = 'a7'",
      "origin.name > 'a69' AND origin.name < 'a8'",
      "origin.name IN ('a7', 'x')",
    ]) {
      const plan = await db.analyze(`FROM Flight WHERE ${condition} RETURN number`)
      const back = find(plan, 'reverseNavigation')
      expect([back.inverse, find(back, 'extentScan').examined]).toEqual(['departures', 50])
      expect([touched(plan), plan.returned]).toEqual([50, flights / 50])
    }
    const none = await db.rows('FROM Flight WHERE origin.name = $name RETURN number', { name: null })
    expect(none).toEqual([])
    const either = await db.rows("FROM Flight WHERE origin.name = 'a7' OR destination.name = 'a7' RETURN number")
    expect(either).toHaveLength(flights / 50 + flights / 40)
  })

  plannerTest('to a known object go over the inverse', async (db) => {
    const [airport] = await db.rows("FROM Airport WHERE code = 'a7' RETURN *")
    const plan = await db.analyze('FROM Flight WHERE origin = $o RETURN number', { o: airport?.__identifier__ })
    expect([find(plan, 'reverseNavigation').inverse, touched(plan), plan.returned]).toEqual([
      'departures',
      flights / 50,
      flights / 50,
    ])
  })

  plannerTest('to a known object give the first rows without counting the others', async (db) => {
    const [airport] = await db.rows("FROM Airport WHERE code = 'a7' RETURN *")
    const o = airport?.__identifier__
    const plan = await db.analyze('FROM Flight WHERE origin = $o TAKE 2 RETURN number', { o })
    expect([find(plan, 'reverseNavigation').inverse, plan.entriesCounted ?? 0, plan.returned]).toEqual([
      'departures',
      0,
      2,
    ])
    // Few of them may be of a subclass, or fulfil another condition: these are counted.
    for (const text of ['FROM Charter WHERE origin = $o', 'FROM Flight WHERE origin = $o AND plain >= 0']) {
      expect((await db.analyze(`${text} TAKE 2 RETURN number`, { o })).entriesCounted, text).toBeGreaterThan(0)
    }
  })
})

/** Their values stand where objects of Lid have their partner. */
const others = [
  `UPDATE SCHEMA {
    CREATE CLASS Lid {pot: Reference{Referenced: Pot, Inverse: lid}}
    CREATE CLASS Pot {k: Integer, lid: Reference{Referenced: Lid, Inverse: pot}}
    CREATE CLASS Named {name: String}
    CREATE CLASS Sized {size: Integer}
    CREATE CLASS Listed {list: List{Element: Integer}}
  }`,
  'CREATE Lid {}',
  'CREATE Pot {k: 1, lid: (LOOKUP Lid WHERE IS_NULL(pot.k))}; CREATE Pot {k: 2}',
]

describe('the only partner of a known object', () => {
  queryTest('is nobody where the object is of another class', others, async (db) => {
    const [lid] = await db.rows('FROM Lid RETURN *')
    const strangers = await db.fd.createObjects([
      { class: 'Named', attributes: { name: 'no OID' } },
      { class: 'Sized', attributes: { size: 17 } },
      { class: 'Listed', attributes: { list: [1, 2] } },
    ])
    for (const clauses of ['RETURN k', 'ORDER BY k RETURN k', 'GROUP BY k RETURN k']) {
      for (const o of strangers) {
        expect(await db.rows(`FROM Pot WHERE lid = $o ${clauses}`, { o })).toEqual([])
        expect((await db.analyze(`FROM Pot WHERE lid = $o ${clauses}`, { o })).returned).toBe(0)
      }
      const o = [...strangers, lid?.__identifier__]
      expect(await db.rows(`FROM Pot WHERE lid IN $o ${clauses}`, { o })).toEqual([{ k: 1 }])
    }
  })
})

/** Of the things 0 to 4, 0 is in box 0, and 1 in box 1; the others are in none: 4 says so by null. */
const boxes = [
  `UPDATE SCHEMA {
    CREATE CLASS Box {code: Integer, things: List{Element: Reference{Referenced: Thing, Inverse: box}}}
    CREATE CLASS Thing {k: Integer, box: Reference{Referenced: Box, Inverse: things}} }`,
  'CREATE Box {code: 0}; CREATE Box {code: 1}',
  `CREATE Thing {k: 0, box: (LOOKUP Box WHERE code = 0)}; CREATE Thing {k: 1, box: (LOOKUP Box WHERE code = 1)};
   CREATE Thing {k: 2}; CREATE Thing {k: 3, box: 0-0-0-0}; CREATE Thing {k: 4, box: null}`,
  'CREATE INDEX byK ON Thing (k)',
]

describe('a reference to nothing that has an inverse', () => {
  const cases: [text: string, found: readonly number[]][] = [
    ['FROM Thing WHERE box = 0-0-0-0 ORDER BY k RETURN k', [2, 3, 4]],
    ['FROM Thing WHERE box = 0-0-0-0 AND k > 2 ORDER BY k RETURN k', [3, 4]],
    ['FROM Thing WHERE box IN (0-0-0-0, 3-3-9-9) ORDER BY k RETURN k', [2, 3, 4]],
    ['FROM Thing WHERE box IN ((LOOKUP Box WHERE code = 1), 0-0-0-0) ORDER BY k RETURN k', [1, 2, 3, 4]],
    ['FROM Thing WHERE k = 1 OR box = 0-0-0-0 ORDER BY k RETURN k', [1, 2, 3, 4]],
    ['FROM Thing WHERE box = (LOOKUP Box WHERE code = 0) OR box = 0-0-0-0 ORDER BY k RETURN k', [0, 2, 3, 4]],
    ['MATCH (x:Thing {box = 0-0-0-0}) ORDER BY x.k RETURN x.k AS k', [2, 3, 4]],
    ['MATCH (x:Thing), (y:Thing) WHERE x.box = y.box AND x.k = 2 ORDER BY y.k RETURN y.k AS k', [2, 3, 4]],
    ['FROM Thing x, Thing y WHERE x.box = y.box AND x.k < 3 AND y.k > 0 ORDER BY y.k RETURN y.k AS k', [1, 2, 3, 4]],
    ['FROM Thing o ORDER BY k RETURN (FROM Thing x WHERE x.box = o.box RETURN COUNT()) AS k', [1, 1, 3, 3, 3]],
  ]
  for (const [text, found] of cases) {
    queryTest(`is found: ${text}`, boxes, async (db) => {
      expect((await db.rows(text)).map(({ k }) => k)).toEqual(found)
    })
  }

  queryTest('is found by the first rows, and by a deletion', boxes, async (db) => {
    expect(await db.rows('FROM Thing WHERE box = 0-0-0-0 TAKE 2 RETURN k')).toHaveLength(2)
    await db.rows('DELETE Thing WHERE box = 0-0-0-0')
    expect(await db.rows('FROM Thing ORDER BY k RETURN k')).toEqual([{ k: 0 }, { k: 1 }])
  })

  queryTest('is found by callers who see some of the objects', boxes, async (db) => {
    const user = { name: 'u', roles: [], claims: {} }
    const seen = async (rules: { Box?: string; Thing?: string }, text: string): Promise<unknown[]> => {
      const grants = (['Box', 'Thing'] as const).map((className) => {
        const read = rules[className]
        return {
          on: { kind: 'class', className },
          actions: ['read', 'query'],
          ...(read && { rules: { read } }),
        } as const
      })
      return (await rowValues(await db.fd.as({ user, grants }).query({ text }))).map((row) => (row as { k: unknown }).k)
    }
    const nothing = 'FROM Thing WHERE box = 0-0-0-0 ORDER BY k RETURN k'
    expect(await seen({ Thing: 'k != 3' }, nothing)).toEqual([2, 4])
    expect(await seen({ Thing: 'box = 0-0-0-0' }, 'FROM Thing ORDER BY k RETURN k')).toEqual([2, 3, 4])
    // A reference to what a caller may not see is one to nothing, found by a scan or otherwise.
    const scanned = 'FROM Thing WHERE k + 0 = 99 OR box = 0-0-0-0 ORDER BY k RETURN k'
    const lookedUp = 'MATCH (x:Thing {k = 2}), (y:Thing) WHERE x.box = y.box ORDER BY y.k RETURN y.k AS k'
    for (const text of [nothing, scanned, lookedUp]) {
      expect(await seen({ Box: 'code = 0' }, text)).toEqual([1, 2, 3, 4])
    }
  })
})
