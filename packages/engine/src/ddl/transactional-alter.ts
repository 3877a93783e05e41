/** Changes a class within one transaction: checks and rewrites objects and fills indexes before its commit. */
import { equalKeysOf } from '../indexes/equal-keys.ts'
import type { CheckSource } from '../records/constraints.ts'
import { constraintsToCheck, type TransactionalAlter } from '../schema/alter-plan.ts'
import type { CatalogState, IndexNumber } from '../schema/class-definition.ts'
import { flushObjects } from '../write/flush.ts'
import { pairObjects } from './build-pairings.ts'
import { requireCountedLinks } from './count-link-violations.ts'
import { countViolations } from './count-violations.ts'
import { prepareTypeChanges, type RetypeTransaction, writeRelocated } from './transactional-retype.ts'

/** The services of a catalog transaction that the change uses. */
interface AlterTransaction extends RetypeTransaction {
  readonly expressions: CheckSource
  putAltered(state: CatalogState): Promise<void>
  /** Throws LimitExceeded and UniqueViolation. */
  buildIndex(number: IndexNumber): Promise<void>
}

/** Throws ValuesWouldBeLost, UniqueViolation, ObjectsViolateConstraint, and LimitExceeded if too many objects are affected. */
export async function alterInTransaction(own: AlterTransaction, plan: TransactionalAlter): Promise<void> {
  const { losses, relocated, oids } = await prepareTypeChanges(own, plan, plan.isLossAllowed)
  if (!plan.isLossAllowed) losses.refuse()
  await own.putAltered(plan.next)
  await writeRelocated(own.beginUnit(), relocated)
  for (const pairing of plan.pairings) {
    const unit = own.beginUnit()
    await pairObjects(unit, pairing, oids)
    await flushObjects(unit)
  }
  const equalKeys = await equalKeysOf(plan.rebuilt, (number) => own.buildIndex(number))
  const newContainers = own.containers.cached()
  const { transaction, catalog, expressions } = own
  const checked = constraintsToCheck(plan)
  await requireCountedLinks(own.beginUnit(), oids, checked, expressions)
  const violations = await countViolations(transaction.overlay(), catalog, checked, { expressions, newContainers })
  violations.refuse(undefined, equalKeys)
}
