/** Stores of rows: shared, resumed after failures, and with the caller's changes shown until the server has made or refused them. */
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Id, liveOf, type RowsSnapshot } from '../src/index.ts'
import { settledMsMax } from '../src/live/followed-rows.ts'
import { type FakeQuery, fakeDatabase, type Row, settled } from './fake-connection.ts'

const select = { title: true, points: true } as const
const a = { $id: '3-3-1-1', title: 'A', points: 1 }
const b = { $id: '3-3-1-2', title: 'B', points: 2 }
const idOf = (row: Row): Id<'Work.Task'> => row.$id as Id<'Work.Task'>
const change = (row: Row) => ({ event: 'change', oid: String(row.$id), row: { ...row } }) as const
const enter = (row: Row) => ({ event: 'enter', oid: String(row.$id), row: { ...row } }) as const
const leave = (row: Row) => ({ event: 'leave', oid: String(row.$id) }) as const

function watching() {
  const fake = fakeDatabase()
  const live = liveOf(fake.db)
  const store = live.watch('Work.Task', { select })
  const seen: RowsSnapshot<unknown>[] = []
  const end = store.subscribe((snapshot) => void seen.push(snapshot))
  const titles = (): string[] => store.get().rows.map(({ title }) => title)
  return { ...fake, live, store, seen, end, titles, query: fake.queries[0] as FakeQuery }
}

afterEach(() => void vi.useRealTimers())

