/** The store on PostgreSQL keeps the promises of a store, also when the way to the database breaks. */
import { randomBytes } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { SnapshotInvalidated } from '../../src/store/snapshot-invalidated.ts'
import type {
  Commit,
  CommitOutcome,
  Entry,
  NamingEntries,
  Precondition,
  Snapshot,
  Store,
} from '../../src/store/store.ts'
import {
  absent,
  bytes,
  commitChanges,
  commitOf,
  entriesIn,
  entriesOf,
  holds,
  present,
  put,
  revision,
  text,
  valueAt,
  valueIn,
} from './bytes.ts'
import { storeConformance } from './conformance.ts'
import { type Cut, type CuttingProxy, openCuttingProxy } from './cutting-proxy.ts'
import { connectedClient, runSql } from './database-client.ts'
import { openKeptPostgres } from './kept-postgres.ts'
import { freshAddress, temporaryPostgres } from './postgres-stores.ts'

storeConformance('postgres', { ...temporaryPostgres, reuse: openKeptPostgres })

it('gives numbers to commits that append as before when it is opened again, whatever is stored behind them', async () => {
  const store = await temporaryPostgres.open()
  const append = { prefix: bytes('\x07\x00\x00\x00\x00\x01'), values: [bytes('x')] }
  const others = [`\x07\x02${'\x7f'.repeat(16)}`, `\x07\x02${'\xff'.repeat(16)}`, `\x07\x03${'\xff'.repeat(24)}`]
  await store.commit({ ...commitOf(others.map((key) => put(key, key))), append })
  const again = (await temporaryPostgres.reopen?.(store)) as Store
  for (const key of others) expect(await valueIn(again, key)).toBe(key)
  await again.commit({ ...commitOf([]), append })
  expect((await again.settledNumbers?.())?.assigned).toBeLessThan(1_000)
  await again.close()
})

async function withProxy(
  use: (store: Store, proxy: CuttingProxy, schema: string) => Promise<void>,
  more = '',
): Promise<void> {
  const address = freshAddress()
  const proxy = await openCuttingProxy(address)
  // One connection of each kind would hide what happens among several.
  const store = await openStore(`${proxy.address}&connections=4${more}`)
  try {
    await use(store, proxy, new URL(address).searchParams.get('schema')!)
  } finally {
    await store.close()
    await proxy.close()
  }
}

/** Holds what `sql` locks until it is ended. */
async function holding(sql: string): Promise<{ end(): Promise<void> }> {
  const client = await connectedClient(inject('postgres'))
  await client.query('BEGIN')
  await client.query(sql)
  return {
    async end() {
      await client.query('COMMIT')
      await client.end()
    },
  }
}

