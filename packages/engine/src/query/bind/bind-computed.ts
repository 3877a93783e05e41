/** Computed attributes that follow references (contract 10.6.16): their names are replaced by their expressions. */
import type { ClassAttribute } from '../../schema/catalog.ts'
import { expressionText, isExpression, type SchemaExpression } from '../../schema/expression.ts'
import { namesIn } from '../../schema/expression-uses.ts'
import type { Expression, Span } from '../language/ast.ts'
import { parsePredicate } from '../parse/parse.ts'
import { type CollectionType, integerType, isMany, typeOfSpec } from '../values/value-type.ts'
import type { Bound, BoundAttribute } from './bound.ts'
import { assignable } from './coercion.ts'
import { followsReferences } from './record-only.ts'
import { type Binder, contextScope } from './scope.ts'

/** Maximum tokens of an expression of the schema. */
export const expressionTokensMax = 2_000

/** Throws QuerySyntaxError and LimitExceeded. */
export function parseSchemaExpression(text: string): Expression {
  const tooMany = `An expression of a class has at most ${expressionTokensMax} words, values and symbols.`
  return parsePredicate(text, expressionTokensMax, tooMany)
}

/** Undefined for an attribute whose value depends on nothing except the object that has it. */
function substituted({ found }: BoundAttribute, span: Span, binder: Binder): Substitution | undefined {
  const computed = found?.properties?.own.computed
  if (found === undefined || !isExpression(computed)) return undefined
  const substitution = { found, expression: computed }
  const isFollowing = 'text' in computed ? isFollowingText(substitution, span, binder) : computed.isFollowing === true
  return isFollowing ? substitution : undefined
}

/** While classes are being defined, only the text can tell; one that names itself does not follow by that. */
function isFollowingText(substitution: Substitution, span: Span, binder: Binder): boolean {
  const { followingTexts } = binder
  const { number } = substitution.found
  let isFollowing = followingTexts.get(number)
  if (isFollowing === undefined) {
    followingTexts.set(number, false)
    isFollowing = followsReferences(bindSubstitution(substitution, binder.newSlot(), span, binder))
    followingTexts.set(number, isFollowing)
  }
  return isFollowing
}

interface Substitution {
  readonly found: ClassAttribute
  readonly expression: SchemaExpression
}

/** The expression in place of an attribute of the object in `slot`; undefined if the attribute's value is stored. Throws QueryError. */
export function bindComputed(attribute: BoundAttribute, slot: number, span: Span, binder: Binder): Bound | undefined {
  const substitution = substituted(attribute, span, binder)
  return substitution && bindSubstitution(substitution, slot, span, binder)
}

function bindSubstitution(
  { found, expression }: Substitution,
  slot: number,
  { start, end }: Span,
  binder: Binder,
): Bound {
  const { onName, catalog } = binder
  const { declaringClass: cls } = found
  const scope = contextScope(slot, { kind: cls.isReferenceable ? 'reference' : 'embedded', cls }, undefined)
  binder.onName = undefined
  const text = expressionText(expression, namesIn(catalog))
  binder.computedCharacters += text.length
  binder.computedDepth++
  try {
    if (binder.computedDepth > computedDepthMax) {
      const words = `attribute ${found.name} is computed from itself, or by more than ${computedDepthMax} steps`
      throw binder.error({ start, end }, words)
    }
    if (binder.computedCharacters > computedCharactersMax) {
      const words = `attribute ${found.name} and others named here are computed by expressions of more than ${computedCharactersMax} characters in all`
      throw binder.error({ start, end }, words)
    }
    const parsed = parseSchemaExpression(text)
    const bound = assignable(
      binder.bind(parsed, scope),
      typeOfSpec(found.spec, catalog),
      `attribute ${found.name}`,
      binder,
    )
    return placedAt(bound, { start, end }) as Bound
  } finally {
    binder.computedDepth--
    binder.onName = onName
  }
}

const computedDepthMax = 20
/** Of the expressions in place of attributes in one text, since each may name others several times. */
const computedCharactersMax = 50_000

/** The same for an attribute of the object that a reference leads to, or of an embedded one. */
export function bindComputedOf(
  object: Bound,
  attribute: BoundAttribute,
  span: Span,
  binder: Binder,
): Bound | undefined {
  const substitution = substituted(attribute, span, binder)
  if (substitution === undefined) return undefined
  const isInSlot = object.kind === 'self' || (object.kind === 'slot' && object.type.kind === 'embedded')
  if (isInSlot) return bindSubstitution(substitution, object.slot, span, binder)
  const { start, end } = span
  const slot = binder.newSlot()
  const body = bindSubstitution(substitution, slot, span, binder)
  const of: CollectionType = { kind: 'collection', form: 'list', element: object.type }
  const collection: Bound = { kind: 'elements', elements: [object], type: of, start, end }
  const element = isMany(body.type) ? body.type.element : body.type
  const each: Bound = {
    kind: 'each',
    collection,
    slot,
    body,
    type: { kind: 'collection', form: 'list', element },
    start,
    end,
  }
  if (isMany(body.type)) return each
  const index: Bound = { kind: 'constant', value: 0, type: integerType, start, end }
  return { kind: 'elementAt', collection: each, index, type: body.type, start, end }
}

/** Moves all parts of an expression to the span of the attribute's name, since their own positions are in another text. */
function placedAt(part: unknown, span: Span): unknown {
  if (Array.isArray(part)) return part.map((one) => placedAt(one, span))
  if (typeof part !== 'object' || part === null || Object.getPrototypeOf(part) !== Object.prototype) return part
  const entries = Object.entries(part).map(([name, value]) => [
    name,
    notOfText.includes(name) ? value : placedAt(value, span),
  ])
  return { ...Object.fromEntries(entries), ...('start' in part ? { start: span.start, end: span.end } : {}) }
}

/** Properties of bound expressions that have no position in the text. */
const notOfText: readonly string[] = ['type', 'types', 'attribute', 'cls', 'value']
