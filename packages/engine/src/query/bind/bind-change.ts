/** UPDATE, DELETE and UPSERT: what is changed, and to what (DO, sections 3 and 4). */

import { AshlarError, assert } from '../../errors.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition } from '../../schema/class-definition.ts'
import { resolveKeyPath } from '../../schema/key-path.ts'
import type {
  Action,
  AddAction,
  DeleteStatement,
  Expression,
  RemoveAction,
  SetAction,
  Span,
  UpdateStatement,
  UpsertStatement,
} from '../ast.ts'
import { aTypeName, isMany, isReference, type ValueType } from '../values/value-type.ts'
import { bindClauses, bindSource } from './bind-select.ts'
import { bindAssignments } from './bind-value.ts'
import type { Bound, BoundAssignment, BoundAttribute, BoundClauses, BoundSource } from './bound.ts'
import { resolveReferenceable } from './class-names.ts'
import { assignable } from './coercion.ts'
import { type Binding, contextScope, type Scope } from './scope.ts'

/**
 * What an action is aimed at: an attribute of the row's object or of objects that it refers to, perhaps within
 * embedded objects, perhaps some elements of it.
 */
export interface BoundTarget {
  /** The objects that hold the attribute; undefined = the row's own. */
  readonly owners: Bound | undefined
  readonly attribute: BoundAttribute
  /** Attributes of embedded objects below it. */
  readonly inner: readonly BoundAttribute[]
  readonly elements: BoundElements | undefined
  /** Of the chosen elements, the attribute that is meant, perhaps within further embedded objects; empty = all of them. */
  readonly within: readonly BoundAttribute[]
  /** Of what is set: the attribute, or one element. */
  readonly type: ValueType
  readonly text: string
  readonly span: Span
}

export type BoundElements =
  | { readonly kind: 'index'; readonly index: Bound }
  | { readonly kind: 'key'; readonly key: Bound }
  | { readonly kind: 'slice'; readonly from: Bound | undefined; readonly to: Bound | undefined }
  /** Those for which the predicate is true, in the collection as it was before. */
  | { readonly kind: 'predicate'; readonly collection: Bound; readonly slot: number; readonly predicate: Bound }

export type BoundAction =
  | { readonly kind: 'set'; readonly target: BoundTarget; readonly values: readonly Bound[] }
  | { readonly kind: 'clear'; readonly target: BoundTarget }
  | {
      readonly kind: 'add'
      readonly target: BoundTarget
      readonly elements: readonly Bound[]
      readonly pairs: readonly { readonly key: Bound; readonly value: Bound }[]
    }
  | { readonly kind: 'remove'; readonly target: BoundTarget; readonly elements: readonly Bound[] }
  /** REMOVE coll[i] FROM coll: by place, not by value. */
  | { readonly kind: 'removeAt'; readonly target: BoundTarget; readonly index: Bound }

export interface BoundChange {
  readonly source: BoundSource
  readonly slot: number
  readonly actions: readonly BoundAction[]
  readonly isReturning: boolean
  readonly clauses: BoundClauses
}

export function bindUpdate(statement: UpdateStatement, binding: Binding): BoundChange {
  const { source, slot, scope } = contextOf(statement, binding)
  const actions = statement.actions.flatMap((action) => bindAction(action, scope, binding))
  const clauses = bindClauses(statement, statement.projections, scope, binding)
  return { source, slot, actions, isReturning: statement.isReturning, clauses }
}

export function bindDelete(statement: DeleteStatement, binding: Binding): BoundChange {
  const { source, slot, scope } = contextOf(statement, binding)
  const clauses = bindClauses(statement, statement.projections, scope, binding)
  return { source, slot, actions: [], isReturning: statement.isReturning, clauses }
}

function contextOf(
  statement: UpdateStatement | DeleteStatement,
  binding: Binding,
): { source: BoundSource; slot: number; scope: Scope } {
  const source = bindSource(statement.source, binding)
  const slot = binding.newSlot()
  return { source, slot, scope: contextScope(slot, { kind: 'reference', cls: source.cls }, undefined) }
}

