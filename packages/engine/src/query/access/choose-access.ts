/** Chooses the cheapest access path for the current data, by counting entries up to a limit. */
import type { Awaitable } from '../../store/store.ts'
import { type EvaluationContext, unknownValue } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { Candidate } from '../explain/explain-node.ts'
import { type AccessPath, bestOf, type OidAccess } from './access-path.ts'
import type { IndexOnlyScan } from './index-only-scan.ts'
import { intersectionOf } from './intersection.ts'
import type { OrderedIndexScan } from './ordered-index-scan.ts'
import { OrderedTrial } from './ordered-trial.ts'
import type { SkipScan } from './skip-scan.ts'
import type { SourcePlan } from './source-plan.ts'

/** Below so many candidates an access is taken without looking at the others any closer. */
const fewCandidates = 64
/** Where each look is a trip of its own, a few more spare the next looks. */
const fewCandidatesAfar = 256
/** An access by OIDs reads here and there; one after the other is faster when it is more than a part of all. */
const extentShare = 8
const candidatesMin = 1_000

export interface ChosenAccessPath {
  readonly access: AccessPath
  readonly estimated: number
  /** Where the statement is explained: what was considered. */
  readonly considered?: Considered | undefined
}

/** A trial of an index's order may cost so small a part of the access that is taken if it fails. */
const trialShare = 8

/** Access paths with what they were estimated to give, and up to where that was counted. */
class Considered {
  /** The choice depends on values that are not known before the statement runs. */
  isDeferred = false
  /** All objects are gone through, and they are many. */
  isScanOfMany = false
  private readonly estimates = new Map<AccessPath, { estimated: number; isAtLeast: boolean }>()

  note(access: AccessPath, estimated: number, max: number): void {
    this.estimates.set(access, { estimated, isAtLeast: estimated >= max })
  }

  candidates(plan: SourcePlan, chosen: AccessPath): Candidate[] {
    const ordered = plan.ordered === undefined ? [] : [plan.ordered]
    const known = [...plan.accesses, ...ordered, ...this.estimates.keys(), chosen]
    return [...new Set(known)].map((access) => {
      const { estimated, isAtLeast = false } = this.estimates.get(access) ?? {}
      const isChosen = access === chosen && !this.isDeferred
      return { plan: access.describe(plan.className), estimated, isAtLeast, isChosen }
    })
  }
}

/** What the choice for one plan depends on, and where it is explained. */
interface Choice {
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
  /** How many rows are taken in the order asked for; undefined = all of them. */
  readonly wanted: number | undefined
  readonly considered?: Considered
}

/** `wanted`: see `Choice`. */
export function chooseAccess(
  plan: SourcePlan,
  evaluation: EvaluationContext,
  context: StatementContext,
  wanted: number | undefined,
): Awaitable<ChosenAccessPath> {
  const choice = { evaluation, context, wanted }
  if (context.probe !== undefined) return explainedChoice(plan, choice)
  if (plan.ofElements.length > 0) return chooseWithElements(plan, choice)
  return settledAccess(plan, choice) ?? choose(plan, choice)
}

/** Elements that are known spare the lists of the rows; an access that was estimated alone, and to its end, knows its own. */
async function chooseWithElements(plan: SourcePlan, choice: Choice): Promise<ChosenAccessPath> {
  const { evaluation, context } = choice
  const chosen = await choose(plan, choice)
  const { accesses, ofElements } = plan
  const isSole = accesses.length === 1 && chosen.access === accesses[0]
  if (!isSole && chosen.estimated > 0) for (const access of ofElements) await access.findElements?.(evaluation, context)
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
    return { access: likelyAccess(plan), estimated: await plan.extent.estimate(context), considered }
  }
}

/** Where values are not known yet. */
function likelyAccess({ references, accesses, ordered, extent }: SourcePlan): AccessPath {
  return references ?? bestOf(accesses) ?? (ordered?.isPresorted === true ? undefined : ordered) ?? extent
}

/** Entries are counted for half of what it costs to read them. */
const coveredShare = 2

async function choose(plan: SourcePlan, choice: Choice): Promise<ChosenAccessPath> {
  const { evaluation, context, wanted, considered } = choice
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
  const sole = indexOnly.find((scan) => scan.isOfFirstEntries(plan.filter.conjuncts) || isSole(scan))
  if (sole !== undefined) {
    const max = sole.isOfEnds ? 1 : fewCandidates
    const estimated = sole.isNarrowed
      ? await sole.estimate(evaluation, context, max)
      : await plan.extent.estimate(context)
    considered?.note(sole, estimated, sole.isNarrowed ? max : Number.POSITIVE_INFINITY)
    return { access: sole, estimated }
  }
  const fewMax = context.isRemote && ordered === undefined ? fewCandidatesAfar : fewCandidates
  // To count what it reads would cost as much as to read it.
  const isNarrowest =
    plan.areFirst &&
    wanted !== undefined &&
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
  const known = skipping !== undefined && skipping.estimated < skips.most ? skipping : read
  const covered = indexOnly.find((scan) => {
    return scan.isSameAs(known.access) || (known.access === plan.extent && !scan.isSkipping)
  })
  if (covered !== undefined) {
    considered?.note(covered, known.estimated, Number.POSITIVE_INFINITY)
    return { access: covered, estimated: known.estimated }
  }
  const inOrder = ordered && accessInOrder(ordered, known, plan, extent, wanted)
  if (inOrder === undefined) return (await narrowed(known, plan, extent, choice)) ?? known
  considered?.note(inOrder, wanted ?? extent, Number.POSITIVE_INFINITY)
  return { access: inOrder, estimated: wanted ?? extent }
}

