/** Random conditions on elements of lists, pages behind a row, and values that are lists, with and without indexes: what a naive evaluator finds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { kindNames, type QueryDatabase } from '../query-database.ts'
import { byText, type Place, predicate, type Term, type Thing } from './random-predicate.ts'
import { data, indexes, withThings } from './random-things.ts'

type Truth = boolean | null

const not = (value: Truth): Truth => (value === null ? null : !value)

/** True where one is, else null where one may be. */
function anyOf(values: readonly Truth[]): Truth {
  if (values.includes(true)) return true
  return values.includes(null) ? null : false
}

const allOf = (values: readonly Truth[]): Truth => not(anyOf(values.map(not)))

/** Of few things, which an index finds, and of any. */
const element: fc.Arbitrary<Term<boolean>> = fc.oneof(
  fc.array(fc.nat(30), { minLength: 1, maxLength: 3 }).map((keys): Term<boolean> => {
    const text = keys.length === 1 ? `key = ${keys[0]}` : `key IN (${keys.join(', ')})`
    return { text, evaluate: ({ key }) => keys.includes(key) }
  }),
  fc.tuple(fc.nat(30), predicate).map(
    ([key, where]): Term<boolean> => ({
      text: `key = ${key} AND (${where.text})`,
      evaluate: (thing) => (thing.key === key ? where.evaluate(thing) : false),
    }),
  ),
  predicate,
)

const placeCondition = fc.tuple(element, element, fc.constantFrom('ANY', 'ALL'), fc.constantFrom('AND', 'OR', 'NOT'))

function placesOf(things: readonly Thing[]): Place[] {
  return [...new Set(things.map(({ place }) => place))].filter((place) => place !== null)
}

async function checkLists(
  db: QueryDatabase,
  things: readonly Thing[],
  [one, other, word, joined]: readonly [Term<boolean>, Term<boolean>, string, string],
): Promise<void> {
  const first = `things ${word} (${one.text})`
  const second = `things ANY (${other.text})`
  const condition = joined === 'NOT' ? `NOT ${first} AND ${second}` : `${first} ${joined} ${second}`
  const expected = placesOf(things).filter((place) => {
    const own = things.filter((thing) => thing.place?.code === place.code)
    const of = (term: Term<boolean>): Truth[] => own.map((thing) => term.evaluate(thing))
    const left = word === 'ANY' ? anyOf(of(one)) : allOf(of(one))
    const right = anyOf(of(other))
    if (joined === 'OR') return left === true || right === true
    return (joined === 'NOT' ? not(left) : left) === true && right === true
  })
  const found = (await db.rows(`FROM T.Place WHERE ${condition} RETURN code`)).map(({ code }) => code as number)
  const codes = expected.map(({ code }) => code as number)
  expect({ condition, found: found.sort() }).toEqual({ condition, found: codes.sort() })
}

const page = fc.record({
  by: fc.constantFrom('i', 's', 'd'),
  isDescending: fc.boolean(),
  from: fc.nat(29),
  take: fc.integer({ min: 1, max: 7 }),
  where: predicate,
})

type Page = typeof page extends fc.Arbitrary<infer P> ? P : never

function compare(one: string | number, other: string | number): number {
  return typeof one === 'string' ? byText(one, other as string) : one - (other as number)
}

/** The rows behind one of them, in an order that an index may have. */
async function checkPage(
  db: QueryDatabase,
  things: readonly Thing[],
  { by, isDescending, from, take, where }: Page,
): Promise<void> {
  const last = things[from % things.length] as Thing
  const keyOf = (thing: Thing): string | number | null => thing[by as 'i' | 's' | 'd']
  const value = keyOf(last)
  if (value === null) return
  const behind = (thing: Thing): boolean => {
    const own = keyOf(thing)
    if (own === null) return false
    const order = compare(own, value)
    return order === 0 ? thing.key > last.key : isDescending ? order < 0 : order > 0
  }
  const rows = things
    .filter((thing) => behind(thing) && where.evaluate(thing) === true)
    .sort((one, other) => {
      const order = compare(keyOf(one) as string, keyOf(other) as string)
      return (isDescending ? -order : order) || one.key - other.key
    })
  const sign = isDescending ? '<' : '>'
  const text = `FROM T.Thing WHERE (${by} ${sign} $v OR (${by} = $v AND key > $k)) AND (${where.text}) ORDER BY ${by}${isDescending ? ' DESC' : ''}, key TAKE ${take} RETURN key`
  const found = (await db.rows(text, { v: value, k: last.key })).map(({ key }) => key)
  expect({ text, value, found }).toEqual({ text, value, found: rows.slice(0, take).map(({ key }) => key) })
}

/** A statement whose only value is a list: as a variable, within another one and as a source. */
async function checkCollected(
  db: QueryDatabase,
  things: readonly Thing[],
  [where, other]: readonly [Term<boolean>, Term<boolean>],
): Promise<void> {
  const collected = things.filter((thing) => where.evaluate(thing) === true).flatMap(({ i }) => i ?? [])
  const list = `(FROM T.Thing WHERE ${where.text} RETURN COLLECT(i))`
  const expected = things
    .filter((thing) => thing.i !== null && collected.includes(thing.i) && other.evaluate(thing) === true)
    .map(({ key }) => key)
  for (const text of [
    `LET l = ${list}; FROM T.Thing WHERE i IN $l AND (${other.text}) ORDER BY key RETURN key`,
    `FROM T.Thing WHERE i IN ${list} AND (${other.text}) ORDER BY key RETURN key`,
  ]) {
    expect({ text, found: (await db.rows(text)).map(({ key }) => key) }).toEqual({ text, found: expected })
  }
  const source = `FROM ${list.replace('COLLECT(i)', 'COLLECT(i) AS l')} AS r RETURN COUNT(r.l) AS n`
  expect({ source, rows: await db.rows(source) }).toEqual({ source, rows: [{ n: collected.length }] })
}

const asked = fc.record({
  lists: fc.array(placeCondition, { minLength: 4, maxLength: 8 }),
  pages: fc.array(page, { minLength: 4, maxLength: 8 }),
  collected: fc.array(fc.tuple(predicate, predicate), { minLength: 2, maxLength: 4 }),
})

describe('elements of lists, pages and lists as values are what a naive evaluator finds', () => {
  for (const [kind, suffix] of kindNames.entries()) {
    for (const setUp of [[], indexes]) {
      it(`${setUp.length === 0 ? 'without' : 'with'} indexes${suffix}`, async () => {
        await fc.assert(
          fc.asyncProperty(data, asked, async (things, { lists, pages, collected }) => {
            await withThings(setUp, kind, things, async (db) => {
              for (const each of lists) await checkLists(db, things, each)
              for (const each of pages) await checkPage(db, things, each)
              for (const each of collected) await checkCollected(db, things, each)
            })
          }),
          runs(15),
        )
      })
    }
  }
})