function bindAction(action: Action, scope: Scope, binding: Binding): BoundAction[] {
  switch (action.kind) {
    case 'set':
      return [bindSet(action, scope, binding)]
    case 'clear':
      return action.targets.map((expression) => {
        const target = bindTarget(expression, scope, binding)
        const isElement = target.elements !== undefined
        if (isElement && isSetOfElements(target)) {
          throw binding.error(expression, 'the elements of a set cannot be cleared, only removed')
        }
        return { kind: 'clear', target }
      })
    case 'add':
      return [bindAdd(action, scope, binding)]
    case 'remove':
      return [bindRemove(action, scope, binding)]
  }
}

function isSetOfElements({ attribute, inner }: BoundTarget): boolean {
  const { type } = inner.at(-1) ?? attribute
  return type.kind === 'collection' && type.form === 'set'
}

function bindSet(action: SetAction, scope: Scope, binding: Binding): BoundAction {
  const target = bindTarget(action.target, scope, binding)
  const isRange = target.elements?.kind === 'slice' && target.within.length === 0
  if (action.values.length > 1 && !isRange && !isMany(target.type)) {
    throw binding.error(action, `${target.text} takes one value, not ${action.values.length}`)
  }
  const isSpread = action.values.length > 1 || isRange
  const wanted = isSpread && isMany(target.type) ? target.type.element : target.type
  const values = action.values.map((value) => {
    const bound = binding.bind(value, scope)
    // A range may be given its elements one by one, or as a list.
    if (isRange && isMany(bound.type))
      return assignable(bound, { kind: 'collection', form: 'list', element: wanted }, target.text, binding)
    return assignable(bound, wanted, target.text, binding)
  })
  return { kind: 'set', target, values }
}

function bindAdd(action: AddAction, scope: Scope, binding: Binding): BoundAction {
  const target = collectionTarget(action.target, scope, binding)
  const { type } = target
  if (type.kind === 'map') {
    const pairs = action.pairs.map(({ key, value }) => ({
      key: assignable(binding.bind(key, scope), type.key, `a key of ${target.text}`, binding),
      value: assignable(binding.bind(value, scope), type.element, `a value of ${target.text}`, binding),
    }))
    if (action.elements.length === 0) return { kind: 'add', target, elements: [], pairs }
    const elements = action.elements.map((element) =>
      assignable(binding.bind(element, scope), type, target.text, binding),
    )
    return { kind: 'add', target, elements, pairs }
  }
  if (action.pairs.length > 0) throw binding.error(action, `${target.text} is ${aTypeName(type)}, and takes no pairs`)
  return { kind: 'add', target, elements: bindElementsOf(target, action.elements, scope, binding), pairs: [] }
}

function bindRemove(action: RemoveAction, scope: Scope, binding: Binding): BoundAction {
  const target = collectionTarget(action.target, scope, binding)
  const { type } = target
  if (action.isKeys || type.kind === 'map') {
    if (type.kind !== 'map') throw binding.error(action, `${target.text} is ${aTypeName(type)}, and has no keys`)
    const elements = action.elements.map((key) => {
      return assignable(binding.bind(key, scope), type.key, `a key of ${target.text}`, binding)
    })
    return { kind: 'remove', target, elements }
  }
  const [only] = action.elements
  if (only?.kind === 'subscript' && action.elements.length === 1 && isSameText(only.object, action.target, binding)) {
    const chosen = bindTarget(only, scope, binding)
    if (chosen.elements?.kind === 'index') return { kind: 'removeAt', target, index: chosen.elements.index }
  }
  return { kind: 'remove', target, elements: bindElementsOf(target, action.elements, scope, binding) }
}

function isSameText(one: Expression, other: Expression, { text }: Binding): boolean {
  return text.slice(one.start, one.end).replace(/\s/g, '') === text.slice(other.start, other.end).replace(/\s/g, '')
}

/** Elements one by one, or collections of them. */
function bindElementsOf(target: BoundTarget, elements: readonly Expression[], scope: Scope, binding: Binding): Bound[] {
  const { type } = target
  assert(type.kind === 'collection', 'elements are of a collection')
  return elements.map((element) => {
    const bound = binding.bind(element, scope)
    const what = `an element of ${target.text}`
    if (isMany(bound.type)) return assignable(bound, type, what, binding)
    return assignable(bound, type.element, what, binding)
  })
}

