/**
 * Builds the indexes of new unique attributes in the background if existing objects have null in them: nulls are never equal,
 * so the change itself can be immediate (contract 10.5).
 */
import type { ImmediateAlter } from '../schema/alter-plan.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'

export interface BuiltAfterwards {
  /** Contains the indexes in state `building`. */
  readonly plan: ImmediateAlter
  readonly indexes: readonly IndexDefinition[]
}

/** `before`: the catalog in force. `sessionNumber`: the store session of the process that builds the indexes. */
export function builtAfterwards(before: Catalog, plan: ImmediateAlter, sessionNumber: number): BuiltAfterwards {
  const { next, filledIndexes } = plan
  const isDeferred = (index: IndexDefinition): boolean => {
    return filledIndexes.includes(index.number) && isNullAtFirst(before, plan, index)
  }
  const deferred = new Map(
    next.indexes.filter(isDeferred).map((index): [IndexDefinition, IndexDefinition] => {
      return [index, { ...index, state: 'building', isBackground: true, session: sessionNumber }]
    }),
  )
  if (deferred.size === 0) return { plan, indexes: [] }
  const indexes = [...deferred.values()]
  const numbers = new Set(indexes.map(({ number }) => number))
  return {
    plan: {
      ...plan,
      next: { ...next, indexes: next.indexes.map((index) => deferred.get(index) ?? index) },
      filledIndexes: filledIndexes.filter((number) => !numbers.has(number)),
    },
    indexes,
  }
}

/** Only for existing classes: a new one has no objects. */
function isNullAtFirst(
  before: Catalog,
  { next }: ImmediateAlter,
  { indexedClass, attribute }: IndexDefinition,
): boolean {
  if (before.classByNumber(indexedClass) === undefined) return false
  const owner = next.classes.find(({ number }) => number === indexedClass)
  const properties = owner?.attributes.find(({ number }) => number === attribute)?.properties
  return (properties?.own.default ?? null) === null
}
