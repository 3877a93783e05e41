/** The engine against the reference model: the same answers, the same objects, and nothing inconsistent behind. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { modelIndexes, modelSchema } from './model-schema.ts'
import { type Operation, operation, withOids } from './operations.ts'
import { ModelError, ReferenceModel } from './reference-model.ts'
import { eachCommitFailsOnce } from './spurious-conflicts.ts'

const runs = Number(process.env.ASHLAR_RUNS ?? 1)
const seed = process.env.ASHLAR_SEED === undefined ? {} : { seed: Number(process.env.ASHLAR_SEED) }

async function openFd(store: Store): Promise<FederatedDatabase> {
  const fd = await FederatedDatabase.open({ alias: 'model', store, limits: { indexBuildBatchObjects: 3 } })
  await fd.defineClasses(modelSchema, 'createOrExtend')
  return fd
}

/** What an operation answers: the type of its error, or ok. */
async function outcomeOf(act: () => unknown): Promise<string> {
  try {
    await act()
    return 'ok'
  } catch (error) {
    if (error instanceof AshlarError || error instanceof ModelError) return error.type
    throw error
  }
}

const indexRequest = (position: number) => {
  const { name, isUnique, keys } = modelIndexes[position % modelIndexes.length] as (typeof modelIndexes)[number]
  const keyAttributes = keys.map((attributeName) => ({ attributeName, properties: { maxStoredStringLength: 4 } }))
  return { name, indexedClass: 'Item', isUnique, keyAttributes }
}

class Driver {
  readonly fd: FederatedDatabase
  readonly oids: string[] = []
  private extensions = 0

  constructor(fd: FederatedDatabase) {
    this.fd = fd
  }

  /** Carries it out on the engine; returns the OID of what was created. */
  async act(given: Operation): Promise<string | undefined> {
    const { fd } = this
    const oidOf = (target: { nth: number }) => withOids(target, this.oids) as string
    switch (given.kind) {
      case 'create':
        return fd.createObject(given.cls, withOids(given.attributes, this.oids) as Record<string, unknown>)
      case 'update':
        await fd.updateObject(oidOf(given.target), withOids(given.attributes, this.oids) as Record<string, unknown>)
        return undefined
      case 'delete':
        await fd.deleteObject(oidOf(given.target))
        return undefined
      case 'createIndex':
        await fd.createIndex(indexRequest(given.index))
        return undefined
      case 'deleteIndex':
        await fd.deleteIndex(indexRequest(given.index).name)
        return undefined
      case 'extend': {
        const attributes = [{ attributeName: `added${++this.extensions}`, logicalType: 'string' }]
        await fd.defineClasses([{ className: 'Part', attributes }], 'createOrExtend')
        return undefined
      }
    }
  }
}

function actOnModel(model: ReferenceModel, given: Operation, oids: readonly string[], created: string): void {
  const oidOf = (target: { nth: number }) => withOids(target, oids) as string
  const attributes = (value: object) => withOids(value, oids) as Record<string, unknown>
  const indexOf = (position: number) => modelIndexes[position] as (typeof modelIndexes)[number]
  switch (given.kind) {
    case 'create':
      model.attempt(() => model.create(created, given.cls, attributes(given.attributes)))
      break
    case 'update':
      model.attempt(() => model.update(oidOf(given.target), attributes(given.attributes)))
      break
    case 'delete':
      model.attempt(() => model.delete(oidOf(given.target)))
      break
    case 'createIndex':
      model.createIndex(indexOf(given.index))
      break
    case 'deleteIndex':
      model.deleteIndex(indexOf(given.index).name)
      break
    case 'extend':
  }
}

/** Unknown attributes for the class of the target are a question of parsing, tested elsewhere. */
function fitsClass(given: Operation, model: ReferenceModel, oids: readonly string[]): boolean {
  if (given.kind !== 'update') return true
  const oid = withOids(given.target, oids) as string
  const known = model.objects.get(oid)?.values
  return known === undefined || Object.keys(given.attributes).every((name) => Object.hasOwn(known, name))
}

function withoutAdded(read: Record<string, unknown>): unknown {
  const { part } = read as { part?: Record<string, unknown> }
  if (part === undefined) return read
  return { ...read, part: Object.fromEntries(Object.entries(part).filter(([name]) => !name.startsWith('added'))) }
}

async function expectSameObjects(fd: FederatedDatabase, model: ReferenceModel): Promise<void> {
  for (const oid of model.objects.keys()) {
    const read = JSON.parse((await fd.readObject(oid)).toString()) as Record<string, unknown>
    expect(withoutAdded(read), oid).toEqual(model.read(oid))
  }
}

async function expectConsistent(fd: FederatedDatabase): Promise<void> {
  expect((await fd.verify()).problems).toEqual([])
}

async function inSequence(fd: FederatedDatabase, operations: readonly Operation[]): Promise<void> {
  const driver = new Driver(fd)
  const model = new ReferenceModel()
  for (const given of operations) {
    if (!fitsClass(given, model, driver.oids)) continue
    let created: string | undefined
    const answered = await outcomeOf(async () => {
      created = await driver.act(given)
    })
    const expected = await outcomeOf(() => actOnModel(model, given, driver.oids, created ?? 'refused'))
    expect(answered, JSON.stringify(given)).toBe(expected)
    if (created !== undefined) driver.oids.push(created)
    await expectSameObjects(fd, model)
  }
  await expectConsistent(fd)
}

const sequences = fc.array(operation, { minLength: 5, maxLength: 45, size: 'max' })

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
  })
})
