/** Reads class descriptions (contract 5.1) strictly: JSON types and fields only, without the catalog. */
import { shownValue, type TypeDefinition } from '../types/logical-type.ts'
import { booleanIn, fault, type JsonObject, objectOf, refuseUnknownFields, shownText } from './request-body.ts'

export interface AttributeDescription {
  readonly attributeName: string
  readonly type: TypeDefinition
  readonly pointer: string
}

export interface ClassDescription {
  /** Name, or digits that are a class number. Undefined where only `classNumber` is given. */
  readonly className: string | undefined
  /** Digits. Set in descriptions written by hand; a read representation's number is informational. */
  readonly classNumber: string | undefined
  readonly isReferenceable: boolean | undefined
  /** Undefined = not said; null = said to be none. Name or digits. */
  readonly superClass: string | null | undefined
  readonly attributes: readonly AttributeDescription[]
  readonly pointer: string
}

const classFields = ['className', 'classNumber', 'isReferenceable', 'superClass', 'attributes']
/** Fields that only a read representation has (contract 5.1.11); they make the rest of it informational too. */
const readFields = ['shapeNumber', 'isInternal', 'isDeleted']
const attributeFields = [
  'attributeName',
  'logicalType',
  'encoding',
  'storage',
  'fixedLength',
  'referencedClass',
  'inverseAttribute',
  'edgeClass',
  'edgeAttribute',
  'class',
  'collectionTypeName',
  'elementSpecification',
  'keySpecification',
]
const specificationFields = attributeFields.filter((field) => field !== 'attributeName')

/** Throws MalformedRequest, MalformedValue, UnknownField. */
export function readClassDescriptions(body: unknown): ClassDescription[] {
  if (!Array.isArray(body)) throw fault('MalformedRequest', 'The body is a JSON array of class descriptions.', '')
  return body.map((description: unknown, position) => readDescription(description, `/${position}`))
}

function readDescription(given: unknown, pointer: string): ClassDescription {
  const description = objectOf(given, 'A class description', pointer)
  refuseUnknownFields(description, [...classFields, ...readFields], 'A class description', pointer)
  const isRead = readFields.some((field) => Object.hasOwn(description, field))
  const className = optionalText(description, 'className', pointer)
  const classNumber = classNumberOf(description.classNumber, `${pointer}/classNumber`)
  if (className === undefined && classNumber === undefined) {
    throw fault('MalformedRequest', 'A class description names its class: className is needed.', `${pointer}/className`)
  }
  const { attributes } = description
  if (!Array.isArray(attributes)) {
    const name = shownText(className ?? String(classNumber))
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

export function readAttribute(given: unknown, pointer: string): AttributeDescription {
  const definition = objectOf(given, 'An attribute definition', pointer)
  refuseUnknownFields(definition, attributeFields, 'An attribute definition', pointer)
  const attributeName = optionalText(definition, 'attributeName', pointer)
  if (attributeName === undefined) {
    throw fault('MalformedRequest', 'An attribute definition has an attributeName.', `${pointer}/attributeName`)
  }
  if (definition.logicalType === undefined) {
    throw fault(
      'MalformedRequest',
      `Attribute ${shownText(attributeName)}: logicalType is needed.`,
      `${pointer}/logicalType`,
    )
  }
  for (const field of ['elementSpecification', 'keySpecification']) {
    const nested = definition[field]
    if (nested === undefined || nested === null) continue
    const at = `${pointer}/${field}`
    refuseUnknownFields(objectOf(nested, `The ${field}`, at), specificationFields, `The ${field}`, at)
  }
  return { attributeName, type: withoutName(definition), pointer }
}

function withoutName(definition: JsonObject): TypeDefinition {
  return Object.fromEntries(Object.entries(definition).filter(([field]) => field !== 'attributeName'))
}

function optionalText(given: JsonObject, field: string, pointer: string): string | undefined {
  const value = given[field]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '') return value
  throw fault('MalformedValue', `${field} is a name, not ${shownValue(value)}.`, `${pointer}/${field}`)
}

/** Also numbers too large to be any class's are numbers: there is no such class, which is another error. */
function classNumberOf(given: unknown, pointer: string): string | undefined {
  if (given === undefined || given === null) return undefined
  const isWhole = typeof given === 'bigint' || (typeof given === 'number' && Number.isInteger(given))
  if (isWhole && given >= 0) return BigInt(given).toString()
  if (typeof given === 'string' && /^\d+$/.test(given)) return given
  throw fault('MalformedValue', `A class number is digits, not ${shownValue(given)}.`, pointer)
}

function booleanOf(given: unknown, pointer: string): boolean | undefined {
  const value = booleanIn(given)
  if (value !== undefined || given === undefined) return value
  throw fault('MalformedValue', `isReferenceable is true or false, not ${shownValue(given)}.`, pointer)
}

/** A name, digits, or an object that holds the name. */
function superClassOf(given: unknown, pointer: string): string | null | undefined {
  if (given === undefined || given === null) return given
  if (typeof given === 'string' && given !== '') return given
  if (typeof given === 'object' && !Array.isArray(given)) {
    refuseUnknownFields(given as JsonObject, ['className'], 'superClass', pointer)
    const name = (given as JsonObject).className
    if (typeof name === 'string' && name !== '') return name
  }
  throw fault('MalformedValue', `superClass is a class name or number, not ${shownValue(given)}.`, pointer)
}
