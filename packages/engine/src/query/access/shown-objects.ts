/** Access paths to the objects that a caller can see, by the predicates that hold for all of them (`Catalog.predicatesOf`). */
import { AshlarError } from '../../errors.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { bindWhere } from '../bind/bind-select.ts'
import { type Bound, conjunctsOf, operandsOf } from '../bind/bound.ts'
import { contextScope } from '../bind/scope.ts'
import { queryError } from '../language/query-error.ts'
import type { Planning } from '../operators/planning.ts'
import { parsePredicate } from '../parse/parse.ts'
import { createPredicateBinder } from '../plan-cache.ts'
import { isScalarType } from '../values/value-type.ts'
import { accessesFor } from './access-kinds.ts'
import type { OidAccess } from './access-path.ts'
import { type IndexCondition, sargablePredicates } from './sargable-predicates.ts'

/**
 * The predicates only restrict the access and are not part of the filter: every visible object fulfils them, and hidden objects
 * are excluded by the store. Only values of the object itself are used, since the target of a reference may be hidden from this
 * caller.
 */
export function visibilityAccesses(
  classes: readonly SchemaClass[],
  cls: SchemaClass,
  slot: number,
  planning: Planning,
): OidAccess[] {
  const predicates = planning.formats.catalog.predicatesOf?.(classes)
  if (predicates === undefined || predicates.length === 0) return []
  // Joined to one text, since EXPLAIN shows parts of it.
  const numbers = new Set(predicates.map((predicate) => predicate.cls))
  const [number] = numbers
  const predicateClass =
    number === undefined || numbers.size > 1 ? undefined : planning.formats.catalog.classByNumber(number)
  if (predicateClass === undefined) return []
  const text = predicates.map((predicate) => `(${predicate.text}\n)`).join(' OR ')
  const bound = boundPredicate(text, predicateClass, slot, planning)
  if (bound === undefined) return []
  return accessesFor(cls, directConditions(bound, slot), { ...planning, text })
}

/** Undefined if it cannot be bound to the catalog that the reader sees. */
function boundPredicate(text: string, cls: SchemaClass, slot: number, { formats }: Planning): Bound | undefined {
  const binder = createPredicateBinder(text, formats, (statement) => {
    throw queryError(text, statement, 'a predicate over objects has no statement within')
  })
  // Elements use other slots.
  while (binder.slots <= slot) binder.newSlot()
  try {
    return bindWhere(
      parsePredicate(text, Number.POSITIVE_INFINITY),
      contextScope(slot, { kind: 'reference', cls }, undefined),
      binder,
    )
  } catch (error) {
    if (error instanceof AshlarError && error.kind !== 'fault') return undefined
    throw error
  }
}

function directConditions(bound: Bound, slot: number): IndexCondition[] {
  return conjunctsOf(bound).flatMap((conjunct) =>
    dependsOnOwnValues(conjunct) ? sargablePredicates(conjunct, slot) : partsOfOr(conjunct, slot),
  )
}

/** For each alternative, the conditions on the object itself. */
function partsOfOr(bound: Bound, slot: number): IndexCondition[] {
  if (bound.kind !== 'logical' || bound.operator !== 'or') return []
  const parts = bound.operands.map((operand) => directConditions(operand, slot))
  return parts.some((part) => part.length === 0) ? [] : [{ kind: 'or', parts }]
}

/** Whether it depends only on scalar attributes of the object, the caller and constants. */
function dependsOnOwnValues(bound: Bound): boolean {
  switch (bound.kind) {
    case 'attribute':
      return bound.attribute.linkStorage === undefined && (isScalarType(bound.type) || bound.type.kind === 'embedded')
    case 'constant':
    case 'user':
    case 'now':
      return true
    case 'self':
    case 'slot':
    case 'follow':
    case 'nested':
    case 'inner':
    case 'variable':
      return false
    case 'field':
      return (isScalarType(bound.type) || bound.object.kind === 'user') && operandsOf(bound).every(dependsOnOwnValues)
    default:
      return operandsOf(bound).every(dependsOnOwnValues)
  }
}
