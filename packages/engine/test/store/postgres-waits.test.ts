/** No wait for PostgreSQL is without an end: servers that vanish without a word, connections that carry nothing any more, and servers that give no more connections. */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { postgresOfRun, startAnotherPostgres } from '../../../../tools/postgres-of-run.ts'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { parsePostgresAddress } from '../../src/store/postgres/address.ts'
import { AnswerWatch } from '../../src/store/postgres/answer-watch.ts'
import { Connections } from '../../src/store/postgres/connections.ts'
import { GroupReads } from '../../src/store/postgres/group-reads.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import { withLastingSnapshot, withSnapshot } from '../../src/store/with-snapshot.ts'
import { transact } from '../../src/transaction/transact.ts'
import { bytes, commitChanges, commitOf, entriesIn, entriesOf, put, revision, valueAt, valueIn } from './bytes.ts'
import { type CuttingProxy, openCuttingProxy } from './cutting-proxy.ts'
import { runSql } from './database-client.ts'
import { freshAddress } from './postgres-stores.ts'

const nextTurn = (): Promise<void> => delay(0)

/** So long that a test that waits for it fails. */
const forEver = 3_600_000

async function withProxy(more: string, use: (store: Store, proxy: CuttingProxy) => Promise<void>): Promise<void> {
  const proxy = await openCuttingProxy(freshAddress())
  const store = await openStore(`${proxy.address}&connections=4&${more}`)
  try {
    await use(store, proxy)
  } finally {
    await store.close()
    await proxy.close()
  }
}

/** A request that reads by each way there is: first keys, a key in a transaction, and entries. */
function reads(store: Store): Promise<unknown>[] {
  const value = async (snapshot: Snapshot): Promise<unknown> => valueAt(snapshot, 'a')
  const entry = async (snapshot: Snapshot): Promise<unknown> =>
    (await entriesOf(snapshot)).find((found) => found === 'a=1')
  const early = async (): Promise<unknown> => withSnapshot(store, value, { prefetchKeys: [bytes('a')] })
  return [early(), early(), early(), ...[entry, value].map(async (read) => withSnapshot(store, read))]
}

async function useAllConnections(store: Store): Promise<void> {
  await commitChanges(store, put('a', '1'), put('count', '0;'))
  const snapshots = [await store.snapshot(), await store.snapshot({ isNested: true })]
  await Promise.all([...snapshots.map((snapshot) => valueAt(snapshot, 'a')), ...reads(store)])
  for (const snapshot of snapshots) snapshot.release()
}

const counted = (n: number) => commitOf([put('count', `${n};`)], [revision('count', `${n - 1};`)])

describe('postgres: connections that carry nothing any more and are not closed', () => {
  it('are replaced: reads and commits go through, each commit once, as soon as the database can be reached again', () =>
    withProxy('statementMs=300', async (store, proxy) => {
      await useAllConnections(store)
      proxy.swallow(true)
      const work = Promise.all([...reads(store), store.commit(counted(1))])
      proxy.swallow(false)
      expect(await work).toEqual(['1', '1', '1', 'a=1', '1', { isCommitted: true }])
      expect(await valueIn(store, 'count')).toBe('1;')
    }))

  it('fail requests with a sentence while the database cannot be reached, and only until then', () =>
    withProxy('statementMs=300&patienceMs=0', async (store, proxy) => {
      await useAllConnections(store)
      proxy.swallow(true)
      for (const read of await Promise.allSettled(reads(store))) {
        expect(read).toMatchObject({ status: 'rejected', reason: { type: 'StoreUnavailable' } })
        expect((read as PromiseRejectedResult).reason.message).toMatch(/database server (has not answered|did not)/)
      }
      await expect(store.commit(counted(1))).rejects.toMatchObject({ type: /StoreUnavailable|OutcomeUnknown/ })
      proxy.swallow(false)
      // A connection that was begun meanwhile is abandoned by its own time.
      await expect.poll(() => valueIn(store, 'a').catch(() => undefined)).toBe('1')
    }))

  it('do not keep a store from closing', () =>
    withProxy('statementMs=0', async (store, proxy) => {
      await useAllConnections(store)
      proxy.swallow(true)
      await store.close()
    }))

  it('are found out by whoever asks whether the store serves', () =>
    withProxy('patienceMs=300&statementMs=300', async (store, proxy) => {
      await useAllConnections(store)
      await store.checkServing?.()
      proxy.swallow(true)
      await expect(store.checkServing?.()).rejects.toMatchObject({ type: 'StoreUnavailable' })
      // Those that read and those that commit, not others.
      proxy.swallow(false)
      await expect
        .poll(() =>
          store.checkServing?.().then(
            () => 'serves',
            () => 'does not',
          ),
        )
        .toBe('serves')
    }))
})

