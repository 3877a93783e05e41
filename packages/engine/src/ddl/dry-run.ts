/** Dry runs (contract 5.3.3): counts the effects and losses of a schema change on one snapshot, without changing anything. */
import type { RequestMemory } from '../budget/request-memory.ts'
import { unreachable } from '../errors.ts'
import { equalKeysOf } from '../indexes/equal-keys.ts'
import type { EngineLimits } from '../limits.ts'
import { type Container, type Containers, listContainers } from '../records/container-registry.ts'
import { attributeOfKey, containerLinksRange, kindOfForm, kindOfKey } from '../records/link-keys.ts'
import { recordFormats } from '../records/record-formats.ts'
import { isSameValue } from '../records/same-value.ts'
import { countObjects, scanObjects } from '../records/scan-objects.ts'
import { visitValues } from '../records/visit-values.ts'
import { changedClass } from '../schema/alter-class.ts'
import {
  type AlterContext,
  type AlterPlan,
  constraintsToCheck,
  type OnlineAlter,
  planAlter,
  planDefinitions,
  type TransactionalAlter,
} from '../schema/alter-plan.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Attribute } from '../schema/class-definition.ts'
import type { AlterClass, DefineClasses, DeleteClass } from '../schema/commands.ts'
import { deleteClass } from '../schema/delete-class.ts'
import { classesHolding } from '../schema/retype.ts'
import type { Retype } from '../schema/retype-attribute.ts'
import type { Snapshot } from '../store/store.ts'
import { openTimeSlice, runYielding, runYieldingIfLong } from '../store/time-slice.ts'
import { AllocationLog } from '../transaction/allocation-log.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import { Transaction } from '../transaction/transaction.ts'
import { linkStorageOf } from '../types/link-storage.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import type { ObjectExpressions } from '../write/object-expressions.ts'
import { UnitOfWork } from '../write/unit-of-work.ts'
import { refuseByExtents } from './check-extents.ts'
import { type AttributeLoss, AttributeLosses, countLosses } from './count-losses.ts'
import { countUnpairable } from './count-unpairable.ts'
import { countViolations } from './count-violations.ts'
import { refuseEqualKeys } from './refuse-equal-keys.ts'
import { classChanges, reshapedObjects, type SchemaReport } from './schema-report.ts'
import { prepareTypeChanges } from './transactional-retype.ts'

export interface DryRunContext {
  readonly snapshot: Snapshot
  readonly catalog: Catalog
  readonly limits: EngineLimits
  readonly containers: Containers
  readonly session: StoreSession
  readonly expressions: ObjectExpressions
  /** The account of the request, charged with the report. */
  readonly memory: RequestMemory
  /** The change would be a step of a larger transaction. */
  readonly isStep: boolean
}

/** Throws the errors of the change itself. */
export async function reportDefinitions(context: DryRunContext, command: DefineClasses): Promise<SchemaReport> {
  const plan = await runYieldingIfLong(planDefinitions(context.catalog, command, alterContext(context)))
  return reportPlan(context, plan)
}

/** Throws the errors of the change itself, including ValuesWouldBeLost and UniqueViolation. */
export async function reportAlteration(context: DryRunContext, command: AlterClass): Promise<SchemaReport> {
  const plan = await runYieldingIfLong(planAlter(context.catalog, command, alterContext(context)))
  return reportPlan(context, plan)
}

function alterContext({ limits, session, isStep, expressions }: DryRunContext): AlterContext {
  return { attributesMax: limits.classAttributesMax, sessionNumber: session.number, isStep, expressions }
}

async function reportPlan(context: DryRunContext, plan: AlterPlan): Promise<SchemaReport> {
  const { catalog, containers, expressions } = context
  // Access is checked before anything is counted.
  catalog.checkChange?.(plan.next)
  await refuseByExtents(context.snapshot, catalog, plan.next, plan.extents, containers.cached(), expressions)
  const next = buildCatalog(plan.next, catalog.version)
  for (const index of plan.filledIndexes) await refuseEqualKeys(context.snapshot, next, index, containers.cached())
  if (plan.kind === 'immediate') return report(context, plan, [])
  const pending = buildCatalog(plan.pending, catalog.version)
  const { losses, snapshot } =
    plan.kind === 'online' ? await checkOnline(context, plan, pending) : await checkInTransaction(context, plan)
  if (!plan.isLossAllowed) losses.refuse()
  const newContainers = containers.cached()
  const violations = await countViolations(snapshot, next, constraintsToCheck(plan), { expressions, newContainers })
  // The pending catalog converts values, and has no expressions that are still to come.
  const [keyed, built] = plan.kind === 'online' ? [pending, plan.replacements] : [next, plan.rebuilt]
  const equalKeys = await equalKeysOf(built, (index) => refuseEqualKeys(snapshot, keyed, index, newContainers))
  violations.refuse(undefined, equalKeys)
  return report(context, plan, losses.all())
}

interface Checked {
  readonly losses: AttributeLosses
  /** The snapshot from which the indexes would be built. */
  readonly snapshot: Snapshot
}

async function checkOnline(
  { snapshot, containers }: DryRunContext,
  { typeChanges, pairings }: OnlineAlter,
  pending: Catalog,
): Promise<Checked> {
  const losses = new AttributeLosses()
  const attributes = typeChanges.map(({ attribute }) => attribute)
  losses.addAll(await countLosses(snapshot, pending, attributes, containers.cached()))
  for (const pairing of pairings) await countUnpairable(snapshot, pending, pairing, losses, containers.cached())
  return { losses, snapshot }
}

