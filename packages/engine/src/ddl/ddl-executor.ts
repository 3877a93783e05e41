/** Changes of the schema and of indexes as the federated database makes them: one by one, while others go on working. */
import { AshlarError, type ErrorType, isOutOfReach, withoutEffect } from '../errors.ts'
import type { Receipt } from '../receipts/receipt.ts'
import type { Containers } from '../records/containers.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState, IndexDefinition } from '../schema/class-definition.ts'
import { readClassDescriptions } from '../schema/class-description.ts'
import { type DefineMode, defineClasses } from '../schema/define-classes.ts'
import { defineIndex, type IndexRequest, readIndexRequest, withoutIndex } from '../schema/index-definition.ts'
import { pendingSessions } from '../schema/pending-retype.ts'
import { shownText } from '../schema/request-body.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { transact } from '../transaction/transact.ts'
import { anySize } from '../transaction/transaction.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { IndexBuilds } from './index-builds.ts'
import { type AlterSettings, alterOnline } from './online-alter.ts'
import { WriteSession } from './write-session.ts'

export class DdlExecutor {
  private readonly writer: CatalogWriter
  private readonly containers: Containers
  private readonly builds: IndexBuilds
  private readonly heartbeat: Heartbeat

  constructor(writer: CatalogWriter, containers: Containers, builds: IndexBuilds, heartbeat: Heartbeat) {
    this.writer = writer
    this.builds = builds
    this.containers = containers
    this.heartbeat = heartbeat
  }

  /** POST and PUT /v1/schema: all classes or none. Returns a class number a description, in request order. */
  async define(body: unknown, mode: DefineMode): Promise<readonly ClassNumber[]> {
    const descriptions = readClassDescriptions(body)
    const { classAttributesMax } = this.writer.limits
    return this.writer.change((catalog) => {
      const { state, classNumbers } = defineClasses(catalog, descriptions, mode, classAttributesMax)
      return { state, result: classNumbers }
    })
  }

  /** PUT /v1/schema/{class}. */
  async alter(
    nameOrNumber: string,
    body: unknown,
    settings: AlterSettings,
    receipt?: Receipt<ClassNumber>,
  ): Promise<ClassNumber> {
    await this.checkEarly(receipt)
    try {
      const done = await alterOnline(this.writer, this.heartbeat, nameOrNumber, body, settings, receipt)
      return done ?? (await this.within((scope) => scope.alterClass(nameOrNumber, body, settings), receipt))
    } catch (error) {
      if (receipt === undefined || !isOfType(error, 'AttributeInUse')) throw error
      await this.refuseWhileUnderWay(receipt, (catalog) => pendingSessions(catalog.state).length > 0)
      throw error
    }
  }

  /** DELETE /v1/schema/{class}. */
  async deleteClass(nameOrNumber: string): Promise<void> {
    await this.within((scope) => scope.deleteClass(nameOrNumber))
  }

  /**
   * POST /v1/index: in the catalog first, so that writers keep it; then over the objects that exist; then ready.
   * Where that fails, or the signal aborts, no index is left. In the background, its record tells how it goes.
   * Throws what the body's checks throw, and UniqueViolation.
   */
  async createIndex(
    body: unknown,
    isBackground: boolean,
    signal?: AbortSignal,
    receipt?: Receipt<IndexDefinition>,
  ): Promise<IndexDefinition> {
    const request = readIndexRequest(body)
    await this.checkEarly(receipt)
    return this.heartbeat.runWith(async () => {
      const announce = () => this.announceIndex(request, isBackground, receipt)
      if (isBackground) return this.builds.beginInBackground(announce)
      const definition = await announce()
      await this.buildOrDrop(definition, signal, receipt)
      return definition
    })
  }

  /** In the background, the announcement is what is replied to. */
  private async announceIndex(
    request: IndexRequest,
    isBackground: boolean,
    receipt: Receipt<IndexDefinition> | undefined,
  ): Promise<IndexDefinition> {
    const { limits, session } = this.writer
    const builder = { session: session.number, isBackground }
    const define = (catalog: Catalog): { state: CatalogState; result: IndexDefinition } => {
      const { state, definition } = defineIndex(catalog, request, limits.indexKeyAttributesMax, builder)
      return { state, result: definition }
    }
    try {
      return await this.writer.change(define, (transaction, definition) => {
        return isBackground ? receipt?.checkAndPut(transaction, definition) : undefined
      })
    } catch (error) {
      if (receipt === undefined || !isOfType(error, 'IndexExists')) throw error
      await this.refuseWhileUnderWay(receipt, (catalog) => catalog.indexByName(request.name)?.state === 'building')
      throw error
    }
  }

