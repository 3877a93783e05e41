/** Executes schema and index changes as single requests: each is planned once and carried out concurrently with other requests. */
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError, type ErrorType, isOutOfReach, withoutEffect } from '../errors.ts'
import type { Receipt } from '../receipts/receipt.ts'
import { type AlterPlan, inBackground, type OnlineAlter } from '../schema/alter-plan.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import type { AlterClass, CreateIndex, DefineClasses, DeleteClass, DeleteIndex } from '../schema/commands.ts'
import { defineIndex, withoutIndex } from '../schema/index-definition.ts'
import { pendingSessionNumbers } from '../schema/pending-types.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { anySize } from '../transaction/commit-size.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { type AlteredClasses, BackgroundAlters } from './background-alters.ts'
import { builtAfterwards } from './build-afterwards.ts'
import { type CatalogTransaction, type OpenCatalogTransaction, runInCatalogTransaction } from './catalog-transaction.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { IndexBuilds } from './index-builds.ts'
import { completeOnlineAlter } from './online-alter.ts'
import { planAllowed } from './plan-allowed.ts'

export interface BuildOptions {
  /** The build continues after the index is announced, and after a restart. */
  readonly isBackground?: boolean | undefined
  /** Aborts a foreground build, which leaves no index. */
  readonly signal?: CancelSignal | undefined
  readonly receipt?: Receipt<IndexDefinition> | undefined
}

export class DdlExecutor {
  private readonly database: OpenDatabase
  private readonly writer: CatalogWriter
  private readonly builds: IndexBuilds
  private readonly heartbeat: Heartbeat
  private readonly alters: BackgroundAlters

  constructor(
    database: OpenDatabase,
    writer: CatalogWriter,
    builds: IndexBuilds,
    heartbeat: Heartbeat,
    alters = new BackgroundAlters(),
  ) {
    this.database = database
    this.writer = writer
    this.builds = builds
    this.heartbeat = heartbeat
    this.alters = alters
  }

  /** Returns an executor for the same database with other request-specific parts: the listeners and the caller's restriction. */
  on(database: OpenDatabase, writer: CatalogWriter): DdlExecutor {
    return new DdlExecutor(database, writer, this.builds, this.heartbeat, this.alters)
  }

  /** Ends changes in the background, which then have failed. */
  stop(): Promise<void> {
    return this.alters.stop()
  }

  /** Returns the class number for each description, in order. */
  async defineClasses(command: DefineClasses): Promise<readonly ClassNumber[]> {
    return (await this.changeClasses((own) => own.planDefinitions(command, false), undefined, false)).numbers
  }

  async alterClass(command: AlterClass, receipt?: Receipt<ClassNumber>): Promise<ClassNumber> {
    await this.checkEarly(receipt)
    const first = ({ numbers }: AlteredClasses): ClassNumber => numbers[0] as ClassNumber
    return first(await this.changeClasses((own) => own.planAlter(command, false), receipt?.from(first), false))
  }

  /**
   * Like `alterClass`, but does not wait for a change that is made online: from then on the class shows its progress, or why it
   * failed. Throws ServerBusy.
   */
  async startAlter(command: AlterClass, receipt?: Receipt<AlteredClasses>): Promise<AlteredClasses> {
    await this.checkEarly(receipt)
    this.alters.requireRoom(this.database.limits.backgroundBuildsMax)
    return this.changeClasses((own) => own.planAlter(command, false), receipt, true)
  }

