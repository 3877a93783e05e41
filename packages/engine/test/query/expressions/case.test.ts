/** CASE: the value of the first branch that fits. */
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'

queryTest('CASE', [], async (db) => {
  const values: Readonly<Record<string, unknown>> = {
    'CASE WHEN 1 = 2 THEN 1 WHEN 2 = 2 THEN 2 ELSE 3 END': 2,
    'CASE WHEN null THEN 1 ELSE 3 END': 3,
    'CASE WHEN false THEN 1 END': null,
    "CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END": 'two',
    "CASE null WHEN null THEN 'null' ELSE 'other' END": 'other',
    'CASE 1 WHEN 1 THEN 1 ELSE 2.5 END': 1,
    'CASE WHEN true THEN null ELSE 1 END': null,
    'CASE WHEN true THEN 2 END + 1': 3,
    'CASE (1) WHEN 1 THEN 2 END': 2,
    'CASE -$one WHEN -1 THEN 2 END': 2,
    "CASE 2024-02-29 WHEN '2024-02-29' THEN 1 END": 1,
    'CASE WHEN true THEN CASE $one WHEN 1 THEN 5 END END': 5,
    // What is not asked for is not worked out.
    'CASE WHEN true THEN 1 ELSE 9223372036854775807 * $two END': 1,
  }
  for (const [text, value] of Object.entries(values)) {
    expect({ text, value: await db.value(text, { one: 1, two: 2 }) }).toEqual({ text, value })
  }
})

queryTest(
  'the operand of CASE is worked out once, and its words are names elsewhere',
  [
    'UPDATE SCHEMA { CREATE CLASS T {case: Integer, when: Integer, then: Integer, else: Integer, end: Integer, distinct: Integer} }',
    'CREATE T {case: 1, when: 2, then: 3, else: 4, end: 5, distinct: 6}',
  ],
  async (db) => {
    const all = await db.rows(
      'FROM T WHERE case = 1 AND case + 0 IN (1, 2) ORDER BY case DESC RETURN case, when, then, else, end',
    )
    expect(JSON.stringify(all)).toBe('[{"case":1,"when":2,"then":3,"else":4,"end":5}]')
    expect(
      await db.rows(
        'FROM T RETURN CASE `case` WHEN 1 THEN then ELSE else END AS x, CASE WHEN end = 5 THEN end END AS y',
      ),
    ).toEqual([{ x: 3, y: 5 }])
    expect(await db.rows('FROM T RETURN CASE `case` + 0 WHEN 1 THEN when END AS z')).toEqual([{ z: 2 }])
    expect(await db.rows('FROM T RETURN case, CASE `when` WHEN 2 THEN 7 END AS w')).toEqual([{ case: 1, w: 7 }])
    expect(await db.rows('FROM T GROUP BY distinct RETURN distinct, distinct + 0 AS d, COUNT(distinct) AS n')).toEqual([
      { distinct: 6, d: 6, n: 1 },
    ])
    expect(await db.rows('SELECT distinct FROM T')).toEqual([{ distinct: 6 }])
    expect(await db.rows('SELECT DISTINCT distinct FROM T')).toEqual([{ distinct: 6 }])
    expect(await db.rows('FROM T RETURN distinct = 6 AS six')).toEqual([{ six: true }])
    expect(await db.rows('FROM T RETURN distinct AS d ORDER BY distinct')).toEqual([{ d: 6 }])
    const drawn = await db.rows(
      'FOR EACH i IN $many => (CREATE T {case: $i}); FROM T WHERE case >= 0 RETURN CASE SIGN(RAND() - 0.5) WHEN -1 THEN true WHEN 1 THEN true END AS isDrawn',
      { many: Array.from({ length: 200 }, (_, i) => i) },
    )
    expect(drawn.every(({ isDrawn }) => isDrawn === true)).toBe(true)
  },
)