/** What is left of the objects of an access by the entries of another one; undefined where that spares little. */
async function narrowed(
  { access, estimated }: ChosenAccessPath,
  { accesses, areRows }: SourcePlan,
  objects: number,
  { evaluation, context, wanted, considered }: Choice,
): Promise<ChosenAccessPath | undefined> {
  const narrowest = accesses.find((one) => one === access)
  // The first rows may come before all entries are read.
  if (narrowest === undefined || (areRows && wanted !== undefined)) return undefined
  const note = (one: AccessPath, counted: number, max: number): void => considered?.note(one, counted, max)
  const both = await intersectionOf({ access: narrowest, estimated }, accesses, objects, evaluation, context, note)
  if (both === undefined) return undefined
  considered?.note(both, estimated, estimated)
  return { access: both, estimated }
}

/** The accesses that pass over entries, and the most that they may read. */
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
  // Where entries are all that is read, those of a large part of the index cost less than all of them.
  return { accesses: covered, most: Math.ceil(objects / coveredShare) }
}

/** Undefined where it is better to sort what the other access gives. */
function accessInOrder(
  ordered: OrderedIndexScan,
  other: ChosenAccessPath,
  { accesses, filter, extent, areFirst }: SourcePlan,
  objects: number,
  wanted: number | undefined,
): AccessPath | undefined {
  if (ordered.isPresorted && (wanted === undefined || !areFirst)) return undefined
  if (wanted === undefined) return accesses.length === 0 ? ordered : undefined
  if (!ordered.isPresorted && (ordered.conjunctsAnswered >= filter.conjuncts || ordered.isNarrowedBy(other.access))) {
    return ordered
  }
  // More than those that are taken may be needed.
  if (!areFirst) return accesses.length === 0 ? ordered : undefined
  const { access, estimated } = other
  if (access !== extent) {
    // As if those that qualify were spread evenly; how they really are, the trial tells.
    const expected = (wanted * objects) / Math.max(1, estimated)
    const entriesMax = Math.ceil(estimated / trialShare)
    return estimated >= candidatesMin && expected <= entriesMax
      ? new OrderedTrial(ordered, access, entriesMax)
      : undefined
  }
  const entriesMax = trialOfExtent(objects, accesses.length === 0)
  return wanted <= entriesMax ? new OrderedTrial(ordered, extent, entriesMax) : undefined
}

/** A range of the index that has no more entries is read to its end. `isOfAll`: the trial is not of a range. */
function trialOfExtent(objects: number, isOfAll: boolean): number {
  return Math.max(candidatesMin, Math.ceil(objects / (isOfAll ? 2 * extentShare : extentShare)))
}

/** Where the rows are all objects that are read, or the first of them in the order asked for. */
export function isInOrder({ ordered }: SourcePlan, access: AccessPath): boolean {
  return access === ordered || access instanceof OrderedTrial
}

/** What is taken whatever the data is: an access to one object at most, or that of the first rows. */
function settledAccess(plan: SourcePlan, { context, wanted }: Choice): ChosenAccessPath | undefined {
  if (plan.references !== undefined) return undefined
  const { exact } = plan
  const settled = exact ?? (wanted === undefined ? undefined : accessOfFirstRows(plan, wanted))
  if (settled === undefined) return undefined
  const covered = indexOnlyFor(plan, context).find((scan) => scan.isSameAs(settled))
  return { access: covered ?? settled, estimated: exact === undefined ? (wanted as number) : 1 }
}

/** Entries tell of all objects, also of those that a caller does not see. */
function indexOnlyFor({ indexOnly }: SourcePlan, { script }: StatementContext): readonly IndexOnlyScan[] {
  return script.capabilities.isPartial === true ? [] : indexOnly
}

/**
 * The access that gives the first rows wherever it is used: to count how many more it would give costs more than to take them. One that
 * follows the order asked for, where every other reads the same entries; without an order, one of whose objects nearly all qualify.
 */
function accessOfFirstRows(plan: SourcePlan, wanted: number): AccessPath | undefined {
  const { accesses, ordered, areRows } = plan
  const { conjuncts } = plan.filter
  if (ordered !== undefined) {
    const isNarrowest = accesses.every((access) => ordered.isNarrowedBy(access))
    return isNarrowest && !ordered.isPresorted && ordered.conjunctsAnswered >= conjuncts ? ordered : undefined
  }
  if (!areRows || wanted > candidatesMin) return undefined
  return bestOf(accesses.filter(({ conjunctsAnswered }) => conjunctsAnswered === conjuncts))
}

/** The access with the fewest candidates, counted up to `max`; the first of equal ones. */
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
