/** Compiles uses of link collections that need only their length or one end, so that not all entries are read or retained. */
import { type Bound, isConstant } from '../bind/bound.ts'
import { compileOwner } from './compile-target.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import type { LinkEnd } from './object-view.ts'

/** Number of elements, null where there is no object; undefined if the expression is no link collection. `max` bounds the count. */
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
    return view === undefined || view.isMissing ? null : evaluation.reader.linkCount(view, attribute, max?.(evaluation))
  }
}

/** Larger bounds count all: a list that is compared is often returned with its length. */
const comparedMax = 64

/** A length that is compared with a constant: counting stops after one element more. Undefined for other expressions. */
export function compileComparedCount(bound: Bound, other: Bound, compiler: ExpressionCompiler): Evaluate | undefined {
  if (bound.kind !== 'fold' || !bound.countsNulls || !isConstant(other)) return undefined
  const limit = compiler.compile(other)
  const count = compileLinkCount(bound.collection, compiler, (evaluation) => {
    const compared = Number(limit(evaluation))
    return compared < comparedMax ? Math.max(0, Math.floor(compared)) + 1 : undefined
  })
  return count && ((evaluation) => count(evaluation) ?? 0)
}

/** Elements at one end of a link collection; undefined also for maps, whose pairs have no order. */
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

/** The end of a collection that contains what `Array.slice` returns; undefined where it is at neither end. */
export function linkEndOfSlice(from: number | undefined, to: number | undefined): LinkEnd | undefined {
  if (to !== undefined && to >= 0 && (from ?? 0) >= 0) return { isLast: false, max: to }
  if (to === undefined && from !== undefined && from < 0) return { isLast: true, max: -from }
  return undefined
}
