/** DISTINCT: keeps the first of equal rows. Once the table of keys is full, rows with new keys are sorted on disk and follow at the end. */
import { TextMap } from '../../budget/text-map.ts'
import { textBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { groupKey, keyWriter } from '../evaluate/value-key.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { type Flow, type Pipeline, type PlanOperator, pipeline } from './row-operator.ts'
import { SortedRows } from './sorted-rows.ts'

export const planDistinct: PlanOperator = ({ distinct }, { compiler }) => {
  if (distinct === undefined) return undefined
  const plan = { keys: compiler.compileAll(distinct), writers: distinct.map(({ type }) => keyWriter(type)) }
  return {
    run<R>(input: Pipeline<R>, { kind, evaluation, context }: Flow<R>) {
      const operator = rowOperatorPlan('distinct', { keys: plan.keys.length }, [input.operator])
      const keyOf = (row: OutputRow<R>): string => {
        enterOutput(row, kind, evaluation)
        const values = plan.keys.map((key) => key(evaluation))
        for (const value of values) evaluation.memory.chargeRow(valueBytes(value))
        return groupKey(plan.writers, values)
      }
      const rows = distinctRows(input.rows, keyOf, operator, { kind, context, rowParts: plan.keys.length })
      return pipeline(rows, operator, input, context)
    },
  }
}

const keyBytes = 100

interface DistinctFlow<R> extends Pick<Flow<R>, 'kind' | 'context'> {
  /** Number of key expressions, where they may be many. */
  readonly rowParts?: number
}

/** `keyOf` must be equal for equal rows. */
export async function* distinctRows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  keyOf: (row: OutputRow<R>) => string,
  operator: ExplainNode,
  flow: DistinctFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const { kind, context } = flow
  const seen = new Seen(context)
  // Rows whose keys do not fit in memory.
  const overflow = new SortedRows(kind, context, operator, { duplicateKeys: 'first' })
  try {
    for await (const rows of batches) {
      const evaluated = evaluateRows(context, rows, keyOf, flow.rowParts)
      const keys = evaluated instanceof Promise ? await evaluated : evaluated
      const distinct: OutputRow<R>[] = []
      for (const [i, key] of keys.entries()) {
        if (seen.has(key)) continue
        const row = rows[i] as OutputRow<R>
        if (!seen.isFull(key)) {
          seen.add(key)
          distinct.push(row)
          continue
        }
        overflow.add(Buffer.from(key, 'latin1'), overflow.count, row)
        if (overflow.isFull) await overflow.spill()
      }
      await overflow.settle()
      if (distinct.length > 0) yield distinct
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    if (overflow.count > 0) yield* firstOfEach(overflow, operator, flow)
  } finally {
    await overflow.close()
  }
}

/** In input order. */
async function* firstOfEach<R>(
  rows: SortedRows<R>,
  operator: ExplainNode,
  { kind, context }: DistinctFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const inOrder = new SortedRows(kind, context, operator)
  try {
    for await (const batch of rows.merged()) {
      for (const { isFirst, order, row } of batch) {
        if (!isFirst) continue
        inOrder.addNumbered(order, row)
        if (inOrder.isFull) await inOrder.spill()
      }
      await inOrder.settle()
    }
    await rows.close()
    yield* inOrder.sorted()
  } finally {
    await inOrder.close()
  }
}

/** Keys of the rows that were returned. Once it is full, no more keys are added. */
class Seen {
  private readonly context: StatementContext
  private readonly keys = new TextMap<true>()
  private bytes = 0
  private rows = 0
  private wasFull = false

  constructor(context: StatementContext) {
    this.context = context
  }

  has(key: string): boolean {
    return this.keys.has(key)
  }

  isFull(key: string): boolean {
    this.wasFull ||= this.context.isSpillDue(this.rows + 1, this.bytes + bytesOf(key))
    return this.wasFull
  }

  add(key: string): void {
    const bytes = bytesOf(key)
    this.context.hold(1, bytes)
    this.bytes += bytes
    this.rows++
    this.keys.set(key, true)
  }
}

function bytesOf(key: string): number {
  return keyBytes + textBytes(key.length)
}
