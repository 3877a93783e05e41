/** Numbers of which a double does not show all: no integers, and to reals the nearest double (DO, section 5; REST interface, section 9). */
import { expect } from 'vitest'
import { withHiddenFraction } from '../../../src/types/hidden-fraction.ts'
import { queryTest } from '../query-database.ts'

const setUp = [
  `UPDATE SCHEMA {
    CREATE CLASS Lab.Point EMBEDDABLE {i: Integer, r: Real, whole: List{Element: Integer}}
    CREATE CLASS Lab.Measure {
      i: Integer, wide: Integer{Storage: B64}, r: Real, single: Real{Storage: B32}, all: List{Element: Integer},
      reals: List{Element: Real}, point: Object{Class: Lab.Point}
    }
  }`,
  'CREATE Measure {i: 1, wide: 1, r: 9007199254740992.0}',
]

/** As JSON parameters come. */
const parameters = { tiny: withHiddenFraction('1e-400'), list: [1, withHiddenFraction('5.00000000000000000001')] }

queryTest('are no integers', setUp, async (db) => {
  const actions = [
    'SET i TO 1e-400',
    'SET i TO -1e-400',
    'SET i TO 5.00000000000000000001',
    'SET wide TO 9007199254740993.5',
    'SET i TO $tiny',
    'SET all TO LIST{1e-400}',
    'SET all TO LIST{1, 1.0, 1e-400}',
    'SET all TO $list',
    'ADD 1e-400 TO all',
    'ADD $list TO all',
    'SET point.i TO 1e-400',
    'SET point TO Point{i: 1e-400}',
  ]
  const texts = [
    ...actions.map((action) => `UPDATE Measure ${action}`),
    'CREATE Measure {i: 1e-400}',
    'LET q = 1e-400; CREATE Measure {i: $q}',
  ]
  for (const text of texts) {
    const { type, message } = await db.failure(text, parameters)
    expect({ text, type, message }).toEqual({
      text,
      type: 'QueryError',
      message: expect.stringMatching(/a number with a fraction, however small, is not an integer/),
    })
  }
  for (const point of [{ i: parameters.tiny }, { whole: [parameters.tiny] }]) {
    const { type, message } = await db.failure('UPDATE Measure SET point TO $point', { point })
    expect([type, message]).toEqual(['ValueNotAllowed', expect.stringMatching(/0\.0 is not an integer/)])
  }
  expect(await db.rows('FROM Measure RETURN i, wide, all, point')).toEqual([
    { i: 1, wide: 1, all: [], point: { i: 0, r: 0, whole: [] } },
  ])
  await db.rows('UPDATE Measure SET i TO 2.0, wide TO 3e0, all TO LIST{4.0, 5}')
  expect(await db.rows('FROM Measure RETURN i, wide, all')).toEqual([{ i: 2, wide: 3, all: [4, 5] }])
})

queryTest('are the nearest double to reals', setUp, async (db) => {
  await db.rows(
    'UPDATE Measure SET r TO 1e-400, single TO $tiny, reals TO LIST{1e-400, 2.00000000000000000001}, point TO $point',
    {
      ...parameters,
      point: { r: parameters.tiny },
    },
  )
  expect(
    await db.rows(
      'FROM Measure WHERE r = 1e-400 AND r = $tiny AND 1e-400 IN reals RETURN r, single, reals, point.r AS inner',
      parameters,
    ),
  ).toEqual([{ r: 0, single: 0, reals: [0, 2], inner: 0 }])
})

for (const indexes of [[], ['CREATE INDEX byR ON Measure (r)']]) {
  const by = indexes.length === 0 ? '' : ', with an index'
  queryTest(
    `a literal or parameter compared with a real is the nearest double, on either side${by}`,
    [...setUp, ...indexes],
    async (db) => {
      const given = 9007199254740993n
      for (const condition of [
        'r = 9007199254740993',
        '9007199254740993 = r',
        'r = 9007199254740993.0',
        'r = $given',
        '$given = r',
        'r <= 9007199254740993 AND r >= 9007199254740993',
        'r IN LIST{1, 9007199254740993}',
        'r IN $all',
        'r = $record.field',
        "r = '9007199254740993'",
        'NOT r < 9007199254740993',
        'NOT 9007199254740993 > r',
        'LIST{r} ALL_EQUAL 9007199254740993',
      ]) {
        const rows = await db.rows(`FROM Measure WHERE ${condition} RETURN r`, {
          given,
          all: [1n, given],
          record: { field: given },
        })
        expect([condition, rows]).toEqual([condition, [{ r: 9007199254740992 }]])
      }
      expect(await db.rows('FROM Measure WHERE r = 9007199254740995 RETURN r')).toEqual([])
    },
  )
}