describe('postgres: of all connections', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('those are abandoned that wait and are silent, with what has been silent as long and has nothing to lose', () => {
    vi.useFakeTimers()
    const watch = new AnswerWatch(1_000)
    const givenUp: string[] = []
    const client = (name: string, status: string, isWaiting: boolean) => {
      const stream = { bytesRead: 0, writableLength: 0, destroy: () => givenUp.push(name) }
      const state = {
        connection: { stream },
        getTransactionStatus: () => status,
        query: () => undefined,
        end: () => undefined,
        on: () => undefined,
        once: () => undefined,
      }
      watch.add(state as unknown as pg.ClientBase)
      if (isWaiting) state.query()
      return { ...state, stream }
    }
    client('idle, silent', 'I', false)
    client('in a transaction, silent', 'T', false)
    const idle = client('idle, heard of', 'I', false)
    const receiving = client('receiving', 'I', true)
    const sending = client('sending', 'I', true)
    sending.stream.writableLength = 1_000_000
    const more = setInterval(() => {
      receiving.stream.bytesRead++
      idle.stream.bytesRead++
      sending.stream.writableLength--
    }, 100)
    vi.advanceTimersByTime(60_000)
    expect(givenUp).toEqual([])
    client('waiting, silent', 'T', true)
    vi.advanceTimersByTime(2_000)
    expect(givenUp).toEqual([])
    vi.advanceTimersByTime(2_000)
    expect(new Set(givenUp)).toEqual(new Set(['waiting, silent', 'idle, silent']))
    clearInterval(more)
    watch.close()
  })
})

describe('postgres: a statement that is not answered', () => {
  /** The first two statements are never answered. */
  function stuckConnections(answer: unknown): { connections: Connections; asked(): number } {
    let asked = 0
    const client = {
      query: async () => (++asked <= 2 ? new Promise(() => undefined) : { rows: answer }),
      release: () => undefined,
    } as unknown as pg.PoolClient
    const address = { location: 'here', patienceMs: forEver, connections: 8 }
    return {
      connections: { address, reader: async () => client } as unknown as Connections,
      asked: () => asked,
    }
  }

  it('keeps no others waiting for as long as it is waited for', async () => {
    const { connections, asked } = stuckConnections([])
    const group = new GroupReads(connections, { schema: 'ashlar', hasRoot: false, keys: keyPlacement })
    for (const key of ['a', 'b']) {
      void group.read([bytes(key)])
      await expect.poll(asked).toBe(key === 'a' ? 1 : 2)
    }
    expect(await group.read([bytes('c')])).toEqual([undefined])
  })

  it('keeps those waiting that come after it no longer than they have patience', async () => {
    const stuck = { query: () => new Promise(() => undefined), release: () => undefined } as unknown as pg.PoolClient
    const address = { location: 'here', patienceMs: 200, connections: 1 }
    const connections = { address, reader: async () => stuck } as unknown as Connections
    const group = new GroupReads(connections, { schema: 'ashlar', hasRoot: false, keys: keyPlacement })
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map(async (key, i) => {
      for (let turn = 0; turn < i; turn++) await nextTurn()
      return group.read([bytes(key)])
    })
    // The others are under way, and have no end here.
    for (const one of all) one.catch(() => undefined)
    await expect(all.at(-1)).rejects.toMatchObject({ type: 'StoreUnavailable' })
  })
})

describe('postgres: a request whose connection breaks in the middle of it', () => {
  it('is repeated where it only reads, and nothing of it was given away', () =>
    withProxy('', async (store, proxy) => {
      await commitChanges(store, put('a', '1'), put('b', '2'))
      let begun = 0
      const twice = async (snapshot: Snapshot): Promise<unknown> => {
        const first = await valueAt(snapshot, 'a')
        if (++begun % 3 !== 0) proxy.cutAll()
        return [first, await valueAt(snapshot, 'b')]
      }
      expect(await withSnapshot(store, twice)).toEqual(['1', '2'])
      expect(await withSnapshot(store, twice, { prefetchKeys: [bytes('a')] })).toEqual(['1', '2'])
      expect(await withLastingSnapshot(store, { begin: twice }, {})).toEqual(['1', '2'])
      expect(begun).toBe(6)
    }))

  it('is repeated where it changes, and made once', () =>
    withProxy('', async (store, proxy) => {
      await commitChanges(store, put('a', '1'), put('n', '0'))
      let begun = 0
      // More often than a conflict would be borne.
      const n = await transact(store, 2, async (transaction) => {
        const read = async (key: string): Promise<string> =>
          (await transaction.snapshot.view(bytes(key), (value) => Buffer.from(value).toString())) ?? ''
        const n = Number(await read('n')) + 1
        if (++begun < 5) proxy.cutAll()
        await read('a').catch((error) => {
          // As of one of several operations.
          throw begun % 2 === 0 ? new Error('The second of them failed.', { cause: error }) : error
        })
        transaction.put(bytes('n'), bytes(String(n)))
        return n
      })
      expect([n, begun, await valueIn(store, 'n')]).toEqual([1, 5, '1'])
    }))

  it('fails with a sentence of its own where it has no patience', () =>
    withProxy('patienceMs=0', async (store, proxy) => {
      await commitChanges(store, put('a', '1'))
      const failing = withSnapshot(store, async (snapshot) => {
        await valueAt(snapshot, 'a')
        proxy.refuse(true)
        return valueAt(snapshot, 'b')
      })
      await expect(failing).rejects.toMatchObject({ type: 'StoreUnavailable' })
      await expect(failing).rejects.toThrow(/connection to the database server was lost/)
      proxy.refuse(false)
    }))
})

