/** Formats a schema as DO text that creates it, with classes sorted by name, so that versions can be compared line by line. */
import type { AttributeDefinition, TypeDefinition } from '@ashlar/client'
import { attributeProperties, classPropertyDescriptions, type PropertyForm } from '@ashlar/engine/properties'
import { stringifyExactly } from '../output/exact-json.ts'
import { closedExpression } from './do-pieces.ts'
import {
  definitionOf,
  type ListedClass,
  namespaceOf,
  type Properties,
  propertiesOf,
  type SchemaIndex,
  type SchemaSequence,
  type SchemaState,
} from './schema-state.ts'

/** Whether names are quoted only if they are not identifiers, or always, so that keywords can be names. */
export type Quoting = 'asNeeded' | 'always'

/** Sequences come first, since defaults of attributes may refer to them. */
export function schemaText({ classes, indexes, sequences }: SchemaState, quoting: Quoting): string {
  const classTexts = classes.map((cls) =>
    classText(cls, quoting)
      .map((line) => `  ${line}\n`)
      .join(''),
  )
  const indexTexts = indexes.map((index) => `${indexText(index, quoting)};\n`)
  const sequenceTexts = sequences.map((sequence) => `${sequenceText(sequence, quoting)};\n`)
  const before = sequenceTexts.length === 0 ? '' : `${sequenceTexts.join('')}\n`
  const behind = indexTexts.length === 0 ? '' : `\n${indexTexts.join('')}`
  return `${before}UPDATE SCHEMA {\n${classTexts.join('\n')}};\n${behind}`
}

/** Returns the text of each file by its name: one per namespace, and `default.do`, which has the sequences. */
export function schemaFiles(
  { classes, indexes, sequences }: SchemaState,
  quoting: Quoting,
): ReadonlyMap<string, string> {
  const sequenceTexts = sequences.length === 0 ? [] : [null]
  const namespaces = [...new Set([...sequenceTexts, ...classes.map(({ className }) => namespaceOf(className))])]
  return new Map(
    namespaces.map((namespace) => {
      const part = {
        classes: classes.filter(({ className }) => namespaceOf(className) === namespace),
        indexes: indexes.filter(({ indexedClass }) => namespaceOf(indexedClass) === namespace),
        sequences: namespace === null ? sequences : [],
      }
      return [`${namespace ?? 'default'}.do`, schemaText(part, quoting)]
    }),
  )
}

export function classText(
  { className, isReferenceable, superClass, attributes, properties, unvalidated }: ListedClass,
  quoting: Quoting,
): string[] {
  const above = superClass === null ? '' : ` SUPERCLASS ${pathText(superClass, quoting)}`
  const kind = `${isReferenceable ? '' : ' EMBEDDABLE'}${properties.isAbstract === true ? ' ABSTRACT' : ''}`
  const { isAbstract: _, checks: __, ...others } = properties
  const texts = propertyTexts(classPropertyDescriptions, others, quoting)
  const withProperties = texts.length === 0 ? '' : ` WITH {${texts.join(', ')}}`
  const head = `CREATE CLASS ${pathText(className, quoting)}${above}${kind}${withProperties}`
  const members = memberTexts({ attributes, properties }, quoting)
  if (members.length === 0) return [`${head} {}`]
  const { checks = [] } = properties as { readonly checks?: readonly { readonly name: string }[] }
  const names = [...attributes.map(({ attributeName }) => attributeName), ...checks.map(({ name }) => `check ${name}`)]
  const lines = members.map((member, at) => {
    // A comment, since whether objects satisfy the schema is not part of it. Without the comma, it would belong to the expression of a check.
    const note = unvalidated?.has(names[at] as string) === true ? ', // not validated' : ','
    return `  ${member}${at === members.length - 1 && note === ',' ? '' : note}`
  })
  return [`${head} {`, ...lines, '}']
}

/** The attributes and checks of a class. */
export function memberTexts(
  { attributes, properties }: Pick<ListedClass, 'attributes' | 'properties'>,
  quoting: Quoting,
): string[] {
  return [...attributes.map((attribute) => attributeText(attribute, quoting)), ...checkTexts(properties, quoting)]
}