describe('a store', () => {
  it('begins with its first subscriber, ends after its last, and is one for equal queries', async () => {
    const { db, queries } = fakeDatabase()
    const live = liveOf(db)
    const first = live.watch('Work.Task', { select, where: { points: 1 } })
    expect([queries.length, first.get().status]).toEqual([0, 'loading'])
    const ends = [
      first.subscribe(() => undefined),
      live.watch('Work.Task', { select, where: { points: 1 } }).subscribe(() => undefined),
    ]
    expect(queries.length).toBe(1)
    const other = live.watch('Work.Task', { select, where: { points: 2 } }).subscribe(() => undefined)
    expect(queries.length).toBe(2)
    await queries[0]?.begin(a)
    expect(first.get()).toMatchObject({ status: 'ready', rows: [a] })
    for (const end of ends) end()
    // As a framework does that unmounts and mounts a component at once.
    const again = first.subscribe(() => undefined)
    await settled()
    expect([queries[0]?.isEnded, queries.length]).toEqual([false, 2])
    again()
    again()
    other()
    await settled()
    expect(queries.map(({ isEnded }) => isEnded)).toEqual([true, true])
    expect(first.get().status).toBe('loading')
  })

  it('shows what the server sends at each position, and keeps what has not changed', async () => {
    const { query, store, seen } = watching()
    await query.begin(a, b)
    const [snapshot, [rowA]] = [store.get(), store.get().rows]
    await query.send()
    expect(store.get()).toBe(snapshot)
    await query.put(change({ ...b, title: 'C' }))
    expect(store.get()).toBe(snapshot)
    await query.send()
    expect(store.get().rows).toEqual([a, { ...b, title: 'C' }])
    expect(store.get().rows[0]).toBe(rowA)
    expect(seen.map(({ status, rows }) => [status, rows.length])).toEqual([
      ['loading', 0],
      ['ready', 2],
      ['ready', 2],
    ])
  })

  it('keeps the rows over a lost connection, and the same ones if they are sent again', async () => {
    const { query, store } = watching()
    const lost = new Error('lost')
    query.options.onLost?.(lost)
    expect(store.get()).toMatchObject({ status: 'loading', error: lost })
    await query.begin(a, b)
    const { rows } = store.get()
    query.options.onLost?.(lost)
    expect(store.get()).toMatchObject({ status: 'reconnecting', error: lost })
    expect(store.get().rows).toBe(rows)
    await query.put({ event: 'begin', isOrdered: false, isResumed: false }, { event: 'row', oid: a.$id, row: { ...a } })
    expect(store.get().rows).toBe(rows)
    await query.send({ event: 'row', oid: b.$id, row: { ...b } })
    expect(store.get()).toMatchObject({ status: 'ready', error: undefined })
    expect(store.get().rows).toBe(rows)
    await query.begin({ ...a, points: 9 }, b)
    expect(store.get().rows[0]).toEqual({ ...a, points: 9 })
    expect(store.get().rows[1]).toBe(rows[1])
    query.options.onLost?.(lost)
    await query.send({ event: 'begin', isOrdered: false, isResumed: true })
    expect(store.get()).toMatchObject({ status: 'ready', rows: [{ ...a, points: 9 }, b] })
  })

  it('says why it has failed, and is read again by refresh', async () => {
    const { query, queries, store } = watching()
    await query.begin(a)
    const refused = new Error('not allowed')
    await query.put(refused)
    expect(store.get()).toMatchObject({ status: 'failed', error: refused, rows: [a] })
    store.refresh()
    expect(store.get()).toMatchObject({ status: 'loading', error: undefined, rows: [a] })
    await queries[1]?.begin(b)
    expect(store.get()).toMatchObject({ status: 'ready', rows: [b] })
  })

  it('reports the mistake of a listener, and goes on', async () => {
    const { query, store } = watching()
    const reported: unknown[] = []
    const report = (error: unknown): void => void reported.push(error)
    const others = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').on('uncaughtException', report)
    const mistake = new Error('in a listener')
    store.subscribe(({ status }) => {
      if (status === 'ready') throw mistake
    })
    const later = vi.fn()
    store.subscribe(later)
    await query.begin(a)
    await settled()
    process.off('uncaughtException', report)
    for (const other of others) process.on('uncaughtException', other)
    expect(reported).toEqual([mistake])
    expect(later).toHaveBeenLastCalledWith(expect.objectContaining({ status: 'ready' }))
    expect(store.get().status).toBe('ready')
  })

  it('reads the rows of find once, and again by refresh', async () => {
    const { db, requests } = fakeDatabase()
    const store = liveOf(db).find('Work.Task', { select, take: 2 })
    const end = store.subscribe(() => undefined)
    await requests[0]?.succeed([a])
    expect(store.get()).toMatchObject({ status: 'ready', rows: [a] })
    store.refresh()
    expect(store.get()).toMatchObject({ status: 'loading', rows: [a] })
    await requests[1]?.refuse('too much')
    expect(store.get()).toMatchObject({ status: 'failed', error: new Error('too much'), rows: [a] })
    store.refresh()
    store.refresh()
    await requests[3]?.succeed([b])
    await requests[2]?.succeed([a])
    expect(store.get()).toMatchObject({ status: 'ready', rows: [b] })
    end()
  })
})

