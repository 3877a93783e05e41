/** What a request is told when the outcome of one of its commits is not known: never more, and never less, than is known. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { keySpace } from '../../src/bytes/key-space.ts'
import { AshlarError, type ErrorType } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Commit, Store } from '../../src/store/store.ts'
import { rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { classOf, index } from './open-fd.ts'

/** `unknown`: made or not, the answer is lost. `unavailable`: not made, and the store says so. */
type Loss = 'unknown, made' | 'unknown, not made' | 'unavailable'

/** Of the commits that write to `space`, the `nth` (from 1) and, where `isLasting`, all after it meet the loss. */
interface Plan {
  readonly space: number
  readonly nth: number
  readonly loss: Loss
  readonly isLasting?: boolean
}

class LossyStore {
  plan: Plan | undefined
  private readonly store: Store
  private seen = 0

  constructor(store: Store) {
    this.store = store
  }

  view(): Store {
    const { store } = this
    return { ...store, commit: (commit) => this.commit(commit) }
  }

  lose(plan: Plan | undefined): void {
    this.plan = plan
    this.seen = 0
  }

  private async commit(commit: Commit): ReturnType<Store['commit']> {
    const { plan } = this
    if (plan === undefined || ![...commit.changes].some(({ key }) => key[0] === plan.space))
      return this.store.commit(commit)
    const number = ++this.seen
    if (number !== plan.nth && !(plan.isLasting === true && number > plan.nth)) return this.store.commit(commit)
    if (plan.loss === 'unavailable') throw new AshlarError('StoreUnavailable', 'The store is out of reach.')
    if (plan.loss === 'unknown, made') await this.store.commit(commit)
    throw new AshlarError('OutcomeUnknown', 'The answer was lost.')
  }
}

async function withLosses(
  use: (fd: FederatedDatabase, lose: (plan: Plan | undefined) => void) => Promise<void>,
  importDir?: string,
): Promise<void> {
  const lossy = new LossyStore(await openStoreOfRun())
  const own = importDir === undefined ? {} : { importDir }
  const limits = { heartbeatIntervalMs: 10 }
  const fd = await FederatedDatabase.open({ alias: 'test', store: lossy.view(), limits, ...own })
  await fd.defineClasses([classOf('Car', { license: 'string', year: 'integer' })], 'create')
  await use(fd, (plan) => lossy.lose(plan))
  lossy.lose(undefined)
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
}

async function failure(work: Promise<unknown>): Promise<AshlarError> {
  const error = await work.then(
    () => 'no failure',
    (thrown: unknown) => thrown,
  )
  if (error instanceof AshlarError) return error
  throw error
}

async function typeOf(work: Promise<unknown>): Promise<ErrorType> {
  return (await failure(work)).type
}

