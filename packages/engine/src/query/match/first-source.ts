/** Reads the first source of a join, row by row. */
import { objectRows } from '../access/object-rows.ts'
import { type ExplainNode, explainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { inputsOf, type MatchFlow, type MatchOperator } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { type PredicatePlan, predicateTexts, qualifiedRows } from './predicates.ts'
import type { SourceRows } from './source-rows.ts'

const batchRows = 256

/** `predicates`: the predicates that depend on this source alone. */
export function firstSource(
  { slot, name }: { readonly slot: number; readonly name: string },
  source: SourceRows,
  predicates: readonly PredicatePlan[],
): MatchOperator {
  return {
    run(input, flow) {
      const { items, operator: from } = itemsOf(source, flow)
      const operator = rowOperatorPlan(
        'source',
        { name, ...predicateTexts(predicates) },
        inputsOf(input.operator, from),
      )
      return qualifiedRows(withItems(input.rows, items, slot, flow), predicates, operator, flow)
    },
  }
}

export function itemsOf(
  source: SourceRows,
  { evaluation, context }: MatchFlow,
): { readonly items: AsyncIterable<readonly unknown[]>; readonly operator: ExplainNode } {
  if (source.kind === 'objects') {
    const { rows, operator } = objectRows(source.objects, source.chosen, evaluation, context, undefined)
    return { items: rows, operator }
  }
  const operator = explainNode('values', {}, [])
  if (source.kind === 'statements') {
    if (source.count !== undefined) operator.estimated = source.count
    return { items: itemsOfStatements(source, operator), operator }
  }
  operator.estimated = source.values.length
  return { items: inBatches(source.values, operator), operator }
}

async function* inBatches(values: readonly unknown[], operator: ExplainNode): AsyncGenerator<readonly unknown[]> {
  for (let at = 0; at < values.length; at += batchRows) {
    const batch = values.slice(at, at + batchRows)
    operator.examined += batch.length
    operator.returned += batch.length
    yield batch
  }
}

async function* itemsOfStatements(
  { rows, isWrapped }: Extract<SourceRows, { kind: 'statements' }>,
  operator: ExplainNode,
): AsyncGenerator<readonly unknown[]> {
  for await (const batch of rows(operator)) {
    operator.examined += batch.length
    operator.returned += batch.length
    yield isWrapped ? batch.map((value) => [value]) : batch
  }
}

async function* withItems(
  input: MatchBatches,
  items: AsyncIterable<readonly unknown[]>,
  slot: number,
  { context }: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  // The input is one empty row.
  for await (const [empty] of input) {
    if (empty === undefined) continue
    for await (const batch of items) {
      yield batch.map((item): MatchRow => ({ ...empty, slots: empty.slots.with(slot, item) }))
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
}
