/**
 * Changes a class online. Publishes its types and constraints as pending, so that writers validate against them; checks
 * existing values and builds the links of new inverses, the replacement indexes and the referrer entries; then completes the
 * change in one commit. Other requests continue concurrently.
 */
import { AshlarError, isOutOfReach, withoutEffect } from '../errors.ts'
import { buildIndexEntries } from '../indexes/build.ts'
import { readDuplicate } from '../indexes/duplicate-note.ts'
import { buildReferrers } from '../indexes/fill-referrers.ts'
import type { Receipt } from '../receipts/receipt.ts'
import { checkedAttributes, completedState, concurrentAlter, type OnlineAlter } from '../schema/alter-plan.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import { withoutPendingTypes } from '../schema/pending-types.ts'
import type { Snapshot } from '../store/store.ts'
import { inTurnsIfLong } from '../store/time-slice.ts'
import { awaitCommitsUnderWay, withSnapshot } from '../store/with-snapshot.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { buildPairings } from './build-pairings.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import { checkExtents } from './check-extents.ts'
import { countLosses, Losses } from './count-losses.ts'
import { countUnpairable } from './count-unpairable.ts'
import { countViolations } from './count-violations.ts'
import { buildContext } from './index-builds.ts'
import type { Violations } from './violations.ts'

/**
 * Completes the change after the commit with its pending types; on failure, removes them. Throws ValuesWouldBeLost,
 * ObjectsViolateConstraint, UniqueViolation, AttributeInUse, OutcomeUnknown, and the errors of `Receipt.check`.
 */
export async function completeOnlineAlter(
  database: OpenDatabase,
  writer: CatalogWriter,
  plan: OnlineAlter,
  receipt: Receipt<readonly ClassNumber[]> | undefined,
): Promise<readonly ClassNumber[]> {
  try {
    if (!plan.isLossAllowed) await refuseLosses(database, plan)
    await refuseViolations(database, plan)
    await buildPairings(database, plan.pairings)
    await buildIndexes(database, plan)
    await complete(database, writer, plan, receipt)
    return plan.classNumbers
  } catch (error) {
    throw await rolledBack(writer, plan, error)
  } finally {
    writer.purgeInBackground()
  }
}

/** For reads of all objects of a class. */
const longReading = { isLong: true }

/** Checks values written before the types were published, so it must first wait for all commits of that time. */
async function refuseLosses({ store, catalogs }: OpenDatabase, { typeChanges, pairings }: OnlineAlter): Promise<void> {
  await awaitCommitsUnderWay(store)
  const losses = new Losses()
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
async function refuseViolations({ store, catalogs }: OpenDatabase, plan: OnlineAlter): Promise<void> {
  const attributes = checkedAttributes(plan)
  if (attributes.size === 0) return
  await awaitCommitsUnderWay(store)
  const count = async (snapshot: Snapshot): Promise<Violations> => {
    const catalog = await catalogs.at(snapshot)
    const next = buildCatalog(await inTurnsIfLong(completedState(plan, catalog)), catalog.version)
    return countViolations(snapshot, next, attributes)
  }
  ;(await withSnapshot(store, count, longReading)).refuse()
}

/** An index is missing only if another process considered this one dead and rolled back its change. */
async function buildIndexes(
  database: OpenDatabase,
  { typeChanges, replacements, unfilled }: OnlineAlter,
): Promise<void> {
  const context = buildContext(database)
  try {
    for (const index of replacements) await buildIndexEntries(context, index, undefined)
    for (const one of unfilled) await buildReferrers(context, one)
  } catch (error) {
    if (!(error instanceof AshlarError && error.type === 'IndexNotFound')) throw error
    throw concurrentAlter(typeChanges[0]?.name)
  }
}

async function complete(
  database: OpenDatabase,
  writer: CatalogWriter,
  plan: OnlineAlter,
  receipt: Receipt<readonly ClassNumber[]> | undefined,
): Promise<void> {
  await writer.change(async (catalog, transaction) => {
    const state = await inTurnsIfLong(completedState(plan, catalog))
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
    return (await rollback(writer, plan)) ? withoutEffect(error) : error
  } catch (rollbackError) {
    if (!isOutOfReach(rollbackError)) throw rollbackError
    const message = 'It is not known whether the change was made'
    return new AshlarError('OutcomeUnknown', `${message}: ${(rollbackError as Error).message}`)
  }
}

/** True if the change was still being prepared, and so was certainly not committed. */
async function rollback(writer: CatalogWriter, { typeChanges, replacements }: OnlineAlter): Promise<boolean> {
  const attributes = typeChanges.map(({ attribute }) => attribute)
  return writer.change(async (catalog) => {
    const isPending = attributes.every((attribute) => catalog.attribute(attribute)?.becoming !== undefined)
    return { state: withoutPendingTypes(catalog.state, attributes, replacements), result: isPending }
  }, true)
}
