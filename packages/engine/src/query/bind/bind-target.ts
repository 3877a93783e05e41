/** The targets of SET, CLEAR, ADD and REMOVE (docs/query-language.md, Creating and changing). */
import type { Expression, Span } from '../language/ast.ts'
import { isMasked } from '../parse/lift-literals.ts'
import { isMany, isReference, type ValueType } from '../values/value-type.ts'
import type { Bound, BoundAttribute } from './bound.ts'
import { boundKey } from './bound-key.ts'
import type { Binder, Scope } from './scope.ts'

/** An attribute of the row's object or of objects that it refers to, optionally within embedded objects, optionally some of its elements. */
export interface BoundTarget {
  /** The objects that hold the attribute; undefined = the row's own. */
  readonly owners: Bound | undefined
  readonly attribute: BoundAttribute
  /** Attributes of embedded objects inside the attribute. */
  readonly inner: readonly BoundAttribute[]
  readonly elements: BoundElements | undefined
  /** Attribute path within the selected elements; empty = whole elements. */
  readonly within: readonly BoundAttribute[]
  /** Type of the assigned value: the attribute or one element. */
  readonly type: ValueType
  readonly text: string
  readonly span: Span
}

export type BoundElements =
  | { readonly kind: 'index'; readonly index: Bound }
  /** `current`: the value of the key before the change. */
  | { readonly kind: 'key'; readonly key: Bound; readonly current: Bound }
  | { readonly kind: 'slice'; readonly from: Bound | undefined; readonly to: Bound | undefined }
  /** Elements for which the predicate is true before the change. */
  | { readonly kind: 'predicate'; readonly collection: Bound; readonly slot: number; readonly predicate: Bound }

/** ADD and REMOVE need exactly one collection. */
export function collectionTarget(expression: Expression, scope: Scope, binder: Binder): BoundTarget {
  const target = bindTarget(expression, scope, binder)
  const isOne = target.owners === undefined || !isMany(target.owners.type)
  const isWithinElement = target.elements?.kind === 'index' && target.within.length > 0
  if (isMany(target.type) && isOne && (target.elements === undefined || isWithinElement)) {
    if (!isWithinElement || target.type.kind === 'collection') return target
    throw binder.error(expression, `${target.text} is a map of one element: SET the whole map`)
  }
  throw binder.error(expression, `${target.text} is not one collection`)
}

export function bindTarget(expression: Expression, scope: Scope, binder: Binder): BoundTarget {
  const span = { start: expression.start, end: expression.end }
  const written = binder.text.slice(span.start, span.end)
  if (isMasked(written)) throw binder.error(span, 'targets are compared by their text')
  const text = `'${written.slice(0, 60)}'`
  if (expression.kind === 'subscript' || expression.kind === 'slice') {
    const collection = bindTarget(expression.object, scope, binder)
    if (collection.elements !== undefined) throw binder.error(expression, `${text} is not an element of one collection`)
    return { ...collection, text, span, ...elementsOf(expression, collection, scope, binder) }
  }
  const bound = binder.bind(expression, scope)
  const target = attributeTarget(bound)
  if (target !== undefined) {
    const { type } = target.inner.at(-1) ?? target.attribute
    return { ...target, elements: undefined, within: [], type, text, span }
  }
  const elementsTarget = elementTarget(bound)
  const last = elementsTarget?.within.at(-1)
  if (elementsTarget === undefined || last === undefined) {
    const advice = bound.type.kind === 'json' ? ': json is changed as a whole' : ''
    throw binder.error(expression, `${text} is not an attribute that could be changed${advice}`)
  }
  return { ...elementsTarget, type: last.type, text, span }
}

function elementsOf(
  expression: Extract<Expression, { kind: 'subscript' | 'slice' }>,
  collection: BoundTarget,
  scope: Scope,
  binder: Binder,
): Pick<BoundTarget, 'elements' | 'type'> {
  const bound = binder.bind(expression, scope)
  const { type } = collection
  switch (bound.kind) {
    case 'elementAt':
      return { elements: { kind: 'index', index: bound.index }, type: bound.type }
    case 'valueOfKey':
      return { elements: { kind: 'key', key: bound.key, current: bound }, type: bound.type }
    case 'slice':
      return { elements: { kind: 'slice', from: bound.from, to: bound.to }, type }
    case 'choose': {
      const { collection, slot, predicate } = bound
      const elements = { kind: 'predicate', collection, slot, predicate } as const
      return { elements, type: isMany(type) ? type.element : type }
    }
    default:
      throw binder.error(expression, 'this is not an element that could be changed')
  }
}

type AttributeTarget = Pick<BoundTarget, 'owners' | 'attribute' | 'inner'>

/** Returns undefined for anything but an attribute. */
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

export function embeddedAttribute({
  object,
  index,
  type,
}: Extract<Bound, { kind: 'field' }>): BoundAttribute | undefined {
  if (object.type.kind !== 'embedded') return undefined
  const { cls } = object.type
  const found = cls.attributes[index]
  if (found === undefined) return undefined
  const { number, outputName: name, spec } = found
  return { cls, number, name, index, spec, linkStorage: undefined, type }
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

/** The attributes from an element down to the target. */
function pathFromSlot(bound: Bound, slot: number): readonly BoundAttribute[] | undefined {
  if (bound.kind === 'slot') return bound.slot === slot ? [] : undefined
  if (bound.kind !== 'field') return undefined
  const outer = pathFromSlot(bound.object, slot)
  const inner = embeddedAttribute(bound)
  return outer && inner && [...outer, inner]
}

/** `orders[total < 5].state`: the attribute of every selected object. */
function eachTarget(bound: Extract<Bound, { kind: 'each' }>): AttributeTarget | undefined {
  const { body, collection } = bound
  const isElementSetting = body.kind === 'attribute' && body.slot === bound.slot
  if (!isElementSetting || !isMany(collection.type) || !isReference(collection.type.element)) return undefined
  return { owners: collection, attribute: body.attribute, inner: [] }
}

/** The steps from the objects to the target, equal for equal targets however they are spelled. */
export function targetSteps({ owners, attribute, inner, elements, within }: BoundTarget, text: string): string[] {
  const steps = [owners === undefined ? '' : boundKey(owners, text)]
  for (const { number } of [attribute, ...inner]) steps.push(String(number))
  if (elements !== undefined) steps.push(elementsStep(elements, text))
  for (const { number } of within) steps.push(String(number))
  return steps
}

function elementsStep(elements: BoundElements, text: string): string {
  const key = (bound: Bound | undefined): string => (bound === undefined ? '' : boundKey(bound, text))
  switch (elements.kind) {
    case 'index':
      return `[${key(elements.index)}]`
    case 'key':
      return `[${key(elements.key)}]`
    case 'slice':
      return `[${key(elements.from)}:${key(elements.to)}]`
    case 'predicate':
      return `[?${key(elements.predicate)}]`
  }
}
