/** Rows as JSON text, in chunks: the first one soon, later ones large enough to be worth sending. */
import { JsonWriter } from '../../bytes/json-writer.ts'
import { type LinkEntries, writeObjectJson } from '../../objects/representation.ts'
import type { Entry } from '../../store/store.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import { rowClassName } from '../dialect.ts'
import type { ProjectionPlan } from '../plan/plan-select.ts'
import { writeValue } from '../values/value-json.ts'
import type { ValueType } from '../values/value-type.ts'
import { evaluateRows } from './evaluate-rows.ts'
import { enterOutput } from './group-rows.ts'
import type { ObjectView } from './object-view.ts'
import type { OutputRow, RowKind } from './row.ts'
import { pending, type Run } from './run.ts'
import type { StatementContext } from './statement-context.ts'

const chunkBytesMin = 32_768
const noLinks: LinkEntries = new Map()

export type WriteRow<R> = (json: JsonWriter, row: OutputRow<R>) => void

/** The object as a read by OID shows it; throws `pending` where its links have to be waited for. */
export function writeObject(json: JsonWriter, view: ObjectView, { reader }: Pick<Run, 'reader'>): void {
  const { format, oid, record } = view
  if (format === undefined) {
    json.ascii('null')
    return
  }
  const { linkAttributes } = format
  if (linkAttributes.length === 0) {
    writeObjectJson(json, format, oid, record, noLinks)
    return
  }
  const links = new Map<number, readonly Entry[]>()
  for (const { index } of linkAttributes) links.set(index, reader.linkEntries(view, index))
  writeObjectJson(json, format, oid, record, links)
}

/** `RETURN a, b AS c`: an object keyed by the names; in the original's dialect with a class of its own first. */
export function projectionWriter<R>(
  projections: readonly ProjectionPlan[],
  kind: RowKind<R>,
  run: Run,
  context: StatementContext,
): WriteRow<R> {
  const hasClass = context.texts.dialect === 'objectivity'
  const start = hasClass ? `{"__class__":"${rowClassName}"` : '{'
  return (json, row) => {
    enterOutput(row, kind, run)
    json.ascii(start)
    for (const [i, { jsonName, evaluate, type }] of projections.entries()) {
      if (hasClass || i > 0) json.ascii(',')
      writeName(json, jsonName)
      writeResult(json, type, evaluate(run), run, context)
    }
    json.ascii('}')
  }
}

function writeName(json: JsonWriter, name: string): void {
  const at = json.to.reserve(Buffer.byteLength(name))
  json.to.bytes.write(name, at)
}

/** A value; OBJECT(ref) as the object it names, also within collections. */
function writeResult(
  json: JsonWriter,
  type: ValueType,
  value: unknown,
  run: Pick<Run, 'reader'>,
  context: StatementContext,
): void {
  if (type.kind === 'object') {
    if (value === null || value === undefined || value === noOid) json.ascii('null')
    else writeObject(json, run.reader.object(value as Oid), run)
    return
  }
  if (type.kind === 'collection' && type.element.kind === 'object' && value !== null) {
    json.ascii('[')
    for (const [i, element] of (value as readonly unknown[]).entries()) {
      if (i > 0) json.ascii(',')
      writeResult(json, type.element, element, run, context)
    }
    json.ascii(']')
    return
  }
  writeValue(json, type, value, context.catalog)
}

/** UTF-8 chunks of rows joined by the separator. */
export async function* writeRows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  write: WriteRow<R>,
  separator: string,
  context: StatementContext,
): AsyncGenerator<Buffer> {
  const json = new JsonWriter()
  let isFirst = true
  let isSent = false
  for await (const rows of batches) {
    let written = 0
    while (written < rows.length) {
      const rowStart = json.to.length
      if (!isFirst) json.ascii(separator)
      try {
        write(json, rows[written] as OutputRow<R>)
        isFirst = false
        written++
      } catch (error) {
        json.to.length = rowStart
        if (error !== pending) throw error
        await fetchFor(rows.slice(written), write, context)
        continue
      }
      if (json.to.length < chunkBytesMin) continue
      yield json.to.copy()
      json.to.reset()
      isSent = true
    }
    // The first rows do not wait for others.
    if (!isSent && json.to.length > 0) {
      yield json.to.copy()
      json.to.reset()
      isSent = true
    }
    const breath = context.breathe()
    if (breath !== undefined) await breath
  }
  if (json.to.length > 0) yield json.to.copy()
}

/** All that the rows wait for is asked for in one trip, not row by row. */
async function fetchFor<R>(
  rows: readonly OutputRow<R>[],
  write: WriteRow<R>,
  context: StatementContext,
): Promise<void> {
  const scratch = new JsonWriter()
  for (const row of rows) {
    scratch.to.reset()
    try {
      write(scratch, row)
    } catch (error) {
      if (error !== pending) throw error
    }
  }
  await context.reader.settle()
}

/** One value as a row; what it refers to is fetched first. */
export async function rowOf(type: ValueType, value: unknown, context: StatementContext): Promise<Buffer> {
  const { reader } = context
  const [row] = await evaluateRows(reader, [value], (held) => {
    const json = new JsonWriter()
    writeResult(json, type, held, { reader }, context)
    return json.to.copy()
  })
  return row as Buffer
}

/** One value that refers to nothing that would have to be read. */
export function valueRow(type: ValueType, value: unknown, context: StatementContext): Buffer {
  const json = new JsonWriter()
  writeValue(json, type, value, context.catalog)
  return json.to.copy()
}
