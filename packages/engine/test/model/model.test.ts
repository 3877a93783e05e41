/** The engine against the reference model: the same answers, the same objects, and nothing inconsistent behind. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { runs } from '../bytes/property-runs.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { Driver, expectConsistent, inSequence, outcomeOf, sequences, withModelFd } from './model-run.ts'
import { type Creation, creation, type Operation, operation, withOids } from './operations.ts'
import { eachCommitFailsOnce } from './spurious-conflicts.ts'

describe('in sequence, the engine answers as the model does', () => {
  it('over the store of the run', async () => {
    const property = fc.asyncProperty(sequences, async (operations) => {
      await withModelFd(await openStoreOfRun(), (fd) => inSequence(fd, operations))
    })
    await fc.assert(property, runs(120))
  })

  it.skipIf(isOnPostgres)('over LMDB', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ashlar-model-'))
    let opened = 0
    const property = fc.asyncProperty(sequences, async (operations) => {
      await withModelFd(await openStore(`lmdb:${join(folder, String(opened++))}`), (fd) => inSequence(fd, operations))
    })
    await fc.assert(property, runs(12))
    rmSync(folder, { recursive: true, force: true })
  })

  it('where every commit fails once before it holds', async () => {
    const property = fc.asyncProperty(sequences, async (operations) => {
      await withModelFd(eachCommitFailsOnce(await openStoreOfRun()), (fd) => inSequence(fd, operations))
    })
    await fc.assert(property, runs(50))
  })
})

describe('several creations as one commit', () => {
  const creations = fc.array(creation, { minLength: 1, maxLength: 6 })

  it('leave what they would as steps of a transaction, or nothing', async () => {
    const property = fc.asyncProperty(sequences, creations, async (before, given) => {
      await withModelFd(await openStoreOfRun(), async (together) => {
        await withModelFd(await openStoreOfRun(), (inTurn) => expectSameCreations(together, inTurn, before, given))
      })
    })
    await fc.assert(property, runs(25))
  })

  async function expectSameCreations(
    together: FederatedDatabase,
    inTurn: FederatedDatabase,
    before: readonly Operation[],
    given: readonly Creation[],
  ): Promise<void> {
    const known: string[] = []
    for (const fd of [together, inTurn]) {
      const driver = new Driver(fd)
      for (const one of before) {
        await outcomeOf(async () => {
          const oid = await driver.act(one)
          if (oid !== undefined) driver.oids.push(oid)
        })
      }
      known.splice(0, known.length, ...driver.oids)
    }
    const requests = given.map(({ cls, attributes }) => {
      return { class: cls, attributes: withOids(attributes, known) as Record<string, unknown> }
    })
    const all = async (fd: FederatedDatabase, created: readonly string[]): Promise<string[]> => {
      const read = async (oid: string): Promise<string> => String(await fd.readObject(oid))
      return Promise.all([...known, ...created].map((oid) => read(oid).catch(({ message }) => message)))
    }
    const present = async (fd: FederatedDatabase): Promise<number> => {
      return (await fd.verify()).objects
    }
    const earlier = await present(together)
    const [one, other] = await Promise.allSettled([together.createObjects(requests), transactionOf(inTurn, requests)])
    expect(one.status).toBe(other.status)
    for (const fd of [together, inTurn]) await expectConsistent(fd)
    if (one.status === 'fulfilled' && other.status === 'fulfilled') {
      expect(one.value).toEqual(other.value)
      expect(await all(together, one.value)).toEqual(await all(inTurn, other.value))
      return
    }
    const { reason } = one as PromiseRejectedResult
    expect(reason).toBeInstanceOf(AshlarError)
    expect(reason.errors[0].place[0]).toBeLessThan(given.length)
    expect(await present(together)).toBe(earlier)
  }

  function transactionOf(
    fd: FederatedDatabase,
    requests: readonly { readonly class: string; readonly attributes: Record<string, unknown> }[],
  ): Promise<string[]> {
    return fd.transaction(async (step) => {
      const oids: string[] = []
      for (const [i, request] of requests.entries()) {
        oids.push(await step(i + 1).createObject(request.class, request.attributes))
      }
      return oids
    }, false)
  }
})

/** The operations of a batch at once, and one batch after the other. */
async function runToEnd(fd: FederatedDatabase, batches: readonly (readonly Operation[])[]): Promise<void> {
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
      await withModelFd(await openStoreOfRun(), (fd) => runToEnd(fd, given))
    })
    await fc.assert(property, runs(120))
  })
})
