/** Random shapes over random data: what a naive evaluator shows. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { kindNames, type Row } from '../query-database.ts'
import { byText, type Place, predicate, type Term, type Thing } from './random-predicate.ts'
import { data, indexes, withThings } from './random-things.ts'

type Value = string | number | boolean | null
type Entry = readonly [text: string, name: string, value: (thing: Thing, things: readonly Thing[]) => unknown]

/** What shows one thing of its place, as `place{…}` does. */
const placeShown = (thing: Thing): unknown => thing.place && { code: thing.place.code, name: thing.place.name }

const entries: readonly Entry[] = [
  ['key', 'key', (thing) => thing.key],
  ['i', 'i', (thing) => thing.i],
  ['s', 's', (thing) => thing.s],
  ['where{zip}', 'where', (thing) => ({ zip: thing.zip })],
  ['place{code, name}', 'place', placeShown],
  ['COUNT(tags) AS n', 'n', (thing) => thing.tags.length],
  ['p.code AS outer', 'outer', (thing) => thing.place?.code],
  [
    'place.things{key ORDER BY key DESC TAKE 2} AS last',
    'last',
    (thing, things) =>
      thingsAt(thing.place, things)
        .sort((one, other) => other.key - one.key)
        .slice(0, 2)
        .map(({ key }) => ({ key })),
  ],
]

function thingsAt(place: Place | null, things: readonly Thing[]): Thing[] {
  return things.filter((thing) => place !== null && thing.place?.code === place.code)
}

const orderValues: Readonly<Record<string, (thing: Thing) => Value>> = {
  i: (thing) => thing.i,
  r: (thing) => thing.r,
  s: (thing) => thing.s,
  b: (thing) => thing.b,
  'where.zip': (thing) => thing.zip,
}

interface RandomShape {
  readonly entries: readonly Entry[]
  readonly where: Term<boolean> | undefined
  readonly order: readonly [name: string, isDescending: boolean]
  readonly skip: number
  readonly take: number | undefined
}

const shape: fc.Arbitrary<RandomShape> = fc.record({
  entries: fc.subarray([...entries], { minLength: 1 }),
  where: fc.option(predicate, { nil: undefined }),
  order: fc.tuple(fc.constantFrom(...Object.keys(orderValues)), fc.boolean()),
  skip: fc.nat(3),
  take: fc.option(fc.nat(5), { nil: undefined }),
})

function textOf({ entries: shown, where, order: [name, isDescending], skip, take }: RandomShape): string {
  const clauses = [
    ...(where === undefined ? [] : [`WHERE ${where.text}`]),
    `ORDER BY ${name}${isDescending ? ' DESC' : ''}, key`,
    `SKIP ${skip}`,
    ...(take === undefined ? [] : [`TAKE ${take}`]),
  ]
  return `{${shown.map(([text]) => text).join(', ')} ${clauses.join(' ')}}`
}

/** Nulls last, and first descending. */
function compare(one: Value, other: Value): number {
  if (one === null || other === null) return (one === null ? 1 : 0) - (other === null ? 1 : 0)
  return typeof one === 'string' ? byText(one, other as string) : Number(one) - Number(other)
}

function shownOf(random: RandomShape, place: Place, things: readonly Thing[]): unknown[] {
  const { where, order, skip, take } = random
  const [name, isDescending] = order
  const value = orderValues[name] as (thing: Thing) => Value
  const sorted = thingsAt(place, things)
    .filter((thing) => where === undefined || where.evaluate(thing) === true)
    .sort((one, other) => {
      const ascending = compare(value(one), value(other))
      return (isDescending ? -ascending : ascending) || one.key - other.key
    })
  return sorted
    .slice(skip, take === undefined ? undefined : skip + take)
    .map((thing) => Object.fromEntries(random.entries.map(([, key, shown]) => [key, shown(thing, things)])))
}

describe('a shape shows what a naive evaluator shows', () => {
  for (const [kind, suffix] of kindNames.entries()) {
    it(`of what refers to places${suffix}`, async () => {
      await fc.assert(
        fc.asyncProperty(data, fc.array(shape, { minLength: 4, maxLength: 8 }), async (things, shapes) => {
          const places = [...new Set(things.map(({ place }) => place))].filter((place) => place !== null)
          places.sort((one, other) => Number(one.code) - Number(other.code))
          await withThings(indexes, kind, things, async (db) => {
            for (const random of shapes) {
              const text = `FROM T.Place p ORDER BY code RETURN code, things${textOf(random)} AS shown`
              const found: Row[] = await db.rows(text)
              const expected = places.map((place) => ({ code: place.code, shown: shownOf(random, place, things) }))
              expect({ text, found }).toEqual({ text, found: expected })
            }
          })
        }),
        runs(25),
      )
    })
  }
})
