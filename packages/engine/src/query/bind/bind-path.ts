/** Names, members, subscripts and slices (docs/query-language.md, Values). */

import { AshlarError, truncateForMessage } from '../../errors.ts'
import { jsonElement, jsonMember } from '../../types/json-value.ts'
import type {
  Expression,
  MemberExpression,
  NameExpression,
  QualifiedName,
  SliceExpression,
  Span,
  Statement,
  SubscriptExpression,
} from '../language/ast.ts'
import { excerpt } from '../language/query-error.ts'
import { edgeFields } from '../values/edge.ts'
import {
  aTypeName,
  type CollectionType,
  integerType,
  isMany,
  isReference,
  isScalarType,
  isText,
  jsonType,
  type MapType,
  stringType,
  type ValueType,
} from '../values/value-type.ts'
import { bindComputed, bindComputedOf } from './bind-computed.ts'
import type { Bound } from './bound.ts'
import { findAttribute, findClass, hint, resolveAttribute, unknownAttribute } from './class-names.ts'
import { asReal, coerced } from './coercion.ts'
import { type Binder, contextScope, type Outer, type Scope, withoutContext } from './scope.ts'

/** Resolves a bare name in the nearest context that has it. */
export function bindName(expression: NameExpression, scope: Scope, binder: Binder): Bound {
  const { name } = expression
  const found = lookUp(asAttributeName(name), expression, scope, binder)
  if (found !== undefined) return found
  for (const end of stepEnds(name)) {
    const first = lookUp(asAttributeName(name.slice(0, end)), expression, scope, binder)
    if (first !== undefined) return memberAlong(first, name.slice(end + 1), expression, scope, binder)
  }
  const column = columnCalled(name, scope)
  if (column !== undefined) return { ...column, start: expression.start, end: expression.end, isColumn: true }
  const captured = bindOuter(expression, scope, binder)
  if (captured !== undefined) return captured
  throw unknownName(expression, scope, binder)
}

function columnCalled(name: string, scope: Scope): Bound | undefined {
  for (let around: Scope | undefined = scope; around !== undefined; around = around.outer) {
    const column = around.aliases?.get(name)
    if (column !== undefined) return column
  }
  return undefined
}

/** Binds a path that begins with a name of the outer statement; undefined for any other path. */
function bindOuter(path: Expression, scope: Scope, binder: Binder): Bound | undefined {
  const { outer } = binder
  const root = outer && rootOf(path)
  if (root === undefined || outer === undefined) return undefined
  if (lookUp(asAttributeName(root.name), root, scope, binder) !== undefined) return undefined
  if (columnCalled(root.name, scope) !== undefined) return undefined
  return isNameAround(root.name, outer) ? binder.capture(path, outer) : undefined
}

function rootOf(path: Expression): NameExpression | undefined {
  if (path.kind === 'name') return path
  return path.kind === 'member' ? rootOf(path.object) : undefined
}

export function isNameAround(name: string, { scope, binder, lookedUp }: Outer): boolean {
  lookedUp.add(name)
  for (let around: Scope | undefined = scope; around !== undefined; around = around.outer) {
    if (around.names.has(name)) return true
  }
  return binder.outer !== undefined && isNameAround(name, binder.outer)
}

/** Splits `c.orders`, which as a source is parsed as a class name. */
export function pathWritten({ text, start, end }: QualifiedName): { readonly root: string; readonly path: Expression } {
  const [root, ...steps] = text.split('.') as [string, ...string[]]
  const span = { start, end }
  const path = steps.reduce<Expression>((object, name) => ({ kind: 'member', object, name, nameSpan: span, ...span }), {
    kind: 'name',
    name: root,
    ...span,
  })
  return { root, path }
}

/** Binds `EXISTS(FROM c.orders)` to the links, if they have an inverse and so lead to existing objects. Undefined for any other statement. */
export function linksOfExists(statement: Statement, scope: Scope, binder: Binder): Bound | undefined {
  if (statement.kind !== 'select' || statement.source.kind !== 'class' || statement.source.isOnly) return undefined
  const { source, others = [], where, groupBy, skip, take, projections, isWithAll } = statement
  const isPlain = where === undefined && groupBy.length === 0 && skip === undefined && take === undefined
  if (!isPlain || others.length > 0 || projections !== undefined || isWithAll) return undefined
  // Access predicates may hide linked objects from the caller.
  if (binder.catalog.predicatesOf !== undefined) return undefined
  const { root, path } = pathWritten(source.className)
  const rows = withoutContext(scope)
  if (path.kind !== 'member' || rows?.names.has(root) !== true) return undefined
  const links = binder.bind(path, rows)
  if (links.kind !== 'attribute' || links.attribute.linkStorage === undefined) return undefined
  const { spec } = links.attribute
  if (spec.logicalType !== 'list' && spec.logicalType !== 'set') return undefined
  return spec.element.logicalType === 'reference' && spec.element.inverseAttribute !== null ? links : undefined
}