describe('a change', () => {
  it('is shown at once, and rolled back if it is refused', async () => {
    const { query, live, store, requests } = watching()
    await query.begin(a, b)
    const { rows } = store.get()
    const updated = live.update('Work.Task', idOf(a), { title: 'X', status: 'done' })
    const deleted = live.delete('Work.Task', idOf(b))
    expect(store.get()).toMatchObject({ rows: [{ ...a, title: 'X' }], pending: new Set([a.$id, b.$id]) })
    const refused = expect(Promise.all([updated, deleted])).rejects.toThrow('not yours')
    await requests[0]?.refuse('not yours')
    expect(store.get().rows).toEqual([a])
    await requests[1]?.refuse('not yours')
    await refused
    expect(store.get()).toMatchObject({ rows, pending: new Set() })
    expect(store.get().rows[0]).toBe(rows[0])
  })

  it.each(['before', 'after'])('is not shown twice if the rows arrive %s the reply', async (order) => {
    const { query, live, store, seen, requests } = watching()
    await query.begin(a, b)
    const created = live.create('Work.Task', { title: 'N', points: 3 })
    const updated = live.update('Work.Task', idOf(a), { points: 7 })
    const deleted = live.delete('Work.Task', idOf(b))
    const n = { $id: '3-3-1-3', title: 'N', points: 3 }
    const arrive = () => query.send(enter(n), change({ ...a, points: 7 }), leave(b))
    if (order === 'before') await arrive()
    await requests[0]?.succeed({ __identifier__: n.$id })
    for (const request of requests.slice(1)) await request.succeed()
    if (order === 'after') await arrive()
    expect([await created, await updated, await deleted]).toEqual([n.$id, undefined, undefined])
    expect(store.get()).toMatchObject({ rows: [{ ...a, points: 7 }, n], pending: new Set() })
    const shown = seen.slice(-6).map(({ rows }) => rows.map((row) => (row as typeof a).title).join(''))
    expect(shown.slice(shown.indexOf('AN'))).toEqual(shown.slice(shown.indexOf('AN')).map(() => 'AN'))
  })

  it('follows what others change meanwhile, and what the server makes of it', async () => {
    const { query, live, store, titles, requests } = watching()
    await query.begin(a)
    void live.update('Work.Task', idOf(a), { title: 'X' })
    await query.send(change({ ...a, points: 5 }), enter(b))
    expect(store.get().rows).toEqual([{ ...a, title: 'X', points: 5 }, b])
    await requests[0]?.succeed()
    expect(titles()).toEqual(['X', 'B'])
    // The server has written the value in another form.
    await query.send(change({ ...a, title: 'x' }))
    expect(titles()).toEqual(['x', 'B'])
  })

  it('is shown until the last of several has arrived', async () => {
    const { query, live, titles, requests } = watching()
    await query.begin(a)
    void live.update('Work.Task', idOf(a), { title: 'X' })
    void live.update('Work.Task', idOf(a), { title: 'XY' })
    await requests[0]?.succeed()
    await requests[1]?.succeed()
    await query.send(change({ ...a, title: 'X' }))
    expect(titles()).toEqual(['XY'])
    await query.send(change({ ...a, title: 'XY' }))
    await query.send(change({ ...a, title: 'Z' }))
    expect(titles()).toEqual(['Z'])
  })

  it('back to the former value is shown until it has arrived', async () => {
    const { query, live, store, requests } = watching()
    const points = () => store.get().rows[0]?.points
    await query.begin(a)
    void live.update('Work.Task', idOf(a), { points: 2 })
    void live.update('Work.Task', idOf(a), { points: 1 })
    await query.send(change({ ...a, title: 'X' }))
    for (const request of requests) await request.succeed()
    expect(points()).toBe(1)
    await query.send(change({ ...a, title: 'X', points: 2 }))
    expect(points()).toBe(1)
    await query.send(change({ ...a, title: 'X', points: 1 }))
    await query.send(change({ ...a, title: 'X', points: 3 }))
    expect(points()).toBe(3)
    for (const value of [2, 3]) void live.update('Work.Task', idOf(a), { points: value })
    for (const request of requests.slice(2)) await request.succeed()
    await query.send(change({ ...a, points: 2 }))
    expect(points()).toBe(3)
  })

  it('of an object that has just been created is shown on top of that', async () => {
    const { query, live, store, requests } = watching()
    await query.begin(a)
    const n = { $id: '3-3-1-3', title: 'N', points: 3 }
    void live.create('Work.Task', { title: 'N', points: 3 }, { isFirst: true })
    await requests[0]?.succeed({ __identifier__: n.$id })
    void live.update('Work.Task', idOf(n), { points: 4 })
    expect(store.get()).toMatchObject({ rows: [{ ...n, points: 4 }, a], pending: new Set([n.$id]) })
    await requests[1]?.succeed()
    expect(store.get().rows).toEqual([{ ...n, points: 4 }, a])
    await query.send(enter({ ...n, points: 4 }))
    expect(store.get().rows).toEqual([a, { ...n, points: 4 }])
    void live.create('Work.Task', { title: 'M', points: 5 })
    await requests[2]?.succeed({ __identifier__: '3-3-1-4' })
    void live.delete('Work.Task', idOf({ $id: '3-3-1-4' }))
    expect(store.get().rows).toEqual([a, { ...n, points: 4 }])
  })

  it('that is confirmed in the middle of a commit is shown until the commit is complete', async () => {
    const { query, live, titles, requests } = watching()
    await query.begin(a)
    void live.create('Work.Task', { title: 'N', points: 3 })
    await query.put(enter({ $id: '3-3-1-3', title: 'N', points: 3 }))
    await requests[0]?.succeed({ __identifier__: '3-3-1-3' })
    expect(titles()).toEqual(['A', 'N'])
    await query.send()
    expect(titles()).toEqual(['A', 'N'])
  })

  it('of a new object is shown where all of its cells are known', async () => {
    const { db, queries, requests } = fakeDatabase()
    const live = liveOf(db)
    const lists = [
      live.watch('Work.Task', { select: { title: true }, where: { status: 'open' } }),
      live.watch('Work.Task', { select: { title: true, owner: { name: true } } }),
      live.watch('Work.Task', { select: { title: true }, where: { status: 'done' } }),
      live.watch('Work.Task', { select: { title: true }, where: { title: { $startsWith: 'N' } } }),
      live.watch('Work.Task', { select: { title: true, size: true } }),
      live.watch('Work.Task'),
      live.watch('Person', { select: { name: true } }),
    ]
    for (const list of lists) (list.subscribe as (listener: () => void) => void)(() => undefined)
    for (const query of queries) await query.begin({ $id: '3-3-1-9', title: 'old' })
    const owner = '3-2-1-1' as Id<'Person'>
    const shown = { owner: { name: 'Ann' }, status: 'open' }
    const created = live.create('Work.Task', { title: 'N', owner, helpers: {} }, { shown, isFirst: true })
    const refused = expect(created).rejects.toThrow('full')
    expect(lists.map((list) => list.get().rows.length)).toEqual([2, 2, 1, 1, 1, 1, 1])
    const [id] = [...(lists[0]?.get().pending ?? [])]
    expect(lists[1]?.get().rows[0]).toEqual({ $id: id, title: 'N', owner: { name: 'Ann' } })
    await requests[0]?.refuse('full')
    await refused
    expect(lists.map((list) => list.get().rows.length)).toEqual([1, 1, 1, 1, 1, 1, 1])
  })

  it('is shown as its cells are selected, also in queries that begin later', async () => {
    const { db, queries, requests } = fakeDatabase()
    const live = liveOf(db)
    const row = { $id: a.$id, owner: { name: 'Ann' }, labels: ['x'], places: [], title: 'A' }
    const id = idOf(a)
    void live.update('Work.Task', id, { owner: '3-2-1-2' as Id<'Person'>, labels: ['y'], title: 'T' })
    void live.update('Work.Task', id, { title: 'U' }, { shown: { owner: { name: 'Bob' } } })
    const selected = { owner: { name: true }, labels: true, title: true } as const
    const store = live.watch('Work.Task', { select: selected })
    store.subscribe(() => undefined)
    await queries[0]?.begin(row)
    expect(store.get().rows).toEqual([{ ...row, labels: ['y'], title: 'U', owner: { name: 'Bob' } }])
    await requests[0]?.succeed()
    void live.update('Work.Task', id, { owner: null })
    expect(store.get().rows[0]?.owner).toBeNull()
  })

  it('of other objects changes nothing, and leaves nothing behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { query, live, store, requests } = watching()
    await query.begin(a)
    const snapshot = store.get()
    void live.update('Work.Task', idOf(b), { title: 'X' })
    void live.delete('Work.Task', idOf(b))
    void live.create('Person', { name: 'Ann' })
    for (const request of requests) await request.succeed({ __identifier__: '3-3-1-7' })
    expect(store.get()).toBe(snapshot)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('that is made before the rows are loaded is shown until they have it', async () => {
    const { query, live, store, requests } = watching()
    void live.update('Work.Task', idOf(a), { title: 'X' })
    await requests[0]?.succeed()
    expect(store.get().rows).toEqual([])
    const begin = { event: 'begin', isOrdered: false, isResumed: false } as const
    await query.put(begin, { event: 'row', oid: a.$id, row: { ...a } })
    void live.update('Work.Task', idOf(a), { points: 9 })
    await requests[1]?.succeed()
    await query.send()
    expect(store.get().rows).toEqual([{ ...a, title: 'X', points: 9 }])
    await query.send(change({ ...a, title: 'X' }))
    expect(store.get().rows).toEqual([{ ...a, title: 'X', points: 9 }])
    await query.send(change({ ...a, title: 'X', points: 9 }))
    await query.send(change(a))
    expect(store.get().rows).toEqual([a])
  })

  it('that any other request makes is shown too', async () => {
    const { query, live, store } = watching()
    await query.begin(a, b)
    const changes = [{ update: idOf(a), values: { title: 'X' } }, { delete: idOf(b) }] as const
    const changed = live.change(changes, () => Promise.reject(new Error('conflict')))
    expect(store.get().rows).toEqual([{ ...a, title: 'X' }])
    await expect(changed).rejects.toThrow('conflict')
    expect(store.get().rows).toEqual([a, b])
  })

  it('of which no event comes is shown for a limited time, unless the connection is lost', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { query, live, titles, requests, end } = watching()
    await query.begin(a)
    void live.create('Work.Task', { title: 'N', points: 3 })
    await requests[0]?.succeed({ __identifier__: '3-3-1-3' })
    expect(titles()).toEqual(['A', 'N'])
    vi.advanceTimersByTime(settledMsMax)
    expect(titles()).toEqual(['A'])
    void live.create('Work.Task', { title: 'N', points: 3 })
    await requests[1]?.succeed({ __identifier__: '3-3-1-4' })
    query.options.onLost?.(new Error('lost'))
    vi.advanceTimersByTime(settledMsMax)
    expect(titles()).toEqual(['A', 'N'])
    await query.begin(a)
    expect(titles()).toEqual(['A'])
    void live.update('Work.Task', idOf(a), { title: 'X' })
    await requests[2]?.succeed()
    end()
    await settled()
    expect(vi.getTimerCount()).toBe(0)
  })
})

