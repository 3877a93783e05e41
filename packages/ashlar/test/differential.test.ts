/** The same calls on a server and in process: they return and throw the same. */
import { readFileSync } from 'node:fs'
import { type ClientOptions, connect, type Database, type DataClient } from '@ashlar/client'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import type { Schema } from '../../client/test/typed-schema.d.ts'
import { openServer } from '../../server/test/unit/open-server.ts'
import { open } from '../src/index.ts'

const schema = readFileSync(new URL('../../client/test/typed-schema.do', import.meta.url), 'utf8')

type Any = Database<Schema, DataClient>
type Call = (db: Any) => Promise<unknown>

/** Both with the schema, and nothing else. */
async function openBoth(options: Pick<ClientOptions, 'dates' | 'integers'> = {}): Promise<[Any, Any]> {
  const { app } = await openServer()
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const inProcess = await open<Schema>('memory:', options)
  onTestFinished(() => inProcess.close())
  const both = [connect<Schema>(baseUrl, options as object), inProcess] as unknown as [Any, Any]
  for (const db of both) await db.client.query(schema)
  return both
}

/** What a call returns, or all that an error says. */
async function outcome(call: Call, db: Any): Promise<unknown> {
  try {
    return { returned: await call(db) }
  } catch (error) {
    const { name, message, stack: _, cause: _cause, ...more } = error as Error
    return { thrown: (error as Error).constructor, name, message, ...more }
  }
}

async function expectSame(both: readonly [Any, Any], calls: readonly Call[]): Promise<unknown[]> {
  const outcomes: unknown[] = []
  for (const call of calls) {
    const [overHttp, inProcess] = [await outcome(call, both[0]), await outcome(call, both[1])]
    expect(inProcess, String(call)).toStrictEqual(overHttp)
    outcomes.push(inProcess)
  }
  return outcomes
}

async function rowsOf<Row>(stream: AsyncIterable<Row>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const row of stream) rows.push(row)
  return rows
}

const none = '9-9-9-9' as never

it('every call of the typed interface', async () => {
  const both = await openBoth()
  const ids = { ann: '3-3-1-1' as never, task: '3-4-1-1' as never }
  const outcomes = await expectSame(both, [
    (db) => db.create('Person', { name: 'Ann', address: { city: 'Oslo', zip: 150 } }),
    (db) =>
      db.create('Work.Task', { title: 'A', points: 3, owner: ids.ann, labels: ['x', '😀'], places: [{ city: 'R' }] }),
    (db) =>
      db.create('Work.Task', { title: 'B', owner: db.new('Person', { name: 'Bob' }), due: '2026-07-01T12:00:00Z' }),
    (db) => db.createMany('Person', [{ name: 'Cleo', friends: [ids.ann] }, { name: 'Dan' }]),
    (db) => db.upsert('Badge', ['code'], { code: 7, text: 'seven' }),
    (db) => db.upsert('Badge', ['code'], { code: 7, text: 'other', holder: ids.ann }),
    (db) => db.find('Party', { orderBy: { name: 'desc' }, take: 2 }),
    (db) =>
      db.find('Work.Task', { select: { title: true, size: true, owner: { name: true }, helpers: { name: true } } }),
    (db) => db.find('Work.Task', { where: { owner: { address: { city: 'Oslo' } }, points: { $gt: 2 } } }),
    (db) => db.get('Person', ids.ann),
    (db) => db.get('Person', ids.ann, { select: { tasks: { title: true } } }),
    (db) => db.get('Person', ids.task),
    (db) => db.get('Party', ids.ann),
    (db) => db.get('Work.Task', ids.task),
    (db) => db.get('Nobody' as never, ids.ann),
    (db) => db.get('Person', ids.ann, { timeoutMs: 60_000 }),
    (db) => db.get('Person', none),
    (db) => db.get('Person', 'nonsense' as never),
    (db) => db.count('Party', { name: { $startsWith: 'A' } }),
    (db) => db.update('Work.Task', ids.task, { points: 4, status: 'done' }),
    (db) => db.link('Person', ids.ann, 'friends', ids.ann),
    (db) => db.unlink('Person', ids.ann, 'friends', ids.ann),
    (db) => db.client.readObject(ids.task),
    (db) => db.client.readObjectWithEtag(ids.task),
    async (db) => {
      const { etag } = await db.client.readObjectWithEtag(ids.task)
      await db.update('Work.Task', ids.task, { points: 5 }, { ifMatch: etag })
      return db.update('Work.Task', ids.task, { points: 6 }, { ifMatch: etag })
    },
    (db) =>
      db.batch((b) => {
        const eve = b.create('Person', { name: 'Eve' })
        return [
          eve,
          b.create('Work.Task', { title: 'E', owner: eve }),
          b.find('Person', { where: { $id: eve as never } }),
          b.count('Person'),
        ]
      }),
    (db) => db.query`FROM Work.Task GROUP BY status ORDER BY status RETURN status, COUNT() AS n, MAX(points)`,
    (db) => rowsOf(db.client.queryStream('FROM Work.Task ORDER BY title RETURN title, due')),
    (db) => db.query`CREATE INDEX byTitle ON Work.Task (title)`,
    (db) => db.delete('Work.Task', ids.task),
    async (db) => {
      const pages: unknown[] = []
      for await (const page of db.pages('Person', { orderBy: { name: 'asc' }, take: 2 })) pages.push(page)
      return pages
    },
  ])
  const refused = outcomes.filter((one) => 'type' in (one as object)).map((one) => (one as { type: string }).type)
  expect(refused).toEqual(['QueryError', 'QueryError', 'PreconditionFailed'])
})

