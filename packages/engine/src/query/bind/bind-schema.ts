/** Binds UPDATE SCHEMA and CREATE INDEX to schema commands (docs/query-language.md, Schema and indexes). */

import { AshlarError, truncateForMessage, unreachable } from '../../errors.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type {
  AlterAttributes,
  AttributeDescription,
  ClassDescription,
  CreateIndex,
  DefineClasses,
} from '../../schema/commands.ts'
import { attributeOf, definitionError } from '../../schema/define-attribute.ts'
import { isExpressionInput } from '../../schema/expression.ts'
import { simpleNameOf } from '../../schema/names.ts'
import { attributeProperties, type PropertiesInput } from '../../schema/properties/index.ts'
import { rootClassName } from '../../schema/root-class.ts'
import { wrongForm } from '../../types/definition-fields.ts'
import { logicalTypes, typeAliases } from '../../types/index.ts'
import { fieldForms, type TypeDefinition, type TypeField } from '../../types/type-definition.ts'
import type {
  AlterClause,
  AttributeDeclaration,
  CheckDeclaration,
  CreateIndexStatement,
  PropertyValue,
  QualifiedName,
  SchemaChange,
  Span,
  TypeExpression,
  TypeSetting,
} from '../language/ast.ts'
import { placed } from '../language/query-error.ts'
import { parseListOfValues } from '../parse/parse.ts'
import { attributePropertyNamed } from '../parse/parse-property.ts'
import { wordOfType } from '../values/value-type.ts'
import { expressionTokensMax } from './bind-computed.ts'
import { hint, refuseRoot, resolveClass } from './class-names.ts'
import type { Binder } from './scope.ts'
import { hintOfType } from './synonyms.ts'

/** Definition fields by the case-insensitive keywords of DO. */
const settingFields: Readonly<Record<string, TypeField>> = {
  encoding: 'encoding',
  storage: 'storage',
  fixedlength: 'fixedLength',
  precision: 'precision',
  scale: 'scale',
  referenced: 'referencedClass',
  inverse: 'inverseAttribute',
  edgeclass: 'edgeClass',
  edgeattribute: 'edgeAttribute',
  class: 'class',
  element: 'elementSpecification',
  key: 'keySpecification',
  keytype: 'keySpecification',
  collectiontypename: 'collectionTypeName',
  collectionname: 'collectionTypeName',
}

export function settingField(name: string): TypeField | undefined {
  const word = name.toLowerCase()
  return Object.hasOwn(settingFields, word) ? settingFields[word] : undefined
}

/** Keywords as shown in messages. */
const settingWords: Readonly<Record<string, string>> = {
  encoding: 'Encoding',
  storage: 'Storage',
  fixedLength: 'FixedLength',
  precision: 'Precision',
  scale: 'Scale',
  referencedClass: 'Referenced',
  inverseAttribute: 'Inverse',
  edgeClass: 'EdgeClass',
  edgeAttribute: 'EdgeAttribute',
  class: 'Class',
  elementSpecification: 'Element',
  keySpecification: 'Key',
  collectionTypeName: 'CollectionTypeName',
}

const fieldInMessage = new RegExp(
  `\\b(?:logicalType|${Object.keys(settingWords)
    .filter((field) => /[A-Z]/.test(field))
    .join('|')})\\b`,
  'g',
)

/** Translates field names in a command's error into keywords of the statement, so that the rules of `schema/` need not know the caller. */
export function withStatementWords(error: unknown): unknown {
  if (!(error instanceof AshlarError) || error.type !== 'InvalidDefinition') return error
  const translate = (message: string): string => {
    return message.replace(fieldInMessage, (field) =>
      field === 'logicalType' ? 'the type' : (settingWords[field] as string),
    )
  }
  const errors = error.errors.map((detail) => ({ ...detail, message: translate(detail.message) }))
  return new AshlarError(error.type, translate(error.message), errors, error.extensions)
}

/** Settings whose value is a class name, and settings whose value is a type. */
const classSettings = ['referencedClass', 'class', 'edgeClass']
const typeSettings = ['elementSpecification', 'keySpecification']

