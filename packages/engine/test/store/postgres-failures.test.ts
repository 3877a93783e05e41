/** What fails because of the database is told as such, with its cause, and is waited for: never a fault of ours, never a name of a user. */

import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { AshlarError } from '../../src/errors.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { describeSqlFailure, FollowedFailure, failureOf, toStoreError } from '../../src/store/postgres/failures.ts'
import { commitChanges, put, valueAt, valueIn } from './bytes.ts'
import { connectedClient, withClient } from './database-client.ts'
import { freshAddress } from './postgres-stores.ts'

const schemaOf = (address: string): string => new URL(address).searchParams.get('schema') ?? ''

function reported(state: string): pg.DatabaseError {
  const error = new pg.DatabaseError('connection to postgres@10.0.0.7:5432 failed for user "scott"', 10, 'error')
  error.code = state
  return error
}

describe('postgres: failures by SQLSTATE', () => {
  it.each([
    ['08006', 'lost'],
    ['08P01', 'lost'],
    ['40001', 'passing'],
    ['40P01', 'passing'],
    ['40003', 'lost'],
    ['55P03', 'passing'],
    ['25006', 'unusable'],
    ['25P02', 'unusable'],
    ['26000', 'unusable'],
    ['53100', 'unavailable'],
    ['53200', 'unavailable'],
    ['53300', 'lost'],
    ['57014', 'unavailable'],
    ['57P01', 'lost'],
    ['57P03', 'lost'],
    ['58030', 'unavailable'],
    ['XX000', 'lost'],
    ['XX001', 'refused'],
    ['42P01', 'refused'],
    ['23505', 'refused'],
  ])('%s is %s', (state, failure) => {
    const error = reported(state)
    expect(failureOf(error)).toBe(failure)
    const thrown = toStoreError('postgres://here/x', error)
    if (failure === 'refused') return expect(thrown).toBe(error)
    expect(thrown).toMatchObject({ type: 'StoreUnavailable', message: expect.stringContaining(state) })
    expect((thrown as Error).message).not.toMatch(/scott|10\.0\.0\.7/)
  })

  it('an error of the client or the network is about the connection', () => {
    expect(failureOf(new Error('Client has encountered a connection error and is not queryable'))).toBe('lost')
    expect(failureOf(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))).toBe('lost')
  })

  it('what follows a failure is told by its cause, and only worth another attempt if that is a matter of the database', () => {
    const followed = new FollowedFailure(reported('57014'))
    expect(failureOf(followed)).toBe('unusable')
    expect(describeSqlFailure(followed)).toMatch(/statementMs.*57014/)
    const cause = reported('42P01')
    expect(failureOf(new FollowedFailure(cause))).toBe('refused')
    expect(toStoreError('here', new FollowedFailure(cause))).toBe(cause)
  })
})

describe('postgres: statements behind one that fails', () => {
  it('are told its cause, also if they use what it was to prepare', async () => {
    const address = freshAddress()
    const store = await openStore(`${address}&patienceMs=0`)
    await commitChanges(store, put('a', '1'), put('b', '1'))
    const [admin, lock] = [await connectedClient(postgresOfRun()), await connectedClient(postgresOfRun())]
    await lock.query(`BEGIN; LOCK TABLE ${schemaOf(address)}.kv IN ACCESS EXCLUSIVE MODE`)
    const snapshot = await store.snapshot()
    /** By whoever waits for the table; the database tells a statement that it ends after its time by the same state. */
    const ofWaiting = async (selected: string): Promise<number> => {
      const text = `SELECT ${selected} FROM pg_locks WHERE NOT granted AND relation = $1::regclass`
      return (await admin.query(text, [`${schemaOf(address)}.kv`])).rows.length
    }
    const first = valueAt(snapshot, 'a')
    while ((await ofWaiting('')) === 0);
    const reads = Promise.allSettled([first, valueAt(snapshot, 'b')])
    let isOver = false
    void reads.then(() => {
      isOver = true
    })
    while (!isOver) await ofWaiting('pg_cancel_backend(pid)')
    for (const read of await reads) {
      expect(read).toMatchObject({ status: 'rejected', reason: { type: 'StoreUnavailable' } })
      expect((read as PromiseRejectedResult).reason.message).toContain('statementMs')
    }
    await lock.query('COMMIT')
    await Promise.all([admin.end(), lock.end()])
    snapshot.release()
    expect(await valueIn(store, 'a')).toBe('1')
    await store.close()
  })
})

describe('postgres: backends that are ended by others', () => {
  it('make requests wait, or are told as 503, but are no fault of ours; nothing acknowledged is lost', async () => {
    const address = `${freshAddress()}&connections=4`
    const store = await openStore(`${address}&application_name=${schemaOf(address)}`)
    const faults: unknown[] = []
    const acknowledged = new Set<string>()
    let isOver = false
    const client = async (nth: number): Promise<void> => {
      for (let count = 0; !isOver; count++) {
        try {
          await commitChanges(store, put(`${nth}.${count}`, 'x'))
          acknowledged.add(`${nth}.${count}`)
          const snapshots = [await store.snapshot(), await store.snapshot()]
          await Promise.all(snapshots.map((snapshot) => valueAt(snapshot, `${nth}.0`))).finally(() => {
            for (const snapshot of snapshots) snapshot.release()
          })
        } catch (error) {
          if (!(error instanceof AshlarError && error.type === 'StoreUnavailable')) faults.push(error)
        }
      }
    }
    const clients = Array.from({ length: 8 }, (_, nth) => client(nth))
    await withClient(postgresOfRun(), async (admin) => {
      for (let ended = 0; ended < 40; ) {
        const { rows } = await admin.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 ORDER BY random() LIMIT 2',
          [schemaOf(address)],
        )
        ended += rows.length
      }
    })
    isOver = true
    await Promise.all(clients)
    expect(faults).toEqual([])
    expect(acknowledged.size).toBeGreaterThan(0)
    for (const key of acknowledged) expect(await valueIn(store, key)).toBe('x')
    await store.close()
  })
})