function checkTexts({ checks = [] }: Properties, quoting: Quoting): string[] {
  return (checks as readonly { name: string; expression: string; message?: string }[]).map(
    ({ name, expression, message }) => {
      const text = `CHECK ${nameText(name, quoting)}: ${closedExpression(expression)}`
      return message === undefined ? text : `${text} MESSAGE ${literal(message)}`
    },
  )
}

export function attributeText(attribute: AttributeDefinition, quoting: Quoting): string {
  const { computed } = propertiesOf(attribute).own
  const text = `${nameText(attribute.attributeName, quoting)}: ${typeText(definitionOf(attribute), quoting)}`
  return computed === undefined ? text : `${text} = ${inBrackets(computed as { expression: string })}`
}

function inBrackets({ expression }: { readonly expression: string }): string {
  return `(${closedExpression(expression)})`
}

export function indexText({ name, indexedClass, isUnique, keys }: SchemaIndex, quoting: Quoting): string {
  const paths = keys.map((key) =>
    key
      .split('::')
      .map((part) => pathText(part, quoting))
      .join('::'),
  )
  return `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ${storedName(name, quoting)} ON ${pathText(indexedClass, quoting)} (${paths.join(', ')})`
}

export function sequenceText({ name, start, step }: SchemaSequence, quoting: Quoting): string {
  const first = start === '1' ? '' : ` START ${start}`
  return `CREATE SEQUENCE ${storedName(name, quoting)}${first}${step === '1' ? '' : ` STEP ${step}`}`
}

/** Quotes the name of an index or a sequence, which may contain dots and dashes. */
export function storedName(name: string, quoting: Quoting): string {
  return /^[A-Za-z_]\w*$/.test(name) ? nameText(name, quoting) : literal(name)
}

function pathText(path: string, quoting: Quoting): string {
  return path
    .split('.')
    .map((part) => nameText(part, quoting))
    .join('.')
}

function nameText(name: string, quoting: Quoting): string {
  return quoting === 'asNeeded' && /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name}\``
}

const typeWords: Readonly<Record<string, string>> = { datetime: 'DateTime' }

/** Fields of a type in the order in which they are written, with their keywords. */
const settings: readonly (readonly [keyof TypeDefinition, string])[] = [
  ['encoding', 'Encoding'],
  ['storage', 'Storage'],
  ['fixedLength', 'FixedLength'],
  ['precision', 'Precision'],
  ['scale', 'Scale'],
  ['referencedClass', 'Referenced'],
  ['inverseAttribute', 'Inverse'],
  ['edgeClass', 'EdgeClass'],
  ['edgeAttribute', 'EdgeAttribute'],
  ['class', 'Class'],
  ['keySpecification', 'Key'],
  ['elementSpecification', 'Element'],
  ['collectionTypeName', 'CollectionTypeName'],
]

const defaults: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  boolean: { encoding: 'binary', storage: 'byte' },
  character: { encoding: 'binary', storage: 'b32' },
  integer: { encoding: 'signed', storage: 'b32' },
  real: { encoding: 'ieee', storage: 'b64' },
  string: { encoding: 'utf8', storage: 'variable' },
  date: { encoding: 'objy' },
  time: { encoding: 'objy' },
  datetime: { encoding: 'objy', storage: 'datetime' },
  interval: { encoding: 'objy' },
  list: { storage: 'variable' },
  set: { collectionTypeName: 'TreeSetOfReferences' },
  map: { collectionTypeName: 'NameToReferenceMap' },
}

export function typeText(type: TypeDefinition, quoting: Quoting): string {
  const { logicalType } = type
  const word = typeWords[logicalType] ?? logicalType.charAt(0).toUpperCase() + logicalType.slice(1)
  const texts = settings.flatMap(([field, name]) => {
    const value = type[field]
    if (value === undefined || value === defaults[logicalType]?.[field]) return []
    return [`${name}: ${settingText(field, value, quoting)}`]
  })
  const { default: value }: Properties = { ...type }
  const properties = logicalType === 'json' ? { ...type, default: jsonDefault(value) } : { ...type }
  const all = [...texts, ...propertyTexts(attributeProperties, properties, quoting)]
  return all.length === 0 ? word : `${word}{${all.join(', ')}}`
}

/** An object or array as the default of an attribute of type json: neither an expression nor a list of values. */
class JsonDefault {
  readonly json: object

  constructor(json: object) {
    this.json = json
  }
}

