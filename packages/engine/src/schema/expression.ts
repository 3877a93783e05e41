/** Expressions of a schema (contract 10.6): DO texts in which attributes and classes are replaced by their numbers, so that they survive renames. */
import type { CommandPlace } from '../errors.ts'
import { formatForMessage, ValueError } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber, SequenceNumber, TypeSpec } from '../types/type-spec.ts'

/** A piece of text, or a name; `as` is its original spelling. */
export type ExpressionPart =
  | string
  | { readonly attribute: AttributeNumber; readonly as: string }
  | { readonly class: ClassNumber; readonly as: string }

/** The form stored in the catalog. */
export interface BoundExpression {
  readonly parts: readonly ExpressionPart[]
  /** For a computed attribute: its values are stored with the objects. */
  readonly isStored?: true
  /** For a computed attribute: it follows references, so its value does not depend on the object alone. */
  readonly isFollowing?: true
  /** For a default: the sequences from which it draws, which cannot be deleted. */
  readonly sequences?: readonly SequenceNumber[]
}

/** An expression before binding; `place` is its position in the command. */
export interface ExpressionInput {
  readonly text: string
  readonly place: CommandPlace
  readonly isStored?: true
  readonly isFollowing?: undefined
}

export type SchemaExpression = BoundExpression | ExpressionInput

/** Present names; undefined if deleted. */
export interface ExpressionNames {
  attribute(number: AttributeNumber): string | undefined
  className(number: ClassNumber): string | undefined
}

const charactersMax = 10_000

/** Reads `{"expression": "…"}`, or the text alone. Throws ValueError with the path from the field. */
export function defineExpression(field: string, input: unknown): ExpressionInput {
  if (typeof input !== 'string' || input.trim() === '' || input.length > charactersMax) {
    throw notAnExpression(field, input)
  }
  return { text: input.trim(), place: [] }
}

export function notAnExpression(field: string, input: unknown): ValueError {
  const form = field === 'expression' ? '' : ' as {"expression": "…"}'
  const words = `must be an expression of the query language${form}, of 1 to ${charactersMax} characters`
  const error = new ValueError('InvalidDefinition', `${field} ${words}, not ${formatForMessage(input)}`)
  error.path = [field]
  return error
}

/** Whether a given property value has the form `{"expression": "…"}`. */
export function isExpressionInput(input: unknown): input is { readonly expression: unknown } {
  return typeof input === 'object' && input !== null && Object.hasOwn(input, 'expression')
}

/** Whether a property value, as given or stored, is an expression. */
export function isExpression(value: unknown): value is SchemaExpression {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false
  return 'parts' in value || ('text' in value && 'place' in value)
}

/** Like `isExpression` for a default, which may be any JSON value if the attribute has type json. */
export function isDefaultExpression(value: unknown, { logicalType }: TypeSpec): value is SchemaExpression {
  return (logicalType as string) !== 'json' && isExpression(value)
}

/** The text with present names. A renamed name is quoted with backquotes, in case it is a keyword. */
export function expressionText(expression: SchemaExpression, names: ExpressionNames): string {
  if ('text' in expression) return expression.text
  return expression.parts.map((part) => partText(part, names)).join('')
}

function partText(part: ExpressionPart, names: ExpressionNames): string {
  if (typeof part === 'string') return part
  if ('attribute' in part) {
    const name = names.attribute(part.attribute)
    return name === undefined || name === part.as ? part.as : quoted(name)
  }
  const name = names.className(part.class)
  const isSame = name === undefined || name === part.as || name.endsWith(`.${part.as}`)
  return isSame ? part.as : name.split('.').map(quoted).join('.')
}

function quoted(name: string): string {
  return `\`${name}\``
}

export function attributesNamed(expression: SchemaExpression): readonly AttributeNumber[] {
  if ('text' in expression) return []
  return expression.parts.flatMap((part) => (typeof part === 'object' && 'attribute' in part ? [part.attribute] : []))
}

export function classesNamed(expression: SchemaExpression): readonly ClassNumber[] {
  if ('text' in expression) return []
  return expression.parts.flatMap((part) => (typeof part === 'object' && 'class' in part ? [part.class] : []))
}

/** The sequences from which a default draws numbers. */
export function sequencesDrawn(expression: SchemaExpression): readonly SequenceNumber[] {
  return ('parts' in expression && expression.sequences) || []
}

/** Attribute fields whose value is, or may be, an expression. */
export const expressionFields = ['default', 'onUpdate', 'computed'] as const

/** Adds to each expression its place in the command, based on that of the properties. */
export function withPlaces<P extends object>(properties: P, place: CommandPlace): P {
  return withExpressions(properties, (expression, path) => {
    return 'text' in expression ? { ...expression, place: [...place, ...path] } : expression
  })
}

/** Properties as given and shown, with expressions as text. `spec`: of their attribute. */
export function withTexts(
  properties: object | undefined,
  names: ExpressionNames,
  spec?: TypeSpec,
): Readonly<Record<string, unknown>> {
  const fields = { ...properties } as Readonly<Record<string, unknown>>
  return withExpressions(
    fields,
    (expression, path) => {
      const text = expressionText(expression, names)
      if (path[0] === 'checks') return text
      return { expression: text, ...(expression.isStored === true ? { isStored: true } : {}) }
    },
    spec,
  )
}

/** `path`: from the properties to the expression. */
function withExpressions<P extends object>(
  properties: P,
  map: (expression: SchemaExpression, path: CommandPlace) => unknown,
  spec?: TypeSpec,
): P {
  const changed: Record<string, unknown> = {}
  for (const field of expressionFields) {
    const value = (properties as Readonly<Record<string, unknown>>)[field]
    const isValue = field === 'default' && spec !== undefined && !isDefaultExpression(value, spec)
    if (!isValue && isExpression(value)) changed[field] = map(value, [field])
  }
  const { checks } = properties as { readonly checks?: readonly { readonly expression: SchemaExpression }[] }
  if (checks !== undefined) {
    changed.checks = checks.map((check, i) => {
      return { ...check, expression: map(check.expression, ['checks', i, 'expression']) }
    })
  }
  return { ...properties, ...changed }
}