  /** Before the first of several commits. Throws what `Receipt.check` does. */
  private async checkEarly(receipt: Receipt<never> | undefined): Promise<void> {
    if (receipt !== undefined) await withSnapshot(this.writer.store, (snapshot) => receipt.check(snapshot))
  }

  /**
   * What is in the way may be the same request, sent before, of which only the last commit will have the receipt. Throws
   * RequestInProgress then, and what `Receipt.check` does where it has just ended.
   */
  private async refuseWhileUnderWay(receipt: Receipt<never>, isUnderWay: (catalog: Catalog) => boolean): Promise<void> {
    const { store, catalogs } = this.writer
    const isBusy = await withSnapshot(store, async (snapshot) => {
      await receipt.check(snapshot)
      return isUnderWay(await catalogs.at(snapshot))
    })
    if (!isBusy) return
    throw new AshlarError(
      'RequestInProgress',
      'A change of this kind is in progress; it may be an earlier copy of this request.',
    )
  }

  private async buildOrDrop(
    definition: IndexDefinition,
    signal: AbortSignal | undefined,
    receipt: Receipt<IndexDefinition> | undefined,
  ): Promise<void> {
    try {
      await this.builds.build(definition, signal, receipt)
    } catch (error) {
      const state = await this.dropUnlessReady(definition)
      // The last commit was made and only its answer was lost: the index is there, and its receipt beside it.
      if (state === 'ready') return
      // Dropped as it was being built: whatever became of its commits, no index is left. One that another request has deleted may
      // have been ready before.
      throw state === undefined ? error : withoutEffect(error)
    }
  }

  /**
   * The state in which the index was found; undefined where it is gone. A commit that makes it ready and is still under way
   * fails at the version of the catalog, which this changes. Throws OutcomeUnknown.
   */
  private async dropUnlessReady({ number, name }: IndexDefinition): Promise<IndexDefinition['state'] | undefined> {
    try {
      const state = await this.writer.change((catalog) => {
        const found = catalog.indexByNumber(number)?.state
        const isDropped = found !== undefined && found !== 'ready'
        return { state: isDropped ? withoutIndex(catalog.state, number) : catalog.state, result: found }
      })
      if (state !== 'ready') this.writer.purgeInBackground()
      return state
    } catch (error) {
      if (!isOutOfReach(error)) throw error
      const message = `The build of index '${name}' failed, and it is not known whether the index still exists`
      throw new AshlarError('OutcomeUnknown', `${message}: ${(error as Error).message}`)
    }
  }

  /** DELETE /v1/index/{name}. Throws IndexNotFound. */
  async deleteIndex(name: string): Promise<void> {
    const dropped = await this.drop((index) => index.name === name)
    if (dropped === 0) throw new AshlarError('IndexNotFound', `There is no index '${shownText(name)}'.`)
  }

  private async drop(isDropped: (index: IndexDefinition) => boolean): Promise<number> {
    const count = await this.writer.change((catalog) => {
      const dropped = catalog.indexes.filter(isDropped)
      let { state } = catalog
      for (const index of dropped) state = withoutIndex(state, index.number)
      return { state, result: dropped.length }
    })
    if (count > 0) this.writer.purgeInBackground()
    return count
  }

  private async within<T>(body: (scope: WriteSession) => Promise<T>, receipt?: Receipt<T>): Promise<T> {
    const { writer, containers } = this
    const { store, limits, catalogs, session } = writer
    const resources = { limits, session, containers, purgeInBackground: () => writer.purgeInBackground() }
    const { result, scope } = await transact(
      store,
      limits.transactionAttemptsMax,
      async (transaction) => {
        const attempt = new WriteSession(transaction, await catalogs.at(transaction.snapshot), resources)
        await receipt?.check(transaction)
        const done = await body(attempt)
        await receipt?.put(transaction, done)
        return { result: done, scope: attempt }
      },
      { size: anySize },
    )
    for (const then of scope.afterCommit) then()
    return result
  }
}

function isOfType(error: unknown, type: ErrorType): boolean {
  return error instanceof AshlarError && error.type === type
}
