/** Counts what a change of the schema would touch and lose, on one snapshot, and changes nothing. */
import type { EngineLimits } from '../limits.ts'
import { type Container, type Containers, listContainers } from '../records/containers.ts'
import { attributeOfKey, containerLinksRange, kindOfKey, linkKind } from '../records/link-keys.ts'
import { recordFormats } from '../records/record-formats.ts'
import { isSameValue } from '../records/same-value.ts'
import { countObjects, scanObjects } from '../records/scan-objects.ts'
import { visitValues } from '../records/visit-values.ts'
import { type Alteration, alterClass, classOfPath, type Retype } from '../schema/alter-class.ts'
import { readAlterRequest } from '../schema/alter-request.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Attribute, CatalogState, IndexDefinition } from '../schema/class-definition.ts'
import { readClassDescriptions } from '../schema/class-description.ts'
import { type DefineMode, defineClasses } from '../schema/define-classes.ts'
import { deleteClass } from '../schema/delete-class.ts'
import { indexesToRebuild, retypesToPrepare, withPending } from '../schema/pending-retype.ts'
import { classesHolding } from '../schema/retype.ts'
import type { Snapshot } from '../store/store.ts'
import type { Session } from '../transaction/session.ts'
import { Tape, Transaction } from '../transaction/transaction.ts'
import { linkFormOf } from '../types/attribute-place.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import { UnitOfWork } from '../write/unit-of-work.ts'
import { type AttributeLoss, countLosses, Losses } from './count-losses.ts'
import { type AlterSettings, valuesWouldBeLost } from './online-alter.ts'
import { refuseEqualKeys } from './refuse-equal-keys.ts'
import { classChanges, reshapedObjects, type SchemaReport } from './schema-report.ts'
import { catalogWithPending, prepareRetypes } from './transactional-retype.ts'

export interface DryRunContext {
  readonly snapshot: Snapshot
  readonly catalog: Catalog
  readonly limits: EngineLimits
  readonly containers: Containers
  readonly session: Session
  /** The change would be a step of a transaction. */
  readonly isWithin: boolean
}

/** Throws what the change itself would throw. */
export function reportDefinitions(context: DryRunContext, body: unknown, mode: DefineMode): Promise<SchemaReport> {
  const { catalog, limits } = context
  const { state } = defineClasses(catalog, readClassDescriptions(body), mode, limits.classAttributesMax)
  return report(context, { state, droppedIndexes: [], retypes: [], losses: [] })
}

/** Throws what the change itself would throw, ValuesWouldBeLost and UniqueViolation included. */
export async function reportAlteration(
  context: DryRunContext,
  nameOrNumber: string,
  body: unknown,
  { isCascading, isLossAllowed }: AlterSettings,
): Promise<SchemaReport> {
  const { catalog, limits, containers, session } = context
  const cls = classOfPath(catalog, nameOrNumber)
  const options = { attributesMax: limits.classAttributesMax, isCascading }
  const alteration = alterClass(catalog, cls, readAlterRequest(body), options)
  const preparing = retypesToPrepare(catalog, alteration)
  if (preparing.length === 0) return report(context, { ...alteration, losses: [] })
  const isOneTransaction = context.isWithin || preparing.some(({ work }) => work.kind !== 'convert')
  const { losses, snapshot } = isOneTransaction
    ? await prepareWithin(context, cls, alteration, isLossAllowed)
    : await prepareOnline(context, preparing)
  if (losses.length > 0 && !isLossAllowed) throw valuesWouldBeLost(losses)
  const pending = withPending(catalog, alteration, isLossAllowed, session.number)
  const changing = buildCatalog(pending.state, catalog.version)
  for (const index of pending.replacements) await refuseEqualKeys(snapshot, changing, index, containers.known())
  return report(context, { ...alteration, losses })
}

interface Prepared {
  readonly losses: readonly AttributeLoss[]
  /** As the indexes would be built from. */
  readonly snapshot: Snapshot
}

