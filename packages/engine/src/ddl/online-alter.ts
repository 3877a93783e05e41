/**
 * Changes a class online. Publishes its types, constraints and checks as pending, so that writers validate against them; checks
 * existing values and builds the links of new inverses, the replacement indexes and the referrer entries; then completes the
 * change in one commit. Other requests continue concurrently.
 */
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError, isOutOfReach, withoutEffect } from '../errors.ts'
import { type BuildContext, buildIndexEntries, coveredClasses } from '../indexes/build.ts'
import { readDuplicate } from '../indexes/duplicate-note.ts'
import { buildReferrers } from '../indexes/fill-referrers.ts'
import type { Receipt } from '../receipts/receipt.ts'
import { countObjects } from '../records/scan-objects.ts'
import {
  completedState,
  concurrentAlter,
  constraintsToCheck,
  type OnlineAlter,
  pendingPartsOf,
} from '../schema/alter-plan.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexNumber, ValidationFailure } from '../schema/class-definition.ts'
import { isValidationRunning, withValidation } from '../schema/class-validation.ts'
import { withoutPending } from '../schema/pending-types.ts'
import type { Snapshot } from '../store/store.ts'
import { runYieldingIfLong } from '../store/time-slice.ts'
import { awaitPendingCommits, withSnapshot } from '../store/with-snapshot.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { buildPairings } from './build-pairings.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import { checkExtents } from './check-extents.ts'
import { AttributeLosses, countLosses } from './count-losses.ts'
import { countUnpairable } from './count-unpairable.ts'
import { countViolations } from './count-violations.ts'
import { buildContext } from './index-builds.ts'
import { ProgressWriter } from './progress-writer.ts'
import type { Violations } from './violations.ts'

/**
 * Completes the change after the commit with its pending types and checks; on failure, removes them. Throws ValuesWouldBeLost,
 * ObjectsViolateConstraint, UniqueViolation, AttributeInUse, OutcomeUnknown, and the errors of `Receipt.check`.
 */
export async function completeOnlineAlter(
  database: OpenDatabase,
  writer: CatalogWriter,
  plan: OnlineAlter,
  receipt: Receipt<readonly ClassNumber[]> | undefined,
  signal?: CancelSignal,
): Promise<readonly ClassNumber[]> {
  try {
    const progress = progressWriter(database, plan)
    if (!plan.isLossAllowed) await refuseLosses(database, plan)
    await refuseViolations(database, plan, progress, signal)
    await buildPairings(database, plan.pairings)
    await buildIndexes(database, plan, progress, signal)
    await progress?.drain()
    await complete(database, writer, plan, receipt)
    return plan.classNumbers
  } catch (error) {
    throw await rolledBack(writer, plan, error)
  } finally {
    writer.purgeInBackground()
  }
}

/** Undefined unless the class shows the change. */
function progressWriter({ store, limits }: OpenDatabase, { progressClass }: OnlineAlter): ProgressWriter | undefined {
  return progressClass && new ProgressWriter(store, limits.transactionAttemptsMax, progressClass.number)
}

/** For reads of all objects of a class. */
const longReading = { isLong: true }

/** Checks values written before the types were published, so it must first wait for all commits of that time. */
async function refuseLosses({ store, catalogs }: OpenDatabase, { typeChanges, pairings }: OnlineAlter): Promise<void> {
  await awaitPendingCommits(store)
  const losses = new AttributeLosses()
  const count = async (snapshot: Snapshot): Promise<void> => {
    const catalog = await catalogs.at(snapshot)
    const converted = typeChanges.filter(({ work }) => work.kind === 'convert').map(({ attribute }) => attribute)
    if (converted.length > 0) losses.addAll(await countLosses(snapshot, catalog, converted))
    for (const pairing of pairings) await countUnpairable(snapshot, catalog, pairing, losses)
  }
  await withSnapshot(store, count, longReading)
  losses.refuse()
}

/** Checks objects written before the constraints were published; later writes satisfy them. Throws ObjectsViolateConstraint. */
async function refuseViolations(
  { store, catalogs, expressions }: OpenDatabase,
  plan: OnlineAlter,
  progress: ProgressWriter | undefined,
  signal: CancelSignal | undefined,
): Promise<void> {
  const constraints = constraintsToCheck(plan)
  if (constraints.attributes.size === 0 && constraints.checks.length === 0) return
  await awaitPendingCommits(store)
  let objects = 0
  const onProgress = (done: number, total: number): void => {
    signal?.throwIfAborted()
    objects = done
    progress?.note(done, total)
  }
  const count = async (snapshot: Snapshot): Promise<Violations> => {
    const catalog = await catalogs.at(snapshot)
    const next = buildCatalog(await runYieldingIfLong(completedState(plan, catalog)), catalog.version)
    const options = progress === undefined ? { expressions } : { expressions, onProgress }
    return countViolations(snapshot, next, constraints, options)
  }
  const violations = await withSnapshot(store, count, longReading)
  progress?.endPart(objects)
  await progress?.drain()
  signal?.throwIfAborted()
  violations.refuse()
}

