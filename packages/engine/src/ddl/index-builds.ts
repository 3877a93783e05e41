/** Builds indexes from existing objects, in the foreground or in the background (contract 6.1.1, 6.2.1, 6.2.2). */

import { catalogVersionKey } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { catalogKey } from '../catalog/catalog-keys.ts'
import { AshlarError, isOutOfReach } from '../errors.ts'
import { type BuildContext, buildIndexEntries } from '../indexes/build.ts'
import { encodeProgress, progressOf, readProgress, type StoredProgress } from '../indexes/build-progress.ts'
import type { Receipt } from '../receipts/receipt.ts'
import { countObjects } from '../records/scan-objects.ts'
import type { IndexDefinition, IndexNumber } from '../schema/class-definition.ts'
import { withFailedIndex, withReadyIndex } from '../schema/index-definition.ts'
import { transact } from '../transaction/transact.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import type { Heartbeat } from './heartbeat.ts'

export class IndexBuilds {
  private readonly database: OpenDatabase
  private readonly writer: CatalogWriter
  private readonly heartbeat: Heartbeat
  private readonly running = new Map<IndexNumber, Promise<void>>()
  /** Builds whose announcements are being committed. */
  private announced = 0
  private readonly stopping = new AbortController()

  constructor(database: OpenDatabase, writer: CatalogWriter, heartbeat: Heartbeat) {
    this.database = database
    this.writer = writer
    this.heartbeat = heartbeat
  }

  /** Background builds of this process. */
  get count(): number {
    return this.running.size
  }

  /** Throws UniqueViolation, IndexNotFound if the index is deleted during the build, and the signal's reason. */
  async build(
    { number, name }: IndexDefinition,
    signal: CancelSignal | undefined,
    receipt: Receipt<IndexDefinition> | undefined,
  ): Promise<void> {
    await buildIndexEntries(buildContext(this.database), number, signal)
    await this.makeReady(number, name, receipt)
  }

  /** Announces a build and starts it in the background. Throws ServerBusy without announcing it, and the errors of `announce`. */
  async beginInBackground(announce: () => Promise<IndexDefinition>): Promise<IndexDefinition> {
    const { backgroundBuildsMax } = this.database.limits
    if (this.running.size + this.announced >= backgroundBuildsMax) {
      const message = `${backgroundBuildsMax} indexes are already being built in the background, the maximum (backgroundBuildsMax).`
      throw new AshlarError('ServerBusy', message)
    }
    this.announced++
    try {
      const index = await announce()
      this.startInBackground(index)
      return index
    } finally {
      this.announced--
    }
  }

  /**
   * Continues a stopped build. Its outcome is stored in the index's record. If the store is unreachable, the build ends without
   * an outcome: the index is unchanged, and `Recovery` starts the build again.
   */
  startInBackground(index: IndexDefinition): void {
    if (this.running.has(index.number)) return
    const building = this.heartbeat
      .runWith(() => this.buildInBackground(index))
      .catch((error: unknown) => {
        if (!isOutOfReach(error)) this.database.onFault(error)
      })
      .finally(() => this.running.delete(index.number))
    this.running.set(index.number, building)
  }

  /** Like `startInBackground`, but waits for the end; the outcome is stored in the index's record. */
  async buildToEnd(index: IndexDefinition): Promise<void> {
    this.startInBackground(index)
    await this.running.get(index.number)
  }

  /** Stops background builds; they resume when the federated database is opened again. */
  async stop(): Promise<void> {
    this.stopping.abort(new StoppedError())
    await this.drain()
  }

  async drain(): Promise<void> {
    await Promise.all(this.running.values())
  }

  private async buildInBackground(index: IndexDefinition): Promise<void> {
    try {
      const progress = progressOf(index.number, await this.loadOrCreateProgress(index))
      const context = { ...buildContext(this.database), progress }
      await buildIndexEntries(context, index.number, this.stopping.signal)
      await this.makeReady(index.number, index.name)
    } catch (error) {
      if (error instanceof StoppedError || isOutOfReach(error)) return
      if (error instanceof AshlarError && error.type === 'IndexNotFound') return
      await this.fail(index.number, error)
    }
  }

  /** The progress stored by an earlier run, or the initial one. */
  private async loadOrCreateProgress({ number, indexedClass }: IndexDefinition): Promise<StoredProgress> {
    const { store, catalogs, limits } = this.database
    return transact(store, limits.transactionAttemptsMax, async (transaction) => {
      const { snapshot } = transaction
      const stored = await readProgress(snapshot, number)
      if (stored !== undefined) return stored
      const catalog = await catalogs.at(snapshot)
      const cls = catalog.classByNumber(indexedClass)
      const classes = new Set<ClassNumber>([indexedClass, ...(cls?.subclasses ?? []).map((one) => one.number)])
      const first = { objectsDone: 0, objectsTotal: await countObjects(snapshot, classes) }
      const key = catalogKey('progress', number)
      // If the index was dropped concurrently, the progress entry would never be deleted.
      transaction.requireRevision(catalogVersionKey, catalog.version)
      transaction.requireAbsent(key)
      transaction.put(key, encodeProgress(first))
      return first
    })
  }

  private async makeReady(number: IndexNumber, name: string, receipt?: Receipt<IndexDefinition>): Promise<void> {
    await this.writer.change(async (catalog, transaction) => {
      const index = catalog.indexByNumber(number)
      if (index === undefined) {
        throw new AshlarError('IndexNotFound', `Index '${name}' was deleted while it was being built.`)
      }
      if (index.isBackground === true) transaction.delete(catalogKey('progress', number))
      await receipt?.checkAndPut(transaction, index)
      return { state: withReadyIndex(catalog.state, number), result: undefined }
    })
  }

  /** The message of an internal error goes only to the log. */
  private async fail(number: IndexNumber, error: unknown): Promise<void> {
    if (!(error instanceof AshlarError)) this.database.onFault(error)
    const failure =
      error instanceof AshlarError
        ? { type: error.type, message: error.message }
        : { type: 'SystemError', message: 'The server failed while it built the index.' }
    await this.writer.change(async (catalog) => {
      const isThere = catalog.indexByNumber(number) !== undefined
      return { state: isThere ? withFailedIndex(catalog.state, number, failure) : catalog.state, result: undefined }
    })
    this.writer.purgeInBackground()
  }
}

/** For builds that store no progress. */
export function buildContext({ store, limits, catalogs }: OpenDatabase): BuildContext {
  return {
    store,
    batchObjects: limits.indexBuildBatchObjects,
    attemptsMax: limits.transactionAttemptsMax,
    catalogAt: async (snapshot) => catalogs.at(snapshot),
  }
}

class StoppedError extends Error {
  constructor() {
    super('the federated database is being closed')
  }
}
