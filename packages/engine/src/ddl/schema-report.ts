/** The reply of a dry run (contract 5.3.3): the classes, indexes, objects and values affected by a schema change. */
import { isDeepStrictEqual } from 'node:util'
import type { RequestMemory } from '../budget/request-memory.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Attribute } from '../schema/class-definition.ts'
import { namesIn } from '../schema/class-expressions.ts'
import { describeAttribute, describeContext } from '../schema/representation.ts'
import type { StepwiseWork } from '../types/logical-type.ts'
import type { TypeDefinition } from '../types/type-definition.ts'
import type { AttributeLoss } from './count-losses.ts'

export interface SchemaReport {
  readonly classes: readonly ClassChange[]
  readonly indexesDropped: readonly string[]
  readonly indexesRebuilt: readonly string[]
  /** Objects whose representation would change, or that would be written. */
  readonly objects: number
  readonly valuesLost: readonly AttributeLoss[]
}

export interface ClassChange {
  readonly className: string
  readonly change: 'add' | 'change' | 'rename' | 'delete'
  /** Set if the class is renamed. */
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

/** Approximate memory of a class change and of the entry for one of its attributes. */
const changeBytes = 500
const attributeBytes = 200

/** In order of class number. Charges `memory`. Throws LimitExceeded and ServerBusy. */
export function* classChanges(before: Catalog, after: Catalog, memory: RequestMemory): StepwiseWork<ClassChange[]> {
  const numbers = [...new Set([...before.classes, ...after.classes].map(({ number }) => number))]
  const changes: ClassChange[] = []
  for (const number of numbers.sort((one, other) => one - other)) {
    const change = classChange(before, after, before.classByNumber(number), after.classByNumber(number))
    if (change !== undefined) {
      memory.chargeStatement(bytesOf(change))
      changes.push(change)
    }
    yield
  }
  return changes
}

function bytesOf({ attributesAdded, attributesDeleted, attributesRenamed, attributesChanged }: ClassChange): number {
  const attributes = [attributesAdded, attributesDeleted, attributesRenamed, attributesChanged, attributesChanged]
  return attributes.reduce((bytes, { length }) => bytes + length * attributeBytes, changeBytes)
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
  const hasSameProperties = isDeepStrictEqual(was.definition.properties, is.definition.properties)
  if (isSame && hasSameProperties && was.isReferenceable === is.isReferenceable) return undefined
  return { className: name, change: 'change', ...differences }
}

type Differences = Pick<
  ClassChange,
  'attributesAdded' | 'attributesDeleted' | 'attributesRenamed' | 'attributesChanged'
>

/** Elements that are moved get another attribute number but keep their name. */
function attributeChanges(
  before: Catalog,
  after: Catalog,
  was: readonly Attribute[],
  is: readonly Attribute[],
): Differences {
  const old = new Set(was.map(({ number }) => number))
  const byNumber = new Map(is.map((attribute) => [attribute.number, attribute]))
  const newByName = new Map(is.filter(({ number }) => !old.has(number)).map((attribute) => [attribute.name, attribute]))
  const successor = ({ number, name }: Attribute): Attribute | undefined => {
    return byNumber.get(number) ?? newByName.get(name)
  }
  const pairs = was.flatMap((attribute) => {
    const next = successor(attribute)
    return next === undefined ? [] : [{ attribute, next }]
  })
  const retained = new Set(pairs.map(({ next }) => next))
  const [from, to] = [describeContext(before), describeContext(after)]
  return {
    attributesAdded: is.filter((attribute) => !retained.has(attribute)).map(({ name }) => name),
    attributesDeleted: was.filter((attribute) => successor(attribute) === undefined).map(({ name }) => name),
    attributesRenamed: pairs
      .filter(({ attribute, next }) => attribute.name !== next.name)
      .map(({ attribute, next }) => ({ originalName: attribute.name, newName: next.name })),
    attributesChanged: pairs
      .filter(({ attribute, next }) => {
        return !isDeepStrictEqual([attribute.spec, attribute.properties], [next.spec, next.properties])
      })
      .map(({ attribute, next }) => {
        const definitions = {
          from: describeAttribute(attribute, from, namesIn(before)),
          to: describeAttribute(next, to, namesIn(after)),
        }
        return { attributeName: next.name, ...definitions }
      }),
  }
}

/** Referenceable classes whose objects get another shape, or embed objects that do. */
export function* reshapedObjects(before: Catalog, after: Catalog): StepwiseWork<SchemaClass[]> {
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
      const valueSpec = spec.logicalType === 'list' ? spec.element : spec
      return valueSpec.logicalType === 'object' && reshaped.has(valueSpec.class)
    })
  }
  for (let size = -1; size !== reshaped.size; ) {
    size = reshaped.size
    for (const cls of before.classes) {
      if (!reshaped.has(cls.number) && embeds(cls)) reshaped.add(cls.number)
      yield
    }
  }
  return before.classes.filter(({ isReferenceable, number }) => isReferenceable && reshaped.has(number))
}
