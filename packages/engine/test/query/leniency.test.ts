/** What is clear is accepted in other forms too: clauses behind RETURN, times without seconds. */
import { expect } from 'vitest'
import { queryTest } from './query-database.ts'

queryTest(
  'ORDER BY, SKIP and TAKE may stand behind RETURN',
  ['UPDATE SCHEMA { CREATE CLASS T {n: Integer} }; FOR EACH i IN LIST{3, 1, 2} => (CREATE T {n: $i})'],
  async (db) => {
    const two = [{ n: 2 }, { n: 1 }]
    expect(await db.rows('FROM T RETURN n ORDER BY n DESC SKIP 1 TAKE 2')).toEqual(two)
    expect(await db.rows('FROM T ORDER BY n DESC RETURN n OFFSET 1 LIMIT 2')).toEqual(two)
    expect(await db.rows('FROM T ORDER BY n DESC SKIP 1 RETURN n TAKE 2')).toEqual(two)
    expect(await db.rows('MATCH (t:T) RETURN t.n AS n ORDER BY t.n DESC SKIP 1 TAKE 2')).toEqual(two)
    expect(await db.value('(FROM T RETURN n ORDER BY n DESC TAKE 1)')).toEqual([3])
    expect(await db.rows('UPDATE T SET n TO n + 1 RETURN n ORDER BY n')).toEqual([{ n: 2 }, { n: 3 }, { n: 4 }])
    expect(await db.rows('DELETE T RETURN n ORDER BY n DESC')).toEqual([{ n: 4 }, { n: 3 }, { n: 2 }])
  },
)

queryTest('a time without seconds', [], async (db) => {
  const values: Readonly<Record<string, unknown>> = {
    '08:05': '08:05:00',
    '8:05 < 08:05:01': true,
    '09:00 BETWEEN 08:00 AND 10:00': true,
    '09:00 IN (08:00, 09:00)': true,
    '09:00 IN LIST{08:00, 09:00}': true,
    'COALESCE(8:00, 9:00)': '08:00:00',
    // As ever: pairs of a map, and ranges.
    "MAP{'a': 08:00}": { a: '08:00:00' },
    '$p[0:10]': [1, 2, 3],
    '$p[1:02]': [2],
    '$p[($p[0]):03]': [2, 3],
  }
  for (const [text, value] of Object.entries(values)) {
    expect({ text, value: await db.value(text, { p: [1, 2, 3] }) }).toEqual({ text, value })
  }
})

queryTest(
  'a key of a map stands before the colon, blanks or none',
  ['UPDATE SCHEMA { CREATE CLASS T {at: Time} }; CREATE T {at: 10:30}'],
  async (db) => {
    expect(await db.value('MAP{8:30, 10:40}')).toEqual({ 8: 30, 10: 40 })
    expect(await db.rows('MATCH (t:T {at: 10:30}) RETURN t.at AS at')).toEqual([{ at: '10:30:00' }])
  },
)

queryTest(
  'a column of distinct rows orders them by its name, where the attribute of that name is not returned',
  [
    `UPDATE SCHEMA { CREATE CLASS T {n: Integer, u: Reference{Referenced: U}} CREATE CLASS U {name: String} };
     FOR EACH i IN LIST{'b', 'a', 'b'} => (CREATE T {n: LENGTH($i), u: CREATE U {name: $i}})`,
  ],
  async (db) => {
    const named = [{ u: 'a' }, { u: 'b' }]
    expect(await db.rows('SELECT DISTINCT u.name AS u FROM T ORDER BY u')).toEqual(named)
    expect(await db.rows('FROM T RETURN DISTINCT u.name AS u ORDER BY u DESC')).toEqual(named.toReversed())
    // As ever: the attribute, where it is returned.
    expect(await db.rows("SELECT DISTINCT n AS m, CASE WHEN n = 1 THEN 'x' END AS n FROM T ORDER BY n")).toEqual([
      { m: 1, n: 'x' },
    ])
    expect((await db.failure('SELECT DISTINCT u.name AS v FROM T ORDER BY u')).message).toContain(
      'rows that are distinct',
    )
  },
)