/** `Space::Base::name` is read as `Space.Base::name`. */
function asAttributeName(written: string): string {
  const last = written.lastIndexOf('::')
  return last < 0 ? written : written.slice(0, last).replaceAll('::', '.') + written.slice(last)
}

/** Positions where the first step of `address.Base::city` may end, since dots separate steps or belong to a class; class matches come first. */
function stepEnds(written: string): number[] {
  const dots = [...written.matchAll(/\./g)].map(({ index }) => index)
  const qualifier = written.indexOf('::')
  const [first] = dots
  return first === undefined ? [] : [...new Set([...dots.filter((dot) => qualifier >= 0 && dot > qualifier), first])]
}

/** Binds the steps of a path that was parsed as one name. */
function memberAlong(object: Bound, path: string, span: Span, scope: Scope, binder: Binder): Bound {
  const attempt = (name: string): Bound | AshlarError => {
    return attempted(() => member(object, asAttributeName(name), span, scope, binder))
  }
  const fullMember = attempt(path)
  if (!(fullMember instanceof AshlarError)) return fullMember
  for (const end of stepEnds(path)) {
    const first = attempt(path.slice(0, end))
    if (!(first instanceof AshlarError)) return memberAlong(first, path.slice(end + 1), span, scope, binder)
  }
  throw fullMember
}

function lookUp(name: string, span: Span, scope: Scope, binder: Binder): Bound | undefined {
  for (let around: Scope | undefined = scope; around !== undefined; around = around.outer) {
    const named = around.names.get(name)
    if (named !== undefined) return { ...named, start: span.start, end: span.end }
    const fromSource = inSources(name, span, around, binder)
    if (fromSource !== undefined) return fromSource
    if (around.context === undefined) continue
    const found = inContext(name, span, around.context, binder)
    if (found !== undefined) return found
  }
  return undefined
}

function inSources(name: string, span: Span, { sources = [] }: Scope, binder: Binder): Bound | undefined {
  const all = sources.flatMap((source) => inContext(name, span, source, binder) ?? [])
  if (all.length <= 1) return all[0]
  throw binder.error(
    span,
    `'${truncateForMessage(name)}' belongs to several sources; an alias before it tells to which`,
  )
}

function inContext(
  name: string,
  span: Span,
  { slot, type }: { readonly slot: number; readonly type: ValueType },
  binder: Binder,
): Bound | undefined {
  const { start, end } = span
  if (isReference(type)) {
    const attribute = type.cls === null ? undefined : findAttribute(binder, type.cls, name, span)
    const computed = attribute && bindComputed(attribute, slot, span, binder)
    if (computed !== undefined) return computed
    return attribute && { kind: 'attribute', slot, attribute, type: attribute.type, start, end }
  }
  const object: Bound = { kind: 'slot', slot, type, start, end }
  if (type.kind === 'embedded') {
    const attribute = findAttribute(binder, type.cls, name, span)
    const computed = attribute && bindComputed(attribute, slot, span, binder)
    if (computed !== undefined) return computed
    return attribute && { kind: 'field', object, index: attribute.index, name, type: attribute.type, start, end }
  }
  return fieldOf(object, name, span)
}

function fieldOf(object: Bound, name: string, { start, end }: Span): Bound | undefined {
  const { type } = object
  if (type.kind === 'record') {
    const index = type.fields.findIndex((field) => field.name === name)
    const field = type.fields[index]
    return field && asReal({ kind: 'field', object, index, name, type: field.type, start, end })
  }
  if (type.kind !== 'edge' || !(edgeFields as readonly string[]).includes(name)) return undefined
  const isOid = name === 'from' || name === 'to' || name === 'edgeData'
  return {
    kind: 'edgeField',
    object,
    field: name,
    type: isOid ? { kind: 'reference', cls: null } : stringType,
    start,
    end,
  }
}