function jsonDefault(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? new JsonDefault(value) : value
}

/** Formats a change of the properties of an attribute; null for a removed one. */
export function alterationText(className: string, attributeName: string, own: Properties, element: Properties): string {
  const { computed } = own
  const texts = [
    ...(computed === undefined ? [] : [`Computed: ${inBrackets(computed as { expression: string })}`]),
    ...propertyTexts(attributeProperties, own, 'asNeeded'),
  ]
  const elements = propertyTexts(attributeProperties, element, 'asNeeded')
  const all = [...texts, ...(elements.length === 0 ? [] : [`Element: {${elements.join(', ')}}`])].join(', ')
  return `ALTER CLASS ${pathText(className, 'asNeeded')} {ALTER ${nameText(attributeName, 'asNeeded')} {${all}}}`
}

/** Formats a change of the properties of the class; null for a removed one. `before`: all properties before it. */
export function classAlterationText(className: string, before: Properties, changed: Properties): string {
  const { checks, ...others } = changed
  const set = propertyTexts(classPropertyDescriptions, others, 'asNeeded')
  const [old, next] = [before.checks, checks === undefined ? before.checks : checks].map((some) => {
    return checkTexts({ checks: some ?? [] }, 'asNeeded')
  }) as [string[], string[]]
  const dropped = old.filter((text) => !next.includes(text)).map((text) => `DROP ${text.slice(0, text.indexOf(':'))}`)
  const added = next.filter((text) => !old.includes(text)).map((text) => `ADD ${text}`)
  const all = [...dropped, ...added, ...(set.length === 0 ? [] : [`SET {${set.join(', ')}}`])]
  return `ALTER CLASS ${pathText(className, 'asNeeded')} {${all.join(', ')}}`
}

interface NamedProperty {
  readonly field: string
  readonly word: string
  readonly form: PropertyForm
}

/** Formats properties within the braces of a type or a class (`Required`, `MinLength: 2`). */
function propertyTexts(named: readonly NamedProperty[], values: Properties, quoting: Quoting): string[] {
  return named.flatMap(({ field, word, form }) => {
    const value = values[field]
    if (value === undefined) return []
    if (form === 'flag' && value === true) return [word]
    // In a definition, the expression follows the braces.
    if (form === 'computed') return (value as { isStored?: boolean }).isStored === true ? ['Stored'] : []
    return [`${word}: ${propertyText(form, value, quoting)}`]
  })
}

function propertyText(form: PropertyForm, value: unknown, quoting: Quoting): string {
  if (value === null) return 'NULL'
  if (value instanceof JsonDefault) return literal(value.json)
  if (typeof value === 'object' && 'expression' in value) return inBrackets(value as { expression: string })
  switch (form) {
    case 'word':
      return nameText(String(value), quoting)
    case 'texts':
      return inParentheses(
        Object.entries(value as Properties).map(([name, text]) => `${literal(name)} AS ${literal(text)}`),
      )
    case 'choices':
      return inParentheses((value as readonly unknown[]).map(choiceText))
    default:
      return Array.isArray(value) ? inParentheses(value.map(literal)) : literal(value)
  }
}

function choiceText(choice: unknown): string {
  if (typeof choice !== 'object' || choice === null) return literal(choice)
  const { value, label } = choice as { readonly value: unknown; readonly label: string }
  return `${literal(value)} AS ${literal(label)}`
}

function inParentheses(values: readonly string[]): string {
  return `(${values.join(', ')})`
}

function literal(value: unknown): string {
  if (typeof value === 'object' && value !== null) return `JSON(${literal(stringifyExactly(value))})`
  if (typeof value !== 'string') return String(value).toUpperCase()
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

const paths: readonly string[] = ['referencedClass', 'inverseAttribute', 'edgeClass', 'class']

function settingText(field: string, value: TypeDefinition[keyof TypeDefinition], quoting: Quoting): string {
  if (typeof value === 'object') return typeText(value as TypeDefinition, quoting)
  const text = String(value)
  // A hidden name is qualified by its class.
  if (field === 'edgeAttribute') return pathText(text.replace('::', '.'), quoting)
  if (paths.includes(field)) return pathText(text, quoting)
  return field === 'encoding' || field === 'storage' ? text.charAt(0).toUpperCase() + text.slice(1) : text
}
