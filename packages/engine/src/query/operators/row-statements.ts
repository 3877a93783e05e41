/** Rows of nested statements that are the source of another one; UNION concatenates them and removes duplicates of its distinct parts. */
import type { RowStatements as BoundStatements } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { groupKey, keyWriter, type WriteKey } from '../evaluate/value-key.ts'
import type { OutputRow } from '../execute/row.ts'
import { SourceValues } from '../execute/source-values.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import { BufferedValues, type Item, itemKind, itemRow } from './buffered-values.ts'
import { distinctRows } from './distinct.ts'

export interface NestedRowPlans {
  /** Indexes among the nested statements. */
  readonly indexes: readonly number[]
  /** A variable that is used instead of the statements; its rows may be in memory. */
  readonly variable?: string
  /** Number of leading parts whose rows are made distinct. */
  readonly distinctParts: number
  readonly writers: readonly WriteKey[]
  readonly isOneColumn: boolean
}

export function statementsPlan(bound: BoundStatements | undefined): NestedRowPlans | undefined {
  return bound && { ...bound, writers: bound.types.map(keyWriter) }
}

type Rows = Pick<SourceValues, 'batches'>

/** Spilling is recorded in `operator`. Undefined where the rows exist as values. Throws `unknownValue`. */
export function statementsOfRows(
  statements: NestedRowPlans | undefined,
  { nested, variables }: EvaluationContext,
  context: StatementContext,
): ((operator?: ExplainNode) => AsyncIterable<readonly unknown[]>) | undefined {
  if (statements === undefined) return undefined
  const parts: Rows[] = []
  if (statements.variable !== undefined) {
    const rows = variables.get(statements.variable)?.value
    if (!(rows instanceof BufferedValues)) return undefined
    parts.push(rows)
  }
  for (const index of statements.indexes) {
    const part = nested[index]
    if (!(part instanceof SourceValues)) return undefined
    parts.push(part)
    context.closeAtEnd(part)
  }
  return (operator = explainNode('values')) => unionOf(parts, statements, operator, context)
}

async function* unionOf(
  parts: readonly Rows[],
  { distinctParts, writers, isOneColumn }: NestedRowPlans,
  operator: ExplainNode,
  context: StatementContext,
): AsyncGenerator<readonly unknown[]> {
  if (distinctParts > 0) {
    const keyOf = ({ row }: OutputRow<Item>): string => {
      const value = row?.value
      return groupKey(writers, isOneColumn ? [value] : (value as readonly unknown[]))
    }
    const rows = itemRows(concatenated(parts.slice(0, distinctParts)))
    for await (const batch of distinctRows(rows, keyOf, operator, { kind: itemKind, context })) {
      yield batch.map(({ row }) => row?.value)
    }
  }
  yield* concatenated(parts.slice(distinctParts))
}

async function* concatenated(parts: readonly Rows[]): AsyncGenerator<readonly unknown[]> {
  for (const part of parts) yield* part.batches()
}

async function* itemRows(batches: AsyncIterable<readonly unknown[]>): AsyncGenerator<readonly OutputRow<Item>[]> {
  for await (const batch of batches) yield batch.map(itemRow)
}