it('the changes of one user are shown from the moment they are made, whatever the order of replies and events', async () => {
  const step = fc.constantFrom('change', 'reply', 'refuse', 'event', 'event of another', 'reconnect', 'resend late')
  const holds = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
    const { query, live, store, requests, end } = watching()
    await query.begin(a, b)
    let [server, sent, replies] = [0, 0, 0]
    const values: number[] = [1]
    /** What the caller may expect of its changes: those that have not been refused. */
    const expected: number[] = [1]
    const states: number[] = [1]
    for (const one of [...steps, ...Array(30).fill('reply'), 'event']) {
      if (one === 'change') {
        const value = values.length + 1
        values.push(value)
        expected.push(value)
        live.update('Work.Task', idOf(a), { points: value }).catch(() => undefined)
      } else if ((one === 'reply' || one === 'refuse') && replies < requests.length) {
        const request = requests[replies++]
        const value = Number(request?.attributes.points)
        if (one === 'refuse') {
          expected.splice(expected.indexOf(value), 1)
          await request?.refuse('no')
        } else {
          server = states.push(value) - 1
          await request?.succeed()
        }
      } else if (one === 'event' && sent < server) {
        sent = server
        await query.send(change({ ...a, points: states[server] }))
      } else if (one === 'event of another') await query.send(change({ ...b, points: values.length }))
      else if (one === 'reconnect' || one === 'resend late') {
        query.options.onLost?.(new Error('lost'))
        if (one === 'reconnect') sent = server
        await query.begin({ ...a, points: states[sent] }, b)
      }
      const row = store.get().rows.find(({ $id }) => $id === a.$id)
      expect(row?.points).toBe(expected.at(-1))
    }
    expect(store.get().pending.size).toBe(0)
    end()
    await settled()
  })
  await fc.assert(holds, { numRuns: Math.ceil(200 * Number(process.env.ASHLAR_RUNS ?? 1)) })
})
