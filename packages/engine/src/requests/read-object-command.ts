/** The commands that the JSON bodies of requests on objects stand for (contract 4.1, 4.2). */
import { AshlarError } from '../errors.ts'
import { attributeError, attributePlace } from '../objects/attribute-error.ts'
import type { ChangesOf, CreateObject, UpdateObject } from '../objects/commands.ts'
import type { AttributeChange } from '../records/attribute-change.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { isReadAtOnce, readValueChange, readValueChangeInPieces } from '../records/read-change.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import { truncateForMessage } from '../schema/command-error.ts'
import { didYouMean } from '../schema/names.ts'
import { rootClassName, rootClassRefusal } from '../schema/root-class.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable } from '../store/store.ts'
import { inTurnsIfLong } from '../store/time-slice.ts'
import type { Pieces } from '../types/logical-type.ts'
import type { Oid } from '../types/oid.ts'

/** JSON by the names of attributes. */
export type Attributes = { readonly [name: string]: unknown }

/** `className`: full name or class number. Throws UnknownClass, ClassIsInternal, and what attributes can throw. */
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
  // Values of an embeddable class would be read only to be refused.
  if (!cls.isReferenceable) return { cls, changes: [] }
  const read = inTurnsIfLong(readAttributes(recordFormats(catalog).of(cls), undefined, attributes))
  return mapAwaitable(read, (changes) => ({ cls, changes }))
}

/** `className`, where given, must be the object's. */
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
    return inTurnsIfLong(readAttributes(format, oid, attributes))
  }
  return { oid, changesOf }
}

/**
 * `oid`: of an object that there is already. Throws UnknownAttribute, MalformedValue, UnknownField, ValueNotAllowed; also where an
 * attribute is given twice, under its bare name and with its class: which value is meant cannot be known.
 */
function* readAttributes(format: ClassFormat, oid: Oid | undefined, attributes: Attributes): Pieces<AttributeChange[]> {
  const names = Object.keys(attributes)
  // An object has no name twice: only one with its class can mean the same attribute as another.
  const given = names.some((name) => name.includes('::')) ? new Set<AttributeFormat>() : undefined
  const changes: AttributeChange[] = []
  for (const name of names) {
    const json = attributes[name]
    const found = format.cls.findAttribute(name)
    if (found === undefined) {
      refuseOther(format, oid, name, json)
      continue
    }
    const attribute = format.attribute(found.number)
    if (given?.has(attribute) === true) {
      const message = `Class ${format.cls.name}: attribute ${truncateForMessage(name)} is given twice.`
      throw new AshlarError('ValueNotAllowed', message, [{ place: attributePlace(name), message: 'is given twice' }])
    }
    given?.add(attribute)
    try {
      const isShort = isReadAtOnce(attribute)
      const change = isShort ? readValueChange(attribute, json) : yield* readValueChangeInPieces(attribute, json)
      changes.push({ attribute, name, change })
    } catch (error) {
      throw attributeError(error, format.cls.name, name)
    }
  }
  return changes
}

/** Throws for every name but those that a read representation carries beside its attributes, if they match the object. */
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
