/** The engine against the reference model: the same answers, the same objects, and nothing inconsistent behind. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { Driver, expectConsistent, inSequence, outcomeOf, runs, seed, sequences, withModelFd } from './model-run.ts'
import { type Operation, operation } from './operations.ts'
import { eachCommitFailsOnce } from './spurious-conflicts.ts'

describe('in sequence, the engine answers as the model does', () => {
  it('over the store of the run', async () => {
    const property = fc.asyncProperty(sequences, async (operations) => {
      await withModelFd(await openStoreOfRun(), (fd) => inSequence(fd, operations))
    })
    await fc.assert(property, { numRuns: 120 * runs, ...seed })
  })

  it.skipIf(isOnPostgres)('over LMDB', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ashlar-model-'))
    let opened = 0
    const property = fc.asyncProperty(sequences, async (operations) => {
      await withModelFd(await openStore(`lmdb:${join(folder, String(opened++))}`), (fd) => inSequence(fd, operations))
    })
    await fc.assert(property, { numRuns: 12 * runs, ...seed })
    rmSync(folder, { recursive: true, force: true })
  })

  it('where every commit fails once before it holds', async () => {
    const property = fc.asyncProperty(sequences, async (operations) => {
      await withModelFd(eachCommitFailsOnce(await openStoreOfRun()), (fd) => inSequence(fd, operations))
    })
    await fc.assert(property, { numRuns: 50 * runs, ...seed })
  })
})

/** The operations of a batch at once, and one batch after the other. */
async function atOnce(fd: FederatedDatabase, batches: readonly (readonly Operation[])[]): Promise<void> {
  const driver = new Driver(fd)
  for (const batch of batches) {
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
}

describe('at once, nothing inconsistent is left', () => {
  const batches = fc.array(fc.array(operation, { minLength: 2, maxLength: 12, size: 'max' }), {
    minLength: 2,
    maxLength: 6,
  })

  it('over the store of the run', async () => {
    const property = fc.asyncProperty(batches, async (given) => {
      await withModelFd(await openStoreOfRun(), (fd) => atOnce(fd, given))
    })
    await fc.assert(property, { numRuns: 120 * runs, ...seed })
  })
})
