/** Computed attributes that follow references (contract 10.6.16): their names are replaced by their expressions. */
import type { ClassAttribute } from '../../schema/catalog.ts'
import { namesIn } from '../../schema/class-expressions.ts'
import { expressionText, isExpression, type SchemaExpression } from '../../schema/expression.ts'
import type { Span } from '../language/ast.ts'
import { parsePredicate } from '../parse/parse.ts'
import { type CollectionType, integerType, isMany, typeOfSpec } from '../values/value-type.ts'
import type { Bound, BoundAttribute } from './bound.ts'
import { assignable } from './coercion.ts'
import { type Binder, contextScope } from './scope.ts'

/** Maximum tokens of an expression of the schema. */
export const expressionTokensMax = 2_000

/** Undefined for an attribute whose value is stored. While classes are being defined, this is not known yet for expressions in text form. */
function substituted({ found }: BoundAttribute): Substitution | undefined {
  const computed = found?.properties?.own.computed
  if (found === undefined || !isExpression(computed)) return undefined
  return 'text' in computed || computed.isFollowing === true ? { found, expression: computed } : undefined
}

interface Substitution {
  readonly found: ClassAttribute
  readonly expression: SchemaExpression
}

/** The expression in place of an attribute of the object in `slot`; undefined if the attribute's value is stored. Throws QueryError. */
export function bindComputed(attribute: BoundAttribute, slot: number, span: Span, binder: Binder): Bound | undefined {
  const substitution = substituted(attribute)
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
  if (++binder.computedDepth > computedDepthMax) {
    throw binder.error(
      { start, end },
      `attribute ${found.name} is computed from itself, or by more than ${computedDepthMax} steps`,
    )
  }
  try {
    const parsed = parsePredicate(expressionText(expression, namesIn(catalog)), expressionTokensMax)
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

/** The same for an attribute of the object that a reference leads to, or of an embedded one. */
export function bindComputedOf(
  object: Bound,
  attribute: BoundAttribute,
  span: Span,
  binder: Binder,
): Bound | undefined {
  const substitution = substituted(attribute)
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