function unknownName(expression: NameExpression, scope: Scope, binder: Binder): AshlarError {
  const { name } = expression
  for (let around: Scope | undefined = scope; around !== undefined; around = around.outer) {
    const type = around.context?.type
    const cls = type !== undefined && 'cls' in type ? type.cls : null
    if (type?.kind === 'reference' && cls === null) {
      return binder.error(
        expression,
        `the class of the object is not known here, nor what its '${truncateForMessage(name)}' is: (v:Class {…}), or CAST(… AS Class), tells it`,
      )
    }
    if (cls !== null) return unknownAttribute(binder, cls, name, expression, adviceOnName(name, binder))
    if (around.sources !== undefined) {
      return binder.error(
        expression,
        `no source has a '${truncateForMessage(name)}'${hint(name, [...around.names.keys()])}`,
      )
    }
    if (around.names.size > 0) {
      const names = [...around.names.keys()]
      return binder.error(expression, `the pattern has no name '${truncateForMessage(name)}'${hint(name, names)}`)
    }
  }
  return binder.error(
    expression,
    `'${truncateForMessage(name)}' means nothing here: there is no object whose attribute it could be${adviceOnName(name, binder)}`,
  )
}

function adviceOnName(name: string, binder: Binder): string {
  if (binder.variables.has(name)) return `. Did you mean $${name}?`
  const cls = findClass(binder, name)
  return cls === undefined ? '' : `; the objects of a class are (FROM ${cls.name} RETURN *)`
}

export function bindMember(expression: MemberExpression, scope: Scope, binder: Binder): Bound {
  // Captured as a whole, so that only the needed value of the outer row is passed.
  const captured = bindOuter(expression, scope, binder)
  if (captured !== undefined) return captured
  const object = binder.bind(expression.object, scope)
  return member(
    object,
    expression.name,
    { start: expression.start, end: expression.end },
    scope,
    binder,
    expression.nameSpan,
  )
}

function member(object: Bound, name: string, span: Span, scope: Scope, binder: Binder, nameSpan: Span = span): Bound {
  const { type } = object
  const { start, end } = span
  if (isMany(type)) return eachMember(object, type, name, span, scope, binder, nameSpan)
  if (isReference(type)) {
    if (type.cls === null) {
      throw binder.error(
        nameSpan,
        `the class of the object is not known here: CAST(… AS a class) says which attributes it has`,
      )
    }
    const attribute = resolveAttribute(binder, type.cls, name, nameSpan)
    const computed = bindComputedOf(object, attribute, { start, end }, binder)
    if (computed !== undefined) return computed
    if (object.kind === 'self')
      return { kind: 'attribute', slot: object.slot, attribute, type: attribute.type, start, end }
    return { kind: 'follow', object, attribute, type: attribute.type, start, end }
  }
  if (type.kind === 'embedded') {
    const attribute = resolveAttribute(binder, type.cls, name, nameSpan)
    const computed = bindComputedOf(object, attribute, { start, end }, binder)
    if (computed !== undefined) return computed
    return { kind: 'field', object, index: attribute.index, name, type: attribute.type, start, end }
  }
  if (type.kind === 'null') return { kind: 'constant', value: null, type, start, end }
  if (type.kind === 'json') {
    const step = { kind: 'constant', value: name, type: stringType, start: nameSpan.start, end: nameSpan.end } as const
    return jsonPart(object, step, span)
  }
  const found = fieldOf(object, name, span)
  if (found !== undefined) return found
  throw binder.error(
    nameSpan,
    `${aTypeName(type)} has no '${truncateForMessage(name)}'${adviceOnField(object, name, binder)}`,
  )
}

/** A member or an element of a value of type json; null if there is none. */
function jsonPart(object: Bound, step: Bound, { start, end }: Span): Bound {
  const element = (text: string, position: number | bigint): string | null => jsonElement(text, Number(position))
  const calculate = step.type.kind === 'integer' ? element : jsonMember
  const call = { readers: [], calculate, takesRoom: false, isVolatile: false } as const
  return { kind: 'call', name: 'JSON', operands: [object, step], ...call, type: jsonType, start, end }
}

function adviceOnField({ kind, type, start, end }: Bound, name: string, { text }: Binder): string {
  if (type.kind === 'record') {
    const names = type.fields.map((field) => field.name)
    return hint(name, names)
  }
  // Rows of a one-column variable are its values; rows of a nested statement are records.
  return kind === 'slot' && isScalarType(type)
    ? `: ${excerpt(text, { start, end })} is the value of the row itself`
    : ''
}

