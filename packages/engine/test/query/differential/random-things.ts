/** Random things at places, and a database that holds them. */
import fc from 'fast-check'
import { openQueryDatabase, type QueryDatabase, type Row, storeKinds } from '../query-database.ts'
import { days, numbers, type Place, type Thing, texts } from './random-predicate.ts'

export const schema = `UPDATE SCHEMA {
  CREATE CLASS T.Spot EMBEDDABLE {zip: Integer}
  CREATE CLASS T.Place {code: Integer, name: String, things: List{Element: Reference{Referenced: T.Thing, Inverse: place}}}
  CREATE CLASS T.Thing {key: Integer, i: Integer, r: Real, n: Decimal{Precision: 20, Scale: 3}, s: String, b: Boolean, d: Date, where: Object{Class: T.Spot},
    place: Reference{Referenced: T.Place, Inverse: things}, tags: List{Element: String}}
  CREATE CLASS T.Special SUPERCLASS T.Thing {extra: Integer}
}`
export const indexes = [
  'CREATE UNIQUE INDEX thingKey ON T.Thing (key)',
  'CREATE INDEX thingI ON T.Thing (i)',
  'CREATE INDEX thingIS ON T.Thing (i, s)',
  'CREATE INDEX thingR ON T.Thing (r)',
  'CREATE INDEX thingN ON T.Thing (n)',
  'CREATE INDEX thingS ON T.Thing (s)',
  'CREATE INDEX thingBD ON T.Thing (b, d)',
  'CREATE INDEX thingZip ON T.Thing (where.zip)',
  'CREATE INDEX placeCode ON T.Place (code)',
  'CREATE INDEX placeName ON T.Place (name)',
]
export const fill = `
  FOR EACH p IN $places => (CREATE T.Place {code: $p.code, name: $p.name});
  FOR EACH t IN $things => (CREATE T.Thing {key: $t.key, i: $t.i, r: $t.r, n: $t.n, s: $t.s, b: $t.b, d: $t.d, where.zip: $t.zip,
    tags: $t.tags, place: (LOOKUP T.Place WHERE code = $t.at)});
  FOR EACH t IN $specials => (CREATE T.Special {key: $t.key, i: $t.i, r: $t.r, n: $t.n, s: $t.s, b: $t.b, d: $t.d, where.zip: $t.zip,
    tags: $t.tags, place: (LOOKUP T.Place WHERE code = $t.at)})`

const orNull = <T>(values: readonly T[]): fc.Arbitrary<T | null> => fc.option(fc.constantFrom(...values), { freq: 6 })

export const data: fc.Arbitrary<readonly Thing[]> = fc
  .uniqueArray(fc.record({ code: fc.constantFrom(...numbers), name: orNull(texts) }), {
    selector: ({ code }) => code,
    minLength: 1,
    maxLength: 5,
  })
  .chain((places) =>
    fc.array(
      fc.record({
        i: orNull(numbers),
        r: orNull([-1.5, 0, 0.5, 2, 2.5, 3]),
        n: orNull([-1.5, 0, 0.5, 2, 2.5, 3, 100]),
        s: orNull(texts),
        b: orNull([true, false]),
        d: orNull(days),
        zip: orNull(numbers),
        place: orNull<Place>(places),
        tags: fc.array(fc.constantFrom(...texts), { maxLength: 3 }),
        isSpecial: fc.boolean(),
      }),
      { minLength: 1, maxLength: 30 },
    ),
  )
  .map((things) => things.map((thing, key) => ({ ...thing, key })))

export function parametersFor(things: readonly Thing[]): Row {
  const write = (thing: Thing): Row => ({ ...thing, at: thing.place?.code ?? null })
  return {
    places: [...new Set(things.map(({ place }) => place))].filter((place) => place !== null),
    things: things.filter(({ isSpecial }) => !isSpecial).map(write),
    specials: things.filter(({ isSpecial }) => isSpecial).map(write),
  }
}

export async function withThings(
  setUp: readonly string[],
  kind: number,
  things: readonly Thing[],
  use: (db: QueryDatabase) => Promise<void>,
): Promise<void> {
  const { db, close } = await openQueryDatabase([schema, ...setUp], {}, storeKinds[kind])
  await db.rows(fill, parametersFor(things))
  await use(db)
  await close()
}
