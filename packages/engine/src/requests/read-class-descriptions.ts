/** Reads class descriptions (contract 5.1) strictly: JSON types and fields only. */
import { type CommandPlace, truncateForMessage } from '../errors.ts'
import { commandError } from '../schema/command-error.ts'
import type {
  AttributeConstraints,
  AttributeDescription,
  ClassDescription,
  DefineClasses,
  DefineMode,
  DefineSettings,
} from '../schema/commands.ts'
import { attributeOf, definitionError } from '../schema/define-attribute.ts'
import { classPropertyDescriptions } from '../schema/properties/class-properties.ts'
import { attributeProperties, type PropertiesInput } from '../schema/properties/index.ts'
import { runToEnd } from '../store/time-slice.ts'
import { wrongForm } from '../types/definition-fields.ts'
import { formatForMessage } from '../types/logical-type.ts'
import { fieldForms, type TypeDefinition, type TypeField } from '../types/type-definition.ts'
import { booleanIn, isObject, type JsonObject, refuseUnknownFields, requireJsonObject } from './json-fields.ts'

const classFields = ['className', 'classNumber', 'isReferenceable', 'superClass', 'attributes']
/** Fields of read representations only (contract 5.1.11); their presence makes derived fields informational too. */
const readFields = ['shapeNumber', 'isInternal', 'isDeleted']
const propertyFields = attributeProperties.map(({ field }) => field)
const typeFields = Object.keys(fieldForms)
const elementFields = [...typeFields, ...propertyFields]
/** Ignored in requests. */
const ignoredFields = ['isValidated']
const attributeFields = ['attributeName', ...elementFields, ...ignoredFields]
const classProperties = classPropertyDescriptions.map(({ field }) => field)

/** Throws MalformedRequest, MalformedValue, UnknownField. */
export function readDefineClasses(body: unknown, mode: DefineMode): DefineClasses {
  return runToEnd(readDefineClassesSteps(body, mode))
}

/** Like `readDefineClasses`; yields between classes. */
export function* readDefineClassesSteps(
  body: unknown,
  mode: DefineMode,
  { isLossAllowed = false }: Partial<DefineSettings> = {},
): Generator<undefined, DefineClasses> {
  if (!Array.isArray(body))
    throw commandError('MalformedRequest', 'The body is a JSON array of class descriptions.', [])
  const classes: ClassDescription[] = []
  for (const [position, description] of body.entries()) {
    if (position > 0) yield
    classes.push(readDescription(description, [position]))
  }
  return { mode, classes, isLossAllowed }
}

function readDescription(input: unknown, place: CommandPlace): ClassDescription {
  const description = requireJsonObject(input, 'A class description', place)
  const what =
    named(description.className) === undefined
      ? 'A class description'
      : `The description of ${classOf(description.className)}`
  refuseUnknownFields(description, [...classFields, ...classProperties, ...readFields], what, place)
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
  const name = className ?? String(classNumber)
  if (!Array.isArray(attributes)) {
    const message = `Class ${truncateForMessage(name)}: attributes is needed, an array.`
    throw commandError('MalformedRequest', message, [...place, 'attributes'])
  }
  return {
    className,
    classNumber: isRead && className !== undefined ? undefined : classNumber,
    isReferenceable: booleanOf(description.isReferenceable, name, [...place, 'isReferenceable']),
    superClass: superClassOf(description.superClass, name, [...place, 'superClass']),
    properties: fieldsAmong(description, classProperties),
    attributes: attributes.map((attribute: unknown, position) => {
      return readAttribute(attribute, [...place, 'attributes', position], name)
    }),
  }
}

/** `className`: as spelled in the request. */
export function readAttribute(input: unknown, place: CommandPlace, className: string): AttributeDescription {
  const definition = requireJsonObject(input, `An attribute definition of ${classOf(className)}`, place)
  refuseUnknownFields(definition, attributeFields, `The definition of ${attributeIn(definition, className)}`, place)
  const attributeName = optionalText(definition, 'attributeName', place)
  if (attributeName === undefined) {
    const message = `An attribute definition of ${classOf(className)} needs an attributeName.`
    throw commandError('MalformedRequest', message, [...place, 'attributeName'])
  }
  const what = attributeOf(truncateForMessage(className), truncateForMessage(attributeName))
  if (definition.logicalType === undefined) {
    throw commandError('MalformedRequest', `${what}: logicalType is needed.`, [...place, 'logicalType'])
  }
  const { elementSpecification: element } = definition
  const properties = fieldsAmong(definition, propertyFields)
  const elementProperties = isObject(element) ? fieldsAmong(element, propertyFields) : undefined
  return {
    attributeName,
    type: readTypeDefinition(definition, what, place),
    ...(properties === undefined ? {} : { properties }),
    ...(elementProperties === undefined ? {} : { elementProperties }),
  }
}

/** `value`: a name, if it is a text. */
function named(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? truncateForMessage(value) : undefined
}

function classOf(className: unknown): string {
  return `class ${named(className)}`
}