  private async changeClasses(
    planned: (own: CatalogTransaction) => Promise<AlterPlan>,
    receipt: Receipt<AlteredClasses> | undefined,
    isBackground: boolean,
  ): Promise<AlteredClasses> {
    let isBeating = false
    // The heartbeat must be stored before the pending types, or other processes would treat them as abandoned.
    const beat = async (): Promise<void> => {
      if (!isBeating) await this.heartbeat.start()
      isBeating = true
    }
    let later: readonly IndexDefinition[] = []
    const attempt = async (own: CatalogTransaction): Promise<AlteredClasses | OnlineAlter> => {
      const plan = await planned(own)
      if (plan.kind === 'online') {
        await beat()
        return this.publish(own, plan, receipt, isBackground)
      }
      await receipt?.check(own.transaction)
      const { session } = this.database
      const changed = plan.kind === 'immediate' ? builtAfterwards(own.catalog, plan, session.number) : undefined
      later = changed?.indexes ?? []
      if (later.length > 0) await beat()
      await own.alter(changed?.plan ?? plan)
      const done = doneWith(plan.classNumbers)
      await receipt?.put(own.transaction, done)
      return done
    }
    try {
      const done = await this.inCatalogTransaction(attempt)
      for (const index of later) await this.builds.buildToEnd(index)
      if (!('kind' in done)) return done
      if (isBackground) return this.completeInBackground(done)
      return doneWith(await completeOnlineAlter(this.database, this.writer, done, receipt?.from(doneWith)))
    } catch (error) {
      if (receipt === undefined || !hasType(error, 'AttributeInUse')) throw error
      await this.refuseWhileInProgress(receipt, (catalog) => pendingSessionNumbers(catalog.state).length > 0)
      throw error
    } finally {
      if (isBeating) this.heartbeat.stop()
    }
  }

  /** Commits the pending parts of the change, with the receipt of its request if it continues in the background. */
  private async publish(
    own: CatalogTransaction,
    alter: OnlineAlter,
    receipt: Receipt<AlteredClasses> | undefined,
    isBackground: boolean,
  ): Promise<OnlineAlter> {
    const plan = isBackground ? inBackground(alter, own.catalog, this.database.session.number) : alter
    await own.putCatalog(plan.pending)
    if (isBackground) await receipt?.checkAndPut(own.transaction, { numbers: plan.classNumbers, isRunning: true })
    return plan
  }

  private completeInBackground(plan: OnlineAlter): AlteredClasses {
    const { alters, database, heartbeat, writer } = this
    const complete = () => completeOnlineAlter(database, writer, plan, undefined, alters.signal)
    const completed = heartbeat.runWith(complete).then(
      () => undefined,
      (error: unknown) => {
        // The class shows the others.
        if (!(error instanceof AshlarError) || error.kind === 'fault') database.onFault(error)
      },
    )
    alters.start(completed)
    return { numbers: plan.classNumbers, isRunning: true }
  }

  async deleteClass(command: DeleteClass): Promise<void> {
    await this.inCatalogTransaction((own) => own.deleteClass(command))
  }

  /**
   * Adds the index to the catalog, so that writers maintain it, fills it from existing objects, and makes it ready. On failure
   * or abort, no index is left. The record of a background build shows its progress. Throws the errors of `defineIndex`, and
   * UniqueViolation.
   */
  async createIndex(
    command: CreateIndex,
    { isBackground = false, signal, receipt }: BuildOptions,
  ): Promise<IndexDefinition> {
    await this.checkEarly(receipt)
    return this.heartbeat.runWith(async () => {
      const announce = () => this.announceIndex(command, isBackground, receipt)
      if (isBackground) return this.builds.beginInBackground(announce)
      const definition = await announce()
      await this.buildOrDrop(definition, signal, receipt)
      return definition
    })
  }

