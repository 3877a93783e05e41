/** Expressions of a schema (contract 10.6): texts of DO in which attributes and classes stand by their numbers, so that they follow renames. */
import type { CommandPlace } from '../errors.ts'
import { ValueError } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from '../types/type-spec.ts'

/** A piece of text, or a name: `as` is how it was written when it was defined. */
export type ExpressionPart =
  | string
  | { readonly attribute: AttributeNumber; readonly as: string }
  | { readonly class: ClassNumber; readonly as: string }

/** As the catalog keeps it. */
export interface BoundExpression {
  readonly parts: readonly ExpressionPart[]
  /** Of a computed attribute: its values are kept with the objects. */
  readonly isStored?: true
  /** Of a computed attribute: it follows references, and so is no value of the object alone. */
  readonly isFollowing?: true
}

/** As it was given, before the classes around it are complete: `place` is that in the command. */
export interface GivenExpression {
  readonly text: string
  readonly place: CommandPlace
  readonly isStored?: true
  readonly isFollowing?: undefined
}

export type SchemaExpression = BoundExpression | GivenExpression

/** Present names; undefined for what is gone. */
export interface ExpressionNames {
  attribute(number: AttributeNumber): string | undefined
  className(number: ClassNumber): string | undefined
}

const charactersMax = 10_000

/** Reads `{"expression": "…"}`, or the text alone. Throws ValueError, whose path leads from the field. */
export function defineExpression(field: string, given: unknown): GivenExpression {
  if (typeof given !== 'string' || given.trim() === '' || given.length > charactersMax) {
    const error = new ValueError(
      'InvalidDefinition',
      `${field} is an expression of DO, of at most ${charactersMax} characters`,
    )
    error.path = [field]
    throw error
  }
  return { text: given.trim(), place: [] }
}

/** Whether the value of a property is an expression as it is given: `{"expression": "…"}`. */
export function isGivenAsExpression(given: unknown): given is { readonly expression: unknown } {
  return typeof given === 'object' && given !== null && Object.hasOwn(given, 'expression')
}

/** Whether the value of a property, as a definition or the catalog has it, is an expression. */
export function isExpression(value: unknown): value is SchemaExpression {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false
  return 'parts' in value || ('text' in value && 'place' in value)
}

/** The same for the default of an attribute, which may be any value where that is JSON. */
export function isDefaultExpression(value: unknown, { logicalType }: TypeSpec): value is SchemaExpression {
  return (logicalType as string) !== 'json' && isExpression(value)
}

/** The text with the present names. A name that was changed is in backquotes: whatever it is, it is no keyword then. */
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

/** Fields of attributes whose value is an expression, or may be one. */
export const expressionFields = ['default', 'onUpdate', 'computed'] as const

/** Properties whose expressions know their places in the command, whose properties have the given one. */
export function withPlaces<P extends object>(properties: P, place: CommandPlace): P {
  return withExpressions(properties, (expression, path) => {
    return 'text' in expression ? { ...expression, place: [...place, ...path] } : expression
  })
}

/** Properties as they are given and shown: with the texts of their expressions. `spec`: of the attribute that has them. */
export function withTexts(
  properties: object | undefined,
  names: ExpressionNames,
  spec?: TypeSpec,
): Readonly<Record<string, unknown>> {
  const shown = { ...properties } as Readonly<Record<string, unknown>>
  return withExpressions(
    shown,
    (expression, path) => {
      const text = expressionText(expression, names)
      if (path[0] === 'checks') return text
      return { expression: text, ...(expression.isStored === true ? { isStored: true } : {}) }
    },
    spec,
  )
}

/** `path`: of the expression, from the properties. */
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
