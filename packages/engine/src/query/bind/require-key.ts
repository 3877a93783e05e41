/** Checks the values that GROUP BY and DISTINCT compare. */
import type { Span } from '../language/ast.ts'
import { aTypeName, type ValueType } from '../values/value-type.ts'
import type { Binder } from './scope.ts'

export function isKeyType({ kind }: ValueType): boolean {
  if (kind === 'json') return false
  return kind !== 'collection' && kind !== 'map' && kind !== 'record' && kind !== 'embedded' && kind !== 'edge'
}

/** Throws QueryError for types that cannot be keys. `rule` is the beginning of the message. */
export function requireKey(type: ValueType, span: Span, rule: string, binder: Binder): void {
  if (!isKeyType(type)) throw binder.error(span, `${rule} simple values, not ${aTypeName(type)}`)
}
