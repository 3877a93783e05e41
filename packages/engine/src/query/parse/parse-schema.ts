/** Parser of statements that change the schema: UPDATE SCHEMA, CREATE INDEX, DROP INDEX. */
import type {
  AlterClause,
  AttributeDeclaration,
  CheckDeclaration,
  CreateIndexStatement,
  DropIndexStatement,
  PropertySetting,
  QualifiedName,
  SchemaChange,
  SchemaStatement,
  TypeExpression,
  TypeSetting,
} from '../language/ast.ts'
import { parseExpression } from './parse-expression.ts'
import { parseClassProperties, parseInParentheses, storedWord } from './parse-property.ts'
import { parseConstraints, parseType } from './parse-type.ts'
import type { TokenCursor } from './token-cursor.ts'

export function parseSchemaUpdate(cursor: TokenCursor, start: number): SchemaStatement {
  cursor.expectSymbol('{')
  const changes: SchemaChange[] = []
  while (!cursor.takeSymbol('}')) {
    changes.push(parseSchemaChange(cursor))
    if (!cursor.takeSymbol(';')) cursor.takeSymbol(',')
  }
  return { kind: 'schema', changes, ...cursor.spanFrom(start) }
}

function parseSchemaChange(cursor: TokenCursor): SchemaChange {
  const { start } = cursor.peek()
  if (cursor.takeWords('CREATE', 'CLASS')) return parseClass(cursor, start)
  if (cursor.takeWords('ALTER', 'CLASS')) {
    const className = cursor.expectQualifiedName('a class')
    const alterations = cursor.braces(() => parseAlteration(cursor))
    return { kind: 'alterClass', className, alterations, ...cursor.spanFrom(start) }
  }
  if (cursor.takeWords('RENAME', 'CLASS')) {
    const className = cursor.expectQualifiedName('a class')
    cursor.expectWord('TO')
    const newName = cursor.expectQualifiedName('a class')
    return { kind: 'renameClass', className, newName, ...cursor.spanFrom(start) }
  }
  if (cursor.takeWords('DROP', 'CLASS')) {
    const className = cursor.expectQualifiedName('a class')
    return { kind: 'dropClass', className, ...cursor.spanFrom(start) }
  }
  throw cursor.unexpected(['CREATE CLASS', 'ALTER CLASS', 'RENAME CLASS', 'DROP CLASS', "'}'"])
}

function parseClass(cursor: TokenCursor, start: number): SchemaChange {
  const className = cursor.expectQualifiedName('a class')
  let superClass: QualifiedName | undefined
  let isEmbeddable = false
  const properties: PropertySetting[] = []
  for (;;) {
    if (superClass === undefined && cursor.takeWord('SUPERCLASS')) superClass = cursor.expectQualifiedName('a class')
    else if (!isEmbeddable && cursor.takeWord('EMBEDDABLE')) isEmbeddable = true
    else break
  }
  if (cursor.isWord('ABSTRACT')) properties.push(parseAbstract(cursor))
  if (cursor.takeWord('WITH')) properties.push(...parseClassProperties(cursor))
  if (!cursor.isSymbol('{')) throw cursor.unexpected(["'{'", 'SUPERCLASS', 'EMBEDDABLE', 'ABSTRACT', 'WITH'])
  const checks: CheckDeclaration[] = []
  const attributes: AttributeDeclaration[] = []
  cursor.braces(() => {
    if (isCheckAhead(cursor)) checks.push(parseCheck(cursor))
    else attributes.push(parseAttribute(cursor))
  })
  const members = { superClass, isEmbeddable, properties, checks, attributes }
  return { kind: 'createClass', className, ...members, ...cursor.spanFrom(start) }
}

/** An attribute may have the name CHECK, too. */
function isCheckAhead(cursor: TokenCursor): boolean {
  return cursor.isWord('CHECK') && cursor.isName(1)
}

function parseCheck(cursor: TokenCursor): CheckDeclaration {
  const { start } = cursor.next()
  const name = cursor.expectName('the name of a check').text
  if (!cursor.isSymbol(':')) throw cursor.unexpected(["':'"], 'a check has a name: CHECK name: a > 0')
  const { end: from } = cursor.next()
  parseExpression(cursor)
  // Comments before and behind it belong to the expression, as within parentheses.
  const expression = cursor.text.slice(from, cursor.peek().start).trim()
  if (isTextAhead(cursor))
    throw cursor.unexpected(['MESSAGE', "','", "'}'"], "what a check tells stands behind MESSAGE: MESSAGE 'a text'")
  const message = cursor.takeWord('MESSAGE') ? cursor.expectString('a text') : undefined
  return { name, expression, message, ...cursor.spanFrom(start) }
}

function isTextAhead(cursor: TokenCursor): boolean {
  const token = cursor.peek()
  return token.kind === 'literal' && token.literal.type === 'string'
}

function parseAbstract(cursor: TokenCursor): PropertySetting {
  const { start, end } = cursor.next()
  return { field: 'isAbstract', value: { json: true, start, end }, start, end }
}

