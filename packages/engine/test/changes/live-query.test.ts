/** Live queries: at every position that is told, the rows with all events applied are those of the query run anew. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { longestRising } from '../../src/changes/followed-rows.ts'
import type { LiveQuery, LiveStep } from '../../src/changes/live-query.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { EngineLimits } from '../../src/limits.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, outcome, toOne } from '../engine/open-fd.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

async function withFd(
  use: (fd: FederatedDatabase) => Promise<void>,
  limits: Partial<EngineLimits> = {},
): Promise<void> {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store, limits, changeLog: 'on' })
  await fd.defineClasses([classOf('Place', { code: 'integer' })], 'create')
  await fd.defineClasses(
    [
      classOf('Thing', { number: 'integer', a: 'integer', b: 'integer', place: toOne('Place') }),
      classOf('Special', {}, { superClass: 'Thing' }),
    ],
    'create',
  )
  await use(fd)
  await fd.close()
}

/** JSON whose shape a test knows and the compiler does not. */
type Told = ReturnType<typeof JSON.parse>

interface Row {
  readonly oid: string
  row: unknown
}

/** What a client does with the events. */
class Applied {
  rows: Row[] = []

  apply({ events }: LiveStep): string[] {
    return events.map(({ name, json }) => {
      const told: Told = JSON.parse(json.toString())
      const at = this.rows.findIndex(({ oid }) => oid === told.oid)
      if ((name === 'row' || name === 'enter') !== at < 0) throw new Error(`${name} of ${told.oid}`)
      const row = { oid: told.oid, row: 'row' in told ? told.row : this.rows[at]?.row }
      if (name === 'change' && !('after' in told)) this.rows[at] = row
      else {
        if (at >= 0) this.rows.splice(at, 1)
        if (name !== 'leave') this.rows.splice(this.placeOf(told), 0, row)
      }
      return name
    })
  }

  private placeOf({ after }: Told): number {
    if (after === undefined) return this.rows.length
    if (after === null) return 0
    const before = this.rows.findIndex(({ oid }) => oid === after)
    if (before < 0) throw new Error(`no row ${after}`)
    return before + 1
  }
}

async function follow(fd: FederatedDatabase, text: string, use: (live: LiveQuery, applied: Applied) => Promise<void>) {
  const live = fd.liveQuery({ text })
  const applied = new Applied()
  try {
    applied.apply(await live.begin())
    await use(live, applied)
  } finally {
    live.end()
  }
}

interface Thing {
  readonly number: number
  readonly a: number
  readonly b: number
  readonly place: string | null
}
type Places = ReadonlyMap<string, number>

interface Asked {
  readonly text: string
  readonly isOrdered: boolean
  expected(things: readonly (Thing & { readonly oid: string })[], places: Places): Row[]
}

const codeOf = ({ place }: Thing, places: Places): number | null =>
  place === null ? null : (places.get(place) ?? null)
const small = fc.integer({ min: 0, max: 4 })

/** A predicate, an order and a part of the rows; numbers of things are unique, so that no two rows are equal in their order. */
const asked: fc.Arbitrary<Asked> = fc
  .record({
    where: fc.constantFrom('none', 'a', 'ab', 'path'),
    limit: small,
    order: fc.constantFrom('none', 'b', 'bDesc', 'path'),
    skip: fc.constantFrom(0, 0, 1),
    take: fc.option(fc.integer({ min: 1, max: 6 })),
    returned: fc.constantFrom('b', 'path', 'all'),
  })
  .map(({ where, limit, order, skip, take, returned }) => {
    const isOrdered = order !== 'none'
    const predicates = {
      none: '',
      a: ` WHERE a > ${limit}`,
      ab: ` WHERE a > ${limit} OR b = ${limit}`,
      path: ` WHERE place.code = ${limit}`,
    }
    const orders = {
      none: '',
      b: ' ORDER BY b, number',
      bDesc: ' ORDER BY b DESC, number',
      path: ' ORDER BY place.code, number DESC',
    }
    const parts = isOrdered ? `${skip > 0 ? ` SKIP ${skip}` : ''}${take === null ? '' : ` TAKE ${take}`}` : ''
    const columns = { b: ' RETURN number, b', path: ' RETURN number, place.code AS code', all: ' RETURN *' }[returned]
    return {
      text: `FROM Thing${predicates[where as keyof typeof predicates]}${orders[order as keyof typeof orders]}${parts}${columns}`,
      isOrdered,
      expected(things, places) {
        const holds = (thing: Thing): boolean =>
          where === 'none' ||
          (where === 'path'
            ? codeOf(thing, places) === limit
            : thing.a > limit || (where === 'ab' && thing.b === limit))
        const last = Number.MAX_SAFE_INTEGER
        const compare = (one: Thing, other: Thing): number => {
          if (order === 'b') return one.b - other.b || one.number - other.number
          if (order === 'bDesc') return other.b - one.b || one.number - other.number
          return (codeOf(one, places) ?? last) - (codeOf(other, places) ?? last) || other.number - one.number
        }
        const found = things.filter(holds)
        const chosen = isOrdered ? found.toSorted(compare).slice(skip, take === null ? undefined : skip + take) : found
        return chosen.map(({ oid, ...thing }) => {
          const { number, b } = thing
          if (returned === 'b') return { oid, row: { number, b } }
          return {
            oid,
            row: returned === 'path' ? { number, code: codeOf(thing, places) } : expect.objectContaining({ number, b }),
          }
        })
      },
    }
  })

