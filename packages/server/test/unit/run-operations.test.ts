/** The operations of a transaction, one after the other: the signal of the client, and turns between them. */
import { type CancelSignal, type Database, defaultEngineLimits, type FederatedDatabase } from '@ashlar/engine'
import { expect, it } from 'vitest'
import type { FdWideRequest } from '../../src/dispatch/operation.ts'
import { Router } from '../../src/dispatch/router.ts'
import { runOperations } from '../../src/dispatch/transaction/run-operations.ts'
import { defaultServerLimits } from '../../src/limits.ts'
import { operations } from '../../src/operations/table.ts'
import { everyone } from '../../src/security/caller.ts'
import { rowChunk } from './stub-query.ts'

/** A request of these operations on the database, whose transaction is run once. */
function requestOf(
  database: Partial<Database>,
  body: readonly object[],
  { transact, ...more }: { readonly transact?: FederatedDatabase['transaction']; readonly signal?: CancelSignal } = {},
): FdWideRequest {
  const once: FederatedDatabase['transaction'] = (run) =>
    run(
      () => database as Database,
      false,
      async () => undefined,
    )
  return {
    caller: everyone,
    fd: { alias: 'x' },
    database: { transaction: transact ?? once },
    headers: {},
    query: {},
    body,
    service: {
      limits: { ...defaultServerLimits, ...defaultEngineLimits, changeReplyBytesMax: 1_000 },
      router: new Router(operations),
    },
    ...more,
  } as unknown as FdWideRequest
}

it('others have their turn before each operation, and the transaction knows whether the client is there', async () => {
  const order: string[] = []
  let known: CancelSignal | undefined
  const database: Partial<Database> = {
    async listNamespaces() {
      order.push('operation')
      return [null]
    },
  }
  const transact: FederatedDatabase['transaction'] = (...given) => {
    const [run, , , , client] = given
    known = client?.signal
    return run(
      () => database as Database,
      false,
      async () => void order.push('turn'),
    )
  }
  const { signal } = new AbortController()
  const request = requestOf(database, Array(3).fill({ method: 'GET', uri: '/v1/schema/namespace' }), {
    transact,
    signal,
  })
  const reply = await runOperations(request, undefined)
  expect(JSON.parse(reply.toString())).toHaveLength(3)
  expect(order).toEqual(['turn', 'operation', 'turn', 'operation', 'turn', 'operation'])
  expect(known).toBe(signal)
})

it('rows that are more than a reply may hold are not collected first', async () => {
  let [given, isEnded] = [0, false]
  const database: Partial<Database> = {
    async query() {
      return {
        chunks: (async function* () {
          try {
            for (; given < 1_000; given++) yield rowChunk('1'.repeat(99))
          } finally {
            isEnded = true
          }
        })(),
      }
    },
  }
  const request = requestOf(database, [{ method: 'POST', uri: '/v1/query', body: { query: 'FROM X RETURN *' } }])
  const running = runOperations(request, undefined)
  await expect(running).rejects.toThrow(/LimitExceeded|changeReplyBytesMax/)
  expect([given, isEnded]).toEqual([10, true])
})
