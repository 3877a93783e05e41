/** Random groups, unions and named statements, with and without indexes: the rows that a naive evaluator finds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { kindNames, type QueryDatabase } from '../query-database.ts'
import { predicate, type Term, type Thing } from './random-predicate.ts'
import { data, indexes, withThings } from './random-things.ts'

type Value = string | number | boolean | null
type Column = readonly [text: string, of: (thing: Thing) => Value]

const columns: readonly Column[] = [
  ['i', (thing) => thing.i],
  ['r', (thing) => thing.r],
  ['s', (thing) => thing.s],
  ['b', (thing) => thing.b],
  ['d', (thing) => thing.d],
  ['where.zip', (thing) => thing.zip],
  ['place.name', (thing) => thing.place?.name ?? null],
]

interface Asked {
  readonly keys: readonly Column[]
  readonly one: Term<boolean>
  readonly other: Term<boolean>
}

const asked: fc.Arbitrary<Asked> = fc.record({
  keys: fc.subarray([...columns], { minLength: 1, maxLength: 3 }),
  one: predicate,
  other: predicate,
})

const inAnyOrder = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort()

async function expectRows(db: QueryDatabase, text: string, expected: readonly unknown[]): Promise<void> {
  const found = inAnyOrder(await db.rows(text))
  expect({ text, found }).toEqual({ text, found: inAnyOrder(expected) })
}

function matching(things: readonly Thing[], where: Term<boolean>): Thing[] {
  return things.filter((thing) => where.evaluate(thing) === true)
}

function distinct<T>(rows: readonly T[]): T[] {
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
}

function aggregated(things: readonly Thing[]): Record<string, Value> {
  const numbers = things.flatMap(({ i }) => i ?? [])
  const isEmpty = numbers.length === 0
  return {
    n: things.length,
    sum: isEmpty ? null : numbers.reduce((sum, i) => sum + i, 0),
    least: isEmpty ? null : Math.min(...numbers),
    most: isEmpty ? null : Math.max(...numbers),
    texts: new Set(things.flatMap(({ s }) => s ?? [])).size,
  }
}

const aggregates = 'COUNT() AS n, SUM(i) AS sum, MIN(i) AS least, MAX(i) AS most, COUNT(DISTINCT s) AS texts'

async function check(db: QueryDatabase, things: readonly Thing[], { keys, one, other }: Asked): Promise<void> {
  const shown = keys.map(([text], at) => `${text} AS k${at}`).join(', ')
  const rowOf = (thing: Thing): Record<string, Value> =>
    Object.fromEntries(keys.map(([, of], at) => [`k${at}`, of(thing)]))
  const [ones, others] = [matching(things, one), matching(things, other)]
  const from = (where: Term<boolean>): string => `FROM T.Thing WHERE ${where.text}`

  const groups = distinct(ones.map(rowOf)).map((key) => {
    const own = ones.filter((thing) => JSON.stringify(rowOf(thing)) === JSON.stringify(key))
    return { ...key, ...aggregated(own) }
  })
  const by = keys.map(([text]) => text).join(', ')
  await expectRows(db, `${from(one)} GROUP BY ${by} RETURN ${shown}, ${aggregates}`, groups)
  await expectRows(
    db,
    `${from(one)} GROUP BY ${by} HAVING COUNT() > 1 RETURN ${shown}, ${aggregates}`,
    groups.filter(({ n }) => (n as number) > 1),
  )
  await expectRows(db, `${from(one)} RETURN ${aggregates}`, [aggregated(ones)])
  await expectRows(db, `${from(one)} RETURN DISTINCT ${shown}`, distinct(ones.map(rowOf)))

  const rows = [...ones, ...others].map(rowOf)
  const union = `${from(one)} RETURN ${shown} UNION ${from(other)} RETURN ${shown}`
  await expectRows(db, union, distinct(rows))
  await expectRows(db, union.replace(' UNION ', ' UNION ALL '), rows)
  const objects = `${from(one)} RETURN * UNION ${from(other)} RETURN *`
  const either = things.filter((thing) => ones.includes(thing) || others.includes(thing))
  await expectRows(
    db,
    `FROM (${objects}) AS t RETURN t.key AS key`,
    either.map(({ key }) => ({ key })),
  )

  const named = `(${from(one)} RETURN key, i)`
  const pairs = ones.flatMap((x) =>
    others.flatMap((y) => (x.i !== null && x.i === y.i ? [{ x: x.key, y: y.key }] : [])),
  )
  const join = `WHERE x.i = y.i RETURN x.key AS x, y.key AS y`
  await expectRows(db, `WITH w AS ${named}, v AS (${from(other)} RETURN key, i) FROM w x, v y ${join}`, pairs)
  await expectRows(db, `LET w = ${named}; LET v = (${from(other)} RETURN key, i); FROM $w AS x, $v AS y ${join}`, pairs)
  const counts = `WITH w AS ${named} FROM w RETURN COUNT() AS n, MAX(w.i) AS most`
  const { n, most } = aggregated(ones) as { n: Value; most: Value }
  await expectRows(db, counts, [{ n, most }])
}

describe('groups, unions and named statements have what a naive evaluator finds', () => {
  for (const [kind, suffix] of kindNames.entries()) {
    for (const setUp of [[], indexes]) {
      it(`${setUp.length === 0 ? 'without' : 'with'} indexes${suffix}`, async () => {
        await fc.assert(
          fc.asyncProperty(data, fc.array(asked, { minLength: 4, maxLength: 8 }), async (things, all) => {
            await withThings(setUp, kind, things, async (db) => {
              for (const each of all) await check(db, things, each)
            })
          }),
          runs(15),
        )
      })
    }
  }
})