/** Changes that add classes and attributes; they form one batch, so that classes may refer to each other. */
export type AddingChange = Extract<SchemaChange, { kind: 'createClass' | 'alterClass' }>

export type AlterClassChange = Extract<SchemaChange, { kind: 'alterClass' }>

/** Throws QueryError for malformed definitions; the rules of the schema are checked when it is changed. */
export function bindDefineClasses(changes: readonly AddingChange[], binder: Binder): DefineClasses {
  const created = new Set<string>()
  /** Undefined if several classes share the simple name. */
  const bySimpleName = new Map<string, string | undefined>()
  for (const change of changes) {
    if (change.kind !== 'createClass') continue
    const { text } = change.className
    created.add(text)
    const simple = simpleNameOf(text)
    bySimpleName.set(simple, bySimpleName.has(simple) ? undefined : text)
  }
  const classNamed = (name: QualifiedName): string => {
    if (created.has(name.text)) return name.text
    const only = name.text === rootClassName ? undefined : bySimpleName.get(name.text)
    return only ?? resolveClass(binder, name).name
  }
  const classes = changes.map((change): ClassDescription => {
    if (change.kind === 'alterClass') {
      const { name } = refuseRoot(binder, change.className, resolveClass(binder, change.className))
      const attributes = addedAttributes(change).map((one) => describeAttribute(one, name, classNamed, binder))
      return { className: name, isReferenceable: undefined, superClass: undefined, attributes }
    }
    const { className, superClass, isEmbeddable, attributes } = change
    return {
      className: className.text,
      isReferenceable: !isEmbeddable,
      superClass: superClass && classNamed(superClass),
      properties: bindClassProperties(change, binder),
      attributes: attributes.map((one) => describeAttribute(one, className.text, classNamed, binder)),
    }
  })
  return { mode: 'createOrExtend', classes }
}

/** `cls` is the class that is changed. */
export function bindAlterClass(change: AlterClassChange, cls: SchemaClass, binder: Binder): AlterAttributes {
  const classNamed = (name: QualifiedName): string => resolveClass(binder, name).name
  return {
    kind: 'alterAttributes',
    className: String(cls.number),
    attributesToDelete: alterationsOf(change, 'drop').map(({ name }) => name.text),
    attributesToRename: alterationsOf(change, 'rename').map(({ name, newName }) => {
      return { originalName: name.text, newName: newName.text }
    }),
    attributesToChange: [],
    attributesToAdd: addedAttributes(change).map((one) => describeAttribute(one, cls.name, classNamed, binder)),
    attributesToConstrain: alterationsOf(change, 'alter').map(({ name, settings }) => {
      const type = cls.findAttribute(name.text)?.spec.logicalType
      const properties = bindConstraints(settings, binder, type)
      const element = settings.find(isElementSetting)?.value
      const inner = typeof element === 'object' && 'settings' in element ? element.settings : []
      return { attributeName: name.text, properties, elementProperties: bindConstraints(inner, binder) }
    }),
    classFields: bindClassProperties(
      { properties: alterationsOf(change, 'set').flatMap(({ properties }) => properties), checks: [] },
      binder,
    ),
    checksToAdd: alterationsOf(change, 'addCheck').map(({ check }) => describeCheck(check)),
    checksToDelete: alterationsOf(change, 'dropCheck').map(({ name }) => name),
    isCascading: false,
    isLossAllowed: false,
    isValidating: true,
  }
}

const isElementSetting = ({ name }: TypeSetting): boolean => settingField(name) === 'elementSpecification'

/** `type`: of the attribute, if it is known already. */
function bindConstraints(settings: readonly TypeSetting[], binder: Binder, type?: string): PropertiesInput {
  const properties: Record<string, unknown> = {}
  for (const setting of settings) {
    const { name, value } = setting
    if (isElementSetting(setting)) continue
    const property = attributePropertyNamed(name)
    if (property === undefined || typeof value !== 'object' || !('json' in value)) {
      throw binder.error(setting, `${truncateForMessage(name)} is no constraint, default or text of an attribute`)
    }
    const isDefault = property.field === 'default' && isExpressionInput(value.json)
    if (isDefault && type === 'json') throw binder.error(setting, noJsonExpression)
    const json = isDefault && type === 'list' ? defaultList(value.json, setting, binder) : value.json
    addProperty(properties, property.field, { ...value, json }, setting, binder)
  }
  return properties
}

