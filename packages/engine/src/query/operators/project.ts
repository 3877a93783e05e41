/** RETURN: writes the columns of each row as JSON text, or evaluates them as values for an enclosing statement. */
import type { JsonWriter } from '../../bytes/json-writer.ts'
import { EncodedText } from '../../bytes/prepared-text.ts'
import type { BoundClauses } from '../bind/bound.ts'
import { evaluateAll } from '../evaluate/compile-shape.ts'
import { compileStoredJson, firstReference, type RowReference, type WriteStored } from '../evaluate/compile-target.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { evaluateWhile } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { resultWriter, type WriteResult, type WriteRow, writeObject } from '../execute/write-rows.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { type Dialect, rowClassName } from '../language/dialect.ts'
import type { ValueType } from '../values/value-type.ts'
import type { Planning } from './planning.ts'
import { counted, type Pipeline } from './row-operator.ts'
import { type ColumnRun, columnRuns, StoredColumns } from './stored-columns.ts'

export interface ProjectionPlan {
  readonly name: string
  /** `"name":` */
  readonly jsonName: string
  readonly evaluate: Evaluate
  readonly type: ValueType
  readonly write: WriteResult
  /** Undefined where the value must be evaluated. */
  readonly writeStored: WriteStored | undefined
  /** The reference that the expression's path begins with. */
  readonly reference: RowReference | undefined
}

/** Undefined for `RETURN *` of objects. */
export type ProjectionPlans = readonly ProjectionPlan[] | undefined

export function planProjections(
  { projections }: Pick<BoundClauses, 'projections'>,
  { compiler }: Planning,
): ProjectionPlans {
  return projections?.map(({ name, expression }) => ({
    name,
    jsonName: `${JSON.stringify(name)}:`,
    evaluate: compiler.compile(expression),
    type: expression.type,
    write: resultWriter(expression.type),
    writeStored: compileStoredJson(expression, compiler),
    reference: firstReference(expression),
  }))
}

interface Returned {
  readonly projections: ProjectionPlans
  readonly isWithAll: boolean
}

/** Adds the final operator of the plan where the statement is explained. */
export function returned<R>(
  pipeline: Pipeline<R>,
  { projections, isWithAll }: Returned,
  { probe }: StatementContext,
): Pipeline<R> {
  if (probe === undefined) return pipeline
  const columns = projections && [...(isWithAll ? ['*'] : []), ...projections.map(({ name }) => name)]
  const operator = rowOperatorPlan('return', { columns: columns ?? '*' }, [pipeline.operator])
  probe.root = operator
  return { ...pipeline, operator, rows: counted(pipeline.rows, operator) }
}

export type WriteColumns = (json: JsonWriter, evaluation: EvaluationContext) => void

/** JSON fragments shared by all statements that use a plan. */
interface ColumnTexts {
  readonly dialect: Dialect
  /** Text written before each value. */
  readonly names: readonly EncodedText[]
  readonly runs: readonly ColumnRun[] | undefined
}

function rowStart(dialect: Dialect): string {
  return dialect === 'objectivity' ? `{"__class__":"${rowClassName}"` : '{'
}

const textsByPlan = new WeakMap<readonly ProjectionPlan[], ColumnTexts>()

/** Rows with more columns check the clock in between. */
const storedColumnsMax = 256

function columnTexts(projections: readonly ProjectionPlan[], dialect: Dialect): ColumnTexts {
  const cached = textsByPlan.get(projections)
  if (cached?.dialect === dialect) return cached
  const hasClass = dialect === 'objectivity'
  const start = rowStart(dialect)
  const names = projections.map(({ jsonName }, i) => {
    return new EncodedText(`${i === 0 ? start : ''}${hasClass || i > 0 ? ',' : ''}${jsonName}`)
  })
  const texts = { dialect, names, runs: columnRuns(projections, names) }
  textsByPlan.set(projections, texts)
  return texts
}

/** Runs of stored columns with their names; undefined where a column must be evaluated, or there are too many. */
export function storedRuns(projections: readonly ProjectionPlan[], dialect: Dialect): readonly ColumnRun[] | undefined {
  if (projections.length === 0 || projections.length > storedColumnsMax) return undefined
  return columnTexts(projections, dialect).runs
}

