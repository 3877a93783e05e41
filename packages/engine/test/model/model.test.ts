/** The engine against the reference model: the same answers, the same objects, and nothing inconsistent behind. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { Driver, expectConsistent, inSequence, openFd, outcomeOf, runs, seed, sequences } from './model-run.ts'
import { operation } from './operations.ts'
import { eachCommitFailsOnce } from './spurious-conflicts.ts'

describe('in sequence, the engine answers as the model does', () => {
  it('over the store of the run', async () => {
    const property = fc.asyncProperty(sequences, async (operations) => {
      const fd = await openFd(await openStoreOfRun())
      await inSequence(fd, operations)
      await fd.close()
    })
    await fc.assert(property, { numRuns: 120 * runs, ...seed })
  })

  it.skipIf(isOnPostgres)('over LMDB', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ashlar-model-'))
    let opened = 0
    const property = fc.asyncProperty(sequences, async (operations) => {
      const fd = await openFd(await openStore(`lmdb:${join(folder, String(opened++))}`))
      await inSequence(fd, operations)
      await fd.close()
    })
    await fc.assert(property, { numRuns: 12 * runs, ...seed })
    rmSync(folder, { recursive: true, force: true })
  })

  it('where every commit fails once before it holds', async () => {
    const property = fc.asyncProperty(sequences, async (operations) => {
      const fd = await openFd(eachCommitFailsOnce(await openStoreOfRun()))
      await inSequence(fd, operations)
      await fd.close()
    })
    await fc.assert(property, { numRuns: 50 * runs, ...seed })
  })
})

describe('at once, nothing inconsistent is left', () => {
  const batches = fc.array(fc.array(operation, { minLength: 2, maxLength: 12, size: 'max' }), {
    minLength: 2,
    maxLength: 6,
  })

  it('over the store of the run', async () => {
    const property = fc.asyncProperty(batches, async (given) => {
      const fd = await openFd(await openStoreOfRun())
      const driver = new Driver(fd)
      for (const batch of given) {
        const created: string[] = []
        const acts = batch.map((one) =>
          outcomeOf(async () => {
            const oid = await driver.act(one)
            if (oid !== undefined) created.push(oid)
          }),
        )
        expect(await Promise.all(acts)).not.toContain('TransactionContention')
        driver.oids.push(...created)
        await expectConsistent(fd)
      }
      await fd.close()
    })
    await fc.assert(property, { numRuns: 120 * runs, ...seed })
    // Those that conflict take turns, which may lapse one after the other on a database beyond the process.
  }, 240_000)
})
