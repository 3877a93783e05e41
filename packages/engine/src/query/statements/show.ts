/** SHOW: a value, the parameters and variables, or classes. */
import { representClass } from '../../schema/representation.ts'
import { resolveClass } from '../bind/class-names.ts'
import { valueInMemory } from '../evaluate/rows-on-disk.ts'
import { jsonRow } from '../execute/row-chunk.ts'
import { rowOf } from '../execute/write-rows.ts'
import type { Expression, ShowStatement } from '../language/ast.ts'
import { createBinder } from '../plan-cache.ts'
import type { RowChunk } from '../query-request.ts'
import { noRows, rowsAtHand, type StatementReply } from './answer.ts'
import { drawing, noValue, type StatementExecutor, type StatementKind } from './statement-kind.ts'

export const show: StatementKind<ShowStatement> = {
  effect: 'read',

  async run(statement, executor) {
    const { catalog } = executor
    switch (statement.what) {
      case 'value': {
        const { type, value } = await executor.value(statement.value as Expression, drawing)
        return rowsAtHand([await rowOf(type, value, executor.context())])
      }
      case 'parameters':
        return showVariables(executor)
      case 'class': {
        const name = statement.className
        if (name === undefined) return noRows
        return rowsAtHand([jsonRow(representClass(resolveClass(createBinder(executor.planning()), name), catalog))])
      }
      case 'classes':
        return rowsAtHand(catalog.classes.map((cls) => jsonRow(representClass(cls, catalog))))
    }
  },

  async explain({ value, className }, explainer) {
    if (value !== undefined) await explainer.value(value, drawing)
    if (className !== undefined) resolveClass(createBinder(explainer.planning()), className)
    return noValue
  },
}

async function showVariables(executor: StatementExecutor): Promise<StatementReply> {
  const context = executor.context()
  const rows: RowChunk[] = []
  for (const [name, { type, value }] of executor.variables) {
    const { bytes } = await rowOf(type, valueInMemory(value, name), context)
    context.hold(0, 2 * bytes.length)
    const start = Buffer.from(`\n{"name":${JSON.stringify(name)},"value":`)
    rows.push({ bytes: Buffer.concat([start, bytes.subarray(1), Buffer.from('}')]), starts: [1] })
  }
  return rowsAtHand(rows)
}
