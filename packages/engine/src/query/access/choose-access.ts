/** Chooses the cheapest access path for the current data, counting entries up to a limit. */
import type { Awaitable } from '../../store/store.ts'
import { type EvaluationContext, unknownValue } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ConsideredPath } from '../explain/explain-node.ts'
import { type AccessPath, bestOf, type OidAccess } from './access-path.ts'
import type { IndexOnlyScan } from './index-only-scan.ts'
import { intersectionOf } from './intersection.ts'
import type { OrderedIndexScan } from './ordered-index-scan.ts'
import { OrderedTrial } from './ordered-trial.ts'
import type { SkipScan } from './skip-scan.ts'
import type { SourcePlan } from './source-plan.ts'

/** An access with fewer candidates is used without further estimates. */
const fewCandidates = 64
/** For a remote store, where each estimate is a round trip, more candidates are acceptable. */
const remoteFewCandidates = 256
/** An access by OIDs reads at random; a sequential scan is faster if the access covers more than this fraction of all objects. */
const extentShare = 8
const candidatesMin = 1_000

export interface ChosenAccessPath {
  readonly access: AccessPath
  readonly estimated: number
  /** Set for EXPLAIN. */
  readonly considered?: Considered | undefined
}

/** A trial of an index order may cost up to this fraction of the fallback access. */
const trialShare = 8

/** Access paths with their estimates, and the limits up to which these were counted. */
class Considered {
  /** The choice depends on values not known before the statement runs. */
  isDeferred = false
  isScanOfMany = false
  private readonly estimates = new Map<AccessPath, { estimated: number; isAtLeast: boolean }>()

  note(access: AccessPath, estimated: number, max: number): void {
    this.estimates.set(access, { estimated, isAtLeast: estimated >= max })
  }

  candidates(plan: SourcePlan, chosen: AccessPath): ConsideredPath[] {
    const ordered = plan.ordered === undefined ? [] : [plan.ordered]
    const all = [...plan.accesses, ...ordered, ...this.estimates.keys(), chosen]
    return [...new Set(all)].map((access) => {
      const { estimated, isAtLeast = false } = this.estimates.get(access) ?? {}
      const isChosen = access === chosen && !this.isDeferred
      return { plan: access.describe(plan.className), estimated, isAtLeast, isChosen }
    })
  }
}

interface Choice {
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
  /** The number of rows needed in the requested order; undefined for all. */
  readonly rowLimit: number | undefined
  readonly considered?: Considered
}

export function chooseAccess(
  plan: SourcePlan,
  evaluation: EvaluationContext,
  context: StatementContext,
  rowLimit: number | undefined,
): Awaitable<ChosenAccessPath> {
  const choice = { evaluation, context, rowLimit }
  if (context.probe !== undefined) return explainedChoice(plan, choice)
  if (plan.elementAccesses.length > 0) return chooseWithElements(plan, choice)
  return settledAccess(plan, choice) ?? choose(plan, choice)
}

/** Known elements make it unnecessary to read the lists of rows; an access that was estimated alone, and completely, already has them. */
async function chooseWithElements(plan: SourcePlan, choice: Choice): Promise<ChosenAccessPath> {
  const { evaluation, context } = choice
  const chosen = await choose(plan, choice)
  const { accesses, elementAccesses } = plan
  const isSole = accesses.length === 1 && chosen.access === accesses[0]
  if (!isSole && chosen.estimated > 0)
    for (const access of elementAccesses) await access.findElements?.(evaluation, context)
  return chosen
}

async function explainedChoice(plan: SourcePlan, choice: Choice): Promise<ChosenAccessPath> {
  const { context } = choice
  const considered = new Considered()
  try {
    const chosen = await chooseWithElements(plan, { ...choice, considered })
    const isScan = chosen.access === plan.extent || chosen.access instanceof OrderedTrial
    considered.isScanOfMany = isScan && (await plan.extent.estimate(context)) >= candidatesMin
    return { ...chosen, considered }
  } catch (error) {
    if (error !== unknownValue) throw error
    considered.isDeferred = true
    const { references, accesses, ordered, extent } = plan
    const access = references ?? bestOf(accesses) ?? (ordered?.isPresorted === true ? undefined : ordered) ?? extent
    return { access, estimated: await extent.estimate(context), considered }
  }
}

/** Counting entries costs about this fraction of reading them. */
const coveredShare = 2

