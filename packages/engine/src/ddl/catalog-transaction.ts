/** Changes objects and schema in one transaction, in which each step sees the changes of the previous ones. */
import { catalogVersionKey } from '../bytes/key-space.ts'
import { catalogKey } from '../catalog/catalog-keys.ts'
import { changeCatalog } from '../catalog/change-catalog.ts'
import { encodeNextNumber, nextNumberKey } from '../catalog/next-number.ts'
import { AshlarError, assert, truncateForMessage } from '../errors.ts'
import { buildIndexInTransaction } from '../indexes/build-in-transaction.ts'
import { fillReferrers } from '../indexes/fill-referrers.ts'
import type { EngineLimits } from '../limits.ts'
import type { Containers } from '../records/container-registry.ts'
import { hasObjects } from '../records/require-objects.ts'
import { changedClass } from '../schema/alter-class.ts'
import {
  type AlterContext,
  type AlterPlan,
  type ImmediateAlter,
  planAlter,
  planDefinitions,
  type TransactionalAlter,
} from '../schema/alter-plan.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import { encodeSequence } from '../schema/catalog-codec.ts'
import type { CatalogState, IndexDefinition, IndexNumber } from '../schema/class-definition.ts'
import type {
  AlterClass,
  CreateIndex,
  CreateSequence,
  DefineClasses,
  DeleteClass,
  DeleteIndex,
  DeleteSequence,
  RestartSequence,
} from '../schema/commands.ts'
import { deleteClass } from '../schema/delete-class.ts'
import { defineIndex, withoutIndex, withReadyIndex } from '../schema/index-definition.ts'
import { unfilledReferrers } from '../schema/referrer-indexes.ts'
import { checkNumber, defineSequence, sequenceNamed, withoutSequence } from '../schema/sequence-definition.ts'
import { NumbersAhead } from '../sequences/numbers-ahead.ts'
import { NumbersLeft, type Sequences } from '../sequences/sequences.ts'
import type { Bytes } from '../store/store.ts'
import { runYieldingIfLong } from '../store/time-slice.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { ClassNumber, SequenceNumber } from '../types/type-spec.ts'
import type { Restriction } from '../write/change-guard.ts'
import { checkChangedObjects } from '../write/change-objects.ts'
import type { ChangeRecorder } from '../write/change-set.ts'
import { DeferredChecks, type PlaceError } from '../write/deferred-checks.ts'
import type { ObjectExpressions, UserOfExpressions } from '../write/object-expressions.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { type CatalogTransactOptions, transactWithCatalog } from '../write/transact-with-catalog.ts'
import { UnitOfWork } from '../write/unit-of-work.ts'
import type { AlteredClasses } from './background-alters.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import { checkExtents } from './check-extents.ts'
import type { Numbering } from './numbering.ts'
import { planAllowed } from './plan-allowed.ts'
import { alterInTransaction } from './transactional-alter.ts'

/** Begins the catalog transaction of an attempt, on the attempt's transaction or on its rehearsal. `numbering`: set if the attempt is rehearsed. */
export type OpenCatalogTransaction = (transaction: Transaction, numbering?: Numbering) => CatalogTransaction

/**
 * Like `transactWithCatalog`, for attempts that change objects and schema by a catalog transaction. The last one opened does
 * the work that remains after the commit.
 */
export async function runInCatalogTransaction<T>(
  database: OpenDatabase,
  writer: CatalogWriter,
  attempt: (open: OpenCatalogTransaction, transaction: Transaction, catalog: Catalog) => Promise<T>,
  options: CatalogTransactOptions<T>,
): Promise<T> {
  let last: CatalogTransaction | undefined
  const { catalogs } = database
  const body = async (own: Transaction, catalog: Catalog, recorder: ChangeRecorder | undefined): Promise<T> => {
    const open: OpenCatalogTransaction = (transaction, numbering) => {
      // Changes of a rehearsal are not recorded.
      const recorded = transaction === own ? recorder : undefined
      last = new CatalogTransaction(transaction, catalog, database, { numbering, recorder: recorded })
      return last
    }
    const result = await attempt(open, own, catalog)
    if (last?.transaction === own) await last.judgeDeferred()
    const changed = last?.transaction === own ? last.changedCatalog : undefined
    if (changed !== undefined) await catalogs.announce(changed)
    return result
  }
  const result = await transactWithCatalog(database, body, options)
  if (last?.leavesEntries === true) writer.purgeInBackground()
  return result
}

