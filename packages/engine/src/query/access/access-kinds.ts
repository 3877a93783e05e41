/** The registry of access path kinds and the paths that they offer for a predicate. */
import type { SchemaClass } from '../../schema/catalog.ts'
import type { Planning } from '../operators/planning.ts'
import type { OidAccess, PlanAccess } from './access-path.ts'
import type { FullPredicate } from './entry-filter.ts'
import { planIndexScans } from './index-scan.ts'
import { planOidLookups } from './oid-lookup.ts'
import { planReverseNavigations } from './reverse-navigation.ts'
import type { IndexCondition } from './sargable-predicates.ts'
import { planUnions } from './union.ts'

/** The order breaks ties between accesses with equal estimates. */
const accessKinds: readonly PlanAccess[] = [planOidLookups, planIndexScans, planReverseNavigations, planUnions]

/** Every access that answers at least one of the conditions, for objects of the class. */
export function accessesFor(
  cls: SchemaClass,
  conditions: readonly IndexCondition[],
  planning: Planning,
  predicate?: FullPredicate,
): OidAccess[] {
  return accessKinds.flatMap((plan) => plan({ cls, conditions, planning, predicate, accessesFor }))
}
