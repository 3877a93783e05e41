/** The reply of a dry run (contract 5.3.3): the classes, indexes, objects and values that a schema change would concern. */
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Attribute } from '../schema/class-definition.ts'
import { describeContext } from '../schema/representation.ts'
import { describeType } from '../types/index.ts'
import type { TypeDefinition } from '../types/type-definition.ts'
import type { AttributeLoss } from './count-losses.ts'

export interface SchemaReport {
  readonly classes: readonly ClassChange[]
  readonly indexesDropped: readonly string[]
  readonly indexesRebuilt: readonly string[]
  /** Objects of which a reply would look different, or that would be written. */
  readonly objects: number
  readonly valuesLost: readonly AttributeLoss[]
}

export interface ClassChange {
  readonly className: string
  readonly change: 'add' | 'change' | 'rename' | 'delete'
  /** Of a class that is renamed. */
  readonly newName?: string
  readonly attributesAdded: readonly string[]
  readonly attributesDeleted: readonly string[]
  readonly attributesRenamed: readonly { readonly originalName: string; readonly newName: string }[]
  readonly attributesChanged: readonly {
    readonly attributeName: string
    readonly from: TypeDefinition
    readonly to: TypeDefinition
  }[]
}

/** In order of class number. */
export function classChanges(before: Catalog, after: Catalog): ClassChange[] {
  const numbers = [...new Set([...before.classes, ...after.classes].map(({ number }) => number))]
  return numbers
    .sort((one, other) => one - other)
    .flatMap((number) => classChange(before, after, before.classByNumber(number), after.classByNumber(number)) ?? [])
}

function classChange(
  before: Catalog,
  after: Catalog,
  was: SchemaClass | undefined,
  is: SchemaClass | undefined,
): ClassChange | undefined {
  const name = (was ?? is)?.name ?? ''
  const differences = attributeChanges(before, after, was?.definition.attributes ?? [], is?.definition.attributes ?? [])
  if (was === undefined) return { className: name, change: 'add', ...differences }
  if (is === undefined) return { className: name, change: 'delete', ...differences }
  if (was.name !== is.name) return { className: name, change: 'rename', newName: is.name, ...differences }
  const isSame = Object.values(differences).every((list) => list.length === 0)
  if (isSame && was.isReferenceable === is.isReferenceable) return undefined
  return { className: name, change: 'change', ...differences }
}

type Differences = Pick<
  ClassChange,
  'attributesAdded' | 'attributesDeleted' | 'attributesRenamed' | 'attributesChanged'
>

/** Elements that are moved get another attribute number, but stay under one name. */
function attributeChanges(
  before: Catalog,
  after: Catalog,
  was: readonly Attribute[],
  is: readonly Attribute[],
): Differences {
  const successor = (attribute: Attribute): Attribute | undefined => {
    const same = is.find(({ number }) => number === attribute.number)
    const isOld = (candidate: Attribute): boolean => was.some(({ number }) => number === candidate.number)
    return same ?? is.find((candidate) => candidate.name === attribute.name && !isOld(candidate))
  }
  const pairs = was.flatMap((attribute) => {
    const next = successor(attribute)
    return next === undefined ? [] : [{ attribute, next }]
  })
  const kept = new Set(pairs.map(({ next }) => next))
  const [from, to] = [describeContext(before), describeContext(after)]
  return {
    attributesAdded: is.filter((attribute) => !kept.has(attribute)).map(({ name }) => name),
    attributesDeleted: was.filter((attribute) => successor(attribute) === undefined).map(({ name }) => name),
    attributesRenamed: pairs
      .filter(({ attribute, next }) => attribute.name !== next.name)
      .map(({ attribute, next }) => ({ originalName: attribute.name, newName: next.name })),
    attributesChanged: pairs
      .filter(({ attribute, next }) => JSON.stringify(attribute.spec) !== JSON.stringify(next.spec))
      .map(({ attribute, next }) => {
        const definitions = { from: describeType(attribute.spec, from), to: describeType(next.spec, to) }
        return { attributeName: next.name, ...definitions }
      }),
  }
}

/** Referenceable classes whose objects have another shape afterwards, or embed some that have. */
export function reshapedObjects(before: Catalog, after: Catalog): SchemaClass[] {
  const reshaped = new Set(
    before.classes
      .filter((cls) => {
        const next = after.classByNumber(cls.number)
        return next !== undefined && next.shape.number !== cls.shape.number
      })
      .map(({ number }) => number),
  )
  const embeds = (cls: SchemaClass): boolean => {
    return cls.attributes.some(({ spec }) => {
      const held = spec.logicalType === 'list' ? spec.element : spec
      return held.logicalType === 'object' && reshaped.has(held.class)
    })
  }
  for (let size = -1; size !== reshaped.size; ) {
    size = reshaped.size
    for (const cls of before.classes) if (embeds(cls)) reshaped.add(cls.number)
  }
  return before.classes.filter(({ isReferenceable, number }) => isReferenceable && reshaped.has(number))
}
