/** Random joins by value, with and without indexes, of objects and of rows: the rows that a naive evaluator finds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { kindNames, type Row } from '../query-database.ts'
import { predicate, type Term, type Thing } from './random-predicate.ts'
import { data, indexes, withThings } from './random-things.ts'

type Holds = (t: Thing, u: Thing) => boolean
const equal = <T>(one: T | null, other: T | null): boolean => one !== null && one === other

const joins: readonly (readonly [text: string, holds: Holds])[] = [
  ['t.i = u.i', (t, u) => equal(t.i, u.i)],
  ['u.r = t.i', (t, u) => equal(u.r, t.i)],
  ['t.s = u.s', (t, u) => equal(t.s, u.s)],
  ['t.d = u.d AND t.b = u.b', (t, u) => equal(t.d, u.d) && equal(t.b, u.b)],
  ['t.place = u.place AND IS_VALID(t.place)', (t, u) => t.place !== null && t.place.code === u.place?.code],
  ['t.i + 1 = u.i', (t, u) => t.i !== null && t.i + 1 === u.i],
  ['t.where.zip = u.where.zip', (t, u) => equal(t.zip, u.zip)],
  ['t.key < u.key', (t, u) => t.key < u.key],
  ['u.i > t.i', (t, u) => t.i !== null && u.i !== null && u.i > t.i],
  ['(t.i = u.i OR t.s = u.s)', (t, u) => equal(t.i, u.i) || equal(t.s, u.s)],
  ['true', () => true],
]

interface Join {
  readonly join: (typeof joins)[number]
  readonly where: Term<boolean>
  readonly kind: 'objects' | 'rows'
}

const join: fc.Arbitrary<Join> = fc.record({
  join: fc.constantFrom(...joins),
  where: predicate,
  kind: fc.constantFrom('objects', 'rows'),
})

const rowsOfThings = '(FROM T.Thing RETURN key, i, r, s, b, d, place, where) AS u'

describe('a join finds what a naive evaluator finds', () => {
  for (const [kind, suffix] of kindNames.entries()) {
    for (const setUp of [[], indexes]) {
      it(`${setUp.length === 0 ? 'without' : 'with'} indexes${suffix}`, async () => {
        await fc.assert(
          fc.asyncProperty(data, fc.array(join, { minLength: 4, maxLength: 8 }), async (things, all) => {
            await withThings(setUp, kind, things, async (db) => {
              for (const { join: joined, where, kind: of } of all) {
                const source = of === 'objects' ? 'T.Thing u' : rowsOfThings
                const left = `(FROM T.Thing WHERE ${where.text} RETURN *) AS t`
                const text = `FROM ${left}, ${source} WHERE ${joined[0]} ORDER BY t.key, u.key RETURN t.key AS t, u.key AS u`
                const found: Row[] = await db.rows(text)
                const expected = things
                  .filter((t) => where.evaluate(t) === true)
                  .flatMap((t) => things.filter((u) => joined[1](t, u)).map((u) => ({ t: t.key, u: u.key })))
                expect({ text, found }).toEqual({ text, found: expected })
                const plain = `FROM T.Thing t, ${source} WHERE ${joined[0]} ORDER BY t.key, u.key RETURN t.key AS t, u.key AS u`
                const pairs = things.flatMap((t) =>
                  things.filter((u) => joined[1](t, u)).map((u) => ({ t: t.key, u: u.key })),
                )
                expect({ plain, found: await db.rows(plain) }).toEqual({ plain, found: pairs })
              }
            })
          }),
          runs(15),
        )
      })
    }
  }
})
