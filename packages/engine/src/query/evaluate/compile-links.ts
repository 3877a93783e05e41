/** Collections that are kept as links, of which an expression wants an end or the number alone: the other entries are not read, or not held. */
import type { Bound } from '../bind/bound.ts'
import { compileOwner } from './compile-target.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { inParts } from './in-parts.ts'
import type { LinkEnd } from './object-view.ts'

/** How many elements there are, null where there is no object; undefined for what is no such collection itself. */
export function compileLinkCount(bound: Bound, compiler: ExpressionCompiler): Evaluate | undefined {
  if (bound.kind !== 'attribute' && bound.kind !== 'follow') return undefined
  const { attribute } = bound
  if (attribute.linkStorage === undefined) return undefined
  const owner = compileOwner(bound, compiler)
  return inParts(compiler, (evaluation) => {
    const view = owner(evaluation)
    return view?.format === undefined ? null : evaluation.reader.linkCount(view, attribute)
  })
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
