/** What expressions give, as attributes keep it: new objects get their OIDs, every value passes the checks of its attribute's codec. */

import { attributeError } from '../../objects/attribute-error.ts'
import { createObject } from '../../objects/create.ts'
import type { AttributeChange, ValueChange } from '../../records/attribute-change.ts'
import { changeAt, formatAt, type PathStep } from '../../records/attribute-path.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import { readValueChange } from '../../records/read-change.ts'
import type { Catalog, SchemaClass } from '../../schema/catalog.ts'
import { Decimal } from '../../types/decimal-number.ts'
import { decimalToJsonNumber } from '../../types/hidden-fraction.ts'
import { type Codec, ValueError } from '../../types/logical-type.ts'
import type { MapPair } from '../../types/map.ts'
import type { Oid } from '../../types/oid.ts'
import type { UnitOfWork } from '../../write/unit-of-work.ts'
import { NewObject } from '../evaluate/new-object.ts'
import type { Span } from '../language/ast.ts'
import { atPlace } from '../language/query-error.ts'
import { scalarCodec } from '../values/scalars/scalar-kinds.ts'
import { toJson } from '../values/value-json.ts'
import { isMany, type ScalarType, type ValueType } from '../values/value-type.ts'

export interface ChangeContext {
  /** Of the statements, for errors. */
  readonly text: string
  readonly unit: UnitOfWork
  /** Counts objects that are changed; throws LimitExceeded. */
  count(objects: number): void
}

/** What setting an attribute to a value without new objects does. Throws ValueError. */
export function valueChange(
  attribute: AttributeFormat,
  type: ValueType,
  value: unknown,
  catalog: Catalog,
): ValueChange {
  const isForm = type.kind === 'record' && attribute.attribute.spec.logicalType === 'map'
  // An object given as a parameter may be any of the forms in which a body gives a map.
  if (isForm && value !== null) return readValueChange(attribute, toJson(type, value, catalog))
  return { kind: 'set', value: acceptedValue(attribute.codec, type, value, catalog) }
}

/** A value without new objects as a codec keeps it. Throws ValueError. */
export function acceptedValue(codec: Codec, type: ValueType, value: unknown, catalog: Catalog): unknown {
  // Of types that have no null it is the default: empty, an object of its defaults, or no object.
  if (value === null || value === undefined) return codec.isNullable ? null : codec.defaultValue
  if (holdsRecords(type)) return codec.parse(toJson(type, value, catalog))
  return codec.accept(widened(type, value))
}

/** The elements of a value, or of a collection of them, as the codec of their collection keeps them. Throws ValueError. */
export function acceptedElements(codec: Codec, type: ValueType, value: unknown, catalog: Catalog): readonly unknown[] {
  const list: ValueType = isMany(type) ? type : { kind: 'collection', form: 'list', element: type }
  return acceptedValue(codec, list, isMany(type) ? value : [value], catalog) as readonly unknown[]
}

/** JSON objects, which are given as parameters: their fields are checked as those of a body. */
function holdsRecords(type: ValueType): boolean {
  return isMany(type) ? holdsRecords(type.element) : type.kind === 'record'
}

/** A single stands for its shortest decimal, also in a double: 0.1 and not 0.10000000149011612. Codecs of other types do not know decimals. */
function widened(type: ValueType, value: unknown): unknown {
  if (type.kind === 'collection' && (type.element.kind === 'decimal' || isSingle(type.element))) {
    return (value as readonly unknown[]).map((element) => widened(type.element, element))
  }
  if (value instanceof Decimal) return decimalToJsonNumber(value)
  return isSingle(type) && Number.isFinite(value) ? scalarCodec(type).toJson(value) : value
}

function isSingle(type: ValueType): type is ScalarType {
  return type.kind === 'real' && type.isSingle === true
}

/** The value with objects that it makes made, and their references in their places. */
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

/** With the same checks as a creation by a request. */
export async function createFrom(changeContext: ChangeContext, object: NewObject): Promise<Oid> {
  changeContext.count(1)
  return assigning(changeContext, object, async () => {
    const changes = await assignedChanges(changeContext, object.cls, object)
    return createObject(changeContext.unit, { cls: object.cls, changes })
  })
}

/** Carries out a command that is made of these assignments; an error is that of the assignment whose attribute it names. */
export function assigning<T>(
  { text }: ChangeContext,
  { assignments }: Pick<NewObject, 'assignments'>,
  carryOut: () => Promise<T>,
): Promise<T> {
  const spanOf = ([field, ...steps]: readonly (string | number)[]): Span | undefined => {
    if (field !== 'attributes') return undefined
    return assignments.find(({ path }) => path.every(({ name }, i) => name === steps[i]))
  }
  return atPlace(text, spanOf, carryOut)
}

/** What the assignments do, one change each, in their order. Throws what their values throw, at the assignment. */
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
        ofAttribute(cls.name, path, async () => {
          const plain = await materializeNewObjects(changeContext, values[i])
          const change = valueChange(formatAt(format, path), value.type, plain, commandCatalog)
          changes.push(changeAt(format, path, change))
        }),
    )
  }
  return changes
}

/** A ValueError of `carryOut` is thrown as the error of the attribute that the path leads to. */
export async function ofAttribute<T>(
  className: string,
  path: readonly PathStep[],
  carryOut: () => Promise<T>,
): Promise<T> {
  try {
    return await carryOut()
  } catch (error) {
    throw errorOfAttribute(error, className, path)
  }
}

/** A ValueError as the error of the attribute that the path leads to. */
export function errorOfAttribute(error: unknown, className: string, path: readonly PathStep[]): unknown {
  const [first, ...rest] = path.map(({ name }) => name)
  if (!(error instanceof ValueError) || first === undefined) return error
  error.path.unshift(...rest)
  return attributeError(error, className, first)
}
