/** A transaction with very many writes. */
import { expect, it } from 'vitest'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { AllocationLog } from '../../src/transaction/allocation-log.ts'
import { Transaction } from '../../src/transaction/transaction.ts'

const many = 20_000
const keyOf = (i: number): Buffer => Buffer.from(String(i).padStart(6, '0'))

it('writes and what they require are committed in their order', async () => {
  const store = await openMemoryStore()
  const transaction = new Transaction(await store.snapshot(), false, new AllocationLog())
  for (let i = 0; i < many; i++) {
    transaction.requireAbsent(keyOf(i))
    transaction.put(keyOf(i), Buffer.from('first'))
  }
  transaction.put(keyOf(0), Buffer.from('second'))
  transaction.put(keyOf(many - 1), Buffer.from('second'))
  const { values } = await transaction.read([keyOf(0), keyOf(1), keyOf(many - 1), keyOf(many)])
  expect(values.map((value) => value && Buffer.from(value).toString())).toEqual([
    'second',
    'first',
    'second',
    undefined,
  ])
  const { changes, preconditions } = transaction.commit()
  expect([changes.length, preconditions.length]).toEqual([many, many])
  expect([...changes].map(({ key }) => Number(Buffer.from(key).toString()))).toEqual([...Array(many).keys()])
  expect(await store.commit(transaction.commit())).toEqual({ isCommitted: true })
  const again = await store.commit(transaction.commit())
  expect(again).toMatchObject({ isCommitted: false, failed: { kind: 'absent' } })
  await store.close()
})
