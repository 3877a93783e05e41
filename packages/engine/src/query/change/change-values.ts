/** Conversion of expression values to attribute values: creates new objects, and validates values with the codecs of their attributes. */

import { attributeError } from '../../objects/attribute-error.ts'
import { createObject } from '../../objects/create.ts'
import type { AttributeChange, ValueChange } from '../../records/attribute-change.ts'
import { changeAt, formatAt, type PathStep } from '../../records/attribute-path.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import { readValueChange } from '../../records/read-change.ts'
import type { Catalog, SchemaClass } from '../../schema/catalog.ts'
import { runToEnd } from '../../store/time-slice.ts'
import { Decimal } from '../../types/decimal-number.ts'
import { decimalToJsonNumber } from '../../types/hidden-fraction.ts'
import { type Codec, ValueError } from '../../types/logical-type.ts'
import type { MapPair } from '../../types/map.ts'
import type { Oid } from '../../types/oid.ts'
import type { UnitOfWork } from '../../write/unit-of-work.ts'
import { NewObject } from '../evaluate/new-object.ts'
import type { Span } from '../language/ast.ts'
import { atPlace } from '../language/query-error.ts'
import { widestCodec } from '../values/scalars/scalar-kinds.ts'
import { toJson } from '../values/value-json.ts'
import { isMany, type ScalarType, type ValueType } from '../values/value-type.ts'

export interface ChangeContext {
  /** The text of the statements, for errors. */
  readonly text: string
  readonly unit: UnitOfWork
  /** Counts changed objects; throws LimitExceeded. */
  count(objects: number): void
}

/** The change that sets an attribute to a value without new objects. Throws ValueError. */
export function valueChange(
  attribute: AttributeFormat,
  type: ValueType,
  value: unknown,
  catalog: Catalog,
): ValueChange {
  const isForm = type.kind === 'record' && attribute.attribute.spec.logicalType === 'map'
  // An object parameter may have any form that a request body allows for a map.
  if (isForm && value !== null) return runToEnd(readValueChange(attribute, toJson(type, value, catalog)))
  return { kind: 'set', value: acceptedValue(attribute.codec, type, value, catalog) }
}

/** A value without new objects in the codec's representation. Throws ValueError. */
export function acceptedValue(codec: Codec, type: ValueType, value: unknown, catalog: Catalog): unknown {
  // For a type without null it is the default: an empty value, an embedded object of defaults, or no object.
  if (value === null || value === undefined) return codec.isNullable ? null : codec.defaultValue
  if (holdsRecords(type)) return codec.parse(toJson(type, value, catalog))
  return codec.accept(widened(type, value))
}

/** The elements of a value or collection, in the representation of their collection's codec. Throws ValueError. */
export function acceptedElements(codec: Codec, type: ValueType, value: unknown, catalog: Catalog): readonly unknown[] {
  const list: ValueType = isMany(type) ? type : { kind: 'collection', form: 'list', element: type }
  return acceptedValue(codec, list, isMany(type) ? value : [value], catalog) as readonly unknown[]
}

/** JSON objects given as parameters, whose fields are checked like the fields of a request body. */
function holdsRecords(type: ValueType): boolean {
  return isMany(type) ? holdsRecords(type.element) : type.kind === 'record'
}

/** A single is its shortest decimal, also as a double: 0.1 and not 0.10000000149011612. Codecs of other types don't accept `Decimal`. */
function widened(type: ValueType, value: unknown): unknown {
  if (type.kind === 'collection' && (type.element.kind === 'decimal' || isSingle(type.element))) {
    return (value as readonly unknown[]).map((element) => widened(type.element, element))
  }
  if (value instanceof Decimal) return decimalToJsonNumber(value)
  return isSingle(type) && Number.isFinite(value) ? widestCodec(type).toJson(value) : value
}

function isSingle(type: ValueType): type is ScalarType {
  return type.kind === 'real' && type.isSingle === true
}

/** Creates the new objects within a value and returns it with their references. */
export async function materializeNewObjects(changeContext: ChangeContext, value: unknown): Promise<unknown> {
  if (value instanceof NewObject) return createFrom(changeContext, value)
  if (!Array.isArray(value)) return value
  if (!holdsNewObject(value)) return value
  const plain: unknown[] = []
  for (const element of value) {
    if (isPair(element))
      plain.push({ key: element.key, value: await materializeNewObjects(changeContext, element.value) })
    else plain.push(await materializeNewObjects(changeContext, element))
  }
  return plain
}

export function holdsNewObject(values: readonly unknown[]): boolean {
  return values.some((value) => {
    if (Array.isArray(value)) return holdsNewObject(value)
    return value instanceof NewObject || (isPair(value) && value.value instanceof NewObject)
  })
}

function isPair(value: unknown): value is MapPair {
  return typeof value === 'object' && value !== null && 'key' in value && 'value' in value
}

/** Creates an object with the same checks as a creation by a request. */
export async function createFrom(changeContext: ChangeContext, object: NewObject): Promise<Oid> {
  changeContext.count(1)
  return assigning(changeContext, object, async () => {
    const changes = await assignedChanges(changeContext, object.cls, object)
    return createObject(changeContext.unit, { cls: object.cls, changes })
  })
}

/** Executes a command made from the assignments; maps its errors to the assignment of the attribute they name. */
export function assigning<T>(
  { text }: ChangeContext,
  { assignments }: Pick<NewObject, 'assignments'>,
  execute: () => Promise<T>,
): Promise<T> {
  const spanOf = ([field, ...steps]: readonly (string | number)[]): Span | undefined => {
    if (field !== 'attributes') return undefined
    return assignments.find(({ path }) => path.every(({ name }, i) => name === steps[i]))
  }
  return atPlace(text, spanOf, execute)
}

/** One change per assignment, in order. Errors of their values refer to the assignment. */
export async function assignedChanges(
  changeContext: ChangeContext,
  cls: SchemaClass,
  { assignments, values }: Pick<NewObject, 'assignments' | 'values'>,
): Promise<AttributeChange[]> {
  const { commandFormats, commandCatalog } = changeContext.unit
  const format = commandFormats.of(cls)
  const changes: AttributeChange[] = []
  for (const [i, assignment] of assignments.entries()) {
    const { path, value } = assignment
    await atPlace(
      changeContext.text,
      () => assignment,
      () =>
        withAttributeErrors(cls.name, path, async () => {
          const plain = await materializeNewObjects(changeContext, values[i])
          const change = valueChange(formatAt(format, path), value.type, plain, commandCatalog)
          changes.push(changeAt(format, path, change))
        }),
    )
  }
  return changes
}

/** Rethrows a ValueError of `execute` as the error of the attribute at `path`. */
export async function withAttributeErrors<T>(
  className: string,
  path: readonly PathStep[],
  execute: () => Promise<T>,
): Promise<T> {
  try {
    return await execute()
  } catch (error) {
    throw errorOfAttribute(error, className, path)
  }
}

/** Converts a ValueError to the error of the attribute at `path`. */
export function errorOfAttribute(error: unknown, className: string, path: readonly PathStep[]): unknown {
  const [first, ...rest] = path.map(({ name }) => name)
  if (!(error instanceof ValueError) || first === undefined) return error
  error.path.unshift(...rest)
  return attributeError(error, className, first)
}