/** In ALTER, the values of a list are parsed as an expression, since the parser does not know the type. Throws QueryError. */
function defaultList(json: unknown, span: Span, binder: Binder): unknown[] {
  try {
    const { expression } = json as { readonly expression: string }
    // It may end with a comment to the end of the line.
    return parseListOfValues(`(${expression}\n)`, expressionTokensMax)
  } catch (error) {
    if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
    throw binder.error(span, 'the default of a list has its values in parentheses')
  }
}

export function bindCreateIndex(statement: CreateIndexStatement, binder: Binder): CreateIndex {
  const { name, isUnique, className, attributes } = statement
  const cls = refuseRoot(binder, className, resolveClass(binder, className))
  const keyAttributes = attributes.map(({ text }) => ({ attributeName: text }))
  return { name: name.text, indexedClass: cls.name, isUnique, keyAttributes }
}

/** The alterations of one kind, in source order. */
export function alterationsOf<K extends AlterClause['kind']>(
  { alterations }: AlterClassChange,
  kind: K,
): Extract<AlterClause, { kind: K }>[] {
  return alterations.filter((one): one is Extract<AlterClause, { kind: K }> => one.kind === kind)
}

export function addedAttributes(change: AlterClassChange): AttributeDeclaration[] {
  return alterationsOf(change, 'add').map(({ attribute }) => attribute)
}

type ClassNamed = (name: QualifiedName) => string

function describeAttribute(
  { name, type }: AttributeDeclaration,
  className: string,
  classNamed: ClassNamed,
  binder: Binder,
): AttributeDescription {
  const properties: Record<string, unknown> = {}
  const elementProperties: Record<string, unknown> = {}
  const typeBinder = { what: attributeOf(className, name), classNamed, binder }
  const definition = describeType(type, { ...typeBinder, properties, elementProperties })
  return { attributeName: name, type: definition, properties, elementProperties }
}

interface TypeBinder {
  readonly what: string
  readonly classNamed: ClassNamed
  readonly binder: Binder
  /** Receives the properties of the attribute; undefined if the type has none, for example the type of a key. */
  readonly properties: Record<string, unknown> | undefined
  readonly elementProperties: Record<string, unknown> | undefined
}

function bindClassProperties(
  { properties: settings, checks }: Pick<Extract<SchemaChange, { kind: 'createClass' }>, 'properties' | 'checks'>,
  binder: Binder,
): PropertiesInput | undefined {
  if (settings.length === 0 && checks.length === 0) return undefined
  const properties: Record<string, unknown> = {}
  for (const setting of settings) addProperty(properties, setting.field, setting.value, setting, binder)
  if (checks.length > 0) properties.checks = checks.map(describeCheck)
  return properties
}

function describeCheck({ name, expression, message }: CheckDeclaration): unknown {
  return { name, expression, message }
}

function addProperty(
  properties: Record<string, unknown>,
  field: string,
  { json }: PropertyValue,
  span: Span,
  binder: Binder,
): void {
  if (field in properties) throw binder.error(span, `${field} is specified twice`)
  properties[field] = json
}

const noJsonExpression = "the default of a json attribute is a value, such as 1, 'text' or JSON('{}')"

