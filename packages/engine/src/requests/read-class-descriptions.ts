/** Reads class descriptions (contract 5.1) strictly: JSON types and fields only. */
import type { CommandPlace } from '../errors.ts'
import { commandError, truncateForMessage } from '../schema/command-error.ts'
import type { AttributeDescription, ClassDescription, DefineClasses, DefineMode } from '../schema/commands.ts'
import { formatForMessage, type TypeDefinition } from '../types/logical-type.ts'
import { booleanIn, type JsonObject, objectOf, refuseUnknownFields } from './json-fields.ts'

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
export function readDefineClasses(body: unknown, mode: DefineMode): DefineClasses {
  if (!Array.isArray(body))
    throw commandError('MalformedRequest', 'The body is a JSON array of class descriptions.', [])
  return { mode, classes: body.map((description: unknown, position) => readDescription(description, [position])) }
}

function readDescription(given: unknown, place: CommandPlace): ClassDescription {
  const description = objectOf(given, 'A class description', place)
  refuseUnknownFields(description, [...classFields, ...readFields], 'A class description', place)
  const isRead = readFields.some((field) => Object.hasOwn(description, field))
  const className = optionalText(description, 'className', place)
  const classNumber = classNumberOf(description.classNumber, [...place, 'classNumber'])
  if (className === undefined && classNumber === undefined) {
    throw commandError('MalformedRequest', 'A class description names its class: className is needed.', [
      ...place,
      'className',
    ])
  }
  const { attributes } = description
  if (!Array.isArray(attributes)) {
    const name = truncateForMessage(className ?? String(classNumber))
    throw commandError('MalformedRequest', `Class ${name}: attributes is needed, an array.`, [...place, 'attributes'])
  }
  return {
    className,
    classNumber: isRead && className !== undefined ? undefined : classNumber,
    isReferenceable: booleanOf(description.isReferenceable, [...place, 'isReferenceable']),
    superClass: superClassOf(description.superClass, [...place, 'superClass']),
    attributes: attributes.map((attribute: unknown, position) => {
      return readAttribute(attribute, [...place, 'attributes', position])
    }),
  }
}

export function readAttribute(given: unknown, place: CommandPlace): AttributeDescription {
  const definition = objectOf(given, 'An attribute definition', place)
  refuseUnknownFields(definition, attributeFields, 'An attribute definition', place)
  const attributeName = optionalText(definition, 'attributeName', place)
  if (attributeName === undefined) {
    throw commandError('MalformedRequest', 'An attribute definition has an attributeName.', [...place, 'attributeName'])
  }
  if (definition.logicalType === undefined) {
    throw commandError('MalformedRequest', `Attribute ${truncateForMessage(attributeName)}: logicalType is needed.`, [
      ...place,
      'logicalType',
    ])
  }
  for (const field of ['elementSpecification', 'keySpecification']) {
    const nested = definition[field]
    if (nested === undefined || nested === null) continue
    const at = [...place, field]
    refuseUnknownFields(objectOf(nested, `The ${field}`, at), specificationFields, `The ${field}`, at)
  }
  return { attributeName, type: withoutName(definition) }
}

function withoutName(definition: JsonObject): TypeDefinition {
  return Object.fromEntries(Object.entries(definition).filter(([field]) => field !== 'attributeName'))
}

function optionalText(given: JsonObject, field: string, place: CommandPlace): string | undefined {
  const value = given[field]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '') return value
  throw commandError('MalformedValue', `${field} is a name, not ${formatForMessage(value)}.`, [...place, field])
}

/** Also numbers too large to be any class's are numbers: there is no such class, which is another error. */
function classNumberOf(given: unknown, place: CommandPlace): string | undefined {
  if (given === undefined || given === null) return undefined
  const isWhole = typeof given === 'bigint' || (typeof given === 'number' && Number.isInteger(given))
  if (isWhole && given >= 0) return BigInt(given).toString()
  if (typeof given === 'string' && /^\d+$/.test(given)) return given
  throw commandError('MalformedValue', `A class number is digits, not ${formatForMessage(given)}.`, place)
}

function booleanOf(given: unknown, place: CommandPlace): boolean | undefined {
  const value = booleanIn(given)
  if (value !== undefined || given === undefined) return value
  throw commandError('MalformedValue', `isReferenceable is true or false, not ${formatForMessage(given)}.`, place)
}

/** A name, digits, or an object that holds the name. */
function superClassOf(given: unknown, place: CommandPlace): string | null | undefined {
  if (given === undefined || given === null) return given
  if (typeof given === 'string' && given !== '') return given
  if (typeof given === 'object' && !Array.isArray(given)) {
    refuseUnknownFields(given as JsonObject, ['className'], 'superClass', place)
    const name = (given as JsonObject).className
    if (typeof name === 'string' && name !== '') return name
  }
  throw commandError('MalformedValue', `superClass is a class name or number, not ${formatForMessage(given)}.`, place)
}
