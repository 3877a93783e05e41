/** RETURN: the columns of each row, as JSON text for a reply or as values for a statement around it. */
import type { JsonWriter } from '../../bytes/json-writer.ts'
import { PreparedText } from '../../bytes/prepared-text.ts'
import type { BoundClauses } from '../bind/bound.ts'
import { evaluateAll } from '../evaluate/compile-shape.ts'
import { compileStoredJson, firstReference, type RowReference, type WriteStored } from '../evaluate/compile-target.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { evaluateWhile } from '../execute/evaluate-rows.ts'
import { enterOutput as bindOutputRow, type OutputRow, type RowKind } from '../execute/row.ts'
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
  /** Undefined where the value has to be worked out. */
  readonly writeStored: WriteStored | undefined
  /** Of a path that begins with one. */
  readonly reference: RowReference | undefined
}

/** Undefined for `RETURN *` of objects. */
export type Projections = readonly ProjectionPlan[] | undefined

export function planProjections(
  { projections }: Pick<BoundClauses, 'projections'>,
  { compiler }: Planning,
): Projections {
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
  readonly projections: Projections
  readonly isWithAll: boolean
}

/** What a reply is made of; where the statement is explained, its plan is known by then. */
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

/** Later where a value is large: others have their turn while it is written. */
export type WriteColumns = (json: JsonWriter, evaluation: EvaluationContext) => void

/** The same for all rows and statements of a plan. */
interface ColumnTexts {
  /** A plan is used with one dialect. */
  readonly dialect: Dialect
  /** What is written before each value. */
  readonly names: readonly PreparedText[]
  readonly runs: readonly ColumnRun[] | undefined
}

function startOfRow(dialect: Dialect): string {
  return dialect === 'objectivity' ? `{"__class__":"${rowClassName}"` : '{'
}

const textsOfPlans = new WeakMap<readonly ProjectionPlan[], ColumnTexts>()

/** Columns that are written before the next look at the clock. */
const columnsAtOnce = 256

function columnTexts(projections: readonly ProjectionPlan[], dialect: Dialect): ColumnTexts {
  const known = textsOfPlans.get(projections)
  if (known?.dialect === dialect) return known
  const hasClass = dialect === 'objectivity'
  const start = startOfRow(dialect)
  const names = projections.map(({ jsonName }, i) => {
    return new PreparedText(`${i === 0 ? start : ''}${hasClass || i > 0 ? ',' : ''}${jsonName}`)
  })
  const texts = { dialect, names, runs: columnRuns(projections, names) }
  textsOfPlans.set(projections, texts)
  return texts
}

/** Those of a few columns that are written from where their values are stored, with the names before them; undefined where there are others. */
export function storedRuns(projections: readonly ProjectionPlan[], dialect: Dialect): readonly ColumnRun[] | undefined {
  if (projections.length === 0 || projections.length > columnsAtOnce) return undefined
  return columnTexts(projections, dialect).runs
}

/** `RETURN a, b AS c`: an object keyed by the names; in the original's dialect with a class of its own first. */
export function columnsWriter(projections: readonly ProjectionPlan[], context: StatementContext): WriteColumns {
  const { names, runs } = columnTexts(projections, context.script.dialect)
  const stored = runs && new StoredColumns(runs)
  const evaluates = projections.map(({ evaluate }) => evaluate)
  // `MATCH ()-->() RETURN *`: nothing has a name.
  if (projections.length === 0) {
    const empty = `${startOfRow(context.script.dialect)}}`
    return (json) => json.ascii(empty)
  }
  return (json, evaluation) => {
    if (stored?.write(json, evaluation) === true) return
    // All of them before the first is written, which may have to wait.
    const values = evaluateAll(evaluates, evaluation)
    for (let i = 0; i < projections.length; i++) {
      json.prepared(names[i] as PreparedText)
      projections[i]?.write(json, values[i], context)
    }
    json.ascii('}')
  }
}

/** The columns of each row. */
export function projectionWriter<R>(
  projections: readonly ProjectionPlan[],
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): WriteRow<R> {
  const write = columnsWriter(projections, context)
  return (json, row) => {
    bindOutputRow(row, kind, evaluation)
    write(json, evaluation)
  }
}

/** The columns, or without them the object as a read by OID shows it. */
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

/** `RETURN *, e AS x`: the columns within the object, behind its attributes. */
function objectAndColumns(
  projections: readonly ProjectionPlan[],
  kind: RowKind<ObjectView>,
  evaluation: EvaluationContext,
  context: StatementContext,
): WriteRow<ObjectView> {
  const evaluates = projections.map(({ evaluate }) => evaluate)
  return (json, output) => {
    bindOutputRow(output, kind, evaluation)
    // All of them before anything is written, which may have to wait.
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

/**
 * The value of each row: that of its only column, or those of a record's fields; `whole`: where there are no columns. Charged for the statement
 * until the next batch is asked for.
 */
export async function* rowValues<R>(
  { rows }: Pipeline<R>,
  projections: Projections,
  whole: (row: R | undefined) => unknown,
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
  for await (const some of rows) {
    for (let rest = some; rest.length > 0; ) {
      const isFull = (): boolean => context.isSpillDue(0, bytes)
      const evaluated = evaluateWhile(
        context,
        rest,
        isFull,
        (row: OutputRow<R>) => {
          bindOutputRow(row, kind, evaluation)
          if (projections === undefined) return [charged(whole(row.row))]
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
