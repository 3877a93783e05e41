/** The schema as seen by schema commands: user-defined classes with their indexes, and sequences. */

import type { AttributeDefinition, ClassRepresentation, TypeDefinition } from '@ashlar/client'
import { attributeProperties, classPropertyDescriptions } from '@ashlar/engine/properties'

export interface ListedClass {
  readonly className: string
  readonly isReferenceable: boolean
  readonly superClass: string | null
  /** Without inherited attributes. */
  readonly attributes: readonly AttributeDefinition[]
  /** Properties by field, such as `isAbstract` and `title`; absent ones are missing. */
  readonly properties: Properties
  /** Attributes, and checks as `check name`, that stored objects may violate. Not part of the schema, and ignored by comparisons. */
  readonly unvalidated?: ReadonlySet<string>
}

export type Properties = Readonly<Record<string, unknown>>

export interface SchemaIndex {
  readonly name: string
  readonly indexedClass: string
  readonly isUnique: boolean
  /** Names or paths of the key attributes, in order. */
  readonly keys: readonly string[]
}

/** Excludes the next number, which is data. */
export interface SchemaSequence {
  readonly name: string
  /** Decimal digits, like `step`. */
  readonly start: string
  readonly step: string
}

export interface SchemaState {
  readonly classes: readonly ListedClass[]
  readonly indexes: readonly SchemaIndex[]
  /** Sorted by name; sequences have no namespace. */
  readonly sequences: readonly SchemaSequence[]
}

/** Namespace of data that tools store in a federated database, such as the schema log; it is not part of the schema. */
export const internalNamespace = 'Ashlar'

/** An index as returned by a server or the engine. */
interface IndexInput {
  readonly name: string
  readonly indexedClass: string
  readonly isUnique: boolean
  readonly keyAttributes: readonly { readonly attributeName: string }[]
  /** The state on a server; an index whose build failed is not part of the schema. */
  readonly state?: string
}

/** A row of SHOW SEQUENCES, or a sequence as the engine returns it. */
export interface SequenceRow {
  readonly name: string
  readonly start: number | bigint | string
  readonly step: number | bigint | string
}

export function schemaState(
  classes: readonly ClassRepresentation[],
  indexes: readonly IndexInput[],
  sequences: readonly SequenceRow[],
): SchemaState {
  return schemaOf(
    classes
      .filter(({ className, isInternal, isDeleted }) => !isInternal && !isDeleted && !isOwn(className))
      .map((cls) => {
        const { className, isReferenceable, superClass, attributes } = cls
        const properties = fieldsAmong(cls, classPropertyNames)
        return {
          className,
          isReferenceable,
          superClass,
          // Whether objects satisfy a constraint is a matter of data, not of schema.
          attributes: attributes.map(({ isValidated: _, ...attribute }) => attribute),
          properties: {
            ...properties,
            ...(cls.checks === undefined ? {} : { checks: cls.checks.map(withoutValidation) }),
          },
          unvalidated: unvalidatedIn(cls),
        }
      }),
    indexes
      .filter(({ indexedClass, state }) => !isOwn(indexedClass) && state !== 'failed')
      .filter((index) => !comesWithAttribute(index, classes))
      .map(({ name, indexedClass, isUnique, keyAttributes }) => {
        return { name, indexedClass, isUnique, keys: keyAttributes.map(({ attributeName }) => attributeName) }
      }),
    sequences.map(({ name, start, step }) => ({ name, start: String(start), step: String(step) })),
  )
}

function unvalidatedIn({ attributes, checks = [] }: ClassRepresentation): ReadonlySet<string> {
  const unvalidatedAttributes = attributes.filter(({ isValidated }) => isValidated === false)
  const unvalidatedChecks = checks.filter(({ isValidated }) => isValidated === false)
  return new Set([
    ...unvalidatedAttributes.map(({ attributeName }) => attributeName),
    ...unvalidatedChecks.map(({ name }) => `check ${name}`),
  ])
}

function withoutValidation({ isValidated: _, ...check }: NonNullable<ClassRepresentation['checks']>[number]): object {
  return check
}

/** The index of an attribute with isUnique, which says all there is to say of it. */
function comesWithAttribute({ name, indexedClass }: IndexInput, classes: readonly ClassRepresentation[]): boolean {
  const owner = classes.find(({ className }) => className === indexedClass)
  const isImplicit = owner?.attributes.some((attribute) => {
    return attribute.isUnique === true && name === `${indexedClass}.${attribute.attributeName}`
  })
  return isImplicit === true
}

