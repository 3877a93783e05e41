/** Rejects attributes next to an aggregate without GROUP BY, because they differ from row to row of the one group. */
import { truncateForMessage } from '../../errors.ts'
import type { Span } from '../language/ast.ts'
import { excerpt } from '../language/query-error.ts'
import { isReference } from '../values/value-type.ts'
import { type Bound, type BoundAggregate, type BoundClauses, operandsOf } from './bound.ts'
import { isKeyType } from './require-key.ts'
import type { Binder, Scope } from './scope.ts'

/** A longer GROUP BY is omitted from the message. */
const listedKeysMax = 1_000

/** `scope` is that of one row. Throws QueryError with the missing GROUP BY. */
export function refuseUngroupedValues(clauses: BoundClauses, scope: Scope, binder: Binder): void {
  const { projections, isWithAll, windows, orderBy, skip, take } = clauses
  const [aggregate] = clauses.aggregates as readonly [BoundAggregate]
  const found = new RowValues(scope, binder.text)
  if (projections === undefined || isWithAll) found.addAll(aggregate)
  for (const { expression } of projections ?? []) found.add(expression)
  for (const { operand, otherwise, partitionBy, orderBy: within } of windows) {
    const operands = [operand, otherwise, ...partitionBy, ...within.map(({ expression }) => expression)]
    for (const value of operands) if (value !== undefined) found.add(value)
  }
  // Columns have been checked as projections.
  for (const { expression } of orderBy) if (expression.isColumn !== true) found.add(expression)
  for (const limit of [skip, take]) if (limit !== undefined) found.add(limit.expression)
  const [first] = found.keys
  if (first === undefined) return
  const aggregateText = excerpt(binder.text, aggregate)
  const problem = `${truncateForMessage(first.text)} differs from row to row, and ${aggregateText} is one value for all rows`
  throw binder.error(first.span, `${problem}: ${advice(found.keys)}`)
}

function advice(keys: readonly RowValue[]): string {
  const list = [...new Set(keys.map(({ text }) => text))].join(', ')
  if (!keys.every(({ isKey }) => isKey) || list.length > listedKeysMax)
    return 'write GROUP BY, or an aggregate of it such as COLLECT'
  return `add GROUP BY ${list} for one row each, or write an aggregate of it such as MIN`
}

interface RowValue {
  readonly span: Span
  readonly text: string
  /** False for values that cannot be keys and have no name. */
  readonly isKey: boolean
}

/** The values that GROUP BY would need: the largest expressions that are simple values without aggregates. */
class RowValues {
  readonly keys: RowValue[] = []
  private readonly text: string
  private readonly slots = new Set<number>()
  /** Source text of the values of the rows: references and simple values. */
  private readonly owners = new Map<number, string>()

  constructor({ context, sources = [], names }: Scope, text: string) {
    this.text = text
    for (const source of context === undefined ? sources : [context]) this.slots.add(source.slot)
    if (context !== undefined && isReference(context.type)) this.owners.set(context.slot, '$$ID')
    for (const [name, bound] of names) {
      if (!('slot' in bound)) continue
      this.slots.add(bound.slot)
      if (isKeyType(bound.type)) this.owners.set(bound.slot, name)
    }
  }

  /** Adds everything that `*` returns. */
  addAll(span: Span): void {
    for (const slot of this.slots) {
      const text = this.owners.get(slot)
      this.keys.push({ span, text: text ?? '*', isKey: text !== undefined })
    }
  }

  add(bound: Bound): void {
    this.visit(bound)
  }

  private visit(bound: Bound): { readonly dependsOnRow: boolean; readonly hasOther: boolean } {
    const before = this.keys.length
    const { kind, start, end } = bound
    const isRow = 'slot' in bound && this.slots.has(bound.slot)
    let dependsOnRow = isRow
    let hasOther = kind === 'aggregate' || kind === 'window' || kind === 'inner'
    for (const part of operandsOf(bound)) {
      const visited = this.visit(part)
      dependsOnRow ||= visited.dependsOnRow
      hasOther ||= visited.hasOther
    }
    const written = this.text.slice(start, end)
    if (dependsOnRow && !hasOther && isKeyType(bound.type) && bound.type.kind !== 'object') {
      this.keys.length = before
      this.keys.push({ span: { start, end }, text: written, isKey: true })
    } else if (isRow) {
      const text = this.owners.get(bound.slot)
      this.keys.push({ span: { start, end }, text: text ?? written, isKey: text !== undefined })
    }
    return { dependsOnRow, hasOther }
  }
}
