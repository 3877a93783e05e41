/** Infers the classes for the records of a file: one attribute per column, of the narrowest type that represents all values with all their digits. */
import type { AttributeDefinition, ClassDescription } from '@ashlar/client'
import { hasGroups, kindBits } from './cell-kinds.ts'
import type { Definition } from './file-record.ts'
import type { ObservedAttributes, ObservedValues, OtherText } from './observed-values.ts'

const string: Definition = { logicalType: 'string' }

/** Ordered from the narrowest type. */
const scalarTypes: readonly (readonly [bit: number, definition: Definition])[] = [
  [kindBits.boolean, { logicalType: 'boolean' }],
  [kindBits.integer, { logicalType: 'integer', storage: 'b64' }],
  [kindBits.unsigned, { logicalType: 'integer', encoding: 'unsigned', storage: 'b64' }],
  [kindBits.real, { logicalType: 'real' }],
  [kindBits.date, { logicalType: 'date' }],
  [kindBits.datetime, { logicalType: 'datetime' }],
  [kindBits.instant, { logicalType: 'datetime', storage: 'datetimeoffset' }],
  [kindBits.time, { logicalType: 'time' }],
  [kindBits.guid, { logicalType: 'guid' }],
]

export interface Inferred {
  /** Classes to create: embedded ones first, named after class and attribute (`OrderAddress`), and last the class of the objects. */
  readonly classes: readonly ClassDescription[]
  /** Notes about types that may be unexpected. */
  readonly notes: readonly string[]
}

/** `order`: attributes in the order of the columns, since JavaScript lists integer-like names first. Missing ones follow. */
export function inferClasses(className: string, attributes: ObservedAttributes, order: readonly string[]): Inferred {
  const classes: ClassDescription[] = []
  const notes: string[] = []
  const own = attributesOf(className, attributes, order, { classes, notes, path: [] })
  return { classes: [...classes, { className, isReferenceable: true, attributes: own }], notes }
}

interface Place {
  readonly classes: ClassDescription[]
  readonly notes: string[]
  readonly path: readonly string[]
}

function attributesOf(
  className: string,
  { byName }: ObservedAttributes,
  order: readonly string[],
  { path, ...made }: Place,
): AttributeDefinition[] {
  const names = new Set([...order.filter((name) => byName.has(name)), ...byName.keys()])
  return [...names].map((name) => {
    const values = byName.get(name) as ObservedValues
    return { attributeName: name, ...definitionOf(className, name, values, { ...made, path: [...path, name] }) }
  })
}

function definitionOf(className: string, attribute: string, values: ObservedValues, place: Place): Definition {
  const { definition, scalars, arrays, objects, element, attributes } = values
  if (definition !== undefined) return definition
  const forms = [scalars, arrays, objects].filter((count) => count > 0).length
  if (forms === 1 && arrays > 0 && !values.hasOddArrays && isUniform(element))
    return {
      logicalType: 'list',
      elementSpecification: element === undefined ? string : definitionOf(className, attribute, element, place),
    }
  if (forms === 1 && attributes !== undefined) {
    const name = `${className}${attribute.charAt(0).toUpperCase()}${attribute.slice(1)}`
    // Embedded classes come before the classes that use them.
    const inner = attributesOf(name, attributes, [], place)
    place.classes.push({ className: name, isReferenceable: false, attributes: inner })
    return { logicalType: 'object', class: name }
  }
  if (arrays + objects > 0) place.notes.push(noteOfMixed(values, place.path.join('.')))
  else if (scalars > 0) {
    const found = scalarTypes.find(([bit]) => (values.kinds & bit) !== 0)
    if (found !== undefined) return found[1]
    const note = noteOfException(values, place.path.join('.'))
    if (note !== undefined) place.notes.push(note)
  }
  return string
}

/** Returns true if the elements of a list are all scalars or all objects. */
function isUniform(element: ObservedValues | undefined): boolean {
  return element === undefined || (element.arrays === 0 && (element.scalars === 0 || element.objects === 0))
}

function noteOfMixed({ arrays, scalars, objects }: ObservedValues, path: string): string {
  const why =
    scalars === 0 && objects === 0
      ? 'its arrays have nulls, arrays, or values of several kinds in them, which no list holds'
      : `it has ${[arrays > 0 ? 'arrays' : '', objects > 0 ? 'objects' : '', scalars > 0 ? 'other values' : ''].filter((word) => word !== '').join(' and ')}`
  return `Attribute ${path} is a string with the JSON of each value, since ${why}.`
}

const excerptCharacters = 40

function noteOfException(values: ObservedValues, path: string): string | undefined {
  const other = values.exception()
  if (other === undefined) return undefined
  const { text, line, noun } = other
  const excerpt = text.length > excerptCharacters ? `${text.slice(0, excerptCharacters)}…` : text
  const rule = ruleFor(other)
  const how =
    rule === undefined || values.column === undefined || text.length > excerptCharacters
      ? ''
      : ` To import ${noun === 'number' ? 'numbers' : 'such values as null'}, give --mapping a file with ${JSON.stringify({ columns: { [values.column]: rule } })}.`
  const why =
    noun === 'number'
      ? `no numeric type holds '${excerpt}' in line ${line} as it is written`
      : `'${excerpt}' in line ${line} is not a ${noun}`
  return `Attribute ${path} is a string, since ${why}.${how}`
}

function ruleFor({ text, noun }: OtherText): object | undefined {
  if (noun === 'number' && hasGroups(text)) return { decimal: '.' }
  // A text such as `no` means a boolean rather than null.
  return noun === 'boolean' || /\d/.test(text) ? undefined : { nulls: [text] }
}
