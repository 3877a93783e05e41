/** Where values are told apart: by GROUP BY and DISTINCT. */
import type { Span } from '../language/ast.ts'
import { aTypeName, type ValueType } from '../values/value-type.ts'
import type { Binder } from './scope.ts'

export function isKeyType({ kind }: ValueType): boolean {
  return kind !== 'collection' && kind !== 'map' && kind !== 'record' && kind !== 'embedded' && kind !== 'edge'
}

/** Throws QueryError for values that are not told apart by a key. `rule`: what is said before them. */
export function requireKey(type: ValueType, span: Span, rule: string, binder: Binder): void {
  if (!isKeyType(type)) throw binder.error(span, `${rule} simple values, not ${aTypeName(type)}`)
}