/** The member of every element: a list stays a list, anything else becomes a sequence. */
function eachMember(
  collection: Bound,
  type: CollectionType | MapType,
  name: string,
  { start, end }: Span,
  scope: Scope,
  binder: Binder,
  nameSpan: Span,
): Bound {
  const slot = binder.newSlot()
  const element: Bound = isReference(type.element)
    ? { kind: 'self', slot, type: type.element, start, end }
    : { kind: 'slot', slot, type: type.element, start, end }
  const body = member(element, name, { start, end }, scope, binder, nameSpan)
  const inner = isMany(body.type) ? body.type.element : body.type
  const form = type.kind === 'collection' && type.form === 'list' ? 'list' : 'sequence'
  return { kind: 'each', collection, slot, body, type: { kind: 'collection', form, element: inner }, start, end }
}

/** `map[key]`, `list[index]`, `collection[predicate]`. */
export function bindSubscript(expression: SubscriptExpression, scope: Scope, binder: Binder): Bound {
  const object = binder.bind(expression.object, scope)
  const { type } = object
  const { start, end } = expression
  if (type.kind === 'json') {
    const step = binder.bind(expression.subscript, scope)
    if (isText(step.type) || step.type.kind === 'integer' || step.type.kind === 'null')
      return jsonPart(object, step, { start, end })
    throw binder.error(expression.subscript, `json takes a name or an index, not ${aTypeName(step.type)}`)
  }
  if (!isMany(type)) throw binder.error(expression.object, `${aTypeName(type)} has no elements`)
  if (type.kind === 'map') {
    const key = coerced(binder.bind(expression.subscript, scope), type.key, binder)
    return { kind: 'valueOfKey', map: object, key, type: type.element, start, end }
  }
  const predicate = bindPredicate(expression.subscript, type, scope, binder)
  if (predicate !== undefined) {
    return { kind: 'choose', collection: object, ...predicate, type, start, end }
  }
  const index = binder.bind(expression.subscript, scope)
  if (index.type.kind !== 'integer' && index.type.kind !== 'null') {
    throw binder.error(
      expression.subscript,
      `${aTypeName(type)} takes an index or a predicate, not ${aTypeName(index.type)}`,
    )
  }
  if (type.form === 'set')
    throw binder.error(expression.subscript, 'the elements of a set have no order: a set takes a predicate')
  return { kind: 'elementAt', collection: object, index, type: type.element, start, end }
}

/** Returns undefined if the expression is not a predicate on the elements. */
export function bindPredicate(
  expression: Expression,
  type: CollectionType | MapType,
  scope: Scope,
  binder: Binder,
): { readonly slot: number; readonly predicate: Bound } | undefined {
  const { element } = type
  if (!isReference(element) && !['embedded', 'record', 'edge'].includes(element.kind)) return undefined
  const slot = binder.newSlot()
  const isIndex = expression.kind === 'literal' && expression.literal.type === 'integer'
  if (isIndex) return undefined
  const predicate = tryBind(expression, contextScope(slot, element, scope), binder)
  if (predicate instanceof AshlarError) {
    // Otherwise the expression may be an index that does not depend on the elements.
    const outside = tryBind(expression, scope, binder)
    if (outside instanceof AshlarError || outside.type.kind !== 'integer') throw predicate
    return undefined
  }
  return predicate.type.kind === 'boolean' || predicate.type.kind === 'null' ? { slot, predicate } : undefined
}

export function tryBind(expression: Expression, scope: Scope, binder: Binder): Bound | AshlarError {
  return attempted(() => binder.bind(expression, scope))
}

function attempted(bind: () => Bound): Bound | AshlarError {
  try {
    return bind()
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
}

export function bindSlice(expression: SliceExpression, scope: Scope, binder: Binder): Bound {
  const collection = binder.bind(expression.object, scope)
  const { type } = collection
  if (type.kind !== 'collection' || type.form === 'set') {
    throw binder.error(expression.object, `${aTypeName(type)} has no ranges of elements`)
  }
  const bound = (end: Expression | undefined): Bound | undefined => {
    if (end === undefined) return undefined
    const index = binder.bind(end, scope)
    if (index.type.kind === 'integer') return index
    throw binder.error(end, `a range goes from one ${integerType.kind} to another, not to ${aTypeName(index.type)}`)
  }
  const { start, end } = expression
  return { kind: 'slice', collection, from: bound(expression.from), to: bound(expression.to), type, start, end }
}