function parseAttribute(cursor: TokenCursor): AttributeDeclaration {
  const name = cursor.expectName('an attribute')
  cursor.expectSymbol(':')
  const written = parseType(cursor)
  const type = cursor.isSymbol('=') ? parseComputed(cursor, written) : written
  return { name: name.text, type, ...cursor.spanFrom(name.start) }
}

/** `= (e)` after the type, whose braces may contain STORED. */
function parseComputed(cursor: TokenCursor, type: TypeExpression): TypeExpression {
  const { start } = cursor.next()
  const settings = type.settings.filter(({ name }) => name.toUpperCase() !== storedWord)
  const isStored = settings.length < type.settings.length
  const expression = parseInParentheses(cursor)
  const span = cursor.spanFrom(start)
  const value = { json: { ...expression, ...(isStored ? { isStored: true } : {}) }, ...span }
  return { ...type, settings: [...settings, { name: 'Computed', value, ...span }] }
}

/** `{Computed: (e), Stored}` as one setting. */
function withStored(settings: readonly TypeSetting[]): readonly TypeSetting[] {
  const rest = settings.filter(({ name }) => name.toUpperCase() !== storedWord)
  const computed = rest.find(({ name }) => name.toLowerCase() === 'computed')
  const value = computed?.value
  if (rest.length === settings.length || computed === undefined) return settings
  if (typeof value !== 'object' || !('json' in value) || value.json === null) return settings
  const stored = { ...computed, value: { ...value, json: { ...(value.json as object), isStored: true } } }
  return rest.map((one) => (one === computed ? stored : one))
}

function parseAlteration(cursor: TokenCursor): AlterClause {
  const { start } = cursor.peek()
  if (cursor.takeWord('ADD')) {
    if (isCheckAhead(cursor)) return { kind: 'addCheck', check: parseCheck(cursor), ...cursor.spanFrom(start) }
    return { kind: 'add', attribute: parseAttribute(cursor), ...cursor.spanFrom(start) }
  }
  if (cursor.takeWord('RENAME')) {
    const name = parsePlainName(cursor, 'an attribute')
    cursor.expectWord('TO')
    return { kind: 'rename', name, newName: parsePlainName(cursor, 'a name'), ...cursor.spanFrom(start) }
  }
  if (cursor.takeWord('DROP')) {
    if (isCheckAhead(cursor)) {
      cursor.next()
      return { kind: 'dropCheck', name: cursor.expectName('the name of a check').text, ...cursor.spanFrom(start) }
    }
    return { kind: 'drop', name: parsePlainName(cursor, 'an attribute'), ...cursor.spanFrom(start) }
  }
  if (cursor.takeWord('ALTER')) {
    const name = parsePlainName(cursor, 'an attribute')
    return { kind: 'alter', name, settings: withStored(parseConstraints(cursor)), ...cursor.spanFrom(start) }
  }
  if (cursor.takeWord('SET')) {
    return { kind: 'set', properties: parseClassProperties(cursor), ...cursor.spanFrom(start) }
  }
  throw cursor.unexpected(['ADD', 'RENAME', 'DROP', 'ALTER', 'SET'])
}

/** A name without dots. */
function parsePlainName(cursor: TokenCursor, what: string): QualifiedName {
  const { text, start, end } = cursor.expectName(what)
  return { text, start, end }
}

export function parseCreateIndex(cursor: TokenCursor, start: number, isUnique: boolean): CreateIndexStatement {
  if (cursor.isWord('ON') && cursor.isName(1) && !cursor.isWord('ON', 1)) {
    throw cursor.mistaken('an index has a name: CREATE INDEX name ON C (a)', ['a name'])
  }
  const name = parseIndexName(cursor)
  cursor.expectWord('ON')
  const className = cursor.expectQualifiedName('a class')
  cursor.expectSymbol('(')
  const attributes = cursor.list(() => parseKeyPath(cursor))
  cursor.expectSymbol(')')
  return { kind: 'createIndex', name, isUnique, className, attributes, ...cursor.spanFrom(start) }
}

export function parseDropIndex(cursor: TokenCursor, start: number): DropIndexStatement {
  return { kind: 'dropIndex', name: parseIndexName(cursor).text, ...cursor.spanFrom(start) }
}

/** Names of indexes and sequences may contain dots; any other character requires quotes. */
export function parseIndexName(cursor: TokenCursor, what = 'an index'): QualifiedName {
  if (cursor.isName()) return cursor.expectQualifiedName(what)
  const { start } = cursor.peek()
  return { text: cursor.expectString(what), ...cursor.spanFrom(start) }
}

/** `name`, `embedded.name`, `Base::name`. */
function parseKeyPath(cursor: TokenCursor): QualifiedName {
  const first = cursor.expectName('an attribute')
  let text = first.text
  while ((cursor.isSymbol('.') || cursor.isSymbol('::')) && cursor.isName(1)) {
    text += cursor.next().text
    text += cursor.next().text
  }
  return { text, start: first.start, end: cursor.lastEnd }
}