export interface CatalogTransactionOptions {
  /** Set if the attempt is rehearsed. */
  readonly numbering?: Numbering | undefined
  /** Undefined for a transaction that is not committed, and without a listener. */
  readonly recorder?: ChangeRecorder | undefined
}

export class CatalogTransaction {
  readonly transaction: Transaction
  readonly containers: Containers
  readonly limits: EngineLimits
  /** The value of `$$USER` in expressions of the schema. */
  user: UserOfExpressions
  private readonly session: StoreSession
  readonly expressions: ObjectExpressions
  private readonly numbering: Numbering | undefined
  private readonly recorder: ChangeRecorder | undefined
  private readonly restriction: Restriction | undefined
  private state: CatalogState
  private readonly initialVersion: Bytes
  private version: Bytes
  private built: Catalog | undefined
  private changedObjects = 0
  private hasDropped = false
  /** See `beginStep`. */
  private step = 0
  private readonly sequences: Pick<Sequences, 'next'>
  /** Sequences created or restarted by this transaction, which draws their numbers itself. */
  private readonly localSequences = new Set<SequenceNumber>()
  /** By name: of the other sequences. */
  private readonly numbersAhead = new Map<string, NumbersAhead>()
  private readonly deferred = new DeferredChecks()

  /** The commit requires the catalog to be unchanged. */
  constructor(
    transaction: Transaction,
    catalog: Catalog,
    { containers, expressions, limits, session, restriction, sequences, user = null }: OpenDatabase,
    { numbering, recorder }: CatalogTransactionOptions = {},
  ) {
    transaction.requireRevision(catalogVersionKey, catalog.version)
    this.transaction = transaction
    this.state = catalog.state
    this.initialVersion = catalog.version
    this.version = catalog.version
    this.built = catalog
    this.session = session
    this.limits = limits
    this.containers = containers
    this.expressions = expressions
    this.user = user
    this.numbering = numbering
    this.recorder = recorder
    this.restriction = restriction
    this.sequences = sequences
  }

  /** The catalog after the steps so far. */
  get catalog(): Catalog {
    this.built ??= buildCatalog(this.state, this.version)
    return this.built
  }

  /** The catalog that the commit writes; undefined if it is unchanged, or if it continues numbers that are not stored. */
  get changedCatalog(): Catalog | undefined {
    return this.version === this.initialVersion || this.numbering !== undefined ? undefined : this.catalog
  }

  /** Whether the change leaves entries behind, to be purged after the commit. */
  get leavesEntries(): boolean {
    return this.hasDropped
  }

  /** Begins a step of a batch, numbered from 1. Allocations belong to a step, so they stay the same if other steps are left out. */
  beginStep(number: number): void {
    this.step = number
    this.deferred.step = number
    this.transaction.beginStep(number)
  }

  /**
   * Checks, before the commit, violations that later steps could have repaired. Throws ConstraintViolation, wrapped in a
   * StepFailure if there are steps.
   */
  async judgeDeferred(): Promise<void> {
    if (!this.deferred.isEmpty) await this.deferred.judge(this.beginUnit())
  }

  /** The unit of work of one step, which sees the writes of the previous steps. `placeError`: set for statements. */
  beginUnit(placeError?: PlaceError): UnitOfWork {
    const { transaction, catalog, containers, session, recorder, expressions: all, user, restriction, limits } = this
    const draw = (sequence: string, count: number): Promise<readonly bigint[]> => this.nextNumbers(sequence, count)
    const expressions = { all, user, draw }
    const unit = new UnitOfWork(transaction, catalog, containers, session, recorder, expressions, restriction, limits)
    unit.deferred = this.deferred.during(placeError)
    return unit
  }

  /** Counts the objects that the transaction changes. Throws LimitExceeded. */
  count(objects: number): void {
    this.changedObjects += objects
    checkChangedObjects(this.changedObjects, this.limits)
  }

  /** Returns the class number for each description, in order. Throws the errors of `planDefinitions` and of executing the plan. */
  async defineClasses(command: DefineClasses): Promise<readonly ClassNumber[]> {
    return this.carryOut(await this.planDefinitions(command, true))
  }

