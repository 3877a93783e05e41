/** The part of a federated database that files are about: the classes of some namespaces, and their indexes; all without any. */
import { namespaceOf, type SchemaState } from './schema-state.ts'

export interface SchemaScope {
  /** Undefined for all. */
  readonly namespaces: readonly string[] | undefined
  has(className: string): boolean
}

/** As the REST interface calls the namespace that has no name. */
const defaultNamespace = 'Default'

/** `namespaces`: as they are given; none is all. */
export function scopeOf(namespaces: readonly string[] | undefined): SchemaScope {
  if (namespaces === undefined || namespaces.length === 0) return { namespaces: undefined, has: () => true }
  const names = new Set(namespaces)
  return { namespaces, has: (className) => names.has(namespaceOf(className) ?? defaultNamespace) }
}

export function within({ classes, indexes }: SchemaState, { has }: SchemaScope): SchemaState {
  return {
    classes: classes.filter(({ className }) => has(className)),
    indexes: indexes.filter(({ indexedClass }) => has(indexedClass)),
  }
}

/** What is left as it is. */
export function outside(schema: SchemaState, { has }: SchemaScope): SchemaState {
  return within(schema, { namespaces: undefined, has: (className) => !has(className) })
}