/** `RETURN a, b AS c`: an object keyed by the column names, preceded by `__class__` in the Objectivity dialect. */
export function columnsWriter(projections: readonly ProjectionPlan[], context: StatementContext): WriteColumns {
  const { names, runs } = columnTexts(projections, context.script.dialect)
  const stored = runs && new StoredColumns(runs)
  const evaluates = projections.map(({ evaluate }) => evaluate)
  // `MATCH ()-->() RETURN *` without names has no columns.
  if (projections.length === 0) {
    const empty = `${rowStart(context.script.dialect)}}`
    return (json) => json.ascii(empty)
  }
  return (json, evaluation) => {
    if (stored?.write(json, evaluation) === true) return
    // Evaluates all before writing the first, since evaluation may throw `needsFetch`.
    const values = evaluateAll(evaluates, evaluation)
    for (let i = 0; i < projections.length; i++) {
      json.prepared(names[i] as EncodedText)
      projections[i]?.write(json, values[i], context)
    }
    json.ascii('}')
  }
}

export function projectionWriter<R>(
  projections: readonly ProjectionPlan[],
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): WriteRow<R> {
  const write = columnsWriter(projections, context)
  return (json, row) => {
    enterOutput(row, kind, evaluation)
    write(json, evaluation)
  }
}

/** Writes the columns, or without projections the object as a read by OID returns it. */
export function objectWriter(
  { projections, isWithAll }: Returned,
  kind: RowKind<ObjectView>,
  evaluation: EvaluationContext,
  context: StatementContext,
): WriteRow<ObjectView> {
  if (projections !== undefined && isWithAll) return objectAndColumns(projections, kind, evaluation, context)
  if (projections !== undefined) return projectionWriter(projections, kind, evaluation, context)
  return (json, { row }) => {
    if (row === undefined) json.ascii('null')
    else writeObject(json, row, context)
  }
}

/** `RETURN *, e AS x`: the columns follow the attributes within the object. */
function objectAndColumns(
  projections: readonly ProjectionPlan[],
  kind: RowKind<ObjectView>,
  evaluation: EvaluationContext,
  context: StatementContext,
): WriteRow<ObjectView> {
  const evaluates = projections.map(({ evaluate }) => evaluate)
  return (json, output) => {
    enterOutput(output, kind, evaluation)
    // Evaluates all before writing anything, since evaluation may throw `needsFetch`.
    const values = evaluateAll(evaluates, evaluation)
    if (output.row?.format === undefined) json.ascii('{"__class__":null')
    else {
      writeObject(json, output.row, context)
      json.reopen()
    }
    for (const [i, { write, name }] of projections.entries()) {
      json.byte(comma)
      json.string(name)
      json.byte(colon)
      write(json, values[i], context)
    }
    json.ascii('}')
  }
}

const [comma, colon] = [0x2c, 0x3a]

/** Value of each row: its only column, a record of its columns, or `rowValue` without projections. Charged until the next batch. */
export async function* rowValues<R>(
  { rows }: Pipeline<R>,
  projections: ProjectionPlans,
  rowValue: (row: R | undefined) => unknown,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): AsyncGenerator<readonly unknown[]> {
  const evaluates = projections?.map(({ evaluate }) => evaluate) ?? []
  const { memory } = evaluation
  let bytes = 0
  const charged = (value: unknown): unknown => {
    const more = elementBytes + valueBytes(value)
    memory.chargeStatement(more, 'values')
    bytes += more
    return value
  }
  for await (const outputs of rows) {
    for (let rest = outputs; rest.length > 0; ) {
      const isFull = (): boolean => context.isSpillDue(0, bytes)
      const evaluated = evaluateWhile(
        context,
        rest,
        isFull,
        (row: OutputRow<R>) => {
          enterOutput(row, kind, evaluation)
          if (projections === undefined) return [charged(rowValue(row.row))]
          const results = evaluateAll(evaluates, evaluation)
          return [charged(results.length === 1 ? results[0] : results)]
        },
        () => undefined,
      )
      const batch = evaluated instanceof Promise ? await evaluated : evaluated
      rest = batch.length === rest.length ? [] : rest.slice(batch.length)
      yield batch.map(([value]) => value)
      memory.chargeStatement(-bytes)
      bytes = 0
    }
  }
}
