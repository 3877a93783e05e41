/** Counts what a change of the schema would touch and lose, on one snapshot, and changes nothing. */
import type { EngineLimits } from '../limits.ts'
import { attributeOfKey, containerLinksRange, kindOfKey, linkKind } from '../links/link-keys.ts'
import { ObjectChanges } from '../links/object-changes.ts'
import { type Container, type Containers, listContainers } from '../records/containers.ts'
import { recordFormats } from '../records/record-formats.ts'
import { isSameValue } from '../records/same-value.ts'
import { countObjects, scanObjects } from '../records/scan-objects.ts'
import { visitValues } from '../records/visit-values.ts'
import { alterClass, classOfPath, type Retype } from '../schema/alter-class.ts'
import { readAlterRequest } from '../schema/alter-request.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Attribute, CatalogState } from '../schema/class-definition.ts'
import { readClassDescriptions } from '../schema/class-description.ts'
import { type DefineMode, defineClasses } from '../schema/define-classes.ts'
import { deleteClass } from '../schema/delete-class.ts'
import { indexesToRebuild, withPending } from '../schema/pending-retype.ts'
import { classesHolding } from '../schema/retype.ts'
import type { Snapshot } from '../store/store.ts'
import type { Session } from '../transaction/session.ts'
import { Tape, Transaction } from '../transaction/transaction.ts'
import { linkFormOf } from '../types/attribute-place.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import { type AttributeLoss, countLosses, Losses } from './count-losses.ts'
import { prepareRetypes } from './retype-within.ts'
import { classChanges, reshapedObjects, type SchemaReport } from './schema-report.ts'

export interface DryRunContext {
  readonly snapshot: Snapshot
  readonly catalog: Catalog
  readonly limits: EngineLimits
  readonly containers: Containers
  readonly session: Session
}

/** Throws what the change itself would throw. */
export function reportDefinitions(context: DryRunContext, body: unknown, mode: DefineMode): Promise<SchemaReport> {
  const { catalog, limits } = context
  const { state } = defineClasses(catalog, readClassDescriptions(body), mode, limits.classAttributesMax)
  return report(context, { state, droppedIndexes: [], retypes: [], losses: [] })
}

/** Does not throw for what would be lost, but tells it. */
export async function reportAlteration(
  context: DryRunContext,
  nameOrNumber: string,
  body: unknown,
  isCascading: boolean,
): Promise<SchemaReport> {
  const { snapshot, catalog, limits, containers, session } = context
  const cls = classOfPath(catalog, nameOrNumber)
  const options = { attributesMax: limits.classAttributesMax, isCascading }
  const alteration = alterClass(catalog, cls, readAlterRequest(body), options)
  const eager = alteration.retypes.filter(({ work }) => work.kind === 'narrow' || work.kind === 'move')
  if (eager.length === 0) return report(context, { ...alteration, losses: [] })
  const transaction = new Transaction(snapshot, true, new Tape())
  const objectsMax = limits.transactionIndexObjectsMax
  const objects = (): ObjectChanges => new ObjectChanges(transaction, catalog, containers, session)
  const { losses } = await prepareRetypes(
    { transaction, catalog, containers, session, objectsMax, objects },
    cls,
    eager,
    false,
  )
  return report(context, { ...alteration, losses })
}

export async function reportDeletion(context: DryRunContext, nameOrNumber: string): Promise<SchemaReport> {
  const { snapshot, catalog, containers } = context
  const cls = classOfPath(catalog, nameOrNumber)
  const objects = await countObjects(snapshot, new Set([cls.number]), containers.known())
  return report(context, { ...deleteClass(catalog, cls, objects > 0), retypes: [], losses: [] })
}

interface PlannedChange {
  readonly state: CatalogState
  readonly droppedIndexes: readonly string[]
  readonly retypes: readonly Retype[]
  /** Counted already: of references and collections. */
  readonly losses: readonly AttributeLoss[]
}

async function report(
  { snapshot, catalog: before, containers, session }: DryRunContext,
  { state, droppedIndexes, retypes, losses }: PlannedChange,
): Promise<SchemaReport> {
  const after = buildCatalog(state, before.version)
  const young = containers.known()
  const lossy = retypes.filter(({ work }) => work.kind === 'convert' && !work.conversion.isLossless)
  const changing = buildCatalog(withPending(before, lossy, false, session.number).state, before.version)
  const attributes = lossy.map(({ attribute }) => attribute)
  const converted = lossy.length === 0 ? [] : await countLosses(snapshot, changing, attributes, young)
  const touched = new Set(reshapedObjects(before, after).map(({ number }) => number))
  return {
    classes: classChanges(before, after),
    indexesDropped: droppedIndexes,
    indexesRebuilt: indexesToRebuild(before, retypes).map(({ name }) => name),
    objects: touched.size === 0 ? 0 : await countObjects(snapshot, touched, young),
    valuesLost: sorted([...(await countDeleted(snapshot, before, after, retypes, young)), ...converted, ...losses]),
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