function describeType(type: TypeExpression, of: TypeBinder): TypeDefinition {
  const { classNamed, binder } = of
  const logicalType = type.name.toLowerCase()
  if (!typeNames.includes(logicalType)) throw unknownType(type, classNamed, binder)
  const definition: Record<string, unknown> = { logicalType }
  for (const setting of type.settings) {
    const { name, value, start, end } = setting
    if (typeof value === 'object' && 'json' in value) {
      const property = attributePropertyNamed(name)
      if (property === undefined || of.properties === undefined) {
        throw binder.error({ start, end }, `${type.name} has no property ${truncateForMessage(name)} here`)
      }
      if (logicalType === 'json' && property.field === 'default' && isExpressionInput(value.json)) {
        throw binder.error({ start, end }, noJsonExpression)
      }
      addProperty(of.properties, property.field, value, { start, end }, binder)
      continue
    }
    const field = settingField(name)
    if (field === undefined) {
      const settings = Object.values(settingWords)
      const properties = of.properties === undefined ? [] : attributeProperties.map(({ word }) => word)
      const advice =
        hint(name, [...settings, ...properties]) || `; there are ${[...settings, ...properties].join(', ')}`
      throw binder.error({ start, end }, `a type has no setting '${truncateForMessage(name)}'${advice}`)
    }
    if (!fieldsOf(logicalType).includes(field)) {
      const availableSettings = Object.entries(settingWords).flatMap(([own, word]) =>
        fieldsOf(logicalType).includes(own) ? [word] : [],
      )
      const advice = availableSettings.length === 0 ? '' : `; it has ${availableSettings.join(', ')}`
      throw invalidDefinition(
        { start, end },
        `${type.name} has no setting '${truncateForMessage(name)}'${advice}`,
        binder,
      )
    }
    if (field in definition) throw binder.error({ start, end }, `the setting ${name} is specified twice`)
    definition[field] = settingValue(field, setting, of)
  }
  return definition
}

const typeNames: readonly string[] = [...logicalTypes.map(({ logicalType }) => logicalType), ...typeAliases.keys()]

function fieldsOf(word: string): readonly string[] {
  const named = typeAliases.get(word) ?? word
  return logicalTypes.find(({ logicalType }) => logicalType === named)?.fields ?? []
}

function unknownType(type: TypeExpression, classNamed: ClassNamed, binder: Binder): unknown {
  const words = [...logicalTypes.map(({ logicalType }) => logicalType), 'instant'].map(wordOfType)
  const advice = isClass(type, classNamed)
    ? `: a class is referred to by Reference{Referenced: ${type.name}}, embedded by Object{Class: ${type.name}}`
    : (hintOfType(type.name) ?? hint(type.name, words)) || `; there are ${words.join(', ')}`
  return invalidDefinition(type, `there is no type '${truncateForMessage(type.name)}'${advice}`, binder)
}

/** An InvalidDefinition error with its position, as the REST interface reports it. */
function invalidDefinition(span: Span, message: string, { text }: Binder): unknown {
  const end = message.endsWith('?') ? '' : '.'
  return placed(text, span, new AshlarError('InvalidDefinition', `${message}${end}`))
}

function isClass(type: TypeExpression, classNamed: ClassNamed): boolean {
  try {
    return classNamed({ text: type.name, start: type.start, end: type.end }) !== ''
  } catch (error) {
    if (error instanceof AshlarError) return false
    throw error
  }
}

/** Throws MalformedValue for a setting of another form. */
function settingValue(field: TypeField, setting: TypeSetting, of: TypeBinder): unknown {
  const { value } = setting
  if (typeof value === 'object' && 'json' in value) return unreachable('properties are bound apart from settings')
  const isNumber = typeof value === 'number'
  if (isNumber !== (fieldForms[field] === 'a number')) {
    const words = wrongForm(field, isNumber ? value : value.name)
    throw placed(of.binder.text, isNumber ? setting : value, definitionError('MalformedValue', of.what, words, []))
  }
  if (isNumber) return value
  if (classSettings.includes(field)) return of.classNamed({ text: value.name, start: value.start, end: value.end })
  // A hidden attribute is qualified by its class; both are parsed as one qualified name.
  if (field === 'edgeAttribute') return value.name.replace(/\.(?=[^.]*$)/, '::')
  if (typeSettings.includes(field)) {
    const properties = field === 'elementSpecification' ? of.elementProperties : undefined
    return describeType(value, { ...of, properties, elementProperties: undefined })
  }
  return field === 'encoding' || field === 'storage' ? value.name.toLowerCase() : value.name
}
