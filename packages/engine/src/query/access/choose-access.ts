/** Which access path is taken: the one that is cheapest for the data that there is, told by counting entries up to a limit. */
import type { Awaitable } from '../../store/store.ts'
import { type EvaluationContext, unknownValue } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { Candidate } from '../explain/explain-node.ts'
import { type AccessPath, bestOf, type OidAccess } from './access-path.ts'
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

/** Access paths with what they were estimated to give, and up to where that was counted. */
class Considered {
  /** The choice depends on values that are not known before the statement runs. */
  isDeferred = false
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

/** `wanted`: how many rows are taken in the order asked for; undefined = all of them. */
export function chooseAccess(
  plan: SourcePlan,
  evaluation: EvaluationContext,
  context: StatementContext,
  wanted: number | undefined,
): Awaitable<ChosenAccessPath> {
  if (context.probe !== undefined) return explainedChoice(plan, evaluation, context, wanted)
  return settledAccess(plan, wanted) ?? choose(plan, evaluation, context, wanted, undefined)
}

async function explainedChoice(
  plan: SourcePlan,
  evaluation: EvaluationContext,
  context: StatementContext,
  wanted: number | undefined,
): Promise<ChosenAccessPath> {
  const considered = new Considered()
  try {
    return { ...(await choose(plan, evaluation, context, wanted, considered)), considered }
  } catch (error) {
    if (error !== unknownValue) throw error
    considered.isDeferred = true
    return { access: likelyAccess(plan), estimated: await plan.extent.estimate(context), considered }
  }
}

/** Where values are not known yet. */
function likelyAccess({ references, accesses, ordered, extent }: SourcePlan): AccessPath {
  return references ?? bestOf(accesses) ?? ordered ?? extent
}

async function choose(
  plan: SourcePlan,
  evaluation: EvaluationContext,
  context: StatementContext,
  wanted: number | undefined,
  considered: Considered | undefined,
): Promise<ChosenAccessPath> {
  const { accesses, ordered, references } = plan
  if (references !== undefined) {
    const estimated = await references.estimate(evaluation, context)
    considered?.note(references, estimated, Number.POSITIVE_INFINITY)
    return { access: references, estimated }
  }
  const settled = settledAccess(plan, wanted)
  if (settled !== undefined) {
    const max = settled.access === plan.exact ? Number.POSITIVE_INFINITY : settled.estimated
    considered?.note(settled.access, settled.estimated, max)
    return settled
  }
  const fewMax = context.isRemote && ordered === undefined ? fewCandidatesAfar : fewCandidates
  const few = await cheapest(accesses, evaluation, context, fewMax, considered)
  if (few !== undefined && few.estimated < fewMax) return few
  const extent = await plan.extent.estimate(context)
  considered?.note(plan.extent, extent, Number.POSITIVE_INFINITY)
  const max = Math.max(candidatesMin, Math.ceil(extent / extentShare))
  const best = few === undefined ? undefined : await cheapest(accesses, evaluation, context, max, considered)
  const isOrderUseful = ordered !== undefined && (wanted !== undefined || best === undefined)
  if (isOrderUseful && (best === undefined || best.estimated >= candidatesMin || ordered.isNarrowedBy(best.access))) {
    considered?.note(ordered, wanted ?? extent, Number.POSITIVE_INFINITY)
    return { access: ordered, estimated: wanted ?? extent }
  }
  if (best !== undefined && best.estimated < max) return best
  return { access: plan.extent, estimated: extent }
}

/** What is taken whatever the data is: an access to one object at most, or that of the first rows. */
function settledAccess(plan: SourcePlan, wanted: number | undefined): ChosenAccessPath | undefined {
  if (plan.references !== undefined) return undefined
  if (plan.exact !== undefined) return { access: plan.exact, estimated: 1 }
  const settled = wanted === undefined ? undefined : accessOfFirstRows(plan, wanted)
  return settled && { access: settled, estimated: wanted as number }
}

/**
 * The access that gives the first rows wherever it is used: to count how many more it would give costs more than to take them. One that
 * follows the order asked for, where every other reads the same entries; without an order, one of whose objects nearly all qualify.
 */
function accessOfFirstRows(plan: SourcePlan, wanted: number): AccessPath | undefined {
  const { accesses, ordered, conjuncts, areRows } = plan
  if (ordered !== undefined) return accesses.every((access) => ordered.isNarrowedBy(access)) ? ordered : undefined
  if (!areRows || wanted > candidatesMin) return undefined
  return bestOf(accesses.filter(({ conjunctsAnswered }) => conjunctsAnswered === conjuncts))
}

/** The access with the fewest candidates, counted up to `max`; the first of equal ones. */
async function cheapest(
  accesses: readonly OidAccess[],
  evaluation: EvaluationContext,
  context: StatementContext,
  max: number,
  considered: Considered | undefined,
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
