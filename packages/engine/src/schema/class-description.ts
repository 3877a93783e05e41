/** The strict reading of class descriptions (interface, 2.3): JSON types and fields only, no look at the catalog. */
import { AshlarError } from '../errors.ts'
import { shownValue, type TypeDefinition } from '../types/logical-type.ts'

export interface AttributeDescription {
  readonly attributeName: string
  readonly type: TypeDefinition
  readonly pointer: string
}

export interface ClassDescription {
  /** Name, or digits that are a class number. Undefined where only `classNumber` is given. */
  readonly className: string | undefined
  /** Set in descriptions written by hand; a read representation's number is informational. */
  readonly classNumber: number | undefined
  readonly isReferenceable: boolean | undefined
  /** Undefined = not said; null = said to be none. Name or digits. */
  readonly superClass: string | null | undefined
  readonly attributes: readonly AttributeDescription[]
  readonly pointer: string
}

const classFields = ['className', 'classNumber', 'isReferenceable', 'superClass', 'attributes']
/** Fields that only a read representation has (interface, 2.4); they make the rest of it informational too. */
const readFields = ['shapeNumber', 'isInternal', 'isDeleted']
const attributeFields = [
  'attributeName',
  'logicalType',
  'encoding',
  'storage',
  'fixedLength',
  'referencedClass',
  'inverseAttribute',
  'class',
  'collectionTypeName',
  'elementSpecification',
  'keySpecification',
]
const specificationFields = attributeFields.filter((field) => field !== 'attributeName')

type Json = { readonly [name: string]: unknown }

/** Throws MalformedRequest, MalformedValue, UnknownField. */
export function readClassDescriptions(body: unknown): ClassDescription[] {
  if (!Array.isArray(body)) throw fault('MalformedRequest', 'The body is a JSON array of class descriptions.', '')
  return body.map((description: unknown, position) => readDescription(description, `/${position}`))
}

function readDescription(given: unknown, pointer: string): ClassDescription {
  const description = objectOf(given, 'A class description', pointer)
  refuseUnknown(description, [...classFields, ...readFields], 'A class description', pointer)
  const isRead = readFields.some((field) => Object.hasOwn(description, field))
  const className = optionalText(description, 'className', pointer)
  const classNumber = numberOf(description.classNumber, `${pointer}/classNumber`)
  if (className === undefined && classNumber === undefined) {
    throw fault('MalformedRequest', 'A class description names its class: className is needed.', `${pointer}/className`)
  }
  const { attributes } = description
  if (!Array.isArray(attributes)) {
    const name = className ?? classNumber
    throw fault('MalformedRequest', `Class ${name}: attributes is needed, an array.`, `${pointer}/attributes`)
  }
  return {
    className,
    classNumber: isRead && className !== undefined ? undefined : classNumber,
    isReferenceable: booleanOf(description.isReferenceable, `${pointer}/isReferenceable`),
    superClass: superClassOf(description.superClass, `${pointer}/superClass`),
    attributes: attributes.map((attribute: unknown, position) => {
      return readAttribute(attribute, `${pointer}/attributes/${position}`)
    }),
    pointer,
  }
}

function readAttribute(given: unknown, pointer: string): AttributeDescription {
  const definition = objectOf(given, 'An attribute definition', pointer)
  refuseUnknown(definition, attributeFields, 'An attribute definition', pointer)
  const attributeName = optionalText(definition, 'attributeName', pointer)
  if (attributeName === undefined) {
    throw fault('MalformedRequest', 'An attribute definition has an attributeName.', `${pointer}/attributeName`)
  }
  if (definition.logicalType === undefined) {
    throw fault('MalformedRequest', `Attribute ${attributeName}: logicalType is needed.`, `${pointer}/logicalType`)
  }
  for (const field of ['elementSpecification', 'keySpecification']) {
    const nested = definition[field]
    if (nested === undefined || nested === null) continue
    const at = `${pointer}/${field}`
    refuseUnknown(objectOf(nested, `The ${field}`, at), specificationFields, `The ${field}`, at)
  }
  return { attributeName, type: withoutName(definition), pointer }
}

function withoutName(definition: Json): TypeDefinition {
  return Object.fromEntries(Object.entries(definition).filter(([field]) => field !== 'attributeName'))
}

function objectOf(given: unknown, what: string, pointer: string): Json {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Json
  throw fault('MalformedRequest', `${what} is a JSON object, not ${shownValue(given)}.`, pointer)
}

function refuseUnknown(given: Json, known: readonly string[], what: string, pointer: string): void {
  for (const field of Object.keys(given)) {
    if (!known.includes(field)) {
      throw fault('UnknownField', `${what} has no field '${field.slice(0, 60)}'.`, `${pointer}/${escapeStep(field)}`)
    }
  }
}

function optionalText(given: Json, field: string, pointer: string): string | undefined {
  const value = given[field]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '') return value
  throw fault('MalformedValue', `${field} is a name, not ${shownValue(value)}.`, `${pointer}/${field}`)
}

function numberOf(given: unknown, pointer: string): number | undefined {
  if (given === undefined || given === null) return undefined
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given)
  throw fault('MalformedValue', `A class number is digits, not ${shownValue(given)}.`, pointer)
}

function booleanOf(given: unknown, pointer: string): boolean | undefined {
  if (given === undefined) return undefined
  if (given === true || given === 'true') return true
  if (given === false || given === 'false') return false
  throw fault('MalformedValue', `isReferenceable is true or false, not ${shownValue(given)}.`, pointer)
}

/** A name, digits, or an object that holds the name. */
function superClassOf(given: unknown, pointer: string): string | null | undefined {
  if (given === undefined || given === null) return given
  if (typeof given === 'string' && given !== '') return given
  if (typeof given === 'object' && !Array.isArray(given)) {
    refuseUnknown(given as Json, ['className'], 'superClass', pointer)
    const name = (given as Json).className
    if (typeof name === 'string' && name !== '') return name
  }
  throw fault('MalformedValue', `superClass is a class name or number, not ${shownValue(given)}.`, pointer)
}

function fault(
  type: 'MalformedRequest' | 'MalformedValue' | 'UnknownField',
  message: string,
  pointer: string,
): AshlarError {
  return new AshlarError(type, message, [{ pointer, message }])
}

/** RFC 6901, section 3. */
export function escapeStep(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}
