/** Reals beyond all integers are found by the numbers that replies show, written without an exponent. */
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const values = [2 ** 63, 2 ** 64, 1e20, -(2 ** 63), 1e25]
const setUp = [
  'UPDATE SCHEMA { CREATE CLASS Lab.Measure {r: Real} }',
  values.map((value) => `CREATE Measure {r: ${value.toExponential()}}`).join('; '),
]

for (const indexes of [[], ['CREATE INDEX byR ON Measure (r)']]) {
  queryTest(`2^63 and more${indexes.length === 0 ? '' : ', with an index'}`, [...setUp, ...indexes], async (db) => {
    for (const value of values) {
      const shown = BigInt(value).toString()
      const inReply = JSON.stringify(value).includes('e') ? shown : JSON.stringify(value)
      for (const written of [shown, inReply]) {
        expect([written, await db.rows(`FROM Measure WHERE r = ${written} RETURN r`)]).toEqual([
          written,
          [{ r: value }],
        ])
      }
      expect(await db.rows('FROM Measure WHERE r = $r RETURN r', { r: BigInt(value) })).toEqual([{ r: value }])
      expect(await db.rows(`FROM Measure WHERE r >= ${shown} RETURN COUNT() AS n`)).toEqual([
        { n: values.filter((other) => other >= value).length },
      ])
    }
  })
}