  /** Throws the errors of `planAlter` and of executing the plan; LimitExceeded if too many objects are affected. */
  async alterClass(command: AlterClass): Promise<ClassNumber> {
    const [number] = await this.carryOut(await this.planAlter(command, true))
    return number as ClassNumber
  }

  /** A step of a transaction is never in the background. */
  async startAlter(command: AlterClass): Promise<AlteredClasses> {
    return { numbers: [await this.alterClass(command)], isRunning: false }
  }

  private async carryOut(plan: AlterPlan): Promise<readonly ClassNumber[]> {
    assert(plan.kind !== 'online', 'no step of a transaction is online')
    await this.alter(plan)
    return plan.classNumbers
  }

  /** Plans the change on the present catalog; `isStep`: it is part of a larger transaction. Throws the errors of `planAlter`. */
  planAlter(command: AlterClass, isStep: boolean): Promise<AlterPlan> {
    return this.plan(async (current) => runYieldingIfLong(planAlter(current, command, this.alterContext(isStep))))
  }

  /** Like `planAlter`, for a batch of descriptions. */
  planDefinitions(command: DefineClasses, isStep: boolean): Promise<AlterPlan> {
    return this.plan(async (current) => runYieldingIfLong(planDefinitions(current, command, this.alterContext(isStep))))
  }

  private plan(plan: (catalog: Catalog) => Promise<AlterPlan>): Promise<AlterPlan> {
    this.continueNumbers()
    return this.planAllowed(plan, ({ next }) => next)
  }

  private alterContext(isStep: boolean): AlterContext {
    const { limits, session, expressions } = this
    return { attributesMax: limits.classAttributesMax, sessionNumber: session.number, isStep, expressions }
  }

  /** Executes a plan of `planAlter`, which requires that the catalog has not changed since. */
  async alter(plan: ImmediateAlter | TransactionalAlter): Promise<void> {
    await checkExtents(this, plan.next, plan.extents)
    const before = this.catalog
    if (plan.kind === 'immediate') await this.putAltered(plan.next)
    else await alterInTransaction(this, plan)
    for (const number of plan.filledIndexes) {
      const index = this.catalog.indexByNumber(number)
      // A new class has no objects.
      if (index !== undefined && before.classByNumber(index.indexedClass) !== undefined) await this.buildIndex(number)
    }
  }

  /** Throws ClassNotFound, ClassIsInternal, ClassInUse. */
  async deleteClass({ className }: DeleteClass): Promise<void> {
    this.continueNumbers()
    if (this.restriction !== undefined) {
      // The plan does not check for objects; this is done afterwards.
      const plan = async (current: Catalog) =>
        deleteClass(current, changedClass(current, className), false, this.expressions).state
      await this.planAllowed(plan, (state) => state)
    }
    const cls = changedClass(this.catalog, className)
    const uncommitted = this.containers.cached()
    const isUsed = await hasObjects(this.transaction, new Set([cls.number]), uncommitted, catalogVersionKey)
    await this.putAltered(deleteClass(this.catalog, cls, isUsed, this.expressions).state)
  }

  /** Throws the errors of `defineIndex`, UniqueViolation, and LimitExceeded if there are too many objects. */
  async createIndex(command: CreateIndex): Promise<IndexDefinition> {
    this.continueNumbers()
    const builder = { sessionNumber: this.session.number, isBackground: false }
    const plan = async (current: Catalog) => defineIndex(current, command, this.limits.indexKeyAttributesMax, builder)
    const { definition, state } = await this.planAllowed(plan, (planned) => planned.state)
    await this.putCatalog(withReadyIndex(state, definition.number))
    await this.buildIndex(definition.number)
    return definition
  }

  /** Fills an index that is in the catalog. Throws UniqueViolation and LimitExceeded. */
  async buildIndex(number: IndexNumber): Promise<void> {
    const index = this.catalog.indexByNumber(number)
    assert(index !== undefined, 'an index that is built is in the catalog')
    const objectsMax = this.limits.transactionIndexObjectsMax
    await buildIndexInTransaction(this.transaction, this.catalog, index, this.containers.cached(), objectsMax)
  }

  /** Throws IndexNotFound, IndexInUse. */
  async deleteIndex({ name }: DeleteIndex): Promise<void> {
    const plan = async ({ state, indexByName }: Catalog): Promise<CatalogState> => {
      const index = indexByName(name)
      if (index?.attribute !== undefined) throw indexInUse(index.name)
      if (index !== undefined) return withoutIndex(state, index.number)
      throw new AshlarError('IndexNotFound', `There is no index '${truncateForMessage(name)}'.`)
    }
    await this.putAltered(await this.planAllowed(plan, (state) => state))
  }

