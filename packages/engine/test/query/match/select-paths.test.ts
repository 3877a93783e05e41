/** Which paths of a pattern are taken, and what is asked of them afterwards. */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'

/** Two ways from one port to another; the stops are fewer than the ports, so the search begins at them. */
const ways = [
  `UPDATE SCHEMA {
    CREATE CLASS Way.Port {n: Integer, next: List{Element: Reference{Referenced: Way.Stop, Inverse: before}},
      previous: List{Element: Reference{Referenced: Way.Stop, Inverse: behind}}}
    CREATE CLASS Way.Stop {x: Integer, before: List{Element: Reference{Referenced: Way.Port, Inverse: next}},
      behind: List{Element: Reference{Referenced: Way.Port, Inverse: previous}}}
  }`,
  `LET a = (CREATE Port {n: 1}); LET b = (CREATE Port {n: 2}); CREATE Port {n: 3};
   CREATE Stop {x: 4, before: LIST{$a}, behind: LIST{$b}}; CREATE Stop {x: 5, before: LIST{$a}, behind: LIST{$b}}`,
]

const pattern = '(a:Port)-[:next]->(s:Stop)-[:behind]->(b:Port)'

describe('WHERE behind ANY and the like (contract 2.2.56)', () => {
  queryTest('is asked of the paths that were taken, also where the search begins within them', ways, async (db) => {
    expect(await db.rows(`MATCH ALL SHORTEST ${pattern} WHERE s.x = 5 RETURN s.x AS x`)).toEqual([{ x: 5 }])
    const taken = await Promise.all([4, 5].map((x) => db.rows(`MATCH ANY ${pattern} WHERE s.x = ${x} RETURN s.x AS x`)))
    // One path is taken, over one of both.
    expect(taken.flat()).toHaveLength(1)
    expect(await db.rows(`MATCH ANY (a:Port)-[:next]->(s:Stop {x = 5})-[:behind]->(b:Port) RETURN s.x AS x`)).toEqual([
      { x: 5 },
    ])
  })

  queryTest('is asked of a vertex that is within the paths of an OPTIONAL MATCH', ways, async (db) => {
    const text = `MATCH (s:Stop) WHERE s.x = 5 OPTIONAL MATCH ANY ${pattern.replace(':Stop', '')} RETURN s.x AS x, a.n AS n`
    expect(await db.rows(text)).toEqual([{ x: 5, n: 1 }])
  })
})
