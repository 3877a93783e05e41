/** An operation with an Idempotency-Key that is sent again while it is under way. */
import type { FederatedDatabase } from '@ashlar/engine'
import { expect, it } from 'vitest'
import type { FdOperation, FdWideRequest, OperationReply } from '../../src/dispatch/operation.ts'
import { runOnce } from '../../src/dispatch/run-once.ts'
import { everyone } from '../../src/security/caller.ts'

function requestOf(alias: string, key: string): FdWideRequest {
  const fd = { alias } as FederatedDatabase
  return {
    fd,
    caller: everyone,
    requestId: { caller: '', key, fingerprint: Buffer.alloc(32) },
  } as Partial<FdWideRequest> as FdWideRequest
}

it('is refused until it has ended, well or not, and nobody else is', async () => {
  const ends: ((reply: OperationReply | Error) => void)[] = []
  const operation = {
    keepsReply: true,
    run: () =>
      new Promise<OperationReply>((resolve, reject) => {
        ends.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply)))
      }),
  } as unknown as FdOperation
  const first = runOnce(operation, requestOf('one', 'key'))
  await expect(runOnce(operation, requestOf('one', 'key'))).rejects.toMatchObject({ type: 'RequestInProgress' })
  const others = [runOnce(operation, requestOf('two', 'key')), runOnce(operation, requestOf('one', 'other'))]
  expect(ends).toHaveLength(3)
  ends[0]?.(new Error('failed'))
  await expect(first).rejects.toThrow('failed')
  const again = runOnce(operation, requestOf('one', 'key'))
  for (const end of ends.slice(1)) end({ status: 204 })
  expect(await Promise.all([...others, again])).toEqual([{ status: 204 }, { status: 204 }, { status: 204 }])
})