async function choose(plan: SourcePlan, choice: Choice): Promise<ChosenAccessPath> {
  const { evaluation, context, rowLimit, considered } = choice
  const { accesses, ordered, references } = plan
  if (references !== undefined) {
    const estimated = await references.estimate(evaluation, context)
    considered?.note(references, estimated, Number.POSITIVE_INFINITY)
    return { access: references, estimated }
  }
  const settled = settledAccess(plan, choice)
  if (settled !== undefined) {
    const max = plan.exact !== undefined ? Number.POSITIVE_INFINITY : settled.estimated
    considered?.note(settled.access, settled.estimated, max)
    return settled
  }
  const indexOnly = indexOnlyFor(plan, context)
  const isSole = (scan: IndexOnlyScan): boolean => {
    return plan.skipping.length === 0 && accesses.every((access) => scan.isSameAs(access))
  }
  const sole = indexOnly.find((scan) => scan.isAnsweredAtEnd(plan.filter.conjuncts) || isSole(scan))
  if (sole !== undefined) {
    const max = sole.readsOnlyEnd ? 1 : fewCandidates
    const estimated = sole.isNarrowed
      ? await sole.estimate(evaluation, context, max)
      : await plan.extent.estimate(context)
    considered?.note(sole, estimated, sole.isNarrowed ? max : Number.POSITIVE_INFINITY)
    return { access: sole, estimated }
  }
  const fewMax = context.isRemote && ordered === undefined ? remoteFewCandidates : fewCandidates
  // Counting its entries would cost as much as reading them.
  const isNarrowest =
    plan.areFirst &&
    rowLimit !== undefined &&
    ordered !== undefined &&
    !ordered.isPresorted &&
    accesses.every((access) => ordered.isNarrowedBy(access))
  const counted = isNarrowest ? [] : accesses
  const few = await cheapest(counted, choice, fewMax)
  if (few !== undefined && few.estimated < fewMax) {
    const covered = indexOnly.find((scan) => scan.isSameAs(few.access))
    return covered === undefined ? few : { access: covered, estimated: few.estimated }
  }
  const extent = await plan.extent.estimate(context)
  considered?.note(plan.extent, extent, Number.POSITIVE_INFINITY)
  const max = Math.max(candidatesMin, Math.ceil(extent / extentShare))
  const best = few === undefined ? undefined : await cheapest(counted, choice, max)
  const read = best !== undefined && best.estimated < max ? best : { access: plan.extent, estimated: extent }
  const skips = skippingOf(plan, indexOnly, read, extent, max)
  const skipping = await cheapest(isNarrowest ? [] : skips.accesses, choice, skips.most)
  const selected = skipping !== undefined && skipping.estimated < skips.most ? skipping : read
  const covered = indexOnly.find((scan) => {
    return scan.isSameAs(selected.access) || (selected.access === plan.extent && !scan.isSkipping)
  })
  if (covered !== undefined) {
    considered?.note(covered, selected.estimated, Number.POSITIVE_INFINITY)
    return { access: covered, estimated: selected.estimated }
  }
  const inOrder = ordered && accessInOrder(ordered, selected, plan, extent, rowLimit)
  if (inOrder === undefined) return (await narrowed(selected, plan, extent, choice)) ?? selected
  considered?.note(inOrder, rowLimit ?? extent, Number.POSITIVE_INFINITY)
  return { access: inOrder, estimated: rowLimit ?? extent }
}

/** Intersects an access with the entries of another one; undefined if that saves little. */
async function narrowed(
  { access, estimated }: ChosenAccessPath,
  { accesses, areRows }: SourcePlan,
  objects: number,
  { evaluation, context, rowLimit, considered }: Choice,
): Promise<ChosenAccessPath | undefined> {
  const narrowest = accesses.find((one) => one === access)
  // The first rows may be complete before all entries are read.
  if (narrowest === undefined || (areRows && rowLimit !== undefined)) return undefined
  const note = (one: AccessPath, counted: number, max: number): void => considered?.note(one, counted, max)
  const both = await intersectionOf({ access: narrowest, estimated }, accesses, objects, evaluation, context, note)
  if (both === undefined) return undefined
  considered?.note(both, estimated, estimated)
  return { access: both, estimated }
}

/** The accesses that skip entries, and the maximum number of entries that they may read. */
function skippingOf(
  { skipping, extent }: SourcePlan,
  indexOnly: readonly IndexOnlyScan[],
  read: ChosenAccessPath,
  objects: number,
  max: number,
): { readonly accesses: readonly SkipScan[]; readonly most: number } {
  const covered = skipping.filter((skip) => indexOnly.some((scan) => scan.isSkipping && scan.isSameAs(skip)))
  if (covered.length === 0 || read.access !== extent) {
    return { accesses: skipping, most: Math.min(read.estimated, max) }
  }
  // If only entries are read, skipping pays off even for a large part of the index.
  return { accesses: covered, most: Math.ceil(objects / coveredShare) }
}

