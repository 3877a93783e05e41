/** Evaluation of SET, ADD, CLEAR and REMOVE for one row, before any object is changed. */
import type { Oid } from '../../types/oid.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { isNothing } from '../values/compare.ts'
import type { ActionPlan, ElementsPlan } from './plan-change.ts'

/** The evaluated operands of one action for one row. */
export interface ActionValues {
  /** The objects whose attribute is changed. */
  readonly owners: readonly Oid[]
  readonly values: readonly unknown[]
  readonly pairs: readonly { readonly key: unknown; readonly value: unknown }[]
  readonly elements: ElementChoice | undefined
}

export type ElementChoice =
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'key'; readonly key: unknown; readonly hasKey: boolean }
  | { readonly kind: 'slice'; readonly from: number | undefined; readonly to: number | undefined }
  | { readonly kind: 'positions'; readonly positions: readonly number[] }
  /** The index or key is null, so no element is selected. */
  | { readonly kind: 'none' }

export function evaluateAction(action: ActionPlan, evaluation: EvaluationContext, self: Oid): ActionValues {
  const { owners, elements } = action.target
  const owner = owners?.(evaluation)
  const found = owners === undefined ? [self] : Array.isArray(owner) ? owner : [owner]
  return {
    owners: [...new Set(found.filter((oid) => !isNothing(oid)))] as Oid[],
    values: valuesOf(action, evaluation),
    pairs:
      action.kind === 'add'
        ? action.pairs.map(({ key, value }) => ({ key: key.evaluate(evaluation), value: value.evaluate(evaluation) }))
        : [],
    elements:
      action.kind === 'removeAt'
        ? indexChoice(action.index(evaluation))
        : elements === undefined
          ? undefined
          : choose(elements, evaluation, action.kind === 'clear'),
  }
}

function valuesOf(action: ActionPlan, evaluation: EvaluationContext): unknown[] {
  switch (action.kind) {
    case 'set':
      return [action.value.evaluate(evaluation) ?? null]
    case 'add':
    case 'remove':
      return action.elements.map(({ evaluate }) => evaluate(evaluation) ?? null)
    default:
      return []
  }
}

function indexChoice(index: unknown): ElementChoice {
  return index === null || index === undefined ? { kind: 'none' } : { kind: 'index', index: Number(index) }
}

/** `checksKey`: whether the map has the key must be determined. */
function choose(elements: ElementsPlan, evaluation: EvaluationContext, checksKey: boolean): ElementChoice {
  switch (elements.kind) {
    case 'index':
      return indexChoice(elements.index(evaluation))
    case 'key': {
      const key = elements.key(evaluation)
      if (key === null || key === undefined) return { kind: 'none' }
      return { kind: 'key', key, hasKey: checksKey && (elements.current(evaluation) ?? null) !== null }
    }
    case 'slice': {
      const [from, to] = [elements.from?.(evaluation), elements.to?.(evaluation)]
      if (from === null || to === null) return { kind: 'none' }
      return {
        kind: 'slice',
        from: from === undefined ? undefined : Number(from),
        to: to === undefined ? undefined : Number(to),
      }
    }
    case 'positions':
      return { kind: 'positions', positions: elements.positions(evaluation) as readonly number[] }
  }
}