  /** Throws Forbidden and the errors of `defineSequence`. */
  async createSequence(command: CreateSequence): Promise<void> {
    this.continueNumbers()
    const plan = async (current: Catalog) => defineSequence(current, command)
    const { definition, state } = await this.planAllowed(plan, (planned) => planned.state)
    await this.putCatalog(state)
    this.localSequences.add(definition.number)
  }

  /** Regardless of the numbers drawn before. Throws SequenceNotFound, InvalidDefinition. */
  restartSequence({ name, next }: RestartSequence): void {
    const sequence = sequenceNamed(this.catalog, name)
    const { number } = sequence
    if (next !== undefined) checkNumber(name, 'RESTART', next)
    this.transaction.put(nextNumberKey(number), encodeNextNumber(next))
    // Unchanged, but readers of the change log cannot distinguish a new next number from one that was drawn.
    this.transaction.put(catalogKey('sequence', number), encodeSequence(sequence))
    this.localSequences.add(number)
  }

  /** Throws SequenceNotFound, SequenceInUse, Forbidden. */
  async deleteSequence({ name }: DeleteSequence): Promise<void> {
    const plan = async (current: Catalog): Promise<CatalogState> => {
      return withoutSequence(current.state, sequenceNamed(current, name))
    }
    await this.putCatalog(await this.planAllowed(plan, (state) => state))
  }

  /**
   * Draws numbers of a sequence, see `Sequences.next`. Drawn outside this transaction unless it created or restarted the
   * sequence, which is not yet visible elsewhere. Throws SequenceNotFound, SequenceExhausted.
   */
  async nextNumbers(name: string, count: number): Promise<readonly bigint[]> {
    const sequence = sequenceNamed(this.catalog, name)
    if (!this.localSequences.has(sequence.number)) return this.drawnAhead(name).take(count)
    const key = nextNumberKey(sequence.number)
    const stored = await this.transaction.readOne(key)
    assert(stored !== undefined, 'a sequence of this transaction has its next number')
    const left = new NumbersLeft(sequence, stored)
    const numbers = left.take(count)
    if (numbers instanceof AshlarError) throw numbers
    this.transaction.put(key, left.entry)
    return numbers
  }

  private drawnAhead(name: string): NumbersAhead {
    let ahead = this.numbersAhead.get(name)
    if (ahead === undefined) {
      ahead = new NumbersAhead((count) => this.sequences.next(name, count))
      this.numbersAhead.set(name, ahead)
    }
    return ahead
  }

  /** Puts a catalog whose change leaves entries behind, which are purged after the commit. */
  async putAltered(state: CatalogState): Promise<void> {
    await this.putCatalog(state)
    this.hasDropped = true
  }

  async putCatalog(state: CatalogState): Promise<void> {
    if (state === this.state) return
    const before = this.catalog
    this.restriction?.checkSchema(before, state)
    this.version = await changeCatalog(this.transaction, before, state, this.session)
    this.recorder?.catalog(before.state, state)
    this.state = state
    this.built = undefined
    for (const unfilled of unfilledReferrers(before.state, state)) {
      const objectsMax = this.limits.transactionIndexObjectsMax
      await fillReferrers(this.transaction, this.catalog, unfilled, this.containers.cached(), objectsMax)
    }
    // The next steps use the catalog as the caller sees it.
    await this.restriction?.prepared(this.catalog)
  }

  private planAllowed<P>(plan: (catalog: Catalog) => Promise<P>, next: (planned: P) => CatalogState): Promise<P> {
    return planAllowed(this.restriction, this.catalog, plan, next)
  }

  /** Runs before numbers are assigned: a step assigns the same numbers as in the rehearsal, even if other steps are now left out. */
  private continueNumbers(): void {
    if (this.numbering === undefined) return
    const counters = this.numbering.countersFor(this.step, this.state.counters)
    if (counters === this.state.counters) return
    this.state = { ...this.state, counters }
    this.built = undefined
  }
}

function indexInUse(name: string): AshlarError {
  const message = `Index '${name}' keeps the attribute of that name unique, and goes with its isUnique.`
  return new AshlarError('IndexInUse', message)
}
