/** Collections that are kept as links, of which an expression wants an end or the number alone: the other entries are not read, or not held. */
import { type Bound, isConstant } from '../bind/bound.ts'
import { compileOwner } from './compile-target.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import type { LinkEnd } from './object-view.ts'

/**
 * How many elements there are, null where there is no object; undefined for what is no such collection itself. `max`: no more of them are
 * counted.
 */
export function compileLinkCount(
  bound: Bound,
  compiler: ExpressionCompiler,
  max?: (evaluation: EvaluationContext) => number | undefined,
): Evaluate | undefined {
  if (bound.kind !== 'attribute' && bound.kind !== 'follow') return undefined
  const { attribute } = bound
  if (attribute.linkStorage === undefined) return undefined
  const owner = compileOwner(bound, compiler)
  return (evaluation) => {
    const view = owner(evaluation)
    return view?.format === undefined ? null : evaluation.reader.linkCount(view, attribute, max?.(evaluation))
  }
}

/** Beyond, all are counted: a list that is compared is often returned with its number. */
const comparedMax = 64

/** A number of elements that is compared with one known before the rows: one element more tells. Undefined for anything else. */
export function compileComparedCount(bound: Bound, other: Bound, compiler: ExpressionCompiler): Evaluate | undefined {
  if (bound.kind !== 'fold' || !bound.countsNulls || !isConstant(other)) return undefined
  const limit = compiler.compile(other)
  const count = compileLinkCount(bound.collection, compiler, (evaluation) => {
    const compared = Number(limit(evaluation))
    return compared < comparedMax ? Math.max(0, Math.floor(compared)) + 1 : undefined
  })
  return count && ((evaluation) => count(evaluation) ?? 0)
}

/** The same of elements at an end; undefined also for a map, whose pairs have no order. */
export function compileLinkEnd(
  bound: Bound,
  compiler: ExpressionCompiler,
): ((evaluation: EvaluationContext, end: LinkEnd) => readonly unknown[] | null) | undefined {
  if (bound.kind !== 'attribute' && bound.kind !== 'follow') return undefined
  const { attribute } = bound
  if (attribute.linkStorage !== 'list' && attribute.linkStorage !== 'set') return undefined
  const owner = compileOwner(bound, compiler)
  return (evaluation, end) => {
    const view = owner(evaluation)
    return view?.format === undefined ? null : evaluation.reader.endLinks(view, attribute, end)
  }
}

/** The end of a collection that has what `Array.slice` takes from it; undefined where that is at neither end. */
export function endWith(from: number | undefined, to: number | undefined): LinkEnd | undefined {
  if (to !== undefined && to >= 0 && (from ?? 0) >= 0) return { isLast: false, max: to }
  if (to === undefined && from !== undefined && from < 0) return { isLast: true, max: -from }
  return undefined
}