/** Prepares the change in a transaction that is never committed. Throws LimitExceeded. */
async function checkInTransaction(
  { snapshot, catalog, limits, containers, session, expressions: all }: DryRunContext,
  plan: TransactionalAlter,
): Promise<Checked> {
  const transaction = new Transaction(snapshot, true, new AllocationLog())
  const draw = (): never => unreachable('a change of types creates no objects')
  const expressions = { all, user: null, draw }
  const beginUnit = (): UnitOfWork => {
    return new UnitOfWork(transaction, catalog, containers, session, undefined, expressions)
  }
  const context = { transaction, catalog, containers, limits, beginUnit }
  const { losses } = await prepareTypeChanges(context, plan, plan.isLossAllowed)
  return { losses, snapshot: transaction.overlay() }
}

export async function reportDeletion(context: DryRunContext, { className }: DeleteClass): Promise<SchemaReport> {
  const { snapshot, catalog, containers, expressions } = context
  const cls = changedClass(catalog, className)
  catalog.checkChange?.(deleteClass(catalog, cls, false, expressions).state)
  const objects = await countObjects(snapshot, new Set([cls.number]), containers.cached())
  const { state, droppedIndexes } = deleteClass(catalog, cls, objects > 0, expressions)
  return report(context, { ...nothingPlanned, next: state, droppedIndexes }, [])
}

/** The part of a plan that is reported. */
type ReportedPlan = Pick<AlterPlan, 'next' | 'droppedIndexes' | 'rebuiltIndexes' | 'retypes'>

const nothingPlanned = { droppedIndexes: [], rebuiltIndexes: [], retypes: [] }

/** `losses`: caused by changes of types. */
async function report(
  { snapshot, catalog: before, containers, memory }: DryRunContext,
  { next, droppedIndexes, rebuiltIndexes, retypes }: ReportedPlan,
  losses: readonly AttributeLoss[],
): Promise<SchemaReport> {
  const after = buildCatalog(next, before.version)
  const uncommitted = containers.cached()
  const slice = openTimeSlice()
  const classes = await runYielding(classChanges(before, after, memory), slice)
  const touched = new Set((await runYielding(reshapedObjects(before, after), slice)).map(({ number }) => number))
  return {
    classes,
    indexesDropped: droppedIndexes.map(({ name }) => name),
    indexesRebuilt: rebuiltIndexes.map(({ name }) => name),
    objects: touched.size === 0 ? 0 : await countObjects(snapshot, touched, uncommitted),
    valuesLost: sorted([...(await countDeleted(snapshot, before, after, retypes, uncommitted)), ...losses]),
  }
}

function sorted(losses: readonly AttributeLoss[]): AttributeLoss[] {
  const nameOf = ({ className, attributeName }: AttributeLoss): string => `${className}::${attributeName}`
  return [...losses].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
}

/** Counts, for deleted attributes, the elements and the values other than the default. */
async function countDeleted(
  snapshot: Snapshot,
  before: Catalog,
  after: Catalog,
  retypes: readonly Retype[],
  uncommitted: readonly Container[],
): Promise<AttributeLoss[]> {
  const moved = new Set(retypes.map(({ attribute }) => attribute))
  const gone = new Map<AttributeNumber, { readonly owner: SchemaClass; readonly attribute: Attribute }>()
  for (const owner of before.classes) {
    if (after.classByNumber(owner.number) === undefined) continue
    for (const attribute of owner.definition.attributes) {
      const { number } = attribute
      if (after.attribute(number) === undefined && !moved.has(number)) gone.set(number, { owner, attribute })
    }
  }
  const losses = new AttributeLosses()
  if (gone.size === 0) return []
  const owners = new Set([...gone.values()].map(({ owner }) => owner))
  const holding = new Set<ClassNumber>()
  for (const owner of owners) for (const { number } of classesHolding(owner, before.classes)) holding.add(number)
  const formats = recordFormats(before)
  for await (const batch of scanObjects(snapshot, formats, holding, uncommitted)) {
    for (const { format, values } of batch) {
      visitValues(format, values, formats, (_owner, { attribute, codec }, value) => {
        if (!gone.has(attribute.number) || value === null || isSameValue(codec, value, codec.defaultValue)) return
        losses.add(attribute.declaringClass.name, attribute.name, 1)
      })
    }
  }
  await countLinks(snapshot, await listContainers(snapshot, holding, uncommitted), gone, losses)
  return losses.all()
}

/** Counts the elements of lists, sets and maps that are stored as links. */
async function countLinks(
  snapshot: Snapshot,
  containers: readonly Container[],
  gone: ReadonlyMap<AttributeNumber, { readonly owner: SchemaClass; readonly attribute: Attribute }>,
  losses: AttributeLosses,
): Promise<void> {
  const kinds = new Map(
    [...gone].flatMap(([number, { attribute }]) => {
      const form = linkStorageOf(attribute.spec)
      return form === undefined ? [] : [[number, kindOfForm[form]] as const]
    }),
  )
  if (kinds.size === 0) return
  const numberOf = (key: Uint8Array): AttributeNumber | undefined => {
    const number = attributeOfKey(key)
    return kinds.get(number) === kindOfKey(key) ? number : undefined
  }
  for (const { database, container } of containers) {
    for await (const batch of snapshot.scan(containerLinksRange(database, container), numberOf, { keysOnly: true })) {
      for (const number of batch) {
        const found = number === undefined ? undefined : gone.get(number)
        if (found !== undefined) losses.add(found.owner.name, found.attribute.name, 1)
      }
    }
  }
}