/** Undefined if sorting the results of the other access is cheaper. */
function accessInOrder(
  ordered: OrderedIndexScan,
  other: ChosenAccessPath,
  { accesses, filter, extent, areFirst }: SourcePlan,
  objects: number,
  rowLimit: number | undefined,
): AccessPath | undefined {
  if (ordered.isPresorted && (rowLimit === undefined || !areFirst)) return undefined
  if (rowLimit === undefined) return accesses.length === 0 ? ordered : undefined
  if (!ordered.isPresorted && (ordered.conjunctsAnswered >= filter.conjuncts || ordered.isNarrowedBy(other.access))) {
    return ordered
  }
  // More rows than the requested number may be needed.
  if (!areFirst) return accesses.length === 0 ? ordered : undefined
  const { access, estimated } = other
  if (access !== extent) {
    // Assumes that qualifying objects are spread evenly; the trial verifies this.
    const expected = (rowLimit * objects) / Math.max(1, estimated)
    const entriesMax = Math.ceil(estimated / trialShare)
    return estimated >= candidatesMin && expected <= entriesMax
      ? new OrderedTrial(ordered, access, entriesMax)
      : undefined
  }
  const entriesMax = trialOfExtent(objects, accesses.length === 0)
  return rowLimit <= entriesMax ? new OrderedTrial(ordered, extent, entriesMax) : undefined
}

/** A smaller index range is read to its end. `coversIndex`: the trial covers the whole index rather than a range. */
function trialOfExtent(objects: number, coversIndex: boolean): number {
  return Math.max(candidatesMin, Math.ceil(objects / (coversIndex ? 2 * extentShare : extentShare)))
}

/** Whether the rows are all objects read, or the first ones in the requested order. */
export function isInOrder({ ordered }: SourcePlan, access: AccessPath): boolean {
  return access === ordered || access instanceof OrderedTrial
}

/** The choice that does not depend on the data: an access to one object at most, or that of the first rows. */
function settledAccess(plan: SourcePlan, { context, rowLimit }: Choice): ChosenAccessPath | undefined {
  if (plan.references !== undefined) return undefined
  const { exact } = plan
  const settled = exact ?? (rowLimit === undefined ? undefined : accessOfFirstRows(plan, rowLimit))
  if (settled === undefined) return undefined
  const covered = indexOnlyFor(plan, context).find((scan) => scan.isSameAs(settled))
  return { access: covered ?? settled, estimated: exact === undefined ? (rowLimit as number) : 1 }
}

/** Entries include objects hidden from the caller, so partial views cannot use them alone. */
function indexOnlyFor({ indexOnly }: SourcePlan, { script }: StatementContext): readonly IndexOnlyScan[] {
  return script.capabilities.isPartial === true ? [] : indexOnly
}

/** An access to the first rows that needs no estimates: in the requested order, or without an order if nearly all its objects qualify. */
function accessOfFirstRows(plan: SourcePlan, rowLimit: number): AccessPath | undefined {
  const { accesses, ordered, areRows } = plan
  const { conjuncts } = plan.filter
  if (ordered !== undefined) {
    const isNarrowest = accesses.every((access) => ordered.isNarrowedBy(access))
    return isNarrowest && !ordered.isPresorted && ordered.conjunctsAnswered >= conjuncts ? ordered : undefined
  }
  if (!areRows || rowLimit > candidatesMin) return undefined
  return bestOf(accesses.filter(({ conjunctsAnswered }) => conjunctsAnswered === conjuncts))
}

/** The access with the fewest candidates, counted up to `max`; the first one in case of ties. */
async function cheapest(
  accesses: readonly OidAccess[],
  { evaluation, context, considered }: Choice,
  max: number,
): Promise<ChosenAccessPath | undefined> {
  let best: ChosenAccessPath | undefined
  for (const access of accesses) {
    const limit = best === undefined ? max : best.estimated
    const estimated = limit === 0 ? 0 : await access.estimate(evaluation, context, limit)
    considered?.note(access, estimated, limit)
    if (best === undefined || estimated < best.estimated) best = { access, estimated }
    if (best.estimated === 0) break
  }
  return best
}