/** The subject of errors that may come before the name of the attribute is checked. */
function attributeIn({ attributeName }: JsonObject, className: string): string {
  const name = named(attributeName)
  return name === undefined ? `an attribute of ${classOf(className)}` : `attribute ${name} of ${classOf(className)}`
}

/** Reads an element of `attributesToConstrain`: the property fields, but not the type fields. */
export function readConstraints(input: unknown, place: CommandPlace, className: string): AttributeConstraints {
  const what = 'An entry of attributesToConstrain'
  const definition = requireJsonObject(input, what, place)
  const allowed = ['attributeName', ...propertyFields, 'elementSpecification', ...ignoredFields]
  const attribute = attributeIn(definition, className)
  refuseUnknownFields(definition, allowed, `${what} for ${attribute}`, place)
  const attributeName = optionalText(definition, 'attributeName', place)
  if (attributeName === undefined) {
    throw commandError('MalformedRequest', `${what} must have an attributeName.`, [...place, 'attributeName'])
  }
  const { elementSpecification } = definition
  const elementPlace = [...place, 'elementSpecification']
  const element =
    elementSpecification === undefined
      ? {}
      : requireJsonObject(elementSpecification, 'The elementSpecification', elementPlace)
  refuseUnknownFields(element, propertyFields, `The elementSpecification of ${attribute}`, elementPlace)
  return { attributeName, properties: fieldsAmong(definition, propertyFields), elementProperties: element }
}

export function readClassFields(input: unknown, place: CommandPlace, className: string): PropertiesInput {
  const fields = requireJsonObject(input, 'classFields', place)
  refuseUnknownFields(fields, classProperties, `The classFields of ${classOf(className)}`, place)
  return fields
}

/** The fields with these names; undefined if there are none. */
function fieldsAmong(input: JsonObject, names: readonly string[]): PropertiesInput | undefined {
  const fields = Object.entries(input).filter(([name]) => names.includes(name))
  return fields.length === 0 ? undefined : Object.fromEntries(fields)
}

/** `what`: class and attribute, for messages. Whether the fields fit the type is checked with the catalog. */
function readTypeDefinition(input: JsonObject, what: string, place: CommandPlace): TypeDefinition {
  const fields = (Object.entries(input) as [TypeField, unknown][]).filter(([field]) => field in fieldForms)
  return Object.fromEntries(
    fields.map(([field, value]) => [field, readTypeField(field, value, what, [...place, field])]),
  )
}

function readTypeField(field: TypeField, input: unknown, what: string, place: CommandPlace): unknown {
  if (input === null && field !== 'logicalType') return null
  switch (fieldForms[field]) {
    case 'an object': {
      const specification = requireJsonObject(input, `${what}: ${field}`, place)
      const allowed = field === 'elementSpecification' ? elementFields : typeFields
      refuseUnknownFields(specification, allowed, `${what}: ${field}`, place)
      return readTypeDefinition(specification, what, place)
    }
    case 'a number':
      if (typeof input === 'number' || typeof input === 'bigint') return input
      if (typeof input === 'string' && /^\d{1,10}$/.test(input)) return Number(input)
      break
    default:
      if (typeof input === 'string') return input
  }
  throw definitionError('MalformedValue', what, wrongForm(field, input), place)
}

function optionalText(input: JsonObject, field: string, place: CommandPlace): string | undefined {
  const value = input[field]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '') return value
  throw commandError('MalformedValue', `${field} is a name, not ${formatForMessage(value)}.`, [...place, field])
}

/** Accepts numbers too large for a class number: that is a different error, since no such class exists. */
function classNumberOf(input: unknown, place: CommandPlace): string | undefined {
  if (input === undefined || input === null) return undefined
  const isInteger = typeof input === 'bigint' || (typeof input === 'number' && Number.isInteger(input))
  if (isInteger && input >= 0) return BigInt(input).toString()
  if (typeof input === 'string' && /^\d+$/.test(input)) return input
  throw commandError('MalformedValue', `A class number is digits, not ${formatForMessage(input)}.`, place)
}

function booleanOf(input: unknown, className: string, place: CommandPlace): boolean | undefined {
  const value = booleanIn(input)
  if (value !== undefined || input === undefined) return value
  const message = `Class ${truncateForMessage(className)}: isReferenceable is true or false, not ${formatForMessage(input)}.`
  throw commandError('MalformedValue', message, place)
}

/** A name, digits, or an object with a name. */
function superClassOf(input: unknown, className: string, place: CommandPlace): string | null | undefined {
  if (input === undefined || input === null) return input
  if (typeof input === 'string' && input !== '') return input
  if (typeof input === 'object' && !Array.isArray(input)) {
    refuseUnknownFields(input as JsonObject, ['className'], `The superClass of ${classOf(className)}`, place)
    const name = (input as JsonObject).className
    if (typeof name === 'string' && name !== '') return name
  }
  const message = `Class ${truncateForMessage(className)}: superClass is a class name or number, not ${formatForMessage(input)}.`
  throw commandError('MalformedValue', message, place)
}