/** ADD and REMOVE work on exactly one collection. */
function collectionTarget(expression: Expression, scope: Scope, binding: Binding): BoundTarget {
  const target = bindTarget(expression, scope, binding)
  const isOne = target.owners === undefined || !isMany(target.owners.type)
  const isOfOneElement = target.elements?.kind === 'index' && target.within.length > 0
  if (isMany(target.type) && isOne && (target.elements === undefined || isOfOneElement)) {
    if (!isOfOneElement || target.type.kind === 'collection') return target
    throw binding.error(expression, `${target.text} is a map of one element: SET the map as a whole`)
  }
  throw binding.error(expression, `${target.text} is not one collection`)
}

function bindTarget(expression: Expression, scope: Scope, binding: Binding): BoundTarget {
  const span = { start: expression.start, end: expression.end }
  const text = `'${binding.text.slice(span.start, span.end).slice(0, 60)}'`
  if (expression.kind === 'subscript' || expression.kind === 'slice') {
    const whole = bindTarget(expression.object, scope, binding)
    if (whole.elements !== undefined) throw binding.error(expression, `${text} is not an element of one collection`)
    return { ...whole, text, span, ...elementsOf(expression, whole, scope, binding) }
  }
  const bound = binding.bind(expression, scope)
  const target = attributeTarget(bound)
  if (target !== undefined) {
    const { type } = target.inner.at(-1) ?? target.attribute
    return { ...target, elements: undefined, within: [], type, text, span }
  }
  const ofElements = elementTarget(bound)
  const last = ofElements?.within.at(-1)
  if (ofElements === undefined || last === undefined) {
    throw binding.error(expression, `${text} is not an attribute that could be changed`)
  }
  return { ...ofElements, type: last.type, text, span }
}

function elementsOf(
  expression: Extract<Expression, { kind: 'subscript' | 'slice' }>,
  whole: BoundTarget,
  scope: Scope,
  binding: Binding,
): Pick<BoundTarget, 'elements' | 'type'> {
  const bound = binding.bind(expression, scope)
  const { type } = whole
  switch (bound.kind) {
    case 'elementAt':
      return { elements: { kind: 'index', index: bound.index }, type: bound.type }
    case 'valueOfKey':
      return { elements: { kind: 'key', key: bound.key }, type: bound.type }
    case 'slice':
      return { elements: { kind: 'slice', from: bound.from, to: bound.to }, type }
    case 'choose': {
      const { collection, slot, predicate } = bound
      const elements = { kind: 'predicate', collection, slot, predicate } as const
      return { elements, type: isMany(type) ? type.element : type }
    }
    default:
      throw binding.error(expression, 'this is not an element that could be changed')
  }
}

type AttributeTarget = Pick<BoundTarget, 'owners' | 'attribute' | 'inner'>

/** Undefined for what is no attribute. */
function attributeTarget(bound: Bound): AttributeTarget | undefined {
  switch (bound.kind) {
    case 'attribute':
      return { owners: undefined, attribute: bound.attribute, inner: [] }
    case 'follow':
      return { owners: bound.object, attribute: bound.attribute, inner: [] }
    case 'field': {
      const outer = attributeTarget(bound.object)
      const inner = embeddedAttribute(bound)
      return outer && inner && { ...outer, inner: [...outer.inner, inner] }
    }
    case 'each':
      return eachTarget(bound)
    default:
      return undefined
  }
}

/** The attribute that a field of an embedded object is. */
function embeddedAttribute({ object, index, type }: Extract<Bound, { kind: 'field' }>): BoundAttribute | undefined {
  if (object.type.kind !== 'embedded') return undefined
  const { cls } = object.type
  const found = cls.attributes[index]
  if (found === undefined) return undefined
  const { number, outputName: name, spec } = found
  return { cls, number, name, index, spec, linkForm: undefined, type }
}

type ElementTarget = AttributeTarget & Pick<BoundTarget, 'elements' | 'within'>

