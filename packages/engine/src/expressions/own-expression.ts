/** Binds expressions over the values of a single object to its class and rejects impermissible constructs (contract 10.6). */

import { parseSchemaExpression } from '../query/bind/bind-computed.ts'
import { bindWhere } from '../query/bind/bind-select.ts'
import { type Bound, isTimeOrChance, operandsOf } from '../query/bind/bound.ts'
import { assignable } from '../query/bind/coercion.ts'
import { followsReferences, isRecordOnlyItself } from '../query/bind/record-only.ts'
import { type Binder, contextScope, type Scope } from '../query/bind/scope.ts'
import type { Expression } from '../query/language/ast.ts'
import { createPredicateBinder } from '../query/plan-cache.ts'
import { typeOfStatement } from '../query/statements/statement-kinds.ts'
import { typeOfSpec, type ValueType } from '../query/values/value-type.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, ClassAttribute, SchemaClass } from '../schema/catalog.ts'
import { isExpression } from '../schema/expression.ts'
import type { ExpressionSite } from '../schema/expression-uses.ts'
import { isLinkCount } from './counted-links.ts'

export interface OwnExpression {
  /** The expression follows references, so its value depends on other objects. */
  readonly isFollowing: boolean
  readonly bound: Bound
  readonly binder: Binder
  /** The slot that holds the object. */
  readonly slot: number
  /** The names of the sequences from which it draws, one for each number. */
  readonly draws: readonly string[]
}

/** `cls`: a class of the catalog. `onName` is called for each name that resolves. Throws QuerySyntaxError, QueryError, LimitExceeded. */
export function bindOwnExpression(
  text: string,
  site: ExpressionSite,
  cls: SchemaClass,
  catalog: Catalog,
  isStored: boolean,
  onName?: Binder['onName'],
): OwnExpression {
  const expression = parseSchemaExpression(text)
  const binder = createPredicateBinder(text, recordFormats(catalog), typeOfStatement)
  binder.onName = onName
  const slot = binder.newSlot()
  const type: ValueType = cls.isReferenceable ? { kind: 'reference', cls } : { kind: 'embedded', cls }
  const scope: Scope = { ...contextScope(slot, type, undefined), mayDraw: site.kind === 'default' || undefined }
  const bound = bindAs(site, expression, scope, binder)
  if (binder.nested.length + binder.inner.length > 0) throw binder.error(expression, restriction('a statement'))
  const isFollowing = site.kind === 'computed' && !isStored && followsReferences(bound)
  refuseOthers(bound, { site, slot, mayFollow: isFollowing }, binder)
  if (!isObjectOnly(site.kind)) refuseEachOther(bound, site, cls, binder)
  return { bound, binder, slot, isFollowing, draws: boundedDraws(bound, binder) }
}

/** The maximum of NEXT in one default: all numbers for a request are drawn at once, and a request may create many objects. */
const drawsMax = 10

/** Throws QueryError. */
function boundedDraws(bound: Bound, binder: Binder): string[] {
  const draws = drawsOf(bound, binder)
  if (draws.length > drawsMax) throw binder.error(bound, `a default draws at most ${drawsMax} numbers`)
  return draws
}

/** Throws QueryError for numbers that are drawn for each element of a collection. */
function drawsOf(bound: Bound, binder: Binder): string[] {
  if (bound.kind === 'next') return [bound.sequence]
  const draws = operandsOf(bound).flatMap((part) => drawsOf(part, binder))
  if (draws.length > 0 && (bound.kind === 'each' || bound.kind === 'choose' || bound.kind === 'quantifier')) {
    throw binder.error(bound, 'NEXT is evaluated once per creation, not for each element of a collection')
  }
  return draws
}

function bindAs({ attribute }: ExpressionSite, expression: Expression, scope: Scope, binder: Binder): Bound {
  if (attribute === undefined) return bindWhere(expression, scope, binder)
  const type = typeOfSpec(attribute.spec, binder.catalog)
  return assignable(binder.bind(expression, scope), type, `attribute ${attribute.name}`, binder)
}

function restriction(what: string): string {
  return `the expression may use only what the object itself holds, not ${what}`
}

interface Limits {
  readonly site: ExpressionSite
  /** The slot that holds the object. */
  readonly slot: number
  readonly mayFollow: boolean
}

/** Throws QueryError. */
function refuseOthers(bound: Bound, limits: Limits, binder: Binder): void {
  const { site, slot, mayFollow } = limits
  if (site.kind === 'checks' && isLinkCount(bound, slot)) return
  const what = foreignPart(bound, site)
  if (what !== undefined && !(mayFollow && followedKinds.includes(what))) throw binder.error(bound, restriction(what))
  for (const part of operandsOf(bound)) refuseOthers(part, limits, binder)
  if (mayFollow) return
  // Rejects expressions that iterate over the elements of a collection of references.
  if (!isRecordOnlyItself(bound)) throw binder.error(bound, restriction(referencePath))
}

/** Whether the value of the expression may depend on nothing except the object. */
function isObjectOnly(kind: ExpressionSite['kind']): boolean {
  return kind === 'checks' || kind === 'computed'
}

/** Non-deterministic functions that each kind of expression may call. */
const newValues: Readonly<Record<ExpressionSite['kind'], readonly string[]>> = {
  checks: [],
  default: ['GUID'],
  onUpdate: ['GUID'],
  computed: [],
}

const referencePath = 'a path over a reference'
const referenceCollection = 'a collection of references'
const itself = 'the object as a reference'
const followedKinds: readonly string[] = [referencePath, referenceCollection, itself]

function foreignPart(bound: Bound, { kind }: ExpressionSite): string | undefined {
  switch (bound.kind) {
    case 'follow':
    case 'isValid':
    case 'instanceOf':
      return referencePath
    case 'attribute':
      return bound.attribute.linkStorage === undefined ? undefined : referenceCollection
    case 'self':
      return itself
    case 'variable':
      return 'a parameter'
    case 'user':
      return isObjectOnly(kind) ? 'the user' : undefined
    case 'nested':
    case 'inner':
    case 'union':
    case 'create':
    case 'shape':
      return 'a statement'
    default:
      if (!isTimeOrChance(bound)) return undefined
      if (bound.kind === 'now') return isObjectOnly(kind) ? 'the current time' : undefined
      return bound.kind === 'call' && newValues[kind].includes(bound.name) ? undefined : 'a random value'
  }
}

/** The attribute of the object, or of one that it embeds. */
function namedBy(bound: Bound, cls: SchemaClass): ClassAttribute | undefined {
  if (bound.kind === 'attribute') return cls.attributes.find(({ number }) => number === bound.attribute.number)
  if (bound.kind !== 'field' || bound.object.type.kind !== 'embedded') return undefined
  return bound.object.type.cls.attributes[bound.index]
}

/** The order of evaluation of expressions is undefined. An update may refer to the previous value of its attribute. Throws QueryError. */
function refuseEachOther(bound: Bound, site: ExpressionSite, cls: SchemaClass, binder: Binder): void {
  const { kind } = site
  const named = kind === 'checks' ? undefined : namedBy(bound, cls)
  const isItself = kind === 'onUpdate' && named?.number === site.attribute?.number
  if (kind !== 'checks' && !isItself && isExpression(named?.properties?.own[kind])) {
    throw binder.error(bound, `attribute ${named?.name} itself has an expression for its ${kind}`)
  }
  for (const part of operandsOf(bound)) refuseEachOther(part, site, cls, binder)
}
