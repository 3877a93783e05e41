/** Counting for estimates on a store that tells nothing from afar. */
import { expect, it } from 'vitest'
import { StatementContext } from '../../../src/query/execute/statement-context.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { commitOf, put } from '../../store/bytes.ts'
import { counting } from '../counted-trips.ts'

it('takes one trip, however many are counted', async () => {
  const store = await openMemoryStore()
  const counted = counting(store)
  const name = (i: number): string => String(i).padStart(8, '0')
  await store.commit(commitOf(Array.from({ length: 5_000 }, (_, i) => put(name(i), 'x'))))
  const snapshot = await counted.store.snapshot()
  const context = { snapshot, entriesCounted: 0 }
  const count = await StatementContext.prototype.countAbout.call(
    context as StatementContext,
    { from: Buffer.from(name(0)), to: Buffer.from(name(9_000)) },
    6_000,
  )
  expect([count, context.entriesCounted, counted.trips]).toEqual([5_000, 5_000, 1])
  snapshot.release()
  await store.close()
})