/** `homes[0].city`, `homes[zip > 1000].city`, `homes.city`: an attribute of elements that are embedded objects. */
function elementTarget(bound: Bound): ElementTarget | undefined {
  switch (bound.kind) {
    case 'elementAt':
      return chosenElements(bound)
    case 'field': {
      const outer = elementTarget(bound.object)
      const inner = embeddedAttribute(bound)
      return outer && inner && { ...outer, within: [...outer.within, inner] }
    }
    case 'each': {
      const within = pathFromSlot(bound.body, bound.slot)
      const outer = chosenElements(bound.collection)
      return within && outer && { ...outer, within }
    }
    default:
      return undefined
  }
}

function chosenElements(bound: Bound): ElementTarget | undefined {
  const of = (collection: Bound, elements: BoundElements): ElementTarget | undefined => {
    const target = attributeTarget(collection)
    return target && { ...target, elements, within: [] }
  }
  switch (bound.kind) {
    case 'elementAt':
      return of(bound.collection, { kind: 'index', index: bound.index })
    case 'slice':
      return of(bound.collection, { kind: 'slice', from: bound.from, to: bound.to })
    case 'choose': {
      const { collection, slot, predicate } = bound
      return of(collection, { kind: 'predicate', collection, slot, predicate })
    }
    default:
      return of(bound, { kind: 'slice', from: undefined, to: undefined })
  }
}

/** The attributes from an element down to the one that is meant. */
function pathFromSlot(bound: Bound, slot: number): readonly BoundAttribute[] | undefined {
  if (bound.kind === 'slot') return bound.slot === slot ? [] : undefined
  if (bound.kind !== 'field') return undefined
  const outer = pathFromSlot(bound.object, slot)
  const inner = embeddedAttribute(bound)
  return outer && inner && [...outer, inner]
}

/** `orders[total < 5].state`: the attribute of every chosen object. */
function eachTarget(bound: Extract<Bound, { kind: 'each' }>): AttributeTarget | undefined {
  const { body, collection } = bound
  const isOfElement = body.kind === 'attribute' && body.slot === bound.slot
  if (!isOfElement || !isMany(collection.type) || !isReference(collection.type.element)) return undefined
  return { owners: collection, attribute: body.attribute, inner: [] }
}

export interface BoundUpsert {
  readonly cls: SchemaClass
  readonly index: IndexDefinition
  readonly assignments: readonly BoundAssignment[]
  /** The assignments that are the key, in the order of the index. */
  readonly keys: readonly BoundAssignment[]
}

export function bindUpsert(statement: UpsertStatement, binding: Binding): BoundUpsert {
  const cls = resolveReferenceable(binding, statement.className)
  const scope: Scope = { outer: undefined, context: undefined, names: new Map(), aggregates: undefined }
  const assignments = bindAssignments(statement.assignments, cls, scope, binding)
  const wanted = statement.on.map((name) => ({ name, path: keyPath(cls, name.text, name, binding) }))
  const index = cls.indexes.find((candidate) => {
    const isExact = candidate.keyAttributes.length === wanted.length
    return (
      isExact &&
      candidate.isUnique &&
      candidate.state === 'ready' &&
      candidate.keyAttributes.every(({ path }) => {
        return wanted.some((key) => key.path.join() === path.join())
      })
    )
  })
  if (index === undefined) {
    const names = statement.on.map(({ text }) => text).join(', ')
    throw binding.error(statement, `UPSERT needs a unique index of class ${cls.name} on exactly (${names})`)
  }
  const keys = index.keyAttributes.map(({ path }) => {
    const found = assignments.find((assignment) => assignment.path.map(({ number }) => number).join() === path.join())
    if (found !== undefined) return found
    const key = wanted.find((candidate) => candidate.path.join() === path.join())
    throw binding.error(statement, `the key attribute ${key?.name.text} is given no value`)
  })
  return { cls, index, assignments, keys }
}

function keyPath(
  cls: SchemaClass,
  name: string,
  span: { start: number; end: number },
  binding: Binding,
): readonly number[] {
  try {
    return resolveKeyPath(binding.catalog, cls, name, '').path
  } catch (error) {
    if (error instanceof AshlarError) throw binding.error(span, error.message.replace(/\.$/, ''))
    throw error
  }
}