type Act = {
  readonly kind: 'create' | 'update' | 'delete' | 'place' | 'unplaced'
  readonly at: number
  readonly a: number
  readonly b: number
}
const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom('create', 'create', 'update', 'update', 'delete', 'place', 'unplaced'),
  at: fc.nat(50),
  a: fc.integer({ min: 0, max: 5 }),
  b: fc.integer({ min: 0, max: 3 }),
})

class Writers {
  private readonly fd: FederatedDatabase
  private readonly things: string[] = []
  private number = 0
  readonly places: string[] = []

  constructor(fd: FederatedDatabase) {
    this.fd = fd
  }

  async act({ kind, at, a, b }: Act): Promise<void> {
    const { fd, things, places } = this
    const place = places[at % places.length] as string
    const thing = things[at % Math.max(1, things.length)]
    if (kind === 'create') {
      const attributes = { number: this.number++, a, b, place: at % 3 === 0 ? null : place }
      things.push(await fd.createObject(at % 2 === 0 ? 'Thing' : 'Special', attributes))
    } else if (kind === 'place') await fd.updateObject(place, { code: a })
    else if (thing === undefined) return
    // Another may have deleted it.
    else if (kind === 'delete') await outcome(fd.deleteObject(thing))
    else await outcome(fd.updateObject(thing, kind === 'update' ? { a, b } : { place: at % 2 === 0 ? null : place }))
  }
}

/** Things and places after each commit, as the change log tells. */
async function history(
  fd: FederatedDatabase,
  check: (position: string, things: Map<string, Thing>, places: Map<string, number>) => void,
) {
  const things = new Map<string, Thing>()
  const places = new Map<string, number>()
  for (let since = 'first'; ; ) {
    const page = await fd.changes.page({ since, include: 'values', limit: 1_000 })
    for (const { json } of page.changes) {
      const { change, class: cls, oid, after, position }: Told = JSON.parse(json.toString())
      if (cls === 'Place') places.set(oid, after.code)
      else if (change === 'deleted') things.delete(oid)
      else if (change === 'created' || change === 'updated')
        things.set(oid, { ...(things.get(oid) as Thing), ...after })
      check(position, things, places)
    }
    since = page.position
    check(since, things, places)
    if (page.isAtEnd) return
  }
}

const byOid = (rows: readonly Row[]): Row[] => rows.toSorted((one, other) => (one.oid < other.oid ? -1 : 1))

it('the rows with all events applied are those of the query run anew, at every position', async () => {
  const batches = fc.array(fc.array(act, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 12, size: 'max' })
  const property = fc.asyncProperty(asked, batches, async ({ text, isOrdered, expected }, given) => {
    await withFd(async (fd) => {
      const writers = new Writers(fd)
      for (const code of [0, 1, 2]) writers.places.push(await fd.createObject('Place', { code }))
      for (let at = 0; at < 8; at++) await writers.act({ kind: 'create', at, a: at % 6, b: at % 4 })
      const told = new Map<string, Row[]>()
      await follow(fd, text, async (live, applied) => {
        for (const batch of given) {
          const written = Promise.all(batch.map((one) => writers.act(one)))
          // While others write, and after that.
          for (const isDone of [false, true]) {
            if (isDone) await written
            const step = await live.next()
            applied.apply(step)
            if (!step.isAhead)
              told.set(
                step.position,
                applied.rows.map((row) => ({ ...row })),
              )
          }
        }
        let checked = 0
        await history(fd, (position, things, places) => {
          const rows = told.get(position)
          if (rows === undefined) return
          checked++
          const wanted = expected(
            [...things].map(([oid, thing]) => ({ oid, ...thing })),
            places,
          )
          expect(isOrdered ? rows : byOid(rows), `${text} at ${position}`).toEqual(isOrdered ? wanted : byOid(wanted))
        })
        expect(checked).toBeGreaterThan(0)
        const { chunks } = await fd.query({ text })
        const anew: Told[] = []
        for await (const { bytes } of chunks)
          anew.push(
            ...bytes
              .toString()
              .split('\n')
              .filter((line) => line !== ''),
          )
        expect(applied.rows.map(({ row }) => JSON.stringify(row)).toSorted()).toEqual(anew.toSorted())
      })
    })
  })
  await fc.assert(property, runs(25))
})

