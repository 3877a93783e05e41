/** Read transactions that keep commits out: each gives its connection back once, whatever comes between. */
import type { PoolClient } from 'pg'
import { afterEach, expect, it, vi } from 'vitest'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import { PlacedTransaction } from '../../src/store/citus/placed-transaction.ts'
import type { Connections } from '../../src/store/postgres/connections.ts'

const lockingMs = 400
const key = Buffer.from('k')

type Answer = (sql: string) => Promise<unknown> | undefined

/** A transaction over one fake connection, and how often that was asked for and given back. */
function openTransaction(answer: Answer = () => undefined) {
  const seen = { asked: 0, givenBack: 0 }
  const client = {
    query: (query: string | { callback(error: null): void }) => {
      if (typeof query === 'string') return answer(query) ?? Promise.resolve({ rows: [] })
      return query.callback(null)
    },
    release: () => {
      seen.givenBack++
    },
  }
  const connections = {
    address: { schema: 'ashlar' },
    reader: async () => {
      seen.asked++
      return client as unknown as PoolClient
    },
    spareReader: () => undefined,
  }
  const tables = { schema: 'ashlar', hasRoot: true, keys: keyPlacement }
  const kind = { tables, lockingMs, prepared: undefined }
  const transaction = new PlacedTransaction(connections as unknown as Connections, kind, false)
  transaction.join()
  return { transaction, seen }
}

afterEach(() => {
  vi.useRealTimers()
})

it('that was ended because it took too long does not begin anew for a late read', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { transaction, seen } = openTransaction()
  await transaction.read([key])
  vi.advanceTimersByTime(lockingMs)
  await vi.waitFor(() => expect(seen.givenBack).toBe(1))
  await expect(transaction.read([key])).rejects.toThrow()
  transaction.leave()
  expect(seen).toEqual({ asked: 1, givenBack: 1 })
  expect(vi.getTimerCount()).toBe(0)
})

it('that does not get the lock sets no timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { transaction, seen } = openTransaction((sql) => {
    return sql.startsWith('LOCK') ? Promise.reject(new Error('the node is away')) : undefined
  })
  await expect(transaction.read([key])).rejects.toThrow('the node is away')
  transaction.leave(true)
  await new Promise(setImmediate)
  expect(seen.givenBack).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
})

it('that is left before it has the lock ends when its reads are answered, without a timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let lock = (): void => undefined
  const locked = new Promise<unknown>((resolve) => {
    lock = () => resolve({ rows: [] })
  })
  const { transaction, seen } = openTransaction((sql) => (sql.startsWith('LOCK') ? locked : undefined))
  const reading = transaction.read([key])
  transaction.leave()
  lock()
  await reading
  await vi.waitFor(() => expect(seen.givenBack).toBe(1))
  expect(vi.getTimerCount()).toBe(0)
})
