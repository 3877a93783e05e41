/** Parser of properties in schema statements: `Required`, `MinLength: 2`, `Enumeration: ('a', 'b' AS 'B')`. */
import type { PropertyForm } from '../../schema/properties/attribute-property.ts'
import { classPropertyDescriptions } from '../../schema/properties/class-properties.ts'
import { attributeProperties } from '../../schema/properties/index.ts'
import { exactNumberOf } from '../../types/hidden-fraction.ts'
import { JsonValue, parseJsonText } from '../../types/json-value.ts'
import { ValueError } from '../../types/logical-type.ts'
import type { PropertySetting, PropertyValue } from '../language/ast.ts'
import type { Token } from './token.ts'
import type { TokenCursor } from './token-cursor.ts'

interface NamedProperty {
  readonly field: string
  readonly form: PropertyForm
}

const propertiesByWord = byWord(attributeProperties)
const bracedProperties = classPropertyDescriptions.filter(({ form }) => form !== 'checks')
const classPropertiesByWord = byWord(bracedProperties)

function byWord(
  properties: readonly (NamedProperty & { readonly word: string })[],
): ReadonlyMap<string, NamedProperty> {
  return new Map(properties.map((property) => [property.word.toLowerCase(), property]))
}

/** In the braces of a computed attribute: its values are stored with the objects. */
export const storedWord = 'STORED'

/** The property of a type setting; undefined for a setting of the type itself. */
export function attributePropertyNamed(word: string): NamedProperty | undefined {
  return propertiesByWord.get(word.toLowerCase())
}

/** `{DisplayAttribute: name, Title: 'A title'}` */
export function parseClassProperties(cursor: TokenCursor): PropertySetting[] {
  return cursor.braces(() => {
    const name = cursor.expectName('a property of the class')
    const property = classPropertiesByWord.get(name.text.toLowerCase())
    if (property === undefined) {
      throw cursor.mistaken(
        `a class has no property '${name.text}'; there are ${bracedProperties.map(({ word }) => word).join(', ')}`,
      )
    }
    return {
      field: property.field,
      value: parsePropertyValue(cursor, property.form, false),
      ...cursor.spanFrom(name.start),
    }
  })
}

/** The value after the property's word; `isList`: the attribute is a list, whose values are in parentheses. */
export function parsePropertyValue(cursor: TokenCursor, form: PropertyForm, isList: boolean): PropertyValue {
  const { start } = cursor.peek()
  if (form === 'flag' && !cursor.isSymbol(':')) return { json: true, start: cursor.lastEnd, end: cursor.lastEnd }
  cursor.expectSymbol(':')
  return { json: parseJson(cursor, form, isList), ...cursor.spanFrom(start) }
}

function parseJson(cursor: TokenCursor, form: PropertyForm, isList: boolean): unknown {
  if (cursor.takeWord('NULL')) return null
  switch (form) {
    case 'expression':
    case 'computed':
      return parseInParentheses(cursor)
    case 'word':
      return cursor.isName() ? cursor.next().text : cursor.expectString('a name')
    case 'texts':
      return Object.fromEntries(parseValues(cursor).map(([name, text]) => [name, text]))
    case 'choices':
      return parseValues(cursor).map(([value, label]) => (label === undefined ? value : { value, label }))
    case 'value':
      if (!cursor.isSymbol('(')) return parseValue(cursor)
      return isList ? parseListValues(cursor) : parseInParentheses(cursor)
    default:
      return parseLiteral(cursor)
  }
}

/** `(e)`: an expression of the schema, parsed when it is bound with its class. */
export function parseInParentheses(cursor: TokenCursor): { readonly expression: string } {
  if (!cursor.isSymbol('('))
    throw cursor.unexpected(["'('"], 'an expression of the schema stands in parentheses: (a + 1)')
  const length = cursor.closing(0)
  const { end: from } = cursor.peek()
  const { start: to } = cursor.peek(length)
  for (let i = 0; i < length; i++) cursor.next()
  cursor.expectSymbol(')')
  return { expression: cursor.text.slice(from, to).trim() }
}

/** A literal, or `JSON('…')`. */
function parseValue(cursor: TokenCursor): unknown {
  if (!cursor.takeWord('JSON')) return parseLiteral(cursor)
  cursor.expectSymbol('(')
  const text = cursor.expectString('a text of JSON')
  cursor.expectSymbol(')')
  try {
    return new JsonValue(parseJsonText(text))
  } catch (error) {
    throw error instanceof ValueError ? cursor.mistaken(error.message) : error
  }
}

/** `(value, value AS 'text', …)` */
function parseValues(cursor: TokenCursor): (readonly [unknown, string | undefined])[] {
  return parseList(cursor, () => [
    parseLiteral(cursor),
    cursor.takeWord('AS') ? cursor.expectString('a text') : undefined,
  ])
}

/** `(value, …)` */
export function parseListValues(cursor: TokenCursor): unknown[] {
  return parseList(cursor, parseValue)
}

/** `(item, …)`, or `()` */
function parseList<T>(cursor: TokenCursor, item: (cursor: TokenCursor) => T): T[] {
  if (!cursor.isSymbol('(')) throw cursor.unexpected(["'('"], "several values stand in parentheses: ('a', 'b')")
  cursor.next()
  if (cursor.takeSymbol(')')) return []
  const items = cursor.list(() => item(cursor))
  cursor.expectSymbol(')')
  return items
}

function adviceOnLiteral({ kind, text }: Token): string | undefined {
  if (kind === 'name') return "a text stands in quotes, 'a', and an expression in parentheses, (a + 1)"
  if (text === '{' || text === '[') return `objects and arrays of json are written JSON('{"a": [1]}')`
  return text === '/' ? "a regular expression stands in quotes: '^a+$'" : undefined
}

/** Longer ones exceed all types, and a bigint of many digits takes long to make. */
const wholeNumber = /^-?\d{1,40}$/

/** A literal as JSON of the REST interface, numbers with all their digits; dates and times as written. */
function parseLiteral(cursor: TokenCursor): unknown {
  if (cursor.takeWord('NULL')) return null
  if (cursor.takeWord('TRUE')) return true
  if (cursor.takeWord('FALSE')) return false
  const isNegative = cursor.takeSymbol('-')
  const token = cursor.peek()
  if (token.kind !== 'literal') throw cursor.unexpected(['a literal'], adviceOnLiteral(token))
  const { literal } = token
  const { type, value } = literal
  if (isNegative && type !== 'integer' && type !== 'real') throw cursor.unexpected(['a number'])
  cursor.next()
  if (literal.type === 'real') {
    const digits = `${isNegative ? '-' : ''}${literal.digits.replace(/^0+(?=\d)/, '')}`
    return wholeNumber.test(digits) ? BigInt(digits) : exactNumberOf(digits)
  }
  if (literal.type === 'integer') return isNegative ? -literal.value : literal.value
  return type === 'string' || type === 'boolean' || type === 'null' ? value : token.text
}
