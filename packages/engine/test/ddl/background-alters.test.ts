/** Changes of classes that go on in the background: the class shows them, and how they failed. */
import { expect, it } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { catalogKey } from '../../src/catalog/catalog-keys.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Commit, SnapshotOptions, Store } from '../../src/store/store.ts'
import { classOf, outcome } from '../engine/open-fd.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

/** Holds up the commits that tell the progress of changes, or those that complete them. */
class Gate implements Store {
  readonly capabilities: Store['capabilities']
  held: 'nothing' | 'progress' | 'completion' = 'nothing'
  private readonly store: Store

  constructor(store: Store) {
    this.store = store
    this.capabilities = store.capabilities
  }

  commit = async (commit: Commit) => {
    const changes = [...commit.changes]
    const isOfCatalog = changes.some(({ key }) => Buffer.compare(key, catalogVersionKey) === 0)
    const ofProgress = changes.find(({ key }) => Buffer.compare(key.subarray(0, 2), progressPrefix) === 0)
    const isEnd = ofProgress?.kind === 'delete'
    if (isEnd) await until(async () => this.held !== 'completion')
    else if (ofProgress !== undefined && !isOfCatalog) await until(async () => this.held !== 'progress')
    return this.store.commit(commit)
  }

  snapshot = (options?: SnapshotOptions) => this.store.snapshot(options)
  stats = () => this.store.stats()
  close = async () => {}
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 2))
}

const progressPrefix = catalogKey('validation', 0).subarray(0, 2)
const objects = 5
const small = { classFields: { checks: [{ name: 'small', expression: 'n < 10' }] } }
const longer = { attributesToConstrain: [{ attributeName: 'name', minLength: 1 }] }

async function withTwo(
  use: (given: { fd: FederatedDatabase; gate: Gate; other: FederatedDatabase }) => Promise<void>,
  limits: { backgroundBuildsMax?: number } = {},
): Promise<void> {
  const store = await openStoreOfRun()
  const other = await FederatedDatabase.open({ alias: 'other', store })
  await other.defineClasses(
    [classOf('Item', { n: 'integer', name: 'string' }), classOf('Box', { n: 'integer' })],
    'create',
  )
  for (let n = 0; n < objects; n++) await other.createObject('Item', { n })
  const gate = new Gate(store)
  const fd = await FederatedDatabase.open({ alias: 'test', store: gate, limits })
  await use({ fd, gate, other })
  gate.held = 'nothing'
  await fd.close()
  expect((await other.verify()).problems).toEqual([])
  await other.close()
}

it('the class shows how far the change has come, and the change once it is made', async () => {
  await withTwo(async ({ fd, gate, other }) => {
    gate.held = 'completion'
    expect(await fd.startAlteration('Item', small)).toMatchObject({ isRunning: true })
    const progress = { objectsDone: objects, objectsTotal: objects }
    await until(async () => {
      const { validation } = await other.readClass('Item')
      return validation?.state === 'running' && validation.progress.objectsDone === objects
    })
    expect((await other.readClass('Item')).validation).toEqual({ state: 'running', progress })
    expect(await other.readClass('Item')).not.toHaveProperty('checks')
    expect(await outcome(other.createObject('Item', { n: 10 }))).toBe('ConstraintViolation')
    expect(await outcome(fd.startAlteration('Item', longer))).toBe('AttributeInUse')
    await other.alterClass('Item', { attributesToRename: [{ originalName: 'name', newName: 'title' }] })
    expect((await other.readClass('Item')).validation).toMatchObject({ state: 'running' })
    gate.held = 'nothing'
    await until(async () => (await other.readClass('Item')).validation === undefined)
    expect(await other.readClass('Item')).toMatchObject({ checks: small.classFields.checks })
  })
})

