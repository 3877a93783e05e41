/** Expressions over what an object itself holds: bound to its class, with what they may be made of (contract 10.6). */

import { bindWhere } from '../query/bind/bind-select.ts'
import { type Bound, isTimeOrChance, partsOf } from '../query/bind/bound.ts'
import { assignable } from '../query/bind/coercion.ts'
import { isOfRecord } from '../query/bind/of-record.ts'
import { type Binder, contextScope, type Scope } from '../query/bind/scope.ts'
import type { Expression } from '../query/language/ast.ts'
import { parsePredicate } from '../query/parse/parse.ts'
import { createPredicateBinder } from '../query/plan-cache.ts'
import { typeOfStatement } from '../query/statements/statement-kinds.ts'
import { typeOfSpec, type ValueType } from '../query/values/value-type.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { ExpressionSite } from '../schema/class-expressions.ts'
import { isExpression } from '../schema/expression.ts'

export interface OwnExpression {
  readonly bound: Bound
  readonly binder: Binder
  /** In which the object stands. */
  readonly slot: number
}

/** Tokens of an expression. */
const tokensMax = 2_000

/** `cls`: of the catalog, which `onName` is told each name that resolves to. Throws QuerySyntaxError, QueryError, LimitExceeded. */
export function bindOwnExpression(
  text: string,
  site: ExpressionSite,
  cls: SchemaClass,
  catalog: Catalog,
  onName?: Binder['onName'],
): OwnExpression {
  const expression = parsePredicate(text, tokensMax)
  const binder = createPredicateBinder(text, recordFormats(catalog), typeOfStatement)
  binder.onName = onName
  const slot = binder.newSlot()
  const type: ValueType = cls.isReferenceable ? { kind: 'reference', cls } : { kind: 'embedded', cls }
  const bound = bindAs(site, expression, contextScope(slot, type, undefined), binder)
  if (binder.nested.length + binder.inner.length > 0) throw binder.error(expression, onlyOwn('a statement'))
  refuseOthers(bound, site, binder)
  if (!isOfObject(site.kind)) refuseEachOther(bound, site, cls, binder)
  return { bound, binder, slot }
}

function bindAs({ attribute }: ExpressionSite, expression: Expression, scope: Scope, binder: Binder): Bound {
  if (attribute === undefined) return bindWhere(expression, scope, binder)
  const type = typeOfSpec(attribute.spec, binder.catalog)
  return assignable(binder.bind(expression, scope), type, `attribute ${attribute.name}`, binder)
}

function onlyOwn(what: string): string {
  return `the expression is about what the object itself holds, and may not have ${what}`
}

/** Throws QueryError. */
function refuseOthers(bound: Bound, site: ExpressionSite, binder: Binder): void {
  const what = otherThanOwn(bound, site)
  if (what !== undefined) throw binder.error(bound, onlyOwn(what))
  for (const part of partsOf(bound)) refuseOthers(part, site, binder)
  // Whatever goes through the elements of a collection of references.
  if (partsOf(bound).every(isOfRecord) && !isOfRecord(bound)) throw binder.error(bound, onlyOwn(aPath))
}

/** Whether it says nothing but what the object holds. */
function isOfObject(kind: ExpressionSite['kind']): boolean {
  return kind === 'checks' || kind === 'computed'
}

/** Functions that give another value each time, where that is asked for. */
const newValues: Readonly<Record<ExpressionSite['kind'], readonly string[]>> = {
  checks: [],
  default: ['GUID'],
  onUpdate: ['GUID'],
  computed: [],
}

const aPath = 'a path over a reference'

function otherThanOwn(bound: Bound, { kind }: ExpressionSite): string | undefined {
  switch (bound.kind) {
    case 'follow':
    case 'isValid':
    case 'instanceOf':
      return aPath
    case 'attribute':
      return bound.attribute.linkStorage === undefined ? undefined : 'a collection of references'
    case 'self':
      return 'the object as a reference'
    case 'variable':
      return 'a parameter'
    case 'user':
      return isOfObject(kind) ? 'the user' : undefined
    case 'nested':
    case 'inner':
    case 'union':
    case 'create':
    case 'shape':
      return 'a statement'
    default:
      if (!isTimeOrChance(bound)) return undefined
      if (bound.kind === 'now') return isOfObject(kind) ? 'the time' : undefined
      return bound.kind === 'call' && newValues[kind].includes(bound.name) ? undefined : 'chance'
  }
}

/** Which of two expressions comes first is not told by the schema. An update may name what its attribute was before. Throws QueryError. */
function refuseEachOther(bound: Bound, site: ExpressionSite, cls: SchemaClass, binder: Binder): void {
  const { kind } = site
  if (bound.kind === 'attribute' && kind !== 'checks') {
    const { number, name } = bound.attribute
    const named = cls.attributes.find((attribute) => attribute.number === number)
    const isItself = kind === 'onUpdate' && number === site.attribute?.number
    if (!isItself && isExpression(named?.properties?.own[kind])) {
      throw binder.error(bound, `attribute ${name} itself has an expression for its ${kind}`)
    }
  }
  for (const part of partsOf(bound)) refuseEachOther(part, site, cls, binder)
}
