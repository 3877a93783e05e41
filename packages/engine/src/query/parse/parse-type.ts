/** Parser of types in schema statements and CAST: `Integer{Storage: B8}`, `List{Element: String}`. */
import type { TypeExpression, TypeSetting } from '../language/ast.ts'
import { attributePropertyNamed, parsePropertyValue, storedWord } from './parse-property.ts'
import type { TokenCursor } from './token-cursor.ts'

export function parseType(cursor: TokenCursor): TypeExpression {
  return cursor.nested(() => {
    const name = cursor.expectQualifiedName('a type')
    const settings = cursor.isSymbol('{') ? cursor.braces(() => parseSetting(cursor, name.text)) : []
    return { name: name.text, settings, ...cursor.spanFrom(name.start) }
  })
}

/** Only properties, also of elements: `{Required, Pattern: NULL, Element: {MinLength: 2}}`. */
export function parseConstraints(cursor: TokenCursor): TypeSetting[] {
  return cursor.braces(() => {
    const { text, start, end } = cursor.peek()
    if (text.toLowerCase() !== 'element') return parseSetting(cursor, '')
    cursor.next()
    cursor.expectSymbol(':')
    const value = { name: '', settings: parseConstraints(cursor), start, end }
    return { name: text, value, ...cursor.spanFrom(start) }
  })
}

function parseSetting(cursor: TokenCursor, typeName: string): TypeSetting {
  const name = cursor.expectName('a setting')
  const property = attributePropertyNamed(name.text)
  if (property !== undefined) {
    const value = parsePropertyValue(cursor, property.form, typeName.toLowerCase() === 'list')
    return { name: name.text, value, ...cursor.spanFrom(name.start) }
  }
  if (name.text.toUpperCase() === storedWord && !cursor.isSymbol(':')) {
    return { name: name.text, value: { json: true, ...cursor.spanFrom(name.start) }, ...cursor.spanFrom(name.start) }
  }
  if (!cursor.isSymbol(':')) {
    throw cursor.unexpected(["':'"], 'a setting has a name and a value, as in Reference{Referenced: C}')
  }
  cursor.next()
  const token = cursor.peek()
  const isNumber = token.kind === 'literal' && token.literal.type === 'integer'
  const value = isNumber ? cursor.expectCount('a number') : parseType(cursor)
  return { name: name.text, value, ...cursor.spanFrom(name.start) }
}