it('the class shows the progress of who refers being entered, and of indexes, one after the other', async () => {
  await withTwo(async ({ fd, gate, other }) => {
    const refersTo = (attributeName: string, more: object) => ({ attributeName, referencedClass: 'Box', ...more })
    const many = { logicalType: 'set', elementSpecification: { logicalType: 'reference', referencedClass: 'Box' } }
    await other.alterClass('Item', {
      attributesToAdd: [
        refersTo('box', { logicalType: 'reference' }),
        { attributeName: 'boxes', ...many, collectionTypeName: 'TreeSetOfReferences' },
      ],
    })
    const [one, two] = [await other.createObject('Box', {}), await other.createObject('Box', {})]
    await other.createObject('Item', { n: objects, box: one, boxes: [one, two] })
    const element = { elementSpecification: { onTargetDelete: 'clear' } }
    const changes = [
      [{ attributeName: 'box', onTargetDelete: 'clear' }],
      [{ attributeName: 'boxes', ...element }],
      [{ attributeName: 'n', minimum: 0, isUnique: true }],
    ]
    for (const [i, attributesToConstrain] of changes.entries()) {
      gate.held = 'completion'
      expect(await fd.startAlteration('Item', { attributesToConstrain })).toMatchObject({ isRunning: true })
      // The last change reads all objects twice: for the constraint and for the index.
      const total = (objects + 1) * (i === 2 ? 2 : 1)
      await until(async () => {
        const { validation } = await other.readClass('Item')
        return validation?.state === 'running' && validation.progress.objectsDone === total
      })
      const progress = { objectsDone: total, objectsTotal: total }
      expect((await other.readClass('Item')).validation).toEqual({ state: 'running', progress })
      gate.held = 'nothing'
      await until(async () => (await other.readClass('Item')).validation === undefined)
    }
    await other.deleteObject(one)
  })
})

it('what is not made online is made at once', async () => {
  await withTwo(async ({ fd }) => {
    const immediate = { classFields: { title: 'An item' } }
    expect(await fd.startAlteration('Item', immediate)).toMatchObject({ isRunning: false })
    expect(await fd.readClass('Item')).toMatchObject({ title: 'An item' })
    await fd.transaction(async (step) => {
      expect(await step(1).startAlteration('Item', small)).toMatchObject({ isRunning: false })
    }, false)
    expect(await fd.readClass('Item')).toMatchObject({ checks: small.classFields.checks })
  })
})

it('the class shows the failure until it is changed again', async () => {
  await withTwo(async ({ fd, other }) => {
    expect(await fd.startAlteration('Item', longer)).toMatchObject({ isRunning: true })
    await until(async () => (await other.readClass('Item')).validation?.state === 'failed')
    expect((await other.readClass('Item')).validation).toMatchObject({
      state: 'failed',
      failure: { type: 'ObjectsViolateConstraint', violations: [{ attributeName: 'name', objects }] },
    })
    expect(await outcome(other.createObject('Item', {}))).toBe('ok')
    await other.alterClass('Item', { classFields: { title: 'An item' } })
    expect(await other.readClass('Item')).not.toHaveProperty('validation')
  })
})

it('a change of an attribute that is deleted meanwhile has failed', async () => {
  await withTwo(async ({ fd, gate, other }) => {
    gate.held = 'progress'
    expect(await fd.startAlteration('Item', longer)).toMatchObject({ isRunning: true })
    await other.alterClass('Item', { attributesToDelete: ['name'] })
    gate.held = 'nothing'
    await until(async () => (await other.readClass('Item')).validation?.state === 'failed')
    const { validation } = await other.readClass('Item')
    expect(validation).toMatchObject({ failure: { type: expect.stringMatching(/AttributeInUse|ObjectsViolate/) } })
  })
})

it('a change that is under way when its process ends has failed', async () => {
  await withTwo(async ({ fd, gate, other }) => {
    gate.held = 'progress'
    await fd.startAlteration('Item', small)
    expect(await outcome(other.createObject('Item', { n: 10 }))).toBe('ConstraintViolation')
    const closed = fd.close()
    gate.held = 'nothing'
    await closed
    const { validation } = await other.readClass('Item')
    expect(validation).toMatchObject({ state: 'failed', failure: { type: 'ShuttingDown' } })
    expect(await outcome(other.createObject('Item', { n: 10 }))).toBe('ok')
  })
})

it('only so many changes go on in the background', async () => {
  await withTwo(
    async ({ fd, gate }) => {
      gate.held = 'completion'
      await fd.startAlteration('Item', small)
      expect(await outcome(fd.startAlteration('Box', small))).toBe('ServerBusy')
      gate.held = 'nothing'
    },
    { backgroundBuildsMax: 1 },
  )
})
