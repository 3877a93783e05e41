/** The operations of a transaction, one after the other: the signal of the client, and turns between them. */
import { type Database, defaultEngineLimits, type FederatedDatabase } from '@ashlar/engine'
import { expect, it } from 'vitest'
import { defaultServerLimits } from '../../src/limits.ts'
import type { FdRequest } from '../../src/operations/operation.ts'
import { operations } from '../../src/operations/table.ts'
import { OperationFinder } from '../../src/transaction/find-operation.ts'
import { runOperations } from '../../src/transaction/run-operations.ts'

it('others have their turn before each operation, and the transaction knows whether the client is there', async () => {
  const order: string[] = []
  let known: AbortSignal | undefined
  const database = {
    async listNamespaces() {
      order.push('operation')
      return [null]
    },
  } as unknown as Database
  const fd = {
    alias: 'x',
    transaction(...given: Parameters<FederatedDatabase['transaction']>) {
      const [body, , , , client] = given
      known = client?.signal
      const between = async (): Promise<void> => void order.push('turn')
      return body(() => database, false, between)
    },
  } as unknown as FederatedDatabase
  const { signal } = new AbortController()
  const request = {
    fd,
    signal,
    body: Array(3).fill({ method: 'GET', uri: '/v1/schema/namespace' }),
    service: { limits: { ...defaultServerLimits, ...defaultEngineLimits } },
  } as unknown as FdRequest
  const reply = await runOperations(request, new OperationFinder(operations), undefined)
  expect(JSON.parse(reply.toString())).toHaveLength(3)
  expect(order).toEqual(['turn', 'operation', 'turn', 'operation', 'turn', 'operation'])
  expect(known).toBe(signal)
})
