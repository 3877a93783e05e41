/** What a transaction of several steps changes: objects and schema, each step seeing what those before it did. */
import { catalogVersionKey } from '../bytes/key-space.ts'
import { changeCatalog } from '../catalog/change-catalog.ts'
import { AshlarError, assert } from '../errors.ts'
import { buildIndexWithin } from '../indexes/build-within.ts'
import type { EngineLimits } from '../limits.ts'
import type { Containers } from '../records/containers.ts'
import { hasObjects } from '../records/expect-objects.ts'
import { alterClass, classOfPath } from '../schema/alter-class.ts'
import { readAlterRequest } from '../schema/alter-request.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState, IndexNumber } from '../schema/class-definition.ts'
import { readClassDescriptions } from '../schema/class-description.ts'
import { type DefineMode, defineClasses } from '../schema/define-classes.ts'
import { deleteClass } from '../schema/delete-class.ts'
import { defineIndex, readIndexRequest, withoutIndex, withReadyIndex } from '../schema/index-definition.ts'
import { indexesToRebuild, retypesToPrepare, withRebuiltIndexes } from '../schema/pending-retype.ts'
import { shownText } from '../schema/request-body.ts'
import type { Session } from '../transaction/session.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { UnitOfWork } from '../write/unit-of-work.ts'
import type { Numbering } from './numbering.ts'
import { type AlterSettings, valuesWouldBeLost } from './online-alter.ts'
import { prepareRetypes, putMoved } from './transactional-retype.ts'

export interface WriteSessionResources {
  readonly limits: EngineLimits
  readonly session: Session
  readonly containers: Containers
  /** Clears what a dropped index leaves behind. */
  purgeInBackground(): void
}

export class WriteSession {
  readonly transaction: Transaction
  /** What is left to do once the transaction is committed. */
  readonly afterCommit: (() => void)[] = []
  private current: Catalog
  private readonly resources: WriteSessionResources
  private readonly numbering: Numbering | undefined
  private changedObjects = 0

  /** Expects the catalog to be the same at the commit. `numbering`: of a transaction that is rehearsed. */
  constructor(transaction: Transaction, catalog: Catalog, resources: WriteSessionResources, numbering?: Numbering) {
    transaction.expectRevision(catalogVersionKey, catalog.version)
    this.transaction = transaction
    this.current = catalog
    this.resources = resources
    this.numbering = numbering
  }

  /** As the steps so far have left it. */
  get catalog(): Catalog {
    return this.current
  }

  /** A step's objects. They are read through what the steps before it wrote. */
  objects(): UnitOfWork {
    const { containers, session } = this.resources
    return new UnitOfWork(this.transaction, this.current, containers, session)
  }

  /** All objects that are changed are held until the commit. Throws LimitExceeded. */
  count(objects: number): void {
    const { changedObjectsMax } = this.resources.limits
    this.changedObjects += objects
    if (this.changedObjects <= changedObjectsMax) return
    throw new AshlarError(
      'LimitExceeded',
      `More than ${changedObjectsMax} objects would be changed at once (changedObjectsMax). Divide the change: a statement by conditions in its ` +
        'WHERE, each part a request of its own; the rows of a file by IMPORT … COMMIT EVERY.',
    )
  }

  /** One class number a description, in order. Throws what PUT /v1/schema does. */
  async defineClasses(body: unknown, mode: DefineMode): Promise<readonly ClassNumber[]> {
    const { classAttributesMax } = this.resources.limits
    this.continueNumbers()
    const { state, classNumbers } = defineClasses(this.current, readClassDescriptions(body), mode, classAttributesMax)
    await this.putCatalog(state)
    return classNumbers
  }

  /** Throws what PUT /v1/schema/{class} does, and LimitExceeded where stored values of too many objects are concerned. */
  async alterClass(nameOrNumber: string, body: unknown, settings: AlterSettings): Promise<ClassNumber> {
    const { limits, containers, session } = this.resources
    this.continueNumbers()
    const catalog = this.current
    const cls = classOfPath(catalog, nameOrNumber)
    const options = { attributesMax: limits.classAttributesMax, isCascading: settings.isCascading }
    const alteration = alterClass(catalog, cls, readAlterRequest(body), options)
    const { state, retypes } = alteration
    if (retypesToPrepare(catalog, alteration).length === 0) {
      await this.putAltered(state)
      return cls.number
    }
    const context = {
      transaction: this.transaction,
      catalog,
      containers,
      session,
      objectsMax: limits.transactionIndexObjectsMax,
      objects: () => new UnitOfWork(this.transaction, catalog, containers, session),
    }
    const { losses, moved } = await prepareRetypes(context, cls, retypes, settings.isLossAllowed)
    if (losses.length > 0 && !settings.isLossAllowed) throw valuesWouldBeLost(losses)
    const rebuilt = withRebuiltIndexes(state, indexesToRebuild(catalog, alteration), retypes)
    await this.putAltered(rebuilt.state)
    await putMoved(this.objects(), moved)
    for (const number of rebuilt.indexes) await this.buildWithin(number)
    return cls.number
  }

  /** Throws what DELETE /v1/schema/{class} does. */
  async deleteClass(nameOrNumber: string): Promise<void> {
    this.continueNumbers()
    const cls = classOfPath(this.current, nameOrNumber)
    const young = this.resources.containers.known()
    const isUsed = await hasObjects(this.transaction, new Set([cls.number]), young, catalogVersionKey)
    await this.putAltered(deleteClass(this.current, cls, isUsed).state)
  }

  /** Throws what POST /v1/index does, and LimitExceeded where there are too many objects. */
  async createIndex(body: unknown): Promise<string> {
    const { indexKeyAttributesMax } = this.resources.limits
    this.continueNumbers()
    const { definition, state } = defineIndex(this.current, readIndexRequest(body), indexKeyAttributesMax, {
      session: this.resources.session.number,
      isBackground: false,
    })
    await this.putCatalog(withReadyIndex(state, definition.number))
    await this.buildWithin(definition.number)
    return definition.name
  }

  private async buildWithin(number: IndexNumber): Promise<void> {
    const { limits, containers } = this.resources
    const index = this.current.indexByNumber(number)
    assert(index !== undefined, 'an index that is built is in the catalog')
    const objectsMax = limits.transactionIndexObjectsMax
    await buildIndexWithin(this.transaction, this.current, index, containers.known(), objectsMax)
  }

  /** Throws IndexNotFound. */
  async deleteIndex(name: string): Promise<void> {
    const index = this.current.indexByName(name)
    if (index === undefined) throw new AshlarError('IndexNotFound', `There is no index '${shownText(name)}'.`)
    await this.putCatalog(withoutIndex(this.current.state, index.number))
    this.afterCommit.push(() => this.resources.purgeInBackground())
  }

  /** Before what gives out numbers: a step gives those that it gave in the rehearsal, also where others are left out. */
  private continueNumbers(): void {
    if (this.numbering === undefined) return
    const { state, version } = this.current
    const counters = this.numbering.countersFor(this.transaction.operation, state.counters)
    if (counters !== state.counters) this.current = buildCatalog({ ...state, counters }, version)
  }

  private async putAltered(state: CatalogState): Promise<void> {
    await this.putCatalog(state)
    this.afterCommit.push(() => this.resources.purgeInBackground())
  }

  private async putCatalog(state: CatalogState): Promise<void> {
    if (state === this.current.state) return
    await changeCatalog(this.transaction, this.current, state, this.resources.session)
    const { values } = await this.transaction.read([catalogVersionKey])
    this.current = buildCatalog(state, values[0] as Uint8Array)
  }
}
