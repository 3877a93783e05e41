/** The typed interface against a real server: each call, hostile texts in values and in names, and pages in every order. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import type { Database, NewValues } from '../src/index.ts'
import { connect, databaseOf, load } from '../src/index.ts'
import type { Schema } from './typed-schema.d.ts'

type Task = Schema['Work.Task']

async function serve(): Promise<{ baseUrl: string; db: Database<Schema> }> {
  const { app } = await openServer()
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const db = connect<Schema>(baseUrl)
  await db.query(Object.assign([schema], { raw: [schema] }))
  return { baseUrl, db }
}

const open = async (): Promise<Database<Schema>> => (await serve()).db

const schema = readFileSync(new URL('typed-schema.do', import.meta.url), 'utf8')

const hostile = [
  "' OR TRUE",
  "x' RETURN *; DELETE Work.Task; //",
  '`title`',
  '$_0',
  '$$ID',
  '\u0024{_0}',
  '$\u0024{_0}',
  '\\',
  '"',
  '\0\n\u2028',
  '%_',
  '3-3-1-1',
  '{"a": 1}',
  '😀',
]

describe('reading', () => {
  it('finds whole objects, what is selected, and what is related', async () => {
    const db = await open()
    const ann = await db.create('Person', { name: 'Ann', address: { city: 'Oslo', zip: 150 } })
    const bob = await db.create('Person', { name: 'Bob', friends: [ann] })
    const places = [{ city: 'Rome' }, { city: 'Bonn', zip: 7 }]
    const a = await db.create('Work.Task', { title: 'A', points: 3, owner: ann, labels: ['x', 'y'], places })
    const b = await db.create('Work.Task', { title: 'Bee', status: 'done', helpers: { first: bob } })
    expect(await db.find('Party', { orderBy: { name: 'asc' } })).toEqual([
      { $id: ann, $class: 'Person', name: 'Ann', address: { city: 'Oslo', zip: 150 }, friends: [], tasks: [a] },
      { $id: bob, $class: 'Person', name: 'Bob', address: { city: '', zip: 0 }, friends: [ann], tasks: [] },
    ])
    const select = {
      title: true,
      size: true,
      owner: { name: true, address: { city: true } },
      places: { city: true, $orderBy: { city: 'asc' }, $take: 1 },
      helpers: { name: true },
    } as const
    expect(await db.find('Work.Task', { select, orderBy: { title: 'desc' } })).toEqual([
      { $id: b, title: 'Bee', size: 3, owner: null, places: [], helpers: { first: { name: 'Bob' } } },
      {
        $id: a,
        title: 'A',
        size: 1,
        owner: { name: 'Ann', address: { city: 'Oslo' } },
        places: [{ city: 'Bonn' }],
        helpers: {},
      },
    ])
    expect(await db.get('Person', ann, { select: { tasks: { $id: true, title: true } } })).toEqual({
      $id: ann,
      tasks: [{ $id: a, title: 'A' }],
    })
    expect(await db.get('Person', bob)).toMatchObject({ $id: bob, name: 'Bob' })
    expect(await db.get('Work.Task', ann as never)).toBeNull()
    expect(await db.find('Work.Task', { select: {} })).toEqual([{ $id: a }, { $id: b }])
    expect(await db.find('Work.Task', { select: { owner: true, $id: true }, take: 1 })).toEqual([
      { $id: a, owner: ann },
    ])
  })

  it('filters by every operator', async () => {
    const db = await open()
    const ann = await db.create('Person', { name: 'Ann', address: { city: 'Oslo' } })
    const ids = await db.createMany('Work.Task', [
      { title: 'one', points: 1, owner: ann, labels: ['x'], places: [{ city: 'Rome' }] },
      { title: 'Two', points: 2, due: '2026-07-01T12:00:00Z', isUrgent: true },
      { title: 'three', status: 'done', points: 3, places: [{ city: 'Rome' }, { city: 'Bonn' }], helpers: { a: ann } },
    ])
    const found = async (where: Parameters<typeof db.count<'Work.Task'>>[1]): Promise<string> => {
      const rows = await db.find('Work.Task', { select: { title: true }, where, orderBy: { points: 'asc' } })
      expect(await db.count('Work.Task', where)).toBe(rows.length)
      return rows.map(({ title }) => title).join()
    }
    expect(await found({})).toBe('one,Two,three')
    expect(await found({ points: { $gt: 1, $lte: 3 }, title: 'Two' })).toBe('Two')
    expect(await found({ points: { $gte: 2, $lt: 3 } })).toBe('Two')
    expect(await found({ points: { $in: [1, 3, 9] } })).toBe('one,three')
    expect(await found({ due: null })).toBe('one,three')
    expect(await found({ due: { $not: null } })).toBe('Two')
    expect(await found({ due: { $lt: '2026-07-01T14:00:01+02:00' } })).toBe('Two')
    expect(await found({ status: { $not: 'open' } })).toBe('three')
    expect(await found({ isUrgent: true })).toBe('Two')
    expect(await found({ title: { $startsWith: 't' } })).toBe('three')
    expect(await found({ title: { $contains: 'e' } })).toBe('one,three')
    expect(await found({ title: { $like: 't%' } })).toBe('three')
    expect(await found({ title: { $ilike: 't%' } })).toBe('Two,three')
    expect(await found({ $id: ids[1] as (typeof ids)[0] })).toBe('Two')
    expect(await found({ $id: { $in: ids.slice(1) } })).toBe('Two,three')
    expect(await found({ owner: ann })).toBe('one')
    expect(await found({ owner: null })).toBe('Two,three')
    expect(await found({ owner: { $not: null } })).toBe('one')
    expect(await found({ owner: { $in: [ann] } })).toBe('one')
    expect(await found({ owner: { name: 'Ann', address: { city: 'Oslo' } } })).toBe('one')
    expect(await found({ labels: { $has: 'x' } })).toBe('one')
    expect(await found({ labels: { $empty: true } })).toBe('Two,three')
    expect(await found({ labels: { $empty: false } })).toBe('one')
    expect(await found({ places: { $any: { city: 'Bonn' } } })).toBe('three')
    expect(await found({ places: { $all: { city: 'Rome' }, $empty: false } })).toBe('one')
    expect(await found({ places: { $none: { city: 'Bonn' } } })).toBe('one,Two')
    expect(await found({ helpers: { $empty: false } })).toBe('three')
    expect(await found({ $or: [{ points: 1 }, { title: 'three', status: 'done' }] })).toBe('one,three')
    expect(await found({ $and: [{ points: { $gt: 1 } }, { points: { $lt: 3 } }] })).toBe('Two')
    expect(await found({ $and: [], $not: { points: 1 } })).toBe('Two,three')
    expect(await found({ $or: [] })).toBe('')
    expect(await db.count('Person', { tasks: { $has: ids[0] as (typeof ids)[0] } })).toBe(1)
    expect(await db.count('Person', { tasks: { $any: { title: 'one' } } })).toBe(1)
    const select = { tasks: { title: true, $where: { title: { $startsWith: 'x' } } } } as const
    expect(await db.get('Person', ann, { select })).toEqual({ $id: ann, tasks: [] })
  })

  it('runs DO with parameters', async () => {
    const db = await open()
    await db.createMany('Work.Task', [
      { title: 'A', points: 1 },
      { title: 'B', points: 2 },
    ])
    const rows = await db.query<{ title: string }>`FROM Work.Task WHERE points > ${1} RETURN title`
    expect(rows).toEqual([{ title: 'B' }])
    expect(() => db.query('FROM Work.Task RETURN *' as never)).toThrow('query is called with a template')
    for (const text of hostile) {
      expect(await db.query`FROM Work.Task WHERE title = ${text} RETURN title`).toEqual([])
      expect(await db.query`SHOW ${text}`).toEqual([text])
    }
  })
})

describe('writing', () => {
  it('creates, updates and deletes objects and links', async () => {
    const db = await open()
    const owner = db.new('Person', { name: 'Ann' })
    const id = await db.create('Work.Task', {
      title: 'A',
      owner,
      helpers: { a: owner, b: db.new('Person', { name: 'B' }) },
    })
    const select = { owner: { name: true }, helpers: { name: true }, status: true } as const
    expect(await db.get('Work.Task', id, { select })).toEqual({
      $id: id,
      owner: { name: 'Ann' },
      helpers: { a: { name: 'Ann' }, b: { name: 'B' } },
      status: 'open',
    })
    expect(await db.count('Person')).toBe(2)
    await db.update('Work.Task', id, { points: 5, due: new Date('2026-07-01T12:00:00Z').toISOString() })
    await db.update('Work.Task', id, { title: 'B', owner: db.new('Person', { name: 'Cid' }) })
    expect(
      await db.get('Work.Task', id, { select: { title: true, points: true, due: true, owner: { name: true } } }),
    ).toEqual({
      $id: id,
      title: 'B',
      points: 5,
      due: '2026-07-01T12:00:00Z',
      owner: { name: 'Cid' },
    })
    const [p, q] = await db.createMany('Person', [
      { name: 'P' },
      { name: 'Q', friends: [db.new('Person', { name: 'R' })] },
    ])
    if (p === undefined || q === undefined) throw new Error('Two persons were created.')
    await db.link('Person', p, 'friends', q)
    await db.link('Person', p, 'friends', [p, db.new('Person', { name: 'S' })])
    await db.unlink('Person', p, 'friends', p)
    const friends = await db.get('Person', p, { select: { friends: { name: true } } })
    expect(friends?.friends).toEqual([{ name: 'Q' }, { name: 'S' }])
    await db.delete('Work.Task', id)
    expect(await db.get('Work.Task', id)).toBeNull()
    await expect(db.delete('Work.Task', id)).rejects.toMatchObject({ type: 'ObjectNotFound' })
  })

  it('changes only the object that was read', async () => {
    const db = await open()
    const id = await db.create('Person', { name: 'Ann' })
    const { etag } = await db.client.readObjectWithEtag(id)
    await db.update('Person', id, { name: 'Bob' }, { ifMatch: etag })
    const refused = { type: 'PreconditionFailed' }
    await expect(db.update('Person', id, { name: 'Cid' }, { ifMatch: etag })).rejects.toMatchObject(refused)
    const friends = [db.new('Person', { name: 'Eve' })]
    await expect(db.update('Person', id, { friends }, { ifMatch: etag })).rejects.toMatchObject(refused)
    await expect(db.delete('Person', id, { ifMatch: etag })).rejects.toMatchObject(refused)
    expect(await db.find('Person', { select: { name: true } })).toEqual([{ $id: id, name: 'Bob' }])
  })

  it('creates or updates by a unique index', async () => {
    const db = await open()
    const holder = db.new('Person', { name: 'Ann' })
    const id = await db.upsert('Badge', ['code'], { code: 7, text: 'A', holder })
    expect(await db.upsert('Badge', ['code'], { code: 7, text: 'B' })).toBe(id)
    const select = { text: true, holder: { name: true } } as const
    expect(await db.find('Badge', { select })).toEqual([{ $id: id, text: 'B', holder: { name: 'Ann' } }])
    for (const text of hostile) await db.upsert('Badge', ['code'], { code: 8, text })
    const [, texts] = await db.batch((step) => {
      const upserted = step.upsert('Badge', ['code'], { code: 7, text: hostile[5] ?? '' })
      return [upserted, step.find('Badge', { select: { text: true }, orderBy: { code: 'asc' } })]
    })
    expect(texts.map(({ text }) => text)).toEqual([hostile[5], hostile.at(-1)])
    await expect(db.upsert('Badge', ['text'], { text: 'B' })).rejects.toMatchObject({ status: 422 })
  })

  it('runs a batch as one transaction', async () => {
    const db = await open()
    const results = await db.batch((step) => {
      const ann = step.create('Person', { name: 'Ann' })
      const task = step.create('Work.Task', { title: 'A', owner: ann })
      step.update('Work.Task', task, { points: 1 })
      step.link('Person', ann, 'friends', [ann])
      const tasks = step.find('Work.Task', { select: { points: true }, where: { owner: { name: 'Ann' } } })
      return [
        ann,
        task,
        tasks,
        step.count('Person'),
        step.createMany('Person', [{ name: 'B' }]),
        step.get('Person', ann),
      ]
    })
    const [ann, task, tasks, count, [other], got] = results
    expect(tasks).toEqual([{ $id: task, points: 1 }])
    expect(count).toBe(1)
    expect(got).toMatchObject({ $id: ann, friends: [ann], tasks: [task] })
    const failing = db.batch((step) => [
      step.create('Person', { name: 'C' }),
      step.delete('Person', '3-3-1-99' as never),
    ])
    await expect(failing).rejects.toMatchObject({ type: 'ObjectNotFound' })
    expect(await db.find('Person', { select: { name: true }, where: { name: { $in: ['B', 'C'] } } })).toEqual([
      { $id: other, name: 'B' },
    ])
    expect(await db.batch(() => [])).toEqual([])
  })

  it('loads any number of objects', async () => {
    const db = databaseOf<Schema, AshlarClient>(new AshlarClient({ baseUrl: (await serve()).baseUrl }))
    const twoDollars = '$\u0024{_0}'
    const texts = [...hostile.filter((text) => text !== twoDollars), '\u0024{1}', '$$\u0024{_0}', '\u0024{_0} ']
    const values = texts.map((title): NewValues<Task> => ({ title, labels: [title], helpers: {} }))
    expect(await load(db, 'Work.Task', values)).toMatchObject({ created: texts.length })
    const rows = await db.find('Work.Task', { select: { title: true, labels: true } })
    expect(rows.map(({ title }) => title)).toEqual(texts)
    expect(rows.map(({ labels: [label] }) => label)).toEqual(texts)
    const refused = load(db, 'Work.Task', [{ title: 'A', labels: [twoDollars] }])
    await expect(refused).rejects.toThrow('load of Work.Task: labels cannot be')
    const two = [
      { text: 'A', code: 1 },
      { text: 'B', code: 1 },
    ]
    await expect(load(db, 'Badge', two)).rejects.toMatchObject({ type: 'UniqueViolation' })
    expect(await load(db, 'Badge', two.slice(1), { onError: 'skip' })).toMatchObject({ created: 0 })
    const silent = databaseOf<Schema, AshlarClient>({ loadObjects: async function* () {} } as never)
    await expect(load(silent, 'Badge', two)).rejects.toThrow('has ended without a summary')
  })
})

describe('following', () => {
  it('yields the rows again after each change of them', async () => {
    const db = await open()
    const ann = await db.create('Person', { name: 'Ann' })
    const ending = new AbortController()
    const seen: unknown[] = []
    const options = { select: { name: true }, where: { name: { $lt: 'M' } }, orderBy: { name: 'asc' } } as const
    for await (const rows of db.watch('Person', { ...options, signal: ending.signal })) {
      seen.push(rows.map(({ name }) => name))
      if (seen.length === 1) await db.create('Person', { name: 'Abe' })
      else if (seen.length === 2) await db.update('Person', ann, { name: 'Zoe' })
      else break
    }
    expect(seen).toEqual([['Ann'], ['Abe', 'Ann'], ['Abe']])
    for await (const rows of db.watch('Person')) {
      expect(rows).toEqual(await db.find('Person'))
      break
    }
  })

  it('yields each change of a class', async () => {
    const db = await open()
    const task = await db.create('Work.Task', { title: 'A' })
    await db.create('Person', { name: 'Ann' })
    await db.update('Work.Task', task, { title: 'B' })
    const seen: unknown[] = []
    const positions: string[] = []
    for await (const { change, oid, after } of db.changes('Work.Task', {}, (position) => positions.push(position))) {
      if (oid === undefined) continue
      seen.push([change, oid, after?.title])
      if (seen.length === 2) break
    }
    expect(seen).toMatchObject([
      ['created', task, 'A'],
      ['updated', task, 'B'],
    ])
  })
})

describe('hostile texts', () => {
  it('are values wherever a value stands', async () => {
    const db = await open()
    const ids = await db.createMany(
      'Work.Task',
      hostile.map((title) => ({ title, labels: [title] })),
    )
    for (const [at, title] of hostile.entries()) {
      const expected = [{ $id: ids[at], title }]
      const found = (where: Parameters<typeof db.count<'Work.Task'>>[1]) =>
        db.find('Work.Task', { select: { title: true }, where })
      expect(await found({ title })).toEqual(expected)
      expect(await found({ title: { $in: [title] } })).toEqual(expected)
      expect(await found({ labels: { $has: title } })).toEqual(expected)
      expect(await found({ $or: [{ title }, { title: { $startsWith: `${title}!` } }] })).toEqual(expected)
      // The same in one transaction, where texts may be names of new objects.
      const [id, same, rows] = await db.batch((step) => {
        const created = step.create('Person', { name: title, address: { city: title } })
        const select = { name: true, address: { city: true } } as const
        const person = step.find('Person', { select, where: { name: title } })
        return [created, person, step.find('Work.Task', { select: { title: true }, where: { title } })]
      })
      expect(same).toEqual([{ $id: id, name: title, address: { city: title } }])
      expect(rows).toEqual(expected)
      await db.update('Person', id, { name: `${title}2`, friends: [db.new('Person', { name: title })] })
      const select = { name: true, friends: { name: true } } as const
      expect(await db.get('Person', id, { select })).toEqual({ $id: id, name: `${title}2`, friends: [{ name: title }] })
    }
    expect(await db.count('Work.Task')).toBe(hostile.length)
  })

  it('are refused wherever a name stands, and nothing is sent', async () => {
    const requests: string[] = []
    const sent: typeof fetch = async (...[url]) => {
      requests.push(String(url))
      return new Response('[]')
    }
    const db = databaseOf<Schema, AshlarClient>(new AshlarClient({ baseUrl: 'http://127.0.0.1:1', fetch: sent }))
    const calls = db as unknown as Record<'find' | 'count' | 'upsert', (...given: unknown[]) => Promise<unknown>>
    const refused = async (call: () => Promise<unknown>): Promise<void> => {
      await expect((async () => call())()).rejects.toThrow(/^('|.*(is not the name of|there is no operator))/)
    }
    for (const name of [...hostile, 'a b', 'a.b', 'a`, `b', 'title RETURN', '', 'ä', '$or ', '1a']) {
      await refused(() => calls.find(name === 'a.b' ? 'a..b' : name))
      await refused(() => calls.count('Task', { [name]: 1 }))
      await refused(() => calls.count('Task', { owner: { [name]: 1 } }))
      await refused(() => calls.find('Task', { select: { [name]: true } }))
      await refused(() => calls.find('Task', { select: { owner: { [name]: true } } }))
      await refused(() => calls.find('Task', { select: { tasks: { name: true, $where: { [name]: true } } } }))
      await refused(() => calls.find('Task', { select: { tasks: { name: true, $orderBy: { [name]: 'asc' } } } }))
      await refused(() => calls.find('Task', { orderBy: { [name]: 'asc' } }))
      await refused(() => calls.find('Task', { orderBy: { owner: { [name]: 'asc' } }, after: {} }))
      await refused(() => calls.upsert('Task', [name], {}))
      await refused(() => calls.upsert('Task', ['a'], { [name]: 1 }))
      await refused(() => calls.upsert(`Task ${name}`, ['a'], {}))
    }
    expect(requests).toEqual([])
    // More names than are kept as checked ones.
    for (let at = 0; at <= 10_000; at++) await calls.count('Task', { [`a${at}`]: 1 })
    expect(requests).toHaveLength(10_001)
  })

  it('are refused wherever an order, a selection or a condition stands', async () => {
    const db = databaseOf<Schema, AshlarClient>(new AshlarClient({ baseUrl: 'http://127.0.0.1:1' }))
    const find = (options: object) => db.find('Person', options as never)
    const fails = (options: object) => expect(find(options)).rejects
    await fails({ orderBy: { name: 'asc; DELETE Person' } }).toThrow(
      "'name' is 'asc; DELETE Person', not 'asc' or 'desc'",
    )
    await fails({ orderBy: 'name' }).toThrow("orderBy of Person is 'name', not an object of attributes")
    await fails({ select: { name: 'x' } }).toThrow("'name' is 'x', not true or an object of attributes")
    await fails({ select: { tasks: {} } }).toThrow('select of tasks names no attribute')
    await fails({ where: { name: undefined } }).toThrow("'name' is undefined. Leave it out")
    await fails({ where: { $or: 'x' } }).toThrow("$or is 'x', not an array")
    await fails({ where: { $or: [1] } }).toThrow('where of Person is 1, not an object of conditions')
    await fails({ where: { name: { $constructor: 1 } } }).toThrow("there is no operator '$constructor'")
    await expect(db.watch('Person', { after: {} } as never).next()).rejects.toThrow("'after' is for find alone")
    await fails({ after: {} }).toThrow("'after' needs 'orderBy'")
    await fails({ after: {}, orderBy: { name: 'asc' } }).toThrow('the row lacks name')
    expect(() => db.delete('Person', 7 as never)).toThrow('7 is not the OID of an object')
    expect(() => db.update('Person', {} as never, {})).toThrow('is not the OID of an object')
  })
})

it('passes on what the server says of unknown classes, attributes and values', async () => {
  const db = await open()
  const loose = db as unknown as Database<Record<string, never>>
  const refused = (call: Promise<unknown>, message: string | RegExp) => expect(call).rejects.toThrow(message)
  await refused(loose.find('Persn'), 'Persn')
  await refused(db.find('Person', { select: { nam: true } as never }), 'nam')
  await refused(db.find('Person', { where: { nam: 1 } as never }), 'nam')
  await refused(db.find('Person', { orderBy: { nam: 'asc' } as never }), 'nam')
  await refused(db.create('Person', { nam: 1 } as never), 'nam')
  await refused(db.create('Person', {} as never), 'name')
  await refused(db.create('Party' as never, { name: 'A' } as never), 'Party')
  await refused(db.create('Work.Task', { title: 'A', status: 'late' as never }), 'status')
  await refused(db.find('Work.Task', { take: -1 }), /TAKE|-1/)
  await refused(db.get('Person', 'x' as never), /x/)
  await refused(db.delete('Person', '../fd' as never), /fd/)
  const id = await db.create('Work.Task', { title: 'A', number: 1 })
  await refused(db.update('Work.Task', id, { number: 2 } as never), 'number')
  await refused(db.link('Work.Task', id as never, 'title' as never, [] as never), 'title')
})

describe('pages', () => {
  /** Few different values, so that there are ties, and nulls among them. */
  async function filled(): Promise<Database<Schema>> {
    const db = await open()
    const people = await db.createMany(
      'Person',
      ['B', 'A', 'B'].map((name) => ({ name })),
    )
    const tasks = Array.from({ length: 40 }, (_, at): NewValues<Task> => {
      const owner = people[at % 4]
      return {
        title: `t${at % 3}`,
        points: at % 5 === 0 ? null : (at * 7) % 4,
        rank: at % 7 === 0 ? null : 0.1 * ((at * 5) % 3),
        due: at % 4 === 0 ? null : `2026-07-0${1 + (at % 3)}T12:00:00.1234Z`,
        isUrgent: at % 3 === 0 ? null : at % 2 === 0,
        ...(owner !== undefined && { owner }),
      }
    })
    await db.createMany('Work.Task', tasks)
    return db
  }

  it('are, one after the other, the rows of one sort', async () => {
    const db = await filled()
    const select = { points: true, title: true, rank: true, due: true, isUrgent: true, owner: { name: true } } as const
    const directions = ['asc', 'desc'] as const
    const orders = directions.flatMap((one) => [
      { title: one },
      { points: one },
      { rank: one },
      { due: one },
      { owner: { name: one } },
      { $id: one },
      ...directions.flatMap((other) => [
        { points: one, rank: other },
        { isUrgent: one, title: other, points: one },
        { owner: { name: one }, due: other, $id: one },
        { title: one, $id: other },
      ]),
    ])
    for (const orderBy of orders) {
      const all = await db.find('Work.Task', { select, orderBy })
      expect(all.length).toBe(40)
      for (const take of [3, 40]) {
        const pages: unknown[] = []
        for await (const page of db.pages('Work.Task', { select, orderBy, take })) {
          expect(page.length).toBeLessThanOrEqual(take)
          pages.push(...page)
        }
        expect(pages, JSON.stringify({ orderBy, take })).toEqual(all)
      }
    }
  })

  it('keep to the condition, begin after a row, and follow what was written in between', async () => {
    const db = await filled()
    const options = {
      where: { $or: [{ title: 't1' }, { title: 't2' }] },
      orderBy: { points: 'desc' },
      take: 5,
    } as const
    const all = await db.find('Work.Task', { ...options, take: 100 })
    const first = await db.find('Work.Task', options)
    expect(first).toEqual(all.slice(0, 5))
    const next = await db.find('Work.Task', { ...options, after: first.at(-1) })
    expect(next).toEqual(all.slice(5, 10))
    for (const { $id } of first) await db.delete('Work.Task', $id)
    expect(await db.find('Work.Task', { ...options, after: first.at(-1) })).toEqual(next)
    expect(await db.find('Work.Task', { ...options, after: all.at(-1) })).toEqual([])
    expect(await db.find('Work.Task', { orderBy: { points: 'asc' }, after: undefined })).toHaveLength(35)
  })

  it('of any rows and orders are those of a simple model', async () => {
    const db = await open()
    const direction = fc.constantFrom('asc' as const, 'desc' as const)
    const given = fc.record({
      rows: fc.array(
        fc.record({
          title: fc.constantFrom('a', 'b', 'B', '😀', '￿'),
          points: fc.constantFrom(null, -1, 0, 7),
          rank: fc.constantFrom(null, -0.5, 0.1, 1e21),
          isUrgent: fc.constantFrom(null, true, false),
        }),
        { maxLength: 12 },
      ),
      names: fc.shuffledSubarray(['title', 'points', 'rank', 'isUrgent'] as const, { minLength: 1 }),
      directions: fc.tuple(direction, direction, direction, direction),
      take: fc.integer({ min: 1, max: 5 }),
    })
    await fc.assert(
      fc.asyncProperty(given, async ({ rows, names, directions, take }) => {
        await db.query`DELETE Work.Task`
        const ids = await db.createMany('Work.Task', rows)
        const orderBy = Object.fromEntries(names.map((name, at) => [name, directions[at] ?? 'asc']))
        const expected = rows
          .map((row, at) => ({ ...row, $id: ids[at] as (typeof ids)[number] }))
          .map((row, at) => ({ row, at }))
          .sort((one, other) => {
            for (const [name, direction] of Object.entries(orderBy)) {
              const order = compared(one.row[name as 'title'], other.row[name as 'title'])
              if (order !== 0) return direction === 'asc' ? order : -order
            }
            return one.at - other.at
          })
          .map(({ row }) => row)
        const found: unknown[] = []
        const select = { title: true, points: true, rank: true, isUrgent: true } as const
        for await (const page of db.pages('Work.Task', { select, orderBy, take })) found.push(...page)
        expect(found).toEqual(expected)
      }),
      { numRuns: Math.ceil(100 * Number(process.env.ASHLAR_RUNS ?? 1)) },
    )
  })
})

/** Nulls are the greatest values, and texts are compared by code points. */
function compared(one: unknown, other: unknown): number {
  if (one === other) return 0
  if (one === null || other === null) return one === null ? 1 : -1
  const [left, right] = [one, other].map((value) => (typeof value === 'string' ? value.codePointAt(0) : Number(value)))
  return Number(left) < Number(right) ? -1 : 1
}