describe('a commit whose outcome is not known', () => {
  it('of an object: OutcomeUnknown, and it is not tried again', async () => {
    await withLosses(async (fd, lose) => {
      await fd.createObject('Car', {})
      lose({ space: keySpace.object, nth: 1, loss: 'unknown, made' })
      expect(await typeOf(fd.createObject('Car', {}))).toBe('OutcomeUnknown')
      expect(await rows(fd, 'FROM Car RETURN COUNT() AS n')).toEqual([{ n: 2 }])
    })
  })

  it('of the lease of a page: nothing of the request was done, and that is said', async () => {
    for (const loss of ['unknown, made', 'unknown, not made'] as const) {
      await withLosses(async (fd, lose) => {
        lose({ space: keySpace.container, nth: 1, loss })
        expect(await typeOf(fd.createObject('Car', {}))).toBe('StoreUnavailable')
        expect(await rows(fd, 'FROM Car RETURN COUNT() AS n')).toEqual([{ n: 0 }])
        await fd.createObject('Car', {})
      })
    }
  })

  const byLicense = index('byLicense', 'Car', false, 'license')
  // The second change of the catalog makes the index ready.
  const preparing: readonly Plan[] = [
    { space: keySpace.index, nth: 1, loss: 'unknown, made' },
    { space: keySpace.index, nth: 1, loss: 'unknown, not made' },
    { space: keySpace.catalog, nth: 2, loss: 'unknown, not made' },
  ]
  it('of an index that is built: where the index could be dropped, nothing was done', async () => {
    for (const plan of preparing) {
      await withLosses(async (fd, lose) => {
        await fd.createObject('Car', { license: 'A' })
        lose(plan)
        expect(await typeOf(fd.createIndex(byLicense))).toBe('StoreUnavailable')
        expect(await fd.listIndexes()).toEqual([])
        await fd.createIndex(byLicense)
      })
    }
  })

  it('of an index that is found ready: it is made', async () => {
    await withLosses(async (fd, lose) => {
      await fd.createObject('Car', { license: 'A' })
      lose({ space: keySpace.catalog, nth: 2, loss: 'unknown, made' })
      await fd.createIndex(byLicense)
      expect(await fd.listIndexes()).toMatchObject([{ name: 'byLicense', state: 'ready' }])
    })
  })

  it('of an index that is built and cannot be dropped: OutcomeUnknown', async () => {
    await withLosses(async (fd, lose) => {
      await fd.createObject('Car', { license: 'A' })
      lose({ space: keySpace.catalog, nth: 2, loss: 'unavailable', isLasting: true })
      expect(await typeOf(fd.createIndex(byLicense))).toBe('OutcomeUnknown')
      expect(await fd.listIndexes()).toMatchObject([{ state: 'building' }])
      lose(undefined)
      await vi.waitFor(async () => expect(await fd.listIndexes()).toEqual([]), 60_000)
    })
  })

  const narrower = {
    attributesToChange: [{ attributeName: 'year', logicalType: 'integer', storage: 'b16', encoding: 'signed' }],
  }
  // The first change of the catalog tells the writers, the second ends it, a third removes what the first told.
  const ends: readonly [Plan, ErrorType, boolean][] = [
    [{ space: keySpace.catalog, nth: 2, loss: 'unknown, made' }, 'OutcomeUnknown', true],
    [{ space: keySpace.catalog, nth: 2, loss: 'unknown, not made' }, 'StoreUnavailable', false],
    [{ space: keySpace.catalog, nth: 2, loss: 'unavailable' }, 'StoreUnavailable', false],
    [{ space: keySpace.catalog, nth: 2, loss: 'unavailable', isLasting: true }, 'OutcomeUnknown', false],
  ]
  for (const [plan, type, isChanged] of ends) {
    it(`of a change of types that ends ${plan.loss}${plan.isLasting ? ' and lasting' : ''}: ${type}`, async () => {
      await withLosses(async (fd, lose) => {
        await fd.createObject('Car', { year: 2024 })
        lose(plan)
        expect(await typeOf(fd.alterClass('Car', narrower))).toBe(type)
        const year = (await fd.readClass('Car')).attributes.find(({ attributeName }) => attributeName === 'year')
        expect(year?.storage === 'b16').toBe(isChanged)
        lose(undefined)
        // What could not be undone then, is undone later: the same change can be made.
        await vi.waitFor(() => fd.alterClass('Car', narrower), 60_000)
      })
    })
  }
})

describe('COMMIT EVERY that fails after its first commit', () => {
  const ends: readonly [Loss, ErrorType, number][] = [
    ['unknown, made', 'OutcomeUnknown', 4],
    ['unknown, not made', 'OutcomeUnknown', 2],
    ['unavailable', 'PartlyCommitted', 2],
  ]
  for (const [loss, type, kept] of ends) {
    it(`says what stays when the second is ${loss}: ${type}`, async () => {
      const directory = await mkdtemp(join(tmpdir(), 'ashlar-'))
      await writeFile(join(directory, 'cars.csv'), 'license\nA\nB\nC\nD\nE\n')
      await withLosses(async (fd, lose) => {
        lose({ space: keySpace.object, nth: 2, loss })
        const error = await failure(importCars(fd))
        expect(error).toMatchObject({ type, extensions: { commits: 1, rowsCommitted: 2 } })
        expect(error.message).toContain('1 commits, with 2 rows')
        expect(await rows(fd, 'FROM Car RETURN COUNT() AS n')).toEqual([{ n: kept }])
      }, directory)
      await rm(directory, { recursive: true })
    })
  }

  it('keeps the type of what a row did wrong', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'ashlar-'))
    await writeFile(join(directory, 'cars.csv'), 'license\nA\nB\nA\n')
    await withLosses(async (fd) => {
      await fd.createIndex(index('byLicense', 'Car', true, 'license'))
      const error = await failure(importCars(fd))
      expect(error).toMatchObject({ type: 'UniqueViolation', extensions: { rowsCommitted: 2 } })
    }, directory)
    await rm(directory, { recursive: true })
  })
})

async function importCars(fd: FederatedDatabase): Promise<void> {
  const text = "FOR EACH r IN IMPORT CSV 'cars.csv' USE HEADER COMMIT EVERY 2 => (CREATE Car {license: $r.license})"
  await fd.query({ text })
}

async function rows(fd: FederatedDatabase, text: string): Promise<unknown> {
  return rowValues(await fd.query({ text }))
}
