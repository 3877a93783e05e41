/** Texts whose values are lifted have the rows and errors of those that are planned as written, whatever the values are. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { liftLiterals } from '../../src/query/parse/lift-literals.ts'
import { runs } from '../bytes/property-runs.ts'
import { openQueryDatabase, type QueryDatabase } from './query-database.ts'

const setUp = [
  `UPDATE SCHEMA {
     CREATE CLASS Place EMBEDDABLE {zip: Integer{Storage: B16}, town: String}
     CREATE CLASS Car {
       k: String, n: Integer{Storage: B8}, whole: Integer, real: Real, day: Date, at: DateTime, sign: Character, is: Boolean,
       tags: List{Element: Integer}, place: Object{Class: Place}, to: Reference{Referenced: Car}} }`,
  'CREATE UNIQUE INDEX byKey ON Car(k)',
  'CREATE INDEX byNumber ON Car(n)',
  "CREATE Car {k: 'a', n: 1, day: 2024-01-05, tags: LIST{1, 2, 3}}; CREATE Car {k: 'b', n: 2, real: 2.5, sign: 'x'}",
]

/** Before a text: one of them has it planned as written. */
const [mayBeLifted, asWritten] = ['/* */ ', '/*\uE000*/ ']

const strings = fc.constantFrom(
  '',
  'a',
  'b',
  'c',
  'n',
  'ab',
  'it is: 5, b',
  '2024-01-05',
  '2024-13-05',
  '2024-02-06T10:00:00',
  '3-3-1-2',
)
const literal = fc.oneof(
  { weight: 3, arbitrary: fc.nat({ max: 4 }).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '200',
      '40000',
      '999999999999999',
      '99999999999999999999',
      '1.5',
      'NULL',
      'TRUE',
      '2024-01-05',
    ),
  },
  { weight: 3, arbitrary: strings.map((text) => `'${text}'`) },
  { weight: 1, arbitrary: strings.map((text) => `"${text}"`) },
)
const attribute = fc.constantFrom(
  'k',
  'k',
  'n',
  'n',
  'whole',
  'real',
  'day',
  'at',
  'sign',
  'is',
  'place.zip',
  'to',
  'none',
)
const compared = fc
  .tuple(attribute, fc.constantFrom(' = ', '=', ' != ', ' < ', ' >= '), literal)
  .map((parts) => parts.join(''))
const where = fc.oneof(
  compared,
  fc.tuple(compared, fc.constantFrom(' AND ', ' OR '), compared).map((parts) => parts.join('')),
)
const values = (separator: string, between: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(attribute, literal), { minLength: 1, maxLength: 4 })
    .map((all) => all.map(([name, value]) => `${name}${separator}${value}`).join(between))
const made = fc.oneof(
  values(': ', ', '),
  fc.tuple(literal, literal).map(([k, n]) => `k: ${k}, n: ${n}`),
)

const statement = fc.oneof(
  fc.tuple(where, values(' TO ', ', ')).map(([some, set]) => `UPDATE Car WHERE ${some} SET ${set} RETURN k, n`),
  fc
    .tuple(literal, literal, literal)
    .map(([k, n, d]) => `UPDATE Car WHERE k = ${k} SET n TO ${n}, whole TO ${n} SET day TO ${d}`),
  fc
    .tuple(literal, literal)
    .map(([i, n]) => `UPDATE Car WHERE n >= 0 SET tags[(n = ${i}) AND TRUE] TO ${n}, tags[0] TO ${n}`),
  fc.tuple(literal, literal).map(([k, n]) => `UPDATE Car WHERE n = ${n} ADD ${k} TO tags`),
  where.map((some) => `DELETE Car WHERE ${some}`),
  made.map((all) => `CREATE Car {${all}}`),
  literal.map((zip) => `CREATE Car {k: 'p', place: Place{zip: ${zip}, town: ${zip}}}`),
  made.map((all) => `UPSERT Car {${all}} ON (k)`),
  fc.tuple(literal, literal).map(([k, n]) => `LET c = LOOKUP Car WHERE k = ${k}; UPDATE $c SET n TO ${n}; SHOW $c.n`),
  fc
    .tuple(literal, made)
    .map(([n, all]) => `IF (FROM Car WHERE n = ${n} RETURN COUNT()) = 0 THEN (CREATE Car {${all}}); SHOW 1`),
  fc
    .tuple(where, where)
    .map(([some, all]) => `IF EXISTS (FROM Car WHERE ${some}) THEN (DELETE Car WHERE ${all}) ELSE (CREATE Car {n: 3})`),
  fc.tuple(literal, attribute).map(([value, name]) => `LET x = ${value}; FROM Car WHERE ${name} = $x RETURN k`),
  fc
    .tuple(where, made)
    .map(([some, all]) => `FOR EACH c IN (FROM Car WHERE ${some} RETURN *) => (CREATE Car {${all}})`),
  fc
    .tuple(literal, literal)
    .map(([a, b]) => `FROM Car GROUP BY n = ${a} RETURN (n = ${b}) AS x, COUNT(n = ${a}) AS a, COUNT(n = ${b}) AS b`),
  fc
    .tuple(literal, literal)
    .map(([a, b]) => `FROM Car RETURN n = ${a}, RANK() OVER (ORDER BY (n = ${b})) AS r ORDER BY r`),
  fc.tuple(where, literal).map(([some, n]) => `FROM Car WHERE ${some} AND 10 / (n - ${n}) = ${n} RETURN k, n`),
  literal.map((n) => `SHOW PARAMETERS; FROM Car WHERE n = ${n}`),
  literal.map((n) => `EXPLAIN UPDATE Car WHERE n = ${n} SET whole TO ${n}`),
  literal.map((n) => `UPDATE Car WHERE n = ${n} SET whole = ${n}`),
  literal.map((n) => `USE DATE FORMAT 'dd/mm/yyyy'; UPDATE Car WHERE n = ${n} SET day TO ${n}`),
)

async function outcomeOf(db: QueryDatabase, text: string): Promise<unknown> {
  try {
    return await db.rows(text)
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error
    const { type, message, errors, extensions } = error
    return { type, message, errors, extensions }
  }
}

it('rows, errors and objects are those of the texts as they are written', { timeout: 120_000 }, async () => {
  let lifted = 0
  await fc.assert(
    fc.asyncProperty(fc.array(statement, { minLength: 2, maxLength: 12 }), async (texts) => {
      const [one, other] = [await openQueryDatabase(setUp), await openQueryDatabase(setUp)]
      for (const text of [...texts, 'FROM Car RETURN *']) {
        expect({ text, outcome: await outcomeOf(one.db, mayBeLifted + text) }).toEqual({
          text,
          outcome: await outcomeOf(other.db, asWritten + text),
        })
        expect(liftLiterals(asWritten + text)).toBeUndefined()
        if (liftLiterals(mayBeLifted + text) !== undefined) lifted++
      }
      await one.close()
      await other.close()
    }),
    runs(30),
  )
  expect(lifted).toBeGreaterThan(0)
})
