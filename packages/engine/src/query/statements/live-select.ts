/** FROM … RETURN whose rows are followed: which statements can be, what their rows depend on, and each row with the OID of its object. */

import type { ClassNumber } from '../../types/type-spec.ts'
import { bindSelect } from '../bind/bind-select.ts'
import { type Bound, type BoundLimit, isTimeOrChance, partsOf } from '../bind/bound.ts'
import { isOfRecord } from '../bind/of-record.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import type { SelectStatement, Span, Statement } from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import { objectWriter } from '../operators/project.ts'
import { createBinder } from '../plan-cache.ts'
import type { Answer } from './answer.ts'
import { areOfRecord, planSelect, startSelect } from './select.ts'
import type { StatementExecutor } from './statement-kind.ts'

/** What the rows depend on, beside the schema. */
export interface LiveConcern {
  readonly classNumber: ClassNumber
  /** On the values of its objects alone: not on links, and not on other objects. */
  readonly dependsOnRecordsOnly: boolean
  readonly isOrdered: boolean
  /** Without ORDER BY, SKIP and TAKE: which objects are in the result is told by each of them alone. */
  readonly isWhole: boolean
}

/** Throws QueryError where other statements are asked for. */
export function liveStatement(statements: readonly Statement[], text: string): SelectStatement {
  const [only, second] = statements
  if (second !== undefined) throw refused(text, second, 'a live query is one statement')
  if (only?.kind !== 'select') {
    throw refused(text, only ?? { start: 0, end: text.length }, 'a live query is FROM a class, with what it returns')
  }
  if (only.source.kind !== 'class' || (only.others ?? []).length > 0) {
    throw refused(text, only.source, 'a live query is about the objects of a class: write FROM a class WHERE $$ID = …')
  }
  return only
}

/** Throws QueryError for rows that are no objects, and for those that change although nothing is written. */
export function liveConcern(statement: SelectStatement, executor: StatementExecutor): LiveConcern {
  const { text } = executor
  const binder = createBinder(executor.planning())
  const { source, clauses } = bindSelect(statement, binder)
  const { where, groupBy, orderBy, skip, take, projections, distinct, windows } = clauses
  if (source.kind !== 'class') throw refused(text, statement.source, 'a live query is about the objects of a class')
  if (groupBy !== undefined) {
    throw refused(text, statement, 'the rows of a live query are objects: it has no GROUP BY and no aggregates of rows')
  }
  if (distinct !== undefined) throw refused(text, statement, 'the rows of a live query are objects: it has no DISTINCT')
  if (windows.length > 0)
    throw refused(text, statement, 'the rows of a live query stand each for itself: it has no OVER (…)')
  for (const limit of [skip, take]) refuseWhile(text, limit)
  if (binder.nested.length + binder.inner.length > 0) {
    throw refused(text, statement, 'a live query has no statements within it: parameters can hold their values')
  }
  const ordered = orderBy.map(({ expression }) => expression)
  const returned = projections?.map(({ expression }) => expression) ?? []
  const all = [...(where === undefined ? [] : [where]), ...ordered, ...returned]
  for (const expression of all) refuseTimeAndChance(text, expression)
  const areRecords = (where === undefined || isOfRecord(where)) && ordered.every(isOfRecord)
  return {
    classNumber: source.cls.number,
    dependsOnRecordsOnly: areRecords && !clauses.isWithAll && areOfRecord(clauses, source.classes),
    isOrdered: orderBy.length > 0,
    isWhole: orderBy.length === 0 && skip === undefined && take === undefined,
  }
}

function refuseWhile(text: string, limit: BoundLimit | undefined): void {
  if (limit?.kind !== 'while') return
  throw refused(text, limit.expression, 'SKIP and TAKE of a live query are numbers of rows')
}

function refuseTimeAndChance(text: string, bound: Bound): void {
  if (isTimeOrChance(bound)) {
    const rule =
      'the rows of a live query change by what is written alone: no $$NOW and no RAND; a parameter can hold a time'
    throw refused(text, bound, rule)
  }
  for (const part of partsOf(bound)) refuseTimeAndChance(text, part)
}

function refused(text: string, { start, end }: Span, rule: string): Error {
  return queryError(text, { start, end }, rule)
}

/** Rows as `{"oid":"3-1-1-1","row":…}`. */
export async function rowsWithOids(
  statement: SelectStatement,
  executor: StatementExecutor,
  context: StatementContext,
): Promise<Answer> {
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