/** In a transaction that is never committed. Throws LimitExceeded. */
async function prepareWithin(
  { snapshot, catalog, limits, containers, session }: DryRunContext,
  cls: SchemaClass,
  { retypes }: Alteration,
  isLossAllowed: boolean,
): Promise<Prepared> {
  const transaction = new Transaction(snapshot, true, new Tape())
  const objectsMax = limits.transactionIndexObjectsMax
  const objects = (): UnitOfWork => new UnitOfWork(transaction, catalog, containers, session)
  const context = { transaction, catalog, containers, session, objectsMax, objects }
  const { losses } = await prepareRetypes(context, cls, retypes, isLossAllowed)
  return { losses, snapshot: transaction.overlay() }
}

async function prepareOnline(
  { snapshot, catalog, containers, session }: DryRunContext,
  retypes: readonly Retype[],
): Promise<Prepared> {
  const attributes = retypes.map(({ attribute }) => attribute)
  const changing = catalogWithPending(catalog, retypes, session)
  return { losses: await countLosses(snapshot, changing, attributes, containers.known()), snapshot }
}

export async function reportDeletion(context: DryRunContext, nameOrNumber: string): Promise<SchemaReport> {
  const { snapshot, catalog, containers } = context
  const cls = classOfPath(catalog, nameOrNumber)
  const objects = await countObjects(snapshot, new Set([cls.number]), containers.known())
  return report(context, { ...deleteClass(catalog, cls, objects > 0), retypes: [], losses: [] })
}

interface PlannedChange {
  readonly state: CatalogState
  readonly droppedIndexes: readonly IndexDefinition[]
  readonly retypes: readonly Retype[]
  /** Of changes of types. */
  readonly losses: readonly AttributeLoss[]
}

async function report(
  { snapshot, catalog: before, containers }: DryRunContext,
  { state, droppedIndexes, retypes, losses }: PlannedChange,
): Promise<SchemaReport> {
  const after = buildCatalog(state, before.version)
  const young = containers.known()
  const touched = new Set(reshapedObjects(before, after).map(({ number }) => number))
  return {
    classes: classChanges(before, after),
    indexesDropped: droppedIndexes.map(({ name }) => name),
    indexesRebuilt: indexesToRebuild(before, { retypes, droppedIndexes }).map(({ name }) => name),
    objects: touched.size === 0 ? 0 : await countObjects(snapshot, touched, young),
    valuesLost: sorted([...(await countDeleted(snapshot, before, after, retypes, young)), ...losses]),
  }
}

function sorted(losses: readonly AttributeLoss[]): AttributeLoss[] {
  const nameOf = ({ className, attributeName }: AttributeLoss): string => `${className}::${attributeName}`
  return [...losses].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
}

/** Values of deleted attributes that are not the default, and elements. */
async function countDeleted(
  snapshot: Snapshot,
  before: Catalog,
  after: Catalog,
  retypes: readonly Retype[],
  young: readonly Container[],
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
  const losses = new Losses()
  if (gone.size === 0) return []
  const owners = [...gone.values()].map(({ owner }) => owner)
  const holding = new Set(owners.flatMap((cls) => classesHolding(cls, before.classes)).map(({ number }) => number))
  const formats = recordFormats(before)
  for await (const batch of scanObjects(snapshot, formats, holding, young)) {
    for (const { format, values } of batch) {
      visitValues(format, values, formats, (_owner, { attribute, codec }, value) => {
        if (!gone.has(attribute.number) || value === null || isSameValue(codec, value, codec.defaultValue)) return
        losses.add(attribute.declaringClass.name, attribute.name, 1)
      })
    }
  }
  await countLinks(snapshot, await listContainers(snapshot, holding, young), gone, losses)
  return losses.all()
}

/** The elements of lists, sets and maps that are kept as links. */
async function countLinks(
  snapshot: Snapshot,
  containers: readonly Container[],
  gone: ReadonlyMap<AttributeNumber, { readonly owner: SchemaClass; readonly attribute: Attribute }>,
  losses: Losses,
): Promise<void> {
  const kinds = new Map(
    [...gone].flatMap(([number, { attribute }]) => {
      const form = linkFormOf(attribute.spec)
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

const kindOfForm = { list: linkKind.position, set: linkKind.target, map: linkKind.name } as const