describe('a live query', () => {
  it('refills TAKE, tells places, and what is at another place only by that', () =>
    withFd(async (fd) => {
      const oids: string[] = []
      for (let number = 0; number < 5; number++) oids.push(await fd.createObject('Thing', { number, b: number }))
      await follow(fd, 'FROM Thing ORDER BY b TAKE 3 RETURN number', async (live, applied) => {
        await fd.deleteObject(oids[1] as string)
        const refilled = await live.next()
        expect(refilled.events.map(({ name, json }) => [name, JSON.parse(json.toString())])).toEqual([
          ['leave', { oid: oids[1] }],
          ['enter', { oid: oids[3], row: { number: 3 }, after: oids[2] }],
        ])
        applied.apply(refilled)
        await fd.updateObject(oids[3] as string, { b: -1 })
        const moved = await live.next()
        expect(moved.events.map(({ name, json }) => [name, JSON.parse(json.toString())])).toEqual([
          ['change', { oid: oids[3], after: null }],
        ])
        applied.apply(moved)
        expect(applied.rows.map(({ row }) => row)).toEqual([{ number: 3 }, { number: 0 }, { number: 2 }])
      })
    }))

  it('is not run anew for what does not concern it', () =>
    withFd(async (fd) => {
      await follow(fd, 'FROM Thing WHERE a > 1 RETURN number', async (live) => {
        await fd.createObject('Place', { code: 1 })
        expect(await live.next()).toMatchObject({ events: [], workedMs: 0, isAhead: false })
        await fd.createObject('Special', { number: 1, a: 2 })
        expect((await live.next()).events.map(({ name }) => name)).toEqual(['enter'])
      })
    }))

  it('goes on over changes of the schema, and ends where its names are gone', () =>
    withFd(async (fd) => {
      const oid = await fd.createObject('Thing', { number: 1, a: 2 })
      await follow(fd, 'FROM Thing WHERE a > 1 RETURN *', async (live, applied) => {
        await fd.alterClass('Thing', { attributesToRename: [{ originalName: 'number', newName: 'count' }] } as never)
        expect(applied.apply(await live.next())).toEqual(['change'])
        expect(applied.rows).toEqual([{ oid, row: expect.objectContaining({ count: 1, a: 2 }) }])
        await fd.alterClass('Thing', { attributesToRename: [{ originalName: 'a', newName: 'c' }] } as never)
        await expect(live.next()).rejects.toMatchObject({ type: 'QueryError' })
      })
    }))

  it('follows the expressions of stored computed attributes', () =>
    withFd(async (fd) => {
      const twice = (expression: string) => ({ attributeName: 'twice', computed: { expression, isStored: true } })
      await fd.alterClass('Thing', { attributesToAdd: [{ ...twice('a * 2'), logicalType: 'integer' }] } as never)
      const oid = await fd.createObject('Thing', { number: 1, a: 2 })
      await follow(fd, 'FROM Thing WHERE twice > 3 RETURN twice', async (live, applied) => {
        await fd.alterClass('Thing', { attributesToConstrain: [twice('a * 3')] } as never)
        expect(applied.apply(await live.next())).toEqual(['change'])
        expect(applied.rows).toEqual([{ oid, row: { twice: 6 } }])
        await fd.alterClass('Thing', { attributesToConstrain: [twice('a + 1')] } as never)
        expect(applied.apply(await live.next())).toEqual(['leave'])
      })
    }))

  it('has no more rows than it may hold', () =>
    withFd(
      async (fd) => {
        for (let number = 0; number < 3; number++) await fd.createObject('Thing', { number })
        const live = fd.liveQuery({ text: 'FROM Thing RETURN *' })
        await expect(live.begin()).rejects.toMatchObject({ type: 'LimitExceeded' })
        live.end()
        await follow(fd, 'FROM Thing TAKE 2 RETURN *', async (_live, applied) => expect(applied.rows).toHaveLength(2))
      },
      { liveRowsMax: 2 },
    ))

  it.each([
    ['FROM Thing RETURN *; FROM Thing RETURN *', 'one statement'],
    ['CREATE Thing {a: 1}', 'FROM a class'],
    ['LOOKUP Thing WHERE a = 1', 'FROM a class'],
    ['MATCH (t:Thing) RETURN t.a', 'FROM a class'],
    ['FROM Thing RETURN COUNT()', 'aggregates'],
    ['FROM Thing GROUP BY a RETURN a', 'GROUP BY'],
    ['FROM Thing TAKE WHILE a > 1 RETURN *', 'numbers of rows'],
    ['FROM Thing WHERE a > RAND() RETURN *', 'RAND'],
    ['FROM Thing RETURN $$NOW', 'NOW'],
    ['FROM Thing WHERE place = (LOOKUP Place WHERE code = 1) RETURN *', 'statements within'],
    ['FROM 3-1-1-1 RETURN *', 'class'],
  ])('%s is refused with the reason', (text, reason) =>
    withFd(async (fd) => {
      const live = fd.liveQuery({ text })
      await expect(live.begin()).rejects.toThrow(reason)
      live.end()
    }),
  )
})

it('the longest rising sequence is found', () => {
  expect(longestRising([])).toEqual([])
  expect(longestRising([4, 0, 1, 2, 3])).toEqual([0, 1, 2, 3])
  expect(longestRising([2, 3, 0, 1])).toHaveLength(2)
})
