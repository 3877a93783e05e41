/** The part of a schema that a command works on: the classes of some namespaces and their indexes, or all. */
import { namespaceOf, type SchemaState } from './schema-state.ts'

export interface SchemaScope {
  /** Undefined for all. */
  readonly namespaces: readonly string[] | undefined
  has(className: string): boolean
}

/** The name of the namespace without a name, as in the REST interface. */
const defaultNamespace = 'Default'

/** `namespaces`: undefined or empty for all. */
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

/** The rest of the schema, which is not changed. */
export function outside(schema: SchemaState, { has }: SchemaScope): SchemaState {
  return within(schema, { namespaces: undefined, has: (className) => !has(className) })
}
