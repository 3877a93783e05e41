/** The bytes of replies that are kept: large ones only as long as there is room for them. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { ReplyBudget } from '../../src/receipts/reply-budget.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { part } from './create-part.ts'

it('is spent by large replies, not by small ones or by further attempts, and comes back', () => {
  let now = 5
  const budget = new ReplyBudget(100_000, 1_000, () => now)
  expect(budget.take(60_000, 0)).toBe(true)
  expect(budget.take(60_000, 60_000)).toBe(true)
  expect(budget.take(60_000, 0)).toBe(false)
  for (let time = 0; time < 100; time++) expect(budget.take(4_096, 0)).toBe(true)
  expect(budget.take(40_000, 0)).toBe(true)
  expect(budget.take(5_000, 0)).toBe(false)
  now += 500
  expect(budget.take(50_000, 0)).toBe(true)
  now += 1_000_000
  expect(budget.take(100_001, 0)).toBe(false)
  expect(budget.take(100_000, 0)).toBe(true)
})

it('beyond it a change is made all the same, and is known to be made', async () => {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store, limits: { receiptRepliesBytesMax: 15_000 } })
  await fd.defineClasses([part], 'createOrExtend')
  const create = (key: string, bytes: number): Promise<string> => {
    const request = { caller: '', key, fingerprint: Buffer.alloc(32) }
    const once = { request, replyOf: () => Buffer.alloc(bytes) }
    return fd.transaction((step) => step(1).createObject('Part', { code: 1 }), false, once)
  }
  for (const key of ['first', 'second']) await create(key, 10_000)
  await create('small', 1_000)
  await expect(create('first', 10_000)).rejects.toMatchObject({ reply: expect.toSatisfy((it) => it.length === 10_000) })
  await expect(create('second', 10_000)).rejects.toMatchObject({ type: 'ReplyNotKept' })
  await expect(create('small', 1_000)).rejects.toMatchObject({ reply: expect.toSatisfy((it) => it.length === 1_000) })
  expect((await fd.verify()).objects).toBe(3)
  await fd.close()
})