export function schemaOf(
  classes: readonly ListedClass[],
  indexes: readonly SchemaIndex[],
  sequences: readonly SchemaSequence[],
): SchemaState {
  return {
    classes: [...classes].sort(by(({ className }) => className)),
    indexes: [...indexes].sort(by(({ name }) => name)),
    sequences: [...sequences].sort(by(({ name }) => name)),
  }
}

function isOwn(className: string): boolean {
  return className.startsWith(`${internalNamespace}.`)
}

function by<T>(nameOf: (value: T) => string): (one: T, other: T) => number {
  return (one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)
}

/** null: the default namespace. */
export function namespaceOf(className: string): string | null {
  const at = className.lastIndexOf('.')
  return at < 0 ? null : className.slice(0, at)
}

/** Returns the definition of an attribute: its type and its properties. */
export function definitionOf({ attributeName: _, ...definition }: AttributeDefinition): TypeDefinition {
  return definition
}

export function typeOf(attribute: AttributeDefinition): TypeDefinition {
  const type = withoutProperties(definitionOf(attribute))
  const { elementSpecification: element } = type
  if (element === undefined) return type
  return { ...type, elementSpecification: withoutProperties(element) }
}

/** Returns the properties of an attribute, and of its elements. */
export function propertiesOf(attribute: AttributeDefinition): {
  readonly own: Properties
  readonly element: Properties
} {
  const { elementSpecification: element } = attribute
  return {
    own: fieldsAmong(attribute, propertyNames),
    element: element === undefined ? {} : fieldsAmong(element, propertyNames),
  }
}

const propertyNames: ReadonlySet<string> = new Set(attributeProperties.map(({ field }) => field))
const classPropertyNames: ReadonlySet<string> = new Set(classPropertyDescriptions.map(({ field }) => field))

function fieldsAmong(value: object, names: ReadonlySet<string>): Properties {
  return Object.fromEntries(Object.entries(value).filter(([name, field]) => names.has(name) && field !== undefined))
}

function withoutProperties(type: TypeDefinition): TypeDefinition {
  return Object.fromEntries(
    Object.entries(type).filter(([name]) => !propertyNames.has(name)),
  ) as unknown as TypeDefinition
}

/** Returns the fields whose values differ, with the values of `after`; null for a removed field. */
export function changedProperties(before: Properties, after: Properties): Properties {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = fields.filter((field) => canonicalField(field, before[field]) !== canonicalField(field, after[field]))
  return Object.fromEntries(changed.map((field) => [field, after[field] ?? null]))
}

/** Ignores the order of fields. */
export function isSameType(one: TypeDefinition, other: TypeDefinition): boolean {
  return canonical(one) === canonical(other)
}

function canonical(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${entries
    .map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`)
    .sort()
    .join()}}`
}

/** Ignores the order of classes, attributes and indexes. */
export function isSameSchema(one: SchemaState, other: SchemaState): boolean {
  return fingerprint(one) === fingerprint(other)
}

/** Ignores the order of checks, which are judged together. */
function canonicalField(field: string, value: unknown): string {
  if (field !== 'checks' || !Array.isArray(value)) return canonical(value ?? null)
  return value.map(canonical).sort().join()
}

export function isSameClass(one: ListedClass, other: ListedClass): boolean {
  return classFingerprint(one) === classFingerprint(other)
}

function classFingerprint({ className, isReferenceable, superClass, attributes, properties }: ListedClass): string {
  const types = attributes.map((attribute) => `${attribute.attributeName}:${canonical(definitionOf(attribute))}`)
  const fields = Object.entries(properties).map(([field, value]) => `${field}:${canonicalField(field, value)}`)
  return JSON.stringify([className, isReferenceable, superClass, types.sort(), fields.sort()])
}

function fingerprint({ classes, indexes, sequences }: SchemaState): string {
  return JSON.stringify([
    classes.map(classFingerprint),
    indexes.map(({ name, indexedClass, isUnique, keys }) => [name, indexedClass, isUnique, keys]),
    sequences.map(({ name, start, step }) => [name, start, step]),
  ])
}

export interface SchemaScope {
  /** Undefined for all namespaces. */
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

export function restrictToScope(
  { classes, indexes, sequences }: SchemaState,
  { has, namespaces }: SchemaScope,
): SchemaState {
  return {
    classes: classes.filter(({ className }) => has(className)),
    indexes: indexes.filter(({ indexedClass }) => has(indexedClass)),
    sequences: namespaces === undefined ? sequences : [],
  }
}

/** The rest of the schema, which is not changed. */
export function outside(schema: SchemaState, { has, namespaces }: SchemaScope): SchemaState {
  const others = restrictToScope(schema, { namespaces: undefined, has: (className) => !has(className) })
  return namespaces === undefined ? { ...others, sequences: [] } : others
}