it('results of many chunks', async () => {
  const both = await openBoth()
  const all = Array.from({ length: 5_000 }, (_, code) => ({ code, text: 'x'.repeat(code % 100) }))
  const [, found] = await expectSame(both, [
    (db) => db.createMany('Badge', all),
    (db) => db.find('Badge', { orderBy: { code: 'desc' } }),
    (db) => db.find('Badge', { select: { text: true } }),
    (db) => rowsOf(db.client.queryStream('FROM Badge RETURN code, text')),
    (db) => db.batch((b) => [b.find('Badge', { select: { code: true } })]),
  ])
  expect((found as { returned: unknown[] }).returned).toHaveLength(5_000)
})

it('refusals, with their places', async () => {
  const both = await openBoth()
  const ann = '3-3-1-1' as never
  await expectSame(both, [
    (db) => db.create('Person', { name: 'Ann' }),
    (db) => db.create('Person', {} as never),
    (db) => db.create('Nobody' as never, {} as never),
    (db) => db.create('Party' as never, { name: 'x' } as never),
    (db) => db.create('Person', { name: 'x', address: { zip: 1.5 } }),
    (db) => db.create('Person', { name: 'x', friends: [none] }),
    (db) => db.create('Person', { name: 'x', tsks: 1 } as never),
    (db) => db.create('Person', { name: new Date(Number.NaN) } as never),
    (db) => db.createMany('Person', [{ name: 'x' }, { name: 5 as never }]),
    (db) => db.createMany('Badge', [{ code: 1 }, { code: 1 }]),
    (db) => db.update('Person', none, { name: 'x' }),
    (db) => db.update('Person', 'nonsense' as never, { name: 'x' }),
    (db) => db.update('Person', ann, { name: null as never }),
    (db) => db.update('Person', ann, { name: 'y' }, { ifMatch: 'not a tag' }),
    (db) => db.delete('Person', none),
    (db) => db.delete('Person', ann, { ifMatch: '"old"' }),
    (db) => db.upsert('Badge', ['text'], { text: 'no index' }),
    (db) => db.find('Person', { where: { nme: 'x' } as never }),
    (db) => db.find('Person', { where: { name: { $like: 5 } } as never }),
    (db) => db.client.readObject('1-2'),
    (db) => db.client.readObject(none),
    (db) => db.client.query('FROM Person RETURN'),
    (db) => db.client.query('FROM Person WHERE name = $missing'),
    (db) => rowsOf(db.client.queryStream('FROM Nobody')),
    (db) => rowsOf(db.client.queryStream('FROM Person', {}, { signal: AbortSignal.abort(new Error('enough')) })),
    (db) => db.client.query('FROM Person WHERE 1/0 = 1'),
    (db) => db.client.query('FROM Person', {}, { dialect: 'sql' as never }),
    (db) => db.client.query('FROM Person', { deep: JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`) }),
    (db) => db.client.query('CREATE INDEX byName ON Person (nme)'),
    (db) => db.batch((b) => [b.create('Person', { name: 'x' }), b.create('Person', { name: 'y', friends: [none] })]),
    (db) => db.client.listChanges({ limit: 0 }),
    (db) => db.client.listChanges({ since: 'nowhere' }),
    (db) => db.client.listChanges({ className: 'Nobody' }),
    (db) => db.count('Person'),
  ])
})

it('values of any kind, as they are written and read', async () => {
  for (const options of [{}, { dates: true, integers: 'bigint' }] as const) {
    const both = await openBoth(options)
    const classOf =
      'UPDATE SCHEMA { CREATE CLASS Any {big: Integer{Storage: b64}, unsigned: Integer{Encoding: Unsigned, Storage: B64}, real: Real{Storage: b64}, amount: Decimal{Precision: 30, Scale: 4}, text: String, json: Json, at: Instant, bytes: Bytes, flag: Boolean, all: List{Element: Json}} }'
    const [defined] = await expectSame(both, [(db) => db.client.query(classOf)])
    expect(defined).toMatchObject({ returned: [{ className: 'Any' }] })
    const scalar = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('\ud800', '\\', '"', '\0', 'a', '\u2028') }),
      fc.double(),
      fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }),
      fc.integer(),
      fc.boolean(),
      fc.date({ noInvalidDate: true }),
      fc.constantFrom(
        null,
        undefined,
        0,
        -0,
        Number.NaN,
        2 ** 53,
        1e300,
        '2026-07-01T12:00:00Z',
        '1.50',
        new Date(Number.NaN),
      ),
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small', maxDepth: 4 },
        scalar,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toJSON', '1')), tie('tree'), { maxKeys: 3 }),
      ),
    }))
    const attributes = fc.record(
      {
        big: scalar,
        unsigned: scalar,
        real: scalar,
        amount: scalar,
        text: scalar,
        json: tree,
        at: scalar,
        bytes: scalar,
        flag: scalar,
        all: tree,
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(attributes, async (values) => {
        const [created] = (await expectSame(both, [(db) => db.client.createObject('Any', values)])) as [
          { returned?: { __identifier__: string } },
        ]
        const oid = created.returned?.__identifier__ ?? none
        await expectSame(both, [
          (db) => db.client.readObject(oid),
          (db) => db.get('Any' as never, oid as never),
          (db) => db.client.query('FROM Any WHERE $$ID = $id RETURN *, $values AS given', { id: oid, values }),
        ])
      }),
      { numRuns: Math.ceil(100 * Number(process.env.ASHLAR_RUNS ?? 1)) },
    )
  }
})

it('scalars of every type, also of objects that are older than their class', async () => {
  for (const options of [{}, { dates: true, integers: 'bigint' }] as const) {
    const both = await openBoth(options)
    const definition =
      'UPDATE SCHEMA { CREATE CLASS Scalars {flag: Boolean, letter: Character, small: Integer, big: Integer{Storage: b64}, unsigned: Integer{Encoding: Unsigned, Storage: B64}, real: Real, ' +
      'short: Real{Storage: b32}, amount: Decimal{Precision: 30, Scale: 4}, text: String, id: Guid, day: Date, time: Time, at: Instant, local: DateTime, length: Interval, bytes: Bytes, ' +
      'badge: Reference{Referenced: Badge}, double: Integer = (small * 2), half: Integer{Stored} = (small / 2)} }'
    const [defined] = await expectSame(both, [(db) => db.client.query(definition)])
    expect(defined).toMatchObject({ returned: [{ className: 'Scalars' }] })
    const all = [
      {
        small: 7,
        big: 2n ** 62n,
        unsigned: 2n ** 64n - 1n,
        real: 0.1,
        short: 0.1,
        amount: '12.50',
        text: 'a"\u2028é',
        letter: 'x',
        flag: true,
      },
      {
        id: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
        day: '2026-07-01',
        time: '12:00:00',
        at: '2026-07-01T12:00:00.5+02:00',
        local: '2026-07-01T12:00:00',
      },
      { length: 'P1DT2H', bytes: 'AAEC', badge: '3-3-1-1', text: '0-0-0-0', big: -5, real: 1e300, short: -1e-30 },
      {},
    ]
    await expectSame(both, [(db) => db.create('Badge', { code: 1 })])
    const oids: string[] = []
    for (const values of all) {
      const [created] = await expectSame(both, [(db) => db.client.createObject('Scalars', values)])
      oids.push((created as { returned?: { __identifier__: string } }).returned?.__identifier__ ?? none)
    }
    expect(oids).not.toContain(none)
    const reads: Call[] = oids.map((oid) => (db) => db.get('Scalars' as never, oid as never))
    const changes = [
      'UPDATE SCHEMA { ALTER CLASS Scalars { ADD later: Integer{Default: 5}, DROP letter, RENAME text TO words } }',
      'UPDATE SCHEMA { ALTER CLASS Scalars { ADD sum: Integer = (small + later) } }',
    ]
    await expectSame(both, reads)
    for (const change of changes) {
      const [changed] = await expectSame(both, [(db) => db.client.query(change), ...reads])
      expect(changed).toHaveProperty('returned', expect.any(Array))
    }
  }
})

it('live queries and changes', async () => {
  const both = await openBoth({ dates: true })
  const watched: Call = async (db) => {
    const seen: unknown[] = []
    const steps = [
      () => db.create('Work.Task', { title: 'A', due: '2026-07-01T12:00:00Z' }),
      () => db.query`UPDATE Work.Task SET title TO 'B'`,
      () => db.query`DELETE Work.Task`,
    ]
    for await (const rows of db.watch('Work.Task', { select: { title: true, due: true }, orderBy: { title: 'asc' } })) {
      seen.push(rows)
      const step = steps.shift()
      if (step === undefined) return seen
      await step()
    }
    return undefined
  }
  const changed: Call = async (db) => {
    const seen: unknown[] = []
    const positions: string[] = []
    for await (const { position: _, at, revision: _revision, ...change } of db.changes('Work.Task', {}, (one) =>
      positions.push(one),
    )) {
      seen.push(typeof at, change)
      if (change.change === 'deleted') break
    }
    return [seen, positions.length]
  }
  const aborted: Call = async (db) => {
    for await (const _ of db.changes('Work.Task', { since: 'now', signal: AbortSignal.abort(new Error('enough')) }))
      return 'a change'
    return 'an end'
  }
  await expectSame(both, [watched, changed, aborted, (db) => db.client.followQuery('FROM').next()])
})