describe('postgres: a server that gives no more connections', () => {
  /** Address of a store whose user may have five. */
  async function limitedAddress(): Promise<string> {
    const url = new URL(freshAddress())
    const role = `role_${randomBytes(4).toString('hex')}`
    await runSql(
      postgresOfRun(),
      `CREATE ROLE ${role} LOGIN PASSWORD 'basalt' CONNECTION LIMIT 5; GRANT CREATE ON DATABASE postgres TO ${role}`,
    )
    url.username = role
    url.password = 'basalt'
    return url.href
  }

  it('has requests wait for those that there are, in their order', async () => {
    const connections = new Connections(parsePostgresAddress(`${await limitedAddress()}&connections=20`), 'auto')
    const held: pg.PoolClient[] = []
    for (let i = 0; i < 5; i++) held.push(await connections.reader(false))
    const isRefused = connections.reader(false, performance.now())
    await expect(isRefused).rejects.toThrow(/no connection left/)
    const first = connections.reader(false)
    held.pop()?.release()
    const second = connections.reader(false)
    const named = [first.then(() => 'first'), second.then(() => 'second')]
    expect(await Promise.race(named)).toBe('first')
    ;(await first).release()
    held.push(await second)
    for (const client of held) client.release()
    // Those who commit have none yet, and all are open for those who read.
    const { client } = await connections.writer()
    client.release()
    await connections.end()
  })

  it('serves all requests', async () => {
    const store = await openStore(`${await limitedAddress()}&connections=20`)
    await commitChanges(store, put('a', '1'))
    const work = Array.from({ length: 300 }, async (_, i) => {
      for (let turn = 0; turn < i % 50; turn++) await nextTurn()
      if (i % 3 === 0) return commitChanges(store, put(`k${i}`, 'x'))
      return withSnapshot(store, async (snapshot) => {
        for (let read = 0; read < 3; read++) expect(await valueAt(snapshot, 'a')).toBe('1')
      })
    })
    await Promise.all(work)
    expect(await entriesIn(store)).toHaveLength(101)
    await store.close()
  })
})

describe('postgres: the host of the primary vanishes, and a standby is promoted', () => {
  it('all requests are served by the new primary, and nothing acknowledged is lost or made twice', async () => {
    const primary = await startAnotherPostgres()
    const standby = await startAnotherPostgres(primary.address)
    await runSql(primary.address, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await runSql(primary.address, 'SELECT pg_reload_conf()')
    const [one, other] = [await openCuttingProxy(primary.address), await openCuttingProxy(standby.address)]
    const url = new URL(one.address)
    const ports = [one, other].map(({ address }) => `127.0.0.1:${new URL(address).port}`).join(',')
    const store = await openStore(
      `postgres://${url.username}:${url.password}@${ports}${url.pathname}?statementMs=500&patienceMs=30000&connections=4`,
    )
    await useAllConnections(store)
    let isOver = false
    let n = 0
    const failures: unknown[] = []
    const looped = async (work: () => Promise<unknown>): Promise<void> => {
      while (!isOver) await work().catch((error) => failures.push(error))
    }
    const clients = [
      looped(async () => {
        if (await store.commit(counted(n + 1)).then(({ isCommitted }) => isCommitted)) n++
        else failures.push(new Error(`${n + 1} was refused`))
      }),
      ...Array.from({ length: 8 }, () => looped(() => Promise.all(reads(store)))),
    ]
    await expect.poll(() => n).toBeGreaterThan(3)
    one.swallow(true)
    await runSql(standby.address, 'SELECT pg_promote()')
    const before = n
    await expect.poll(() => n).toBeGreaterThan(before + 3)
    isOver = true
    await Promise.all(clients)
    expect(failures).toEqual([])
    expect(await valueIn(store, 'count')).toBe(`${n};`)
    await store.close()
    for (const proxy of [one, other]) await proxy.close()
    await standby.stop()
    await primary.stop()
  })
})
