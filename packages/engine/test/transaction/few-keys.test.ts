/** A transaction of few keys, which are looked for one by one, does what one of many does, which has maps of them. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Bytes, Change, Precondition, Snapshot } from '../../src/store/store.ts'
import { AllocationLog } from '../../src/transaction/allocation-log.ts'
import { OwnWriteConflict, Transaction } from '../../src/transaction/transaction.ts'

type Step = readonly [name: keyof typeof steps, key: string, value: string]

const steps = {
  put: (transaction: Transaction, key: Bytes, value: Bytes) => transaction.put(key, value),
  putNew: (transaction: Transaction, key: Bytes, value: Bytes) => transaction.putNew(key, value),
  delete: (transaction: Transaction, key: Bytes) => transaction.delete(key),
  requireAbsent: (transaction: Transaction, key: Bytes) => transaction.requireAbsent(key),
  requirePresent: (transaction: Transaction, key: Bytes) => transaction.requirePresent(key),
  requireRevision: (transaction: Transaction, key: Bytes, value: Bytes) => transaction.requireRevision(key, value),
}

const others = Array.from({ length: 20 }, (_, nth) => `other ${nth}`)

/** Of each step whether it contradicts own writes, and what is committed of the keys of the steps. */
function outcome(snapshot: Snapshot, all: readonly Step[], isOfMany: boolean): unknown {
  const transaction = new Transaction(snapshot, false, new AllocationLog())
  if (isOfMany) {
    for (const other of others) {
      transaction.requirePresent(Buffer.from(other))
      transaction.put(Buffer.from(other), Buffer.from(other))
    }
  }
  const conflicts = all.map(([name, key, value]) => {
    try {
      steps[name](transaction, Buffer.from(key), Buffer.from(value))
      return false
    } catch (error) {
      if (error instanceof OwnWriteConflict) return true
      throw error
    }
  })
  const { changes, preconditions } = transaction.commit()
  const isOfSteps = (one: Change | Precondition): boolean =>
    !('key' in one) || !others.includes(Buffer.from(one.key).toString())
  return { conflicts, changes: [...changes].filter(isOfSteps), preconditions: [...preconditions].filter(isOfSteps) }
}

it('whatever is done with its keys, in whatever order', async () => {
  const store = await openMemoryStore()
  const snapshot = await store.snapshot()
  const step = fc.tuple(
    fc.constantFrom(...(Object.keys(steps) as (keyof typeof steps)[])),
    // As many as there are at most among which a key is looked for one by one, and more.
    fc.constantFrom(...Array.from('abcdefghijkl', (letter) => `key ${letter}`)),
    fc.constantFrom('1', '2'),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (all) => {
      expect(outcome(snapshot, all, false)).toEqual(outcome(snapshot, all, true))
    }),
    { numRuns: 500 },
  )
  snapshot.release()
  await store.close()
})
