/** Carries random operations out on the engine and on the reference model, and compares what they answer and leave. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { ChangeLogSetting } from '../../src/changes/switch-change-log.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { EngineLimits } from '../../src/limits.ts'
import type { Store } from '../../src/store/store.ts'
import { modelIndexes, modelSchema } from './model-schema.ts'
import { type Operation, operation, withOids } from './operations.ts'
import { ModelError, ReferenceModel } from './reference-model.ts'

export async function openFd(
  store: Store,
  limits: Partial<EngineLimits> = {},
  changeLog?: ChangeLogSetting,
): Promise<FederatedDatabase> {
  const fd = await FederatedDatabase.open({
    alias: 'model',
    store,
    limits: { indexBuildBatchObjects: 3, ...limits },
    changeLog,
  })
  await fd.defineClasses(modelSchema, 'createOrExtend')
  return fd
}

/** Closed whatever happens: where a property fails it is run again and again, and connections left open would soon be all there are. */
export async function withModelFd(
  store: Store,
  use: (fd: FederatedDatabase) => Promise<void>,
  changeLog?: ChangeLogSetting,
): Promise<void> {
  const fd = await openFd(store, {}, changeLog)
  try {
    await use(fd)
  } finally {
    await fd.close()
  }
}

/** What an operation answers: the type of its error, or ok. */
export async function outcomeOf(act: () => unknown): Promise<string> {
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

export class Driver {
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

export async function expectSameObjects(fd: FederatedDatabase, model: ReferenceModel): Promise<void> {
  for (const oid of model.objects.keys()) {
    const read = JSON.parse((await fd.readObject(oid)).toString()) as Record<string, unknown>
    expect(withoutAdded(read), oid).toEqual(model.read(oid))
  }
}

export async function expectConsistent(fd: FederatedDatabase): Promise<void> {
  expect((await fd.verify()).problems).toEqual([])
}

export interface Steps {
  /** Called before each operation. */
  before?(given: Operation): void
  /** Called after it, before anything is compared. */
  after?(given: Operation): void | Promise<void>
  /** Of what is refused, the reason need not be the model's: where there are several, it depends on what is looked at first. */
  readonly isAnyRefusalRight?: boolean
}

export async function inSequence(
  fd: FederatedDatabase,
  operations: readonly Operation[],
  steps: Steps = {},
): Promise<void> {
  const driver = new Driver(fd)
  const model = new ReferenceModel()
  for (const given of operations) {
    if (!fitsClass(given, model, driver.oids)) continue
    let created: string | undefined
    steps.before?.(given)
    const answered = await outcomeOf(async () => {
      created = await driver.act(given)
    })
    const expected = await outcomeOf(() => actOnModel(model, given, driver.oids, created ?? 'refused'))
    await steps.after?.(given)
    const isRefused = answered !== 'ok' && expected !== 'ok'
    if (!isRefused || steps.isAnyRefusalRight !== true) expect(answered, JSON.stringify(given)).toBe(expected)
    if (created !== undefined) driver.oids.push(created)
    await expectSameObjects(fd, model)
  }
  await expectConsistent(fd)
}

export const sequences = fc.array(operation, { minLength: 5, maxLength: 45, size: 'max' })