  /** Adds the index to the catalog. The commit contains the receipt of a background build. */
  private async announceIndex(
    command: CreateIndex,
    isBackground: boolean,
    receipt: Receipt<IndexDefinition> | undefined,
  ): Promise<IndexDefinition> {
    const { limits, session } = this.database
    const builder = { sessionNumber: session.number, isBackground }
    try {
      return await this.writer.change(async (catalog, transaction) => {
        const plan = async (current: Catalog) => defineIndex(current, command, limits.indexKeyAttributesMax, builder)
        const { state, definition } = await planAllowed(
          this.database.restriction,
          catalog,
          plan,
          (planned) => planned.state,
        )
        if (isBackground) await receipt?.checkAndPut(transaction, definition)
        return { state, result: definition }
      })
    } catch (error) {
      if (receipt === undefined || !hasType(error, 'IndexExists')) throw error
      await this.refuseWhileInProgress(receipt, (catalog) => catalog.indexByName(command.name)?.state === 'building')
      throw error
    }
  }

  /** Called before the first of several commits. Throws the errors of `Receipt.check`. */
  private async checkEarly(receipt: Receipt<never> | undefined): Promise<void> {
    if (receipt !== undefined) await withSnapshot(this.database.store, (snapshot) => receipt.check(snapshot))
  }

  /**
   * The conflicting change may be an earlier attempt of this request, whose receipt is written by its last commit only. Throws
   * RequestInProgress in this case, and the errors of `Receipt.check` if that attempt has just ended.
   */
  private async refuseWhileInProgress(
    receipt: Receipt<never>,
    isInProgress: (catalog: Catalog) => boolean,
  ): Promise<void> {
    const { store, catalogs } = this.database
    const isBusy = await withSnapshot(store, async (snapshot) => {
      await receipt.check(snapshot)
      return isInProgress(await catalogs.at(snapshot))
    })
    if (!isBusy) return
    throw new AshlarError(
      'RequestInProgress',
      'A change of this kind is in progress; it may be an earlier copy of this request.',
    )
  }

  private async buildOrDrop(
    definition: IndexDefinition,
    signal: CancelSignal | undefined,
    receipt: Receipt<IndexDefinition> | undefined,
  ): Promise<void> {
    try {
      await this.builds.build(definition, signal, receipt)
    } catch (error) {
      const state = await this.dropUnlessReady(definition)
      // The last commit succeeded but its reply was lost: the index and its receipt exist.
      if (state === 'ready') return
      // The index was dropped while it was being built, so none is left whatever the outcome of its commits. An index deleted
      // by another request may have been ready before.
      throw state === undefined ? error : withoutEffect(error)
    }
  }

  /**
   * Returns the state of the index before; undefined if it no longer exists. A commit in progress that would make it ready
   * fails at the catalog version, which this changes. Throws OutcomeUnknown.
   */
  private async dropUnlessReady({ number, name }: IndexDefinition): Promise<IndexDefinition['state'] | undefined> {
    try {
      const state = await this.writer.change(async (catalog) => {
        const found = catalog.indexByNumber(number)?.state
        const isDropped = found !== undefined && found !== 'ready'
        return { state: isDropped ? withoutIndex(catalog.state, number) : catalog.state, result: found }
      }, true)
      if (state !== 'ready') this.writer.purgeInBackground()
      return state
    } catch (error) {
      if (!isOutOfReach(error)) throw error
      const message = `The build of index '${name}' failed, and it is not known whether the index still exists`
      throw new AshlarError('OutcomeUnknown', `${message}: ${(error as Error).message}`)
    }
  }

  /** Throws IndexNotFound. */
  async deleteIndex({ name }: DeleteIndex): Promise<void> {
    await this.inCatalogTransaction((own) => own.deleteIndex({ name }))
  }

  private inCatalogTransaction<T>(body: (own: CatalogTransaction) => Promise<T>): Promise<T> {
    const { database, writer } = this
    const attempt = (open: OpenCatalogTransaction, transaction: Transaction): Promise<T> => body(open(transaction))
    return runInCatalogTransaction(database, writer, attempt, { size: anySize })
  }
}

function hasType(error: unknown, type: ErrorType): boolean {
  return error instanceof AshlarError && error.type === type
}

function doneWith(numbers: readonly ClassNumber[]): AlteredClasses {
  return { numbers, isRunning: false }
}
