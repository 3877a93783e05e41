/** Random statements within others, with and without indexes: the rows that a naive evaluator finds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { kindNames } from '../query-database.ts'
import { predicate, type Term, type Thing } from './random-predicate.ts'
import { data, indexes, withThings } from './random-things.ts'

/** What joins a thing `u` of the statement within to the thing `t` around it. */
const joins: readonly (readonly [text: string, holds: (u: Thing, t: Thing) => boolean])[] = [
  ['u.i = t.i', (u, t) => u.i !== null && u.i === t.i],
  ['u.s = t.s', (u, t) => u.s !== null && u.s === t.s],
  ['u.place = t.place AND IS_VALID(t.place)', (u, t) => t.place !== null && u.place?.code === t.place.code],
  ['u.i < t.key', (u, t) => u.i !== null && u.i < t.key],
  ['u.where.zip = t.i', (u, t) => u.zip !== null && u.zip === t.i],
  ['t.key = u.key + 1', (u, t) => t.key === u.key + 1],
  ['u.place.code = t.i', (u, t) => t.i !== null && u.place !== null && u.place.code === t.i],
]

interface Within {
  readonly where: Term<boolean>
  readonly join: (typeof joins)[number]
  readonly inner: Term<boolean>
  readonly isNegated: boolean
}

const within: fc.Arbitrary<Within> = fc.record({
  where: predicate,
  join: fc.constantFrom(...joins),
  inner: predicate,
  isNegated: fc.boolean(),
})

const byKey = (one: number, other: number): number => one - other

describe('a statement within another finds what a naive evaluator finds', () => {
  for (const [kind, suffix] of kindNames.entries()) {
    for (const setUp of [[], indexes]) {
      it(`${setUp.length === 0 ? 'without' : 'with'} indexes${suffix}`, async () => {
        await fc.assert(
          fc.asyncProperty(data, fc.array(within, { minLength: 4, maxLength: 8 }), async (things, all) => {
            await withThings(setUp, kind, things, async (db) => {
              for (const { where, join, inner, isNegated } of all) {
                const rows = `FROM T.Thing u WHERE ${join[0]} AND (${inner.text})`
                const matches = (t: Thing): Thing[] => {
                  return things.filter((u) => join[1](u, t) && inner.evaluate(u) === true)
                }
                const around = things.filter((t) => where.evaluate(t) === true)
                const exists = `FROM T.Thing t WHERE (${where.text}) AND ${isNegated ? 'NOT ' : ''}EXISTS(${rows}) ORDER BY key RETURN key`
                const found = (await db.rows(exists)).map(({ key }) => key)
                const kept = around.filter((t) => matches(t).length > 0 !== isNegated)
                expect({ exists, found }).toEqual({ exists, found: kept.map(({ key }) => key).sort(byKey) })
                const values = `FROM T.Thing t WHERE ${where.text} ORDER BY key RETURN key, (${rows} ORDER BY u.key RETURN u.key) AS keys, (${rows} RETURN COUNT() AS n, MAX(u.i) AS most) AS sums`
                const expected = around.map((t) => {
                  const numbers = matches(t).flatMap(({ i }) => i ?? [])
                  const most = numbers.length === 0 ? null : Math.max(...numbers)
                  const keys = matches(t).map(({ key }) => key)
                  return { key: t.key, keys, sums: [{ n: matches(t).length, most }] }
                })
                expect({ values, rows: await db.rows(values) }).toEqual({ values, rows: expected })
              }
            })
          }),
          runs(15),
        )
      })
    }
  }
})