/** Resolves when so many connections wait for a lock within the schema. */
async function waitingForLocks(schema: string, count: number): Promise<void> {
  const client = await connectedClient(inject('postgres'))
  for (;;) {
    const { rows } = await client.query(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1`,
      [`SELECT array_to_string(${schema}.commit(%`],
    )
    if (rows[0].waiting >= count) return client.end()
  }
}

describe('postgres: a commit whose connection is lost', () => {
  it.each<Cut>(['request', 'reply'])('is done once, wherever it is lost: %s', (cut) =>
    withProxy(async (store, proxy) => {
      await commitChanges(store, put('count', '0;'))
      for (let count = 1; count <= 5; count++) {
        // A named statement is sent with its text only once a connection: a new store's first commits have it.
        proxy.cutAll()
        proxy.cutNextCommit(cut)
        const outcome = await store.commit(commitOf([put('count', `${count};`)], [revision('count', `${count - 1};`)]))
        expect(outcome).toEqual({ isCommitted: true })
        expect(proxy.cuts).toBe(count)
      }
      expect(await entriesIn(store)).toEqual(['count=5;'])
    }),
  )

  it('is told as refused when it was refused', () =>
    withProxy(async (store, proxy) => {
      await commitChanges(store, put('a', '1'))
      proxy.cutAll()
      proxy.cutNextCommit('reply')
      const precondition = absent('a')
      const outcome = await store.commit(commitOf([put('b', '1')], [precondition]))
      expect(outcome).toEqual({ isCommitted: false, failed: precondition })
      expect(proxy.cuts).toBe(1)
      expect(await entriesIn(store)).toEqual(['a=1'])
    }))

  it('is not done a second time by a backend that lives on and was waiting for a lock', () =>
    withProxy(async (store, proxy, schema) => {
      await commitChanges(store, put('count', '0;'))
      const held = await holding(`SELECT FROM ${schema}.kv FOR UPDATE`)
      proxy.cutAll()
      proxy.cutNextCommit('silently')
      const commit = store.commit(commitOf([put('count', '1;')], [revision('count', '0;')]))
      // The one that was cut off, and the one sent again.
      await waitingForLocks(schema, 2)
      await held.end()
      expect(await commit).toEqual({ isCommitted: true })
      expect(await entriesIn(store)).toEqual(['count=1;'])
    }))
})

describe('postgres: a commit under way', () => {
  /** The first commit has its locks but for the last, which somebody holds, when the second comes, from another store. */
  async function second(first: Commit, then: Commit): Promise<{ isWaiting: boolean; outcomes: CommitOutcome[] }> {
    const schema = `test_${randomBytes(8).toString('hex')}`
    const address = `${inject('postgres')}?schema=${schema}`
    const [one, other] = [await openStore(address), await openStore(address)]
    await commitChanges(one, put('guard', '1'), put('z', '1'), {
      kind: 'put',
      key: catalogVersionKey,
      value: bytes('v1'),
    })
    const held = await holding(`SELECT FROM ${schema}.kv WHERE key = 'z' FOR UPDATE`)
    const begun = one.commit(first)
    await waitingForLocks(schema, 1)
    const following = other.commit(then)
    const isWaiting = await Promise.race([following.then(() => false), waitingForLocks(schema, 2).then(() => true)])
    await held.end()
    const outcomes = await Promise.all([begun, following])
    for (const store of [one, other]) await store.close()
    return { isWaiting, outcomes }
  }

  it('keeps whoever expects a range from passing by while it adds to that range', async () => {
    const adds = commitOf([put('in range', '1'), put('z', '2')], [present('guard'), absent('in range'), present('z')])
    const precondition = holds('in', 'io', [], 'guard')
    const expects = commitOf([put('other', '1')], [revision('guard', '1'), precondition])
    expect(await second(adds, expects)).toEqual({
      isWaiting: true,
      outcomes: [{ isCommitted: true }, { isCommitted: false, failed: precondition }],
    })
  })

  it('keeps whoever has the version of the catalog as the range lock key of a range waiting', async () => {
    const catalog: Precondition = { kind: 'revision', key: catalogVersionKey, prefix: bytes('v1') }
    const adds = commitOf([put('in range', '1'), put('z', '2')], [catalog, absent('in range'), present('z')])
    const range = { from: bytes('in'), to: bytes('io') }
    const precondition: Precondition = { kind: 'range', range, keys: [], rangeLockKey: catalogVersionKey }
    expect(await second(adds, commitOf([put('other', '1')], [catalog, precondition]))).toEqual({
      isWaiting: true,
      outcomes: [{ isCommitted: true }, { isCommitted: false, failed: precondition }],
    })
  })

  it('keeps a change of the schema waiting, which none that expects the schema before may follow', async () => {
    const catalog: Precondition = { kind: 'revision', key: catalogVersionKey, prefix: bytes('v1') }
    const writes = commitOf([put('z', '2')], [catalog, present('z')])
    const changes = commitOf([{ kind: 'put', key: catalogVersionKey, value: bytes('v2') }], [catalog])
    expect(await second(writes, changes)).toEqual({
      isWaiting: true,
      outcomes: [{ isCommitted: true }, { isCommitted: true }],
    })
  })
})

describe('postgres: a snapshot whose connection is lost', () => {
  it('begins anew when nothing was read', () =>
    withProxy(async (store, proxy) => {
      await commitChanges(store, put('a', '1'))
      expect(await valueIn(store, 'a')).toBe('1')
      proxy.cutAll()
      expect(await valueIn(store, 'a')).toBe('1')
    }))

  it('is an error to be tried again when something was read: its moment is gone', () =>
    withProxy(async (store, proxy) => {
      await commitChanges(store, put('a', '1'))
      const snapshot = await store.snapshot()
      expect(await valueAt(snapshot, 'a')).toBe('1')
      proxy.cutAll()
      await expect(snapshot.view(bytes('a'), () => true)).rejects.toMatchObject({ type: 'StoreUnavailable' })
      snapshot.release()
      expect(await valueIn(store, 'a')).toBe('1')
    }))
})

describe('postgres: snapshots that begin together', () => {
  it('read one moment, each until it is released, and are answered what they asked for before', async () => {
    const store = await temporaryPostgres.open()
    await commitChanges(store, put('a', '1'), put('b', '1'))
    const snapshots = [await store.snapshot(), await store.snapshot(), await store.snapshot()] as const
    const [one, two, three] = snapshots
    expect(await Promise.all(snapshots.map((snapshot) => valueAt(snapshot, 'a')))).toEqual(['1', '1', '1'])
    await commitChanges(store, put('a', '2'), put('b', '2'))
    const late = await store.snapshot()
    expect(await valueAt(late, 'a')).toBe('2')
    one.release()
    const asked = valueAt(two, 'b')
    two.release()
    expect(await asked).toBe('1')
    await expect(async () => valueAt(two, 'b')).rejects.toThrow('released')
    expect(await entriesOf(three)).toEqual(['a=1', 'b=1'])
    three.release()
    // The last of its transaction: what it asked for is of its moment still.
    const last = late
    await commitChanges(store, put('b', '3'))
    const askedLast = valueAt(last, 'b')
    last.release()
    expect(await askedLast).toBe('2')
    await store.close()
  })
})

describe('postgres: snapshots that begin together where something fails', () => {
  it('leave nothing behind that those after them would fail by', () =>
    withProxy(async (store, proxy) => {
      await commitChanges(store, put('a', '1'))
      let last = await store.snapshot()
      // There is always one that has not left yet when the next one comes.
      const read = async (): Promise<string | undefined> => {
        const next = await store.snapshot()
        const reading = valueAt(next, 'a').catch(({ type }) => type as string)
        last.release()
        last = next
        return reading
      }
      expect(await read()).toBe('1')
      proxy.refuse(true)
      for (let nth = 0; nth < 3; nth++) expect(await read()).toBe('StoreUnavailable')
      proxy.refuse(false)
      expect(await read()).toBe('1')
      last.release()
    }, '&patienceMs=0'))

  it('are all told that the store cannot be used when the statement of one takes too long', async () => {
    const address = freshAddress()
    const store = await openStore(address)
    await commitChanges(store, put('a', '1'))
    const limited = await openStore(`${address}&statementMs=500`)
    const schema = new URL(address).searchParams.get('schema')
    const held = await holding(`LOCK TABLE ${schema}.kv IN ACCESS EXCLUSIVE MODE`)
    const snapshots = [await limited.snapshot(), await limited.snapshot()] as const
    const reads = [valueAt(snapshots[0], 'a'), entriesOf(snapshots[1], {}, { reverse: true })]
    for (const read of await Promise.allSettled(reads))
      expect(read).toMatchObject({ status: 'rejected', reason: { type: 'StoreUnavailable' } })
    for (const snapshot of snapshots) snapshot.release()
    await held.end()
    expect(await valueIn(store, 'a')).toBe('1')
    for (const one of [store, limited]) await one.close()
  })
})

describe('postgres: a snapshot with first keys', () => {
  it('shows them and what is read afterwards as of one moment, or says that the moment has passed', async () => {
    const store = await temporaryPostgres.open()
    await commitChanges(store, put('a', '1'), put('b', '1'))
    const open = async () => store.snapshot({ prefetchKeys: [bytes('a'), bytes('x')] })
    const [still, moved, early] = [await open(), await open(), await open()]
    for (const snapshot of [still, moved]) {
      expect(await valueAt(snapshot, 'a')).toBe('1')
      expect(await valueAt(snapshot, 'x')).toBeUndefined()
    }
    await commitChanges(store, put('b', '2'))
    expect(await valueAt(still, 'b')).toBe('2')
    // A read that comes before theirs fixes the moment for them too.
    expect(await valueAt(early, 'b')).toBe('2')
    await commitChanges(store, put('a', '3'), put('b', '3'))
    for (const snapshot of [still, early]) {
      expect(await valueAt(snapshot, 'b')).toBe('2')
      expect(await valueAt(snapshot, 'a')).toBe('1')
    }
    await expect(valueAt(moved, 'b')).rejects.toThrow(SnapshotInvalidated)
    for (const snapshot of [still, moved, early]) snapshot.release()
    await store.close()
  })
})

it('postgres: of first keys, large values are left until they are viewed, however many keys there are', async () => {
  const store = await temporaryPostgres.open()
  const large = 'x'.repeat(600_000)
  const keys = Array.from({ length: 10 }, (_, i) => `k${i}`)
  await commitChanges(store, put('a', '1'), put('large', large), ...keys.map((key) => put(key, key)))
  for (const others of [[], keys]) {
    const snapshot = await store.snapshot({ prefetchKeys: ['a', 'large', 'none', ...others].map(bytes) })
    const leftOut = (key: string) => snapshot.bytesLeftOut?.(bytes(key))
    expect(await leftOut('large')).toBeGreaterThan(500_000)
    expect([await leftOut('a'), await leftOut('none'), await leftOut('of another')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(await valueAt(snapshot, 'a')).toBe('1')
    expect(await valueAt(snapshot, 'large')).toBe(large)
    const { values } = await snapshot.read(['a', 'large', ...others].map(bytes))
    expect(values.map((value) => value && text(value))).toEqual(['1', large, ...others])
    snapshot.release()
  }
  // It is of the moment of the others, or they say that this has passed.
  const moved = await store.snapshot({ prefetchKeys: [bytes('a'), bytes('large')] })
  expect(await valueAt(moved, 'a')).toBe('1')
  await commitChanges(store, put('a', '2'), put('large', `${large}y`))
  await expect(valueAt(moved, 'large')).rejects.toThrow(SnapshotInvalidated)
  moved.release()
  await store.close()
})

/** The key and the OID of an object in a container; an entry of an index with a key of one character. */
const oid = (container: number, nth: number) =>
  `\x00\x07${String.fromCharCode(container >> 8, container & 255)}\x00\x01\x00${String.fromCharCode(nth)}`
async function expecting(store: Store, entry: Entry): Promise<Snapshot> {
  const snapshot = await store.snapshot()
  snapshot.expect?.(entry)
  return snapshot
}

const entryAt = (key: string) => `\x05\x00\x00\x00\x09${key}`

function shown(entries: NamingEntries | undefined): unknown[] {
  return Array.from({ length: entries?.count ?? 0 }, (_, at) => {
    const key = Buffer.alloc(9)
    entries?.writeNamedKey(at, key)
    return { key: entries?.key(at), named: { key, value: entries?.named(at) } }
  })
}

describe('postgres: entries and what they name', () => {
  it('are read in one trip, in order, from each placement of objects, also where nothing has the name', async () => {
    const store = await temporaryPostgres.open()
    const named: Record<string, string> = {
      a: oid(1, 1),
      b: oid(0x7fff, 2),
      c: oid(0xfffe, 3),
      d: oid(300, 4),
      e: oid(1, 5),
    }
    for (const [key, one] of Object.entries(named)) {
      await commitChanges(store, put(entryAt(key), `${one} and more`))
      if (key !== 'd') await commitChanges(store, put(`\x03${one}`, `object ${key}`))
    }
    const expected = { key: bytes('a'), value: bytes('1') }
    await commitChanges(store, put('a', '1'))
    const all = { from: bytes(entryAt('')), to: bytes(entryAt('\xff')) }
    for (const isOnly of [false, true]) {
      for (const reverse of [false, true]) {
        for (const limit of [1, 3, 10]) {
          const snapshots = await Promise.all(Array.from({ length: 40 }, () => expecting(store, expected)))
          const answers = await Promise.all(
            snapshots.map((snapshot) => snapshot.readNaming?.({ ...all, reverse, limit }, isOnly)),
          )
          const keys = reverse ? ['e', 'd', 'c', 'b', 'a'] : ['a', 'b', 'c', 'd', 'e']
          const wanted = keys.slice(0, limit).map((key) => ({
            key: Buffer.from(bytes(entryAt(key))),
            named: {
              key: Buffer.from(bytes(`\x03${named[key]}`)),
              value: key === 'd' ? undefined : Buffer.from(`object ${key}`),
            },
          }))
          for (const answer of answers) expect(shown(answer)).toEqual(wanted)
          for (const snapshot of snapshots) snapshot.release()
        }
      }
    }
    await store.close()
  })

  it('in descending order are read too while so many read in ascending order that some always wait', async () => {
    const store = await temporaryPostgres.open()
    await commitChanges(store, put('a', '1'), put(entryAt('a'), oid(1, 1)))
    const read = async (reverse: boolean): Promise<void> => {
      const snapshot = await expecting(store, { key: bytes('a'), value: bytes('1') })
      await snapshot.readNaming?.({ from: bytes(entryAt('')), to: bytes(entryAt('\xff')), limit: 1, reverse }, true)
      snapshot.release()
    }
    let isAnswered = false
    let ascending = 0
    const ascendingReader = async (): Promise<void> => {
      for (; !isAnswered && ascending < 30_000; ascending++) await read(false)
    }
    const readers = Array.from({ length: 300 }, ascendingReader)
    await read(true)
    isAnswered = true
    expect(ascending).toBeLessThan(3_000)
    await Promise.all(readers)
    await store.close()
  })

  it('that alone were to be read show a moment that no other read has', async () => {
    const store = await temporaryPostgres.open()
    await commitChanges(store, put('a', '1'), put(entryAt('a'), oid(1, 1)))
    const snapshot = await expecting(store, { key: bytes('a'), value: bytes('1') })
    const range = { from: bytes(entryAt('')), to: bytes(entryAt('\xff')), limit: 5 }
    expect(await snapshot.readNaming?.(range, true)).toMatchObject({ count: 1 })
    expect(snapshot.confirm?.()).toBeUndefined()
    await expect(valueAt(snapshot, 'b')).rejects.toThrow(SnapshotInvalidated)
    await expect(snapshot.readNaming?.(range, true)).rejects.toThrow(SnapshotInvalidated)
    snapshot.release()
    await store.close()
  })
})

describe('postgres: what is expected', () => {
  it('is read without a trip, and every read tells where it does not hold', async () => {
    const store = await temporaryPostgres.open()
    await commitChanges(store, put('a', '2'), put('b', '1'))
    const range = { from: bytes(entryAt('')), to: bytes(entryAt('\xff')), limit: 5 }
    const reads: ((snapshot: Snapshot) => unknown)[] = [
      (snapshot) => snapshot.confirm?.(),
      (snapshot) => snapshot.readNaming?.(range, true),
      (snapshot) => snapshot.readNaming?.(range, false),
      (snapshot) => valueAt(snapshot, 'b'),
      (snapshot) => snapshot.read([bytes('a'), bytes('b')]),
      (snapshot) => entriesOf(snapshot),
    ]
    for (const read of reads) {
      const [right, wrong] = await Promise.all(
        ['2', '1'].map((value) => expecting(store, { key: bytes('a'), value: bytes(value) })),
      )
      for (const [snapshot, value] of [
        [right, '2'],
        [wrong, '1'],
      ] as const) {
        expect(snapshot?.view(bytes('a'), text)).toBe(value)
      }
      await read(right as Snapshot)
      expect(right?.confirm?.()).toBeUndefined()
      await expect((async () => read(wrong as Snapshot))()).rejects.toThrow(SnapshotInvalidated)
      right?.release()
      wrong?.release()
    }
    await store.close()
  })
})

describe('postgres: limits', () => {
  it('more snapshots at once than connections are told, and work that holds one gets a second', async () => {
    const store = await openStore(`${freshAddress()}&connections=1&patienceMs=2000`)
    await commitChanges(store, put('a', '1'))
    const first = await store.snapshot()
    expect(await valueAt(first, 'a')).toBe('1')
    const second = await store.snapshot()
    await expect(valueAt(second, 'a')).rejects.toMatchObject({ type: 'StoreUnavailable' })
    const nested = await store.snapshot({ isNested: true })
    expect(await valueAt(nested, 'a')).toBe('1')
    for (const snapshot of [first, second, nested]) snapshot.release()
    expect(await valueIn(store, 'a')).toBe('1')
    await store.close()
  })

  it('a statement that takes longer than statementMs is abandoned, and nothing of it is done', async () => {
    const address = freshAddress()
    const store = await openStore(address)
    await commitChanges(store, put('a', '1'))
    const limited = await openStore(`${address}&statementMs=1000`)
    const held = await holding(`SELECT FROM ${new URL(address).searchParams.get('schema')}.kv FOR UPDATE`)
    await expect(commitChanges(limited, put('a', '2'))).rejects.toMatchObject({
      type: 'StoreUnavailable',
      message: expect.stringContaining('statementMs'),
    })
    await held.end()
    expect(await entriesIn(store)).toEqual(['a=1'])
    for (const one of [store, limited]) await one.close()
  })

  it('a commit that waits in vain does not take along those that go with it', async () => {
    const address = freshAddress()
    const store = await openStore(address)
    await commitChanges(store, put('a', '1'), put('b', '1'))
    // The others take their turn within that time, however slow the machine is.
    const limited = await openStore(`${address}&statementMs=2000`)
    const held = await holding(
      `SELECT FROM ${new URL(address).searchParams.get('schema')}.kv WHERE key = 'a' FOR UPDATE`,
    )
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((key) => commitChanges(limited, put(key, '2'))))
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    await held.end()
    expect(await entriesIn(store)).toEqual(['a=1', 'b=2', 'c=2'])
    for (const one of [store, limited]) await one.close()
  })
})

describe('postgres: addresses', () => {
  const server = new URL(inject('postgres'))

  it('are told without user and password, also when nothing answers or the password is wrong', async () => {
    const store = await temporaryPostgres.open()
    expect(store.capabilities.location).toBe(
      `postgres://${server.host}/postgres?schema=${store.capabilities.location.split('=')[1]}`,
    )
    await store.close()
    const wrong = openStore(`postgres://ashlar:sesame@${server.host}/postgres`)
    await expect(wrong).rejects.toThrow(`The store postgres://${server.host}/postgres cannot be opened: password`)
    await expect(wrong).rejects.not.toThrow('sesame')
    const closed = openStore('postgres://ashlar:sesame@127.0.0.1:9/none?patienceMs=0')
    await expect(closed).rejects.toThrow(
      'The store postgres://127.0.0.1:9/none cannot be used at present: the host of the database server refuses connections to its port (ECONNREFUSED).',
    )
    await expect(closed).rejects.not.toThrow('sesame')
  })

  it.each([
    ['postgres://a:sesame@h:no/x', 'percent-encoded'],
    ['postgres://a:sesame@h/x?schema=A-b', "the schema 'A-b'"],
    ['postgres://a:sesame@h/x?connections=0', "connections='0'"],
    ['postgres://a:sesame@h/x?statementMs=soon', "statementMs='soon'"],
    ['postgres://a:sesame@h/x?poolsize=3', "unknown parameter 'poolsize'"],
    ['postgress://a:sesame@h/x', 'unknown kind'],
  ])('that are wrong are refused in one sentence: %s', async (address, reason) => {
    await expect(openStore(address)).rejects.toThrow(reason)
    await expect(openStore(address)).rejects.not.toThrow('sesame')
  })

  it('of a database with other tables are refused', async () => {
    const address = freshAddress()
    const store = await openStore(address)
    await store.close()
    await runSql(server.href, `UPDATE ${new URL(address).searchParams.get('schema')}.storage SET version = 99`)
    await expect(openStore(address)).rejects.toThrow('its tables have version 99')
  })

  it('many may open a new store at once', async () => {
    const address = freshAddress()
    const stores = await Promise.all(Array.from({ length: 6 }, () => openStore(address)))
    await commitChanges(stores[0]!, put('a', '1'))
    for (const store of stores) expect(await valueIn(store, 'a')).toBe('1')
    await Promise.all(stores.map((store) => store.close()))
  })
})
