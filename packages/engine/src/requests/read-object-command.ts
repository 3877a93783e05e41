/** Reads the JSON bodies of requests that create and update objects (contract 4.1, 4.2). */
import { AshlarError, truncateForMessage } from '../errors.ts'
import { attributeError, attributePlace } from '../objects/attribute-error.ts'
import type { ChangesOf, CreateObject, UpdateObject } from '../objects/commands.ts'
import type { AttributeChange } from '../records/attribute-change.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { readValueChange } from '../records/read-change.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import { didYouMean } from '../schema/names.ts'
import { rootClassName, rootClassRefusal } from '../schema/root-class.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable } from '../store/store.ts'
import { runYieldingIfLong } from '../store/time-slice.ts'
import type { StepwiseWork } from '../types/logical-type.ts'
import type { Oid } from '../types/oid.ts'
import { withJsonValues } from './json-source.ts'

/** JSON values by attribute name. */
export type Attributes = { readonly [name: string]: unknown }

/** `className`: full name or class number. Throws UnknownClass, ClassIsInternal, and errors of attributes. */
export function readCreateObject(catalog: Catalog, className: string, attributes: Attributes): Awaitable<CreateObject> {
  const cls = catalog.findClass(className)
  if (cls === undefined && className === rootClassName) {
    throw rootClassRefusal(['class'], 'an object is created in one of the classes below it')
  }
  if (cls === undefined) {
    const hint = didYouMean(
      className,
      catalog.classes.map(({ name }) => name),
    )
    throw new AshlarError('UnknownClass', `There is no class '${truncateForMessage(className)}'.${hint}`, [
      { place: ['class'], message: 'is not a class' },
    ])
  }
  // An embeddable class is refused later, so its values need not be read.
  if (!cls.isReferenceable) return { cls, changes: [] }
  const changes = runYieldingIfLong(readAttributes(recordFormats(catalog).of(cls), undefined, attributes))
  return mapAwaitable(changes, (all) => ({ cls, changes: all }))
}

/** `className`, if present, must be that of the object. */
export function readUpdateObject(
  catalog: Catalog,
  oid: Oid,
  attributes: Attributes,
  className: string | undefined,
): UpdateObject {
  const changesOf: ChangesOf = (format) => {
    if (className !== undefined && catalog.findClass(className) !== format.cls) {
      throw new AshlarError(
        'ValueNotAllowed',
        `Object ${oid} is of class ${format.cls.name}, not '${truncateForMessage(className)}'.`,
        [{ place: ['class'], message: `is not ${format.cls.name}` }],
      )
    }
    return runYieldingIfLong(readAttributes(format, oid, attributes))
  }
  return { oid, changesOf }
}

interface Reading {
  readonly format: ClassFormat
  /** Undefined for a new object. */
  readonly oid: Oid | undefined
  readonly attributes: Attributes
  /** The attributes read so far, if two names may denote the same one. */
  readonly seen: Set<AttributeFormat> | undefined
}

/** `oid`: of an existing object. Throws UnknownAttribute, MalformedValue, UnknownField, ValueNotAllowed; also for an attribute given by two names. */
function* readAttributes(
  format: ClassFormat,
  oid: Oid | undefined,
  attributes: Attributes,
): StepwiseWork<readonly AttributeChange[]> {
  const names = Object.keys(attributes)
  const reading: Reading = { format, oid, attributes, seen: duplicateCheck(names) }
  const changes: AttributeChange[] = []
  for (const name of names) {
    const change = yield* readAttribute(reading, name)
    if (change !== undefined) changes.push(change)
  }
  return changes
}

/** JSON member names are unique, so only a class-qualified name can denote an attribute twice. */
function duplicateCheck(names: readonly string[]): Set<AttributeFormat> | undefined {
  for (const name of names) if (name.includes('::')) return new Set()
  return undefined
}

/** Undefined for members of read representations that are not attributes. */
function* readAttribute(reading: Reading, name: string): StepwiseWork<AttributeChange | undefined> {
  const { format, oid, attributes, seen } = reading
  const json = attributes[name]
  const attribute = format.attributeNamed(name)
  if (attribute === undefined) {
    refuseOther(format, oid, name, json)
    return undefined
  }
  if (seen?.has(attribute) === true) {
    const message = `Class ${format.cls.name}: attribute ${truncateForMessage(name)} is specified twice.`
    throw new AshlarError('ValueNotAllowed', message, [{ place: attributePlace(name), message: 'is specified twice' }])
  }
  seen?.add(attribute)
  try {
    const value = format.holdsJson ? withJsonValues(format, attribute, name, attributes) : json
    return { attribute, name, change: yield* readValueChange(attribute, value) }
  } catch (error) {
    throw attributeError(error, format.cls.name, name)
  }
}

/** Throws unless the name is a member of read representations whose value matches the object. */
function refuseOther({ cls }: ClassFormat, oid: Oid | undefined, name: string, json: unknown): void {
  const place = attributePlace(name)
  if (name === '__class__' || name === 'class') {
    if (json === cls.name) return
    if (name === '__class__') {
      throw new AshlarError('ValueNotAllowed', `The object is of class ${cls.name}; its class cannot be changed.`, [
        { place, message: `is not ${cls.name}` },
      ])
    }
  }
  if (name === '__identifier__' && oid !== undefined) {
    if (json === oid) return
    throw new AshlarError('ValueNotAllowed', `The object is ${oid}; its OID cannot be changed.`, [
      { place, message: `is not ${oid}` },
    ])
  }
  const hint = didYouMean(
    name,
    cls.attributes.map((attribute) => attribute.name),
  )
  throw new AshlarError(
    'UnknownAttribute',
    `Class ${cls.name} has no attribute '${truncateForMessage(name)}'.${hint}`,
    [{ place, message: 'is not an attribute of the class' }],
  )
}
