/** FROM … RETURN as a live query: which statements qualify, the dependencies of their rows, and each row with the OID of its object. */

import type { ClassNumber } from '../../types/type-spec.ts'
import { bindSelect } from '../bind/bind-select.ts'
import { type Bound, isTimeOrChance, operandsOf } from '../bind/bound.ts'
import { isRecordOnly } from '../bind/record-only.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import type { SelectStatement, Statement } from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import { objectWriter } from '../operators/project.ts'
import { createBinder } from '../plan-cache.ts'
import type { StatementReply } from './answer.ts'
import { areColumnsRecordOnly, planSelect, startSelect } from './select.ts'
import type { StatementExecutor } from './statement-kind.ts'

/** Dependencies of the rows in addition to the schema. */
export interface LiveConcern {
  readonly classNumber: ClassNumber
  /** The rows depend only on the values of their own objects, and not on links or other objects. */
  readonly dependsOnRecordsOnly: boolean
  readonly isOrdered: boolean
  /** Without ORDER BY, SKIP and TAKE: whether an object is in the result depends on no other object. */
  readonly isFilterOnly: boolean
}

/** Throws QueryError for statements that cannot be live. */
export function liveStatement(statements: readonly Statement[], text: string): SelectStatement {
  const [only, second] = statements
  if (second !== undefined) throw queryError(text, second, 'a live query is one statement')
  if (only?.kind !== 'select') {
    throw queryError(text, only ?? { start: 0, end: text.length }, 'a live query is FROM a class, with what it returns')
  }
  if (only.source.kind !== 'class' || (only.others ?? []).length > 0) {
    throw queryError(
      text,
      only.source,
      'a live query is about the objects of a class: write FROM a class WHERE $$ID = …',
    )
  }
  return only
}

/** Throws QueryError if rows are not objects, or may change without a write. */
export function liveConcern(statement: SelectStatement, executor: StatementExecutor): LiveConcern {
  const { text } = executor
  const binder = createBinder(executor.planning())
  const { source, clauses } = bindSelect(statement, binder)
  const { where, groupBy, orderBy, skip, take, projections, distinct, windows } = clauses
  if (source.kind !== 'class') throw queryError(text, statement.source, 'a live query is about the objects of a class')
  if (groupBy !== undefined) {
    throw queryError(
      text,
      statement,
      'the rows of a live query are objects: it has no GROUP BY and no aggregates of rows',
    )
  }
  if (distinct !== undefined)
    throw queryError(text, statement, 'the rows of a live query are objects: it has no DISTINCT')
  if (windows.length > 0)
    throw queryError(text, statement, 'the rows of a live query stand each for itself: it has no OVER (…)')
  for (const limit of [skip, take]) {
    if (limit?.kind === 'while')
      throw queryError(text, limit.expression, 'SKIP and TAKE of a live query are numbers of rows')
  }
  if (binder.nested.length + binder.inner.length > 0) {
    throw queryError(text, statement, 'a live query has no statements within it: parameters can hold their values')
  }
  const ordered = orderBy.map(({ expression }) => expression)
  const returned = projections?.map(({ expression }) => expression) ?? []
  const all = [...(where === undefined ? [] : [where]), ...ordered, ...returned]
  for (const expression of all) refuseTimeAndChance(text, expression)
  const areRecords = (where === undefined || isRecordOnly(where)) && ordered.every(isRecordOnly)
  return {
    classNumber: source.cls.number,
    dependsOnRecordsOnly: areRecords && !clauses.isWithAll && areColumnsRecordOnly(clauses, source.classes),
    isOrdered: orderBy.length > 0,
    isFilterOnly: orderBy.length === 0 && skip === undefined && take === undefined,
  }
}

function refuseTimeAndChance(text: string, bound: Bound): void {
  if (isTimeOrChance(bound)) {
    const rule =
      'the rows of a live query change by what is written alone: no $$NOW and no RAND; a parameter can hold a time'
    throw queryError(text, bound, rule)
  }
  for (const part of operandsOf(bound)) refuseTimeAndChance(text, part)
}

/** Rows as `{"oid":"3-1-1-1","row":…}`. */
export async function rowsWithOids(
  statement: SelectStatement,
  executor: StatementExecutor,
  context: StatementContext,
): Promise<StatementReply> {
  const planned = planSelect(statement, executor)
  const { plan } = planned
  const { evaluation, kind, pipeline } = await startSelect(plan, await executor.inputs(planned), context)
  const write = objectWriter(plan.clauses, kind, evaluation, context)
  return writeRows(
    pipeline.rows,
    (json, output) => {
      json.ascii(`{"oid":"${output.row?.oid}","row":`)
      write(json, output)
      json.ascii('}')
    },
    context,
  )
}
