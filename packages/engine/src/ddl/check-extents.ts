/** Checks that a change of classes makes on existing objects at its commit, which requires that none are added or changed since (contract 10.5). */
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { EngineLimits } from '../limits.ts'
import { type CheckSource, selectedConstraints } from '../records/constraints.ts'
import { type Container, type Containers, listContainers } from '../records/container-registry.ts'
import { containerExtent, oidOfObjectKey } from '../records/object-key.ts'
import { type RecordFormats, recordFormats } from '../records/record-formats.ts'
import { hasObjects, readAndRequireObjects } from '../records/require-objects.ts'
import type { StoredConstraints } from '../schema/alter-plan.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import type { Addition, ExtentChecks } from '../schema/extent-checks.ts'
import type { NewCheck } from '../schema/pending-checks.ts'
import { classesHolding } from '../schema/retype.ts'
import type { Snapshot } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import { linkLimitsOf, violatedBy } from './count-link-violations.ts'
import { countViolations } from './count-violations.ts'
import { Violations } from './violations.ts'

export interface ExtentContext {
  readonly transaction: Transaction
  /** The catalog in force. */
  readonly catalog: Catalog
  readonly containers: Containers
  readonly limits: Pick<EngineLimits, 'transactionIndexObjectsMax'>
  readonly expressions: CheckSource
}

/** `next`: the state to be committed. Throws ObjectsViolateConstraint, LimitExceeded. */
export async function checkExtents(context: ExtentContext, next: CatalogState, extents: ExtentChecks): Promise<void> {
  const { transaction, catalog, containers, expressions } = context
  const uncommitted = containers.cached()
  for (const number of extents.abstractClasses) {
    if (!(await hasObjects(transaction, new Set([number]), uncommitted, catalogVersionKey))) continue
    await refuseObjectsOf(transaction.overlay(), catalog.classByNumber(number) as SchemaClass, uncommitted)
  }
  const unmet = unmetAdditions(extents.additions, buildCatalog(next, catalog.version), expressions)
  if (unmet === undefined) return
  const holding = holdingAny(catalog, unmet.additions)
  if (!(await hasObjects(transaction, holding, uncommitted, catalogVersionKey))) return
  await refuseUnmet(transaction.overlay(), unmet, uncommitted, expressions)
  // Their lists embed no such object, which the commit requires to remain true.
  await requireObjects(context, holding)
}

async function requireObjects(
  { transaction, containers, limits }: ExtentContext,
  holding: ReadonlySet<ClassNumber>,
): Promise<void> {
  const required = readAndRequireObjects(
    transaction,
    holding,
    containers.cached(),
    catalogVersionKey,
    limits.transactionIndexObjectsMax,
    () => undefined,
  )
  for await (const _ of required);
}

/** Makes the same checks on a snapshot, without preconditions. Throws ObjectsViolateConstraint. */
export async function refuseByExtents(
  snapshot: Snapshot,
  catalog: Catalog,
  next: CatalogState,
  { additions, abstractClasses }: ExtentChecks,
  newContainers: readonly Container[],
  expressions: CheckSource,
): Promise<void> {
  for (const number of abstractClasses) {
    await refuseObjectsOf(snapshot, catalog.classByNumber(number) as SchemaClass, newContainers)
  }
  const unmet = unmetAdditions(additions, buildCatalog(next, catalog.version), expressions)
  if (unmet !== undefined) await refuseUnmet(snapshot, unmet, newContainers, expressions)
}

/** New attributes whose constraints are violated by the initial values in existing objects. */
interface Unmet {
  readonly additions: readonly Addition[]
  /** Under the catalog with the additions. */
  readonly formats: RecordFormats
}

/** Undefined if there are none, as in nearly all cases. */
function unmetAdditions(additions: readonly Addition[], next: Catalog, expressions: CheckSource): Unmet | undefined {
  if (additions.length === 0) return undefined
  const formats = recordFormats(next)
  const unmet = additions.filter(({ attribute, owner }) => {
    const format = formats.byNumber(owner)
    const [limits] = linkLimitsOf(format, new Set([attribute]))
    if (limits !== undefined) return violatedBy(0, limits).length > 0
    const constraints = selectedConstraints(constraintsOfAddition(attribute, formats), expressions)(format, formats)
    const found = constraints?.violations(format.defaultValues().values, undefined, undefined) ?? []
    return found.some(({ path }) => path[0] === format.attribute(attribute).attribute.outputName)
  })
  return unmet.length === 0 ? undefined : { additions: unmet, formats }
}

/** The constraints of the attribute, and the validated constraints of the objects that it embeds initially. */
function constraintsOfAddition(attribute: AttributeNumber, formats: RecordFormats): StoredConstraints {
  const attributes = new Set([attribute])
  const checks: NewCheck[] = []
  for (const number of attributes) {
    const spec = formats.catalog.attribute(number)?.spec
    if (spec?.logicalType !== 'object') continue
    const format = formats.byNumber(spec.class)
    for (const inner of format.attributes) {
      const isChecked = inner.attribute.properties?.isValidated !== false || inner.embedded !== undefined
      if (isChecked) attributes.add(inner.attribute.number)
    }
    for (let cls: SchemaClass | null = format.cls; cls !== null; cls = cls.superClass) {
      for (const { name, isValidated } of cls.definition.properties?.checks ?? []) {
        if (isValidated !== false) checks.push({ owner: cls.number, name })
      }
    }
  }
  return { attributes, checks }
}

function holdingAny(catalog: Catalog, additions: readonly Addition[]): Set<ClassNumber> {
  const holding = new Set<ClassNumber>()
  for (const owner of new Set(additions.map((addition) => addition.owner))) {
    for (const { number } of classesHolding(catalog.classByNumber(owner) as SchemaClass, catalog.classes))
      holding.add(number)
  }
  return holding
}

async function refuseUnmet(
  snapshot: Snapshot,
  { additions, formats }: Unmet,
  newContainers: readonly Container[],
  expressions: CheckSource,
): Promise<void> {
  const all = additions.map(({ attribute }) => constraintsOfAddition(attribute, formats))
  const attributes = new Set(all.flatMap((one) => [...one.attributes]))
  const checks = all.flatMap((one) => one.checks)
  const options = { expressions, newContainers }
  const violations = await countViolations(snapshot, formats.catalog, { attributes, checks }, options)
  violations.refuse(
    'nothing was changed. Existing objects get the default of a new attribute, or null without one: give it a default that satisfies its constraints, or add it without them, fill it by UPDATE, and constrain it then.',
  )
}

async function refuseObjectsOf(
  snapshot: Snapshot,
  { number, name }: SchemaClass,
  newContainers: readonly Container[],
): Promise<void> {
  const violations = new Violations()
  for (const { database, container } of await listContainers(snapshot, new Set([number]), newContainers)) {
    const extent = containerExtent(database, container)
    for await (const batch of snapshot.scan(extent, oidOfObjectKey, { keysOnly: true })) {
      for (const oid of batch) violations.add(name, undefined, 'isAbstract', oid)
    }
  }
  violations.refuse()
}
