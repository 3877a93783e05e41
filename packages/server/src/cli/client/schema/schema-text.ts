/** A schema as the text of DO that makes it: one class after the other by name, so that two versions of it can be compared line by line. */
import type { AttributeDefinition, TypeDefinition } from '@ashlar/client'
import { namespaceOf, type SchemaClass, type SchemaIndex, type SchemaState, typeOf } from './schema-state.ts'

/** How names are quoted: only if they are no identifiers, or always, so that keywords can be names. */
export type Quoting = 'asNeeded' | 'always'

export function schemaText({ classes, indexes }: SchemaState, quoting: Quoting): string {
  const ofClasses = classes.map((cls) =>
    classText(cls, quoting)
      .map((line) => `  ${line}\n`)
      .join(''),
  )
  const ofIndexes = indexes.map((index) => `${indexText(index, quoting)};\n`)
  return `UPDATE SCHEMA {\n${ofClasses.join('\n')}};\n${ofIndexes.length === 0 ? '' : `\n${ofIndexes.join('')}`}`
}

/** Returns the text of each file by its name: one per namespace, and `default.do`. */
export function schemaFiles({ classes, indexes }: SchemaState, quoting: Quoting): ReadonlyMap<string, string> {
  const namespaces = [...new Set(classes.map(({ className }) => namespaceOf(className)))]
  return new Map(
    namespaces.map((namespace) => {
      const part = {
        classes: classes.filter(({ className }) => namespaceOf(className) === namespace),
        indexes: indexes.filter(({ indexedClass }) => namespaceOf(indexedClass) === namespace),
      }
      return [`${namespace ?? 'default'}.do`, schemaText(part, quoting)]
    }),
  )
}

export function classText(
  { className, isReferenceable, superClass, attributes }: SchemaClass,
  quoting: Quoting,
): string[] {
  const above = superClass === null ? '' : ` SUPERCLASS ${pathText(superClass, quoting)}`
  const head = `CREATE CLASS ${pathText(className, quoting)}${above}${isReferenceable ? '' : ' EMBEDDABLE'}`
  if (attributes.length === 0) return [`${head} {}`]
  const lines = attributes.map((attribute, at) => {
    return `  ${attributeText(attribute, quoting)}${at === attributes.length - 1 ? '' : ','}`
  })
  return [`${head} {`, ...lines, '}']
}

export function attributeText(attribute: AttributeDefinition, quoting: Quoting): string {
  return `${nameText(attribute.attributeName, quoting)}: ${typeText(typeOf(attribute), quoting)}`
}

export function indexText({ name, indexedClass, isUnique, keys }: SchemaIndex, quoting: Quoting): string {
  const paths = keys.map((key) =>
    key
      .split('::')
      .map((part) => pathText(part, quoting))
      .join('::'),
  )
  const word = /^[A-Za-z_]\w*$/.test(name) ? nameText(name, quoting) : `'${name.replaceAll("'", "''")}'`
  return `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ${word} ON ${pathText(indexedClass, quoting)} (${paths.join(', ')})`
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

/** Settings in the order in which they are written, with what each type has without them. */
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
  const given = settings.flatMap(([field, name]) => {
    const value = type[field]
    if (value === undefined || value === defaults[logicalType]?.[field]) return []
    return [`${name}: ${settingText(field, value, quoting)}`]
  })
  return given.length === 0 ? word : `${word}{${given.join(', ')}}`
}

const paths: readonly string[] = ['referencedClass', 'inverseAttribute', 'edgeClass', 'class']

function settingText(field: string, value: TypeDefinition[keyof TypeDefinition], quoting: Quoting): string {
  if (typeof value === 'object') return typeText(value, quoting)
  const text = String(value)
  // A name that is hidden is qualified by its class.
  if (field === 'edgeAttribute') return pathText(text.replace('::', '.'), quoting)
  if (paths.includes(field)) return pathText(text, quoting)
  return field === 'encoding' || field === 'storage' ? text.charAt(0).toUpperCase() + text.slice(1) : text
}
