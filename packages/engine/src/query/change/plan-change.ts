/** Plans of UPDATE, DELETE and UPSERT: the expressions evaluated for each object before anything is changed. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { planObjects, type SourcePlan } from '../access/source-plan.ts'
import type { BoundAction, BoundChange } from '../bind/bind-change.ts'
import { noClauses } from '../bind/bind-select.ts'
import type { BoundElements, BoundTarget } from '../bind/bind-target.ts'
import type { Bound } from '../bind/bound.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import { elementsIn, slotElements, slotFiller } from '../evaluate/element-slot.ts'
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import { type ClausesPlan, planClauses } from '../operators/clauses.ts'
import type { Planning } from '../operators/planning.ts'
import type { ValueType } from '../values/value-type.ts'

export interface TypedEvaluate {
  readonly evaluate: Evaluate
  readonly type: ValueType
}

export interface TargetPlan extends Omit<BoundTarget, 'owners' | 'elements'> {
  readonly owners: Evaluate | undefined
  readonly elements: ElementsPlan | undefined
}

export type ElementsPlan =
  | { readonly kind: 'index'; readonly index: Evaluate }
  /** `current`: the value of the key in the map, or null. */
  | { readonly kind: 'key'; readonly key: Evaluate; readonly current: Evaluate }
  | { readonly kind: 'slice'; readonly from: Evaluate | undefined; readonly to: Evaluate | undefined }
  | { readonly kind: 'positions'; readonly positions: Evaluate }

export type ActionPlan =
  | {
      readonly kind: 'set'
      readonly target: TargetPlan
      readonly value: TypedEvaluate
      /** A range is replaced by the elements of the value. */
      readonly isSpread: boolean
    }
  | { readonly kind: 'clear'; readonly target: TargetPlan }
  | {
      readonly kind: 'add'
      readonly target: TargetPlan
      readonly elements: readonly TypedEvaluate[]
      readonly pairs: readonly { readonly key: TypedEvaluate; readonly value: TypedEvaluate }[]
      /** Other actions select elements of the collection. */
      readonly isEdited: boolean
    }
  | {
      readonly kind: 'remove'
      readonly target: TargetPlan
      readonly elements: readonly TypedEvaluate[]
      readonly isEdited: boolean
    }
  | { readonly kind: 'removeAt'; readonly target: TargetPlan; readonly index: Evaluate }

export interface ChangePlan {
  readonly sourceClass: SchemaClass
  readonly objects: SourcePlan
  readonly actions: readonly ActionPlan[]
  readonly isReturning: boolean
  /** Selects among the qualifying objects; undefined for all. */
  readonly choice: ClausesPlan | undefined
  readonly clauses: ClausesPlan
  readonly slots: number
  readonly constants: number
}

export function planChange(bound: BoundChange, slots: number, formats: RecordFormats, text: string): ChangePlan {
  const planning: Planning = { formats, text, compiler: new Compiler(formats) }
  // RETURN's order and grouping don't affect which objects are changed.
  const { where } = bound.clauses
  const { orderBy = [] } = bound.choice ?? {}
  const objects = planObjects(bound.source, bound.slot, { ...noClauses, where, orderBy }, planning)
  const choosing = bound.actions.filter(
    ({ kind, target: { elements } }) => elements !== undefined || kind === 'removeAt',
  )
  const edited = new Set(choosing.map(({ target }) => collectionKey(target)))
  const actions = bound.actions.map((action) => planAction(action, edited, planning.compiler))
  const choice = bound.choice && planClauses(bound.choice, planning)
  const clauses = planClauses(bound.clauses, planning)
  const { isReturning, source } = bound
  const { constants } = planning.compiler
  return { sourceClass: source.cls, objects, actions, isReturning, choice, clauses, slots, constants }
}

/** Equal for all targets that are, or select elements of, the same collection of an object. */
export function collectionKey({ attribute, inner }: Pick<BoundTarget, 'attribute' | 'inner'>): string {
  return [attribute, ...inner].map(({ number }) => number).join()
}

/** `edited`: collections whose elements are selected by actions. */
function planAction(action: BoundAction, edited: ReadonlySet<string>, compiler: Compiler): ActionPlan {
  const target = planTarget(action.target, compiler)
  const isEdited = edited.has(collectionKey(target)) && target.type.kind === 'collection'
  const typed = (bound: Bound): TypedEvaluate => ({ evaluate: compiler.compile(bound), type: bound.type })
  switch (action.kind) {
    case 'set':
      return { kind: 'set', target, value: typed(action.value), isSpread: action.isSpread }
    case 'clear':
      return { kind: 'clear', target }
    case 'add': {
      const pairs = action.pairs.map(({ key, value }) => ({ key: typed(key), value: typed(value) }))
      return { kind: 'add', target, elements: action.elements.map(typed), pairs, isEdited }
    }
    case 'remove':
      return { kind: 'remove', target, elements: action.elements.map(typed), isEdited }
    case 'removeAt':
      return { kind: 'removeAt', target, index: compiler.compile(action.index) }
  }
}

function planTarget(target: BoundTarget, compiler: Compiler): TargetPlan {
  return {
    ...target,
    owners: target.owners === undefined ? undefined : planOwners(target.owners, compiler),
    elements: target.elements === undefined ? undefined : planElements(target.elements, compiler),
  }
}

/** For a map, its values. */
function planOwners(owners: Bound, compiler: Compiler): Evaluate {
  const evaluate = compiler.compile(owners)
  if (owners.type.kind !== 'map') return evaluate
  const elements = elementsIn(owners.type)
  return (evaluation) => [...elements(evaluate(evaluation) ?? [])]
}

function planElements(elements: BoundElements, compiler: Compiler): ElementsPlan {
  switch (elements.kind) {
    case 'index':
      return { kind: 'index', index: compiler.compile(elements.index) }
    case 'key':
      return { kind: 'key', key: compiler.compile(elements.key), current: compiler.compile(elements.current) }
    case 'slice': {
      const { from, to } = elements
      return {
        kind: 'slice',
        from: from === undefined ? undefined : compiler.compile(from),
        to: to === undefined ? undefined : compiler.compile(to),
      }
    }
    case 'predicate':
      return { kind: 'positions', positions: positionsWhere(elements, compiler) }
  }
}

function positionsWhere(elements: Extract<BoundElements, { kind: 'predicate' }>, compiler: Compiler): Evaluate {
  const collection = compiler.compile(elements.collection)
  const predicate = compiler.compile(elements.predicate)
  const fill = slotFiller(elements.collection.type, elements.slot)
  const elementsOf = slotElements(elements.collection.type)
  return (evaluation) => {
    const positions: number[] = []
    let position = 0
    for (const element of elementsOf(evaluation, collection(evaluation) ?? [])) {
      fill(evaluation, element)
      if (predicate(evaluation) === true) positions.push(position)
      position++
    }
    return positions
  }
}
