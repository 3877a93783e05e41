/** A schema as the commands on schemas know it: the classes that people have made, and their indexes. */
import type { AttributeDefinition, ClassRepresentation, TypeDefinition } from '@ashlar/client'

export interface SchemaClass {
  readonly className: string
  readonly isReferenceable: boolean
  readonly superClass: string | null
  /** Without inherited attributes. */
  readonly attributes: readonly AttributeDefinition[]
}

export interface SchemaIndex {
  readonly name: string
  readonly indexedClass: string
  readonly isUnique: boolean
  /** Names or paths, in their order. */
  readonly keys: readonly string[]
}

export interface SchemaState {
  /** Sorted by name. */
  readonly classes: readonly SchemaClass[]
  /** Sorted by name. */
  readonly indexes: readonly SchemaIndex[]
}

/** Namespace of data that tools keep in a federated database, such as the schema log; it is not part of the schema. */
export const ownNamespace = 'Ashlar'

/** An index as a server or the engine returns it. */
interface ShownIndex {
  readonly name: string
  readonly indexedClass: string
  readonly isUnique: boolean
  readonly keyAttributes: readonly { readonly attributeName: string }[]
  /** The state on a server; an index whose build failed is not part of the schema. */
  readonly state?: string
}

export function schemaState(classes: readonly ClassRepresentation[], indexes: readonly ShownIndex[]): SchemaState {
  return schemaOf(
    classes
      .filter(({ className, isInternal, isDeleted }) => !isInternal && !isDeleted && !isOwn(className))
      .map(({ className, isReferenceable, superClass, attributes }) => ({
        className,
        isReferenceable,
        superClass,
        attributes,
      })),
    indexes
      .filter(({ indexedClass, state }) => !isOwn(indexedClass) && state !== 'failed')
      .filter((index) => !comesWithAttribute(index, classes))
      .map(({ name, indexedClass, isUnique, keyAttributes }) => {
        return { name, indexedClass, isUnique, keys: keyAttributes.map(({ attributeName }) => attributeName) }
      }),
  )
}

/** The index of an attribute with isUnique, which says all there is to say of it. */
function comesWithAttribute({ name, indexedClass }: ShownIndex, classes: readonly ClassRepresentation[]): boolean {
  const owner = classes.find(({ className }) => className === indexedClass)
  const isKept = owner?.attributes.some((attribute) => {
    return attribute.isUnique === true && name === `${indexedClass}.${attribute.attributeName}`
  })
  return isKept === true
}

/** Creates a sorted schema. */
export function schemaOf(classes: readonly SchemaClass[], indexes: readonly SchemaIndex[]): SchemaState {
  return {
    classes: [...classes].sort(by(({ className }) => className)),
    indexes: [...indexes].sort(by(({ name }) => name)),
  }
}

function isOwn(className: string): boolean {
  return className.startsWith(`${ownNamespace}.`)
}

function by<T>(nameOf: (value: T) => string): (one: T, other: T) => number {
  return (one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)
}

/** null: the default one. */
export function namespaceOf(className: string): string | null {
  const at = className.lastIndexOf('.')
  return at < 0 ? null : className.slice(0, at)
}

/** Returns the type of an attribute or an element. */
export function typeOf({ attributeName: _, ...type }: AttributeDefinition): TypeDefinition {
  return type
}

/** Ignores the order of fields. */
export function isSameType(one: TypeDefinition, other: TypeDefinition): boolean {
  return canonical(one) === canonical(other)
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${entries
    .sort()
    .map(([name, field]) => `${name}:${canonical(field)}`)
    .join()}}`
}

/** The order of classes, attributes and indexes does not count. */
export function isSameSchema(one: SchemaState, other: SchemaState): boolean {
  return fingerprint(one) === fingerprint(other)
}

function fingerprint({ classes, indexes }: SchemaState): string {
  const ofClasses = classes.map(({ className, isReferenceable, superClass, attributes }) => {
    const types = attributes.map((attribute) => `${attribute.attributeName}:${canonical(typeOf(attribute))}`).sort()
    return [className, isReferenceable, superClass, types]
  })
  return JSON.stringify([
    ofClasses,
    indexes.map(({ name, indexedClass, isUnique, keys }) => [name, indexedClass, isUnique, keys]),
  ])
}

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