/** An index is missing only if another process considered this one dead and rolled back its change. */
async function buildIndexes(
  database: OpenDatabase,
  { typeChanges, pending, replacements, unfilled }: OnlineAlter,
  progress: ProgressWriter | undefined,
  signal: CancelSignal | undefined,
): Promise<void> {
  try {
    for (const { number, indexedClass } of pending.indexes) {
      if (!replacements.includes(number)) continue
      await inPart(database, progress, indexedClass, (context) => buildIndexEntries(context, number, signal))
    }
    for (const one of unfilled) {
      await inPart(database, progress, one.cls, (context) => buildReferrers(context, one, signal))
    }
  } catch (error) {
    if (!(error instanceof AshlarError && error.type === 'IndexNotFound')) throw error
    throw concurrentAlter(`Attribute ${typeChanges[0]?.name}`)
  }
}

/** Builds entries for the objects of a class, and shows how many of them have theirs. */
async function inPart(
  database: OpenDatabase,
  progress: ProgressWriter | undefined,
  cls: ClassNumber,
  build: (context: BuildContext) => Promise<void>,
): Promise<void> {
  const context = buildContext(database)
  if (progress === undefined) return build(context)
  const { store, catalogs } = database
  const count = async (snapshot: Snapshot): Promise<number> => {
    return countObjects(snapshot, coveredClasses(await catalogs.at(snapshot), cls))
  }
  const total = await withSnapshot(store, count, longReading)
  let done = 0
  const onObjects = (objects: number): void => {
    done += objects
    // Objects have been created meanwhile.
    progress.note(Math.min(done, total), total)
  }
  await build({ ...context, onObjects })
  progress.endPart(total)
}

async function complete(
  database: OpenDatabase,
  writer: CatalogWriter,
  plan: OnlineAlter,
  receipt: Receipt<readonly ClassNumber[]> | undefined,
): Promise<void> {
  await writer.change(async (catalog, transaction) => {
    const state = await runYieldingIfLong(completedState(plan, catalog))
    await checkExtents({ ...database, transaction, catalog }, state, plan.extents)
    await refuseDuplicates(transaction, catalog, plan.replacements)
    await receipt?.checkAndPut(transaction, plan.classNumbers)
    return { state, result: undefined }
  })
}

/** Finds concurrent writes whose keys are unique only under the old type. Throws UniqueViolation. */
async function refuseDuplicates(
  transaction: Transaction,
  catalog: Catalog,
  replacements: readonly IndexNumber[],
): Promise<void> {
  for (const index of replacements) {
    const found = await readDuplicate(transaction, index)
    if (found === undefined) continue
    const { name } = catalog.indexByNumber(index) ?? { name: '' }
    const message = `With the new type, objects ${found.join(' and ')} would have equal values in the unique index '${name}'.`
    throw new AshlarError('UniqueViolation', message)
  }
}

/** Rolls the change back and returns the error to throw instead of `error`, with the known outcome of the change. */
async function rolledBack(writer: CatalogWriter, plan: OnlineAlter, error: unknown): Promise<unknown> {
  try {
    // A commit that may still be in progress fails at the catalog version, which this changes.
    return (await rollback(writer, plan, error)) ? withoutEffect(error) : error
  } catch (rollbackError) {
    if (!isOutOfReach(rollbackError)) throw rollbackError
    const message = 'It is not known whether the change was made'
    return new AshlarError('OutcomeUnknown', `${message}: ${(rollbackError as Error).message}`)
  }
}

/**
 * Removes the pending parts of the change, and not those of another process, which may have considered this one dead and begun
 * the same change. True if all were there, so that the change was certainly not committed.
 */
async function rollback(writer: CatalogWriter, plan: OnlineAlter, error: unknown): Promise<boolean> {
  const { typeChanges, newChecks, replacements, session, progressClass } = plan
  return writer.change(async (catalog) => {
    const parts = pendingPartsOf(plan, catalog)
    const isPending = parts.attributes.size === typeChanges.length && parts.checks.length === newChecks.length
    // Those of a change that was committed are ready.
    const unfinished = catalog.state.indexes.filter((one) => one.state === 'building' && one.session === session)
    const building = unfinished.map(({ number }) => number).filter((number) => replacements.includes(number))
    const undone = withoutPending(catalog.state, { ...parts, replacements: building })
    const isVisible = progressClass !== undefined && isValidationRunning(catalog.state, progressClass)
    const state = isVisible ? withValidation(undone, progressClass.number, { failure: failureOf(error) }) : undone
    return { state, result: isPending }
  }, true)
}

/** The catalog, which every process loads, keeps the failure: of thousands of violated constraints only the first are told. */
const messageCharactersMax = 2_000
const extensionCharactersMax = 16_384

/** The message of an internal error goes only to the log. */
function failureOf(error: unknown): ValidationFailure {
  if (error instanceof AshlarError) {
    const { type, message, extensions } = error
    const isShort = JSON.stringify(extensions).length <= extensionCharactersMax
    return { type, message: message.slice(0, messageCharactersMax), ...(isShort ? extensions : {}) }
  }
  return { type: 'SystemError', message: 'The server failed while it changed the class.' }
}
