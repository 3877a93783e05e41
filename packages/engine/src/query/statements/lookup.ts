/** LOOKUP: the match with the lowest OID, or null. */
import { compareOids, type Oid } from '../../types/oid.ts'
import { bindLookup } from '../bind/bind-select.ts'
import { valueRow } from '../execute/write-rows.ts'
import type { LookupStatement } from '../language/ast.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import { rowsAtHand, rowsType } from './answer.ts'
import { planSelect, startSelect } from './select.ts'
import type { RowAccess, StatementKind } from './statement-kind.ts'

export const lookup: StatementKind<LookupStatement> = {
  effect: 'read',

  async run(statement, executor) {
    const { type, value } = await lookUp(statement, executor)
    return rowsAtHand([valueRow(type, value, executor.context())])
  },

  value: lookUp,

  perRow: {
    value: async (statement, access) => (await lookUp(statement, access)).value,
    hasRow: async (statement, access) => (await lookUp(statement, access)).value !== null,
  },

  valueType: (statement, binder) => rowsType(bindLookup(statement, binder)),

  async explain(statement, explainer) {
    const planned = planSelect(statement, explainer)
    await startSelect(planned.plan, await explainer.inputs(planned), explainer.context())
    return planned.plan.rowType
  },
}

async function lookUp(statement: LookupStatement, executor: RowAccess): Promise<TypedValue> {
  const planned = planSelect(statement, executor)
  const { pipeline } = await startSelect(planned.plan, await executor.inputs(planned), executor.context())
  let lowest: Oid | null = null
  for await (const rows of pipeline.rows) {
    for (const { row } of rows) {
      if (row !== undefined && (lowest === null || compareOids(row.oid, lowest) < 0)) lowest = row.oid
    }
  }
  return { type: planned.plan.rowType, value: lowest }
}
