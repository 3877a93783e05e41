/** Random predicates over random data, with and without indexes and within one text: the rows that a naive evaluator finds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { kindNames, openQueryDatabase, type QueryDatabase, type Row } from '../query-database.ts'
import { byText, predicate, type Term, type Thing } from './random-predicate.ts'
import { data, fill, indexes, parametersFor, schema, withThings } from './random-things.ts'

function keysOf(rows: readonly Row[]): number[] {
  return rows.map(({ key }) => key as number).sort((one, other) => one - other)
}

function expectedKeys(things: readonly Thing[], where: Term<boolean>): number[] {
  return things.filter((thing) => where.evaluate(thing) === true).map(({ key }) => key)
}

async function check(db: QueryDatabase, things: readonly Thing[], wheres: readonly Term<boolean>[]): Promise<void> {
  for (const where of wheres) {
    const found = keysOf(await db.rows(`FROM T.Thing WHERE ${where.text} RETURN key`))
    expect({ where: where.text, found }).toEqual({ where: where.text, found: expectedKeys(things, where) })
  }
}

// Of a database that is made anew for each run, much is asked.
const wheres = fc.array(predicate, { minLength: 8, maxLength: 16 })

describe('a query finds what a naive evaluator finds', () => {
  for (const [kind, suffix] of kindNames.entries()) {
    it(`without indexes${suffix}`, async () => {
      await fc.assert(
        fc.asyncProperty(data, wheres, (things, each) => {
          return withThings([], kind, things, (db) => check(db, things, each))
        }),
        runs(30),
      )
    })

    it(`with indexes${suffix}`, async () => {
      await fc.assert(
        fc.asyncProperty(data, wheres, (things, each) => {
          return withThings(indexes, kind, things, (db) => check(db, things, each))
        }),
        runs(60),
      )
    })
  }

  it('in the text that creates the objects, and after others are deleted in it', async () => {
    await fc.assert(
      fc.asyncProperty(data, predicate, predicate, async (things, gone, where) => {
        const { db, close } = await openQueryDatabase([schema, ...indexes])
        const text = `${fill}; DELETE T.Thing WHERE ${gone.text} RETURN COUNT(); FROM T.Thing WHERE ${where.text} RETURN key`
        const left = things.filter((thing) => gone.evaluate(thing) !== true)
        const found = keysOf(await db.rows(text, parametersFor(things)))
        expect({ gone: gone.text, where: where.text, found }).toEqual({
          gone: gone.text,
          where: where.text,
          found: expectedKeys(left, where),
        })
        await close()
      }),
      runs(40),
    )
  })

  it('after an update, by indexes that changed with it', async () => {
    await fc.assert(
      fc.asyncProperty(data, predicate, predicate, async (things, changed, where) => {
        await withThings(indexes, 0, things, async (db) => {
          await db.rows(
            `UPDATE T.Thing WHERE ${changed.text} SET i TO TRUNCATE(r * 2) SET s TO 'é' SET b TO NOT b RETURN COUNT()`,
          )
          const now = things.map((thing) => (changed.evaluate(thing) === true ? updated(thing) : thing))
          await check(db, now, [where])
        })
      }),
      runs(40),
    )
  })
})

function updated(thing: Thing): Thing {
  return {
    ...thing,
    i: thing.r === null ? null : Math.trunc(thing.r * 2),
    s: 'é',
    b: thing.b === null ? null : !thing.b,
  }
}

describe('ORDER BY, SKIP and TAKE', () => {
  const orders = fc.uniqueArray(
    fc.tuple(fc.constantFrom('i', 'r', 's', 'b', 'd', 'where.zip', 'place.name', 'key'), fc.boolean()),
    { selector: ([name]) => name, minLength: 1, maxLength: 3 },
  )
  it('give what sorting everything gives', async () => {
    await fc.assert(
      fc.asyncProperty(data, predicate, orders, fc.nat(4), fc.nat(9), async (things, where, order, skip, take) => {
        const clause = [...order, ['key', false] as const].map(([name, isDown]) => `${name} ${isDown ? 'DESC' : 'ASC'}`)
        const text = `FROM T.Thing WHERE ${where.text} ORDER BY ${clause.join(', ')} SKIP ${skip} TAKE ${take} RETURN key`
        const sorted = things
          .filter((thing) => where.evaluate(thing) === true)
          .sort((one, other) => orderOf(one, other, order))
        const keys = sorted.slice(skip, skip + take).map(({ key }) => key)
        for (const setUp of [[], indexes]) {
          await withThings(setUp, 0, things, async (db) => {
            const found = (await db.rows(text)).map(({ key }) => key)
            expect({ text, found }).toEqual({ text, found: keys })
          })
        }
      }),
      runs(40),
    )
  })
})

const values: Readonly<Record<string, (thing: Thing) => unknown>> = {
  i: (thing) => thing.i,
  r: (thing) => thing.r,
  s: (thing) => thing.s,
  b: (thing) => thing.b,
  d: (thing) => thing.d,
  key: (thing) => thing.key,
  'where.zip': (thing) => thing.zip,
  'place.name': (thing) => thing.place?.name ?? null,
}

/** Nulls last, and first descending. */
function orderOf(one: Thing, other: Thing, order: readonly (readonly [string, boolean])[]): number {
  for (const [name, isDown] of order) {
    const [left, right] = [values[name]?.(one) ?? null, values[name]?.(other) ?? null]
    const ascending = compare(left, right)
    if (ascending !== 0) return isDown ? -ascending : ascending
  }
  return one.key - other.key
}

function compare(one: unknown, other: unknown): number {
  if (one === null || other === null) return (one === null ? 1 : 0) - (other === null ? 1 : 0)
  if (typeof one === 'string') return byText(one, other as string)
  return Number(one) - Number(other)
}
