/** Whatever a change concludes from what it reads is a precondition of its commit. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { isOnPostgres } from '../store/store-of-run.ts'
import { audited } from '../store/wrappers/audited.ts'
import { inSequence, openFd, runs, seed, sequences } from './model-run.ts'
import { eachCommitFailsOnce } from './spurious-conflicts.ts'

it.skipIf(isOnPostgres)('at the first attempt', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    const store = audited(await openMemoryStore())
    const fd = await openFd(store)
    await inSequence(fd, operations, {
      after: (given) => expect([...store.uncovered], JSON.stringify(given)).toEqual([]),
    })
    await fd.close()
  })
  await fc.assert(property, { numRuns: 15 * runs, ...seed, endOnFailure: true })
})

it.skipIf(isOnPostgres)('at a retry', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    const store = audited(eachCommitFailsOnce(await openMemoryStore()))
    const fd = await openFd(store)
    await inSequence(fd, operations, {
      after: (given) => expect([...store.uncovered], JSON.stringify(given)).toEqual([]),
    })
    await fd.close()
  })
  await fc.assert(property, { numRuns: 8 * runs, ...seed, endOnFailure: true })
})
