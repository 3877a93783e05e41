/** Serializes rows as JSON text in chunks: the first one early, later ones large enough to be worth sending. */

import { JsonWriter } from '../../bytes/json-writer.ts'
import { type LinkEntries, writeObjectJson } from '../../objects/representation.ts'
import { isLongRecord } from '../../records/record-format.ts'
import type { Entry } from '../../store/store.ts'
import type { MapPair } from '../../types/map.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import { type EvaluationContext, needsFetch } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { OutputRow } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { RowChunk } from '../query-request.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import { writeValue } from '../values/value-json.ts'
import { isScalarType, type ValueType } from '../values/value-type.ts'
import { newline, rowBy } from './row-chunk.ts'

export const chunkBytesMin = 32_768
const noLinks: LinkEntries = new Map()

export type WriteRow<R> = (json: JsonWriter, row: OutputRow<R>) => void

/** Writes the object as a read by OID returns it; throws `needsFetch` where its links are not loaded yet. */
export function writeObject(json: JsonWriter, view: ObjectView, { reader }: Pick<EvaluationContext, 'reader'>): void {
  const { format, oid, record } = view
  if (format === undefined) {
    json.ascii('null')
    return
  }
  // Reserves most of the space up front: growing by doubling would copy a long record repeatedly.
  if (isLongRecord(record)) json.to.makeRoom(record.length)
  const { linkAttributes } = format
  if (linkAttributes.length === 0) {
    writeObjectJson(json, format, oid, record, noLinks)
    return
  }
  const links = new Map<number, readonly Entry[]>()
  for (const { index } of linkAttributes) links.set(index, reader.linkEntries(view, index))
  writeObjectJson(json, format, oid, record, links)
}

/** Writes a value; OBJECT(ref) and `{*}` are written as the objects they refer to, also within collections, maps and records. */
function writeResult(json: JsonWriter, type: ValueType, value: unknown, context: StatementContext): void {
  if (value === null || value === undefined) {
    json.ascii('null')
    return
  }
  if (type.kind === 'object') {
    if (value === noOid) json.ascii('null')
    else writeObject(json, context.reader.object(value as Oid), context)
  } else if (type.kind === 'collection' && embedsObjects(type.element)) {
    json.ascii('[')
    writeEach(json, value as readonly unknown[], (element) => writeResult(json, type.element, element, context))
    json.ascii(']')
  } else if (type.kind === 'map' && embedsObjects(type.element)) {
    json.ascii('{')
    writeEach(json, value as readonly MapPair[], ({ key, value: element }) => {
      json.string(String(key))
      json.ascii(':')
      writeResult(json, type.element, element, context)
    })
    json.ascii('}')
  } else if (type.kind === 'record' && embedsObjects(type)) {
    json.ascii('{')
    writeEach(json, type.fields, (field, i) => {
      const element = (value as readonly unknown[])[i]
      if (field.isSpread === true) return writeSpread(json, field.type, element, context)
      json.string(field.name)
      json.ascii(':')
      writeResult(json, field.type, element, context)
    })
    json.ascii('}')
  } else writeValue(json, type, value, context.catalog)
}

const embeddingTypes = new WeakMap<ValueType, boolean>()

/** Whether values of the type are written with the contents of the objects they refer to, or with spread fields. */
function embedsObjects(type: ValueType): boolean {
  if (type.kind === 'object') return true
  if (type.kind !== 'collection' && type.kind !== 'map' && type.kind !== 'record') return false
  let names = embeddingTypes.get(type)
  if (names === undefined) {
    names =
      type.kind === 'record'
        ? type.fields.some((field) => field.isSpread === true || embedsObjects(field.type))
        : embedsObjects(type.element)
    embeddingTypes.set(type, names)
  }
  return names
}

/** Writes every part even if one throws `needsFetch`, so that all missing data is requested in one trip. Rethrows it: the output is void then. */
function writeEach<T>(json: JsonWriter, parts: readonly T[], write: (part: T, i: number) => void): void {
  let needsRetry = false
  const start = json.to.length
  for (let i = 0; i < parts.length; i++) {
    if (json.to.length > start) json.ascii(',')
    try {
      write(parts[i] as T, i)
    } catch (error) {
      if (error !== needsFetch) throw error
      needsRetry = true
    }
  }
  if (needsRetry) throw needsFetch
}

/** Writes the fields of an object without its braces. */
function writeSpread(json: JsonWriter, type: ValueType, value: unknown, context: StatementContext): void {
  const start = json.to.length
  writeResult(json, type, value, context)
  const { bytes, length } = json.to
  bytes.copyWithin(start, start + 1, length - 1)
  json.to.length = length - 2
}

export type WriteResult = (json: JsonWriter, value: unknown, context: StatementContext) => void

/** `writeResult` for one type: the dispatch on the type is done once for all rows. */
export function resultWriter(type: ValueType): WriteResult {
  if (!isScalarType(type)) return (json, value, context) => writeResult(json, type, value, context)
  const { writeJson } = scalarKinds[type.kind]
  return (json, value) => {
    if (value === null || value === undefined) json.ascii('null')
    else writeJson(json, value, type)
  }
}

const rowsPerTimeCheck = 16

export async function* writeRows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  write: WriteRow<R>,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  const writer = new ChunkWriter(context)
  let isSent = false
  for await (const rows of batches) {
    let written = 0
    while (written < rows.length) {
      const { json } = writer
      const rowStart = json.to.length
      json.byte(newline)
      try {
        write(json, rows[written] as OutputRow<R>)
        writer.starts.push(rowStart + 1)
        written++
        context.endRow()
      } catch (error) {
        json.to.length = rowStart
        if (error === needsFetch) await fetchFor(rows.slice(written), write, context)
        else throw error
        continue
      }
      if (json.to.length >= chunkBytesMin) {
        yield writer.take()
        isSent = true
      }
      // Short rows that are slow to compute may never fill a chunk, so time is checked independently of chunks.
      if (written % rowsPerTimeCheck === 0 && context.isYieldDue) await context.yieldToEventLoop()
    }
    context.wroteRows(rows.length)
    // The first rows are sent without waiting for a full chunk.
    if (!isSent && writer.json.to.length > 0) {
      yield writer.take()
      isSent = true
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  if (writer.json.to.length > 0) yield writer.take()
  writer.end()
}

const handedOverBytesMin = 1_048_576

/** Output buffer of the last statement, reused by the next: it has already grown to the size of a chunk. */
let spare: Buffer | undefined
const spareBytesMax = 131_072

/** Writes rows into chunks. Its buffer is charged to the statement until ownership passes to a chunk. */
export class ChunkWriter {
  json: JsonWriter
  /** Offsets of the complete rows. */
  starts: number[] = []
  private bytes = 0
  private readonly context: StatementContext

  constructor(context: StatementContext) {
    this.context = context
    this.json = this.newWriter()
  }

  take(): RowChunk {
    const { starts } = this
    const { to } = this.json
    this.starts = []
    if (to.length < handedOverBytesMin) {
      const bytes = to.copy()
      to.reset()
      return { bytes, starts }
    }
    this.json = this.newWriter()
    this.context.hold(0, -this.bytes)
    this.bytes = 0
    return { bytes: to.bytes.subarray(0, to.length), starts }
  }

  /** Called after the last chunk; nothing may be written afterwards. */
  end(): void {
    const { bytes } = this.json.to
    if (bytes.length <= spareBytesMax && bytes.length > (spare?.length ?? 0)) spare = bytes
  }

  private newWriter(): JsonWriter {
    const buffer = spare
    spare = undefined
    return new JsonWriter((bytes) => {
      this.context.hold(0, bytes)
      this.bytes += bytes
    }, buffer)
  }
}

/** Requests everything that the rows need in one round trip, instead of row by row. */
async function fetchFor<R>(
  rows: readonly OutputRow<R>[],
  write: WriteRow<R>,
  context: StatementContext,
): Promise<void> {
  const scratch = new JsonWriter()
  for (const row of rows) {
    scratch.to.reset()
    context.endRow()
    try {
      write(scratch, row)
    } catch (error) {
      if (error !== needsFetch) throw error
    }
  }
  context.endRow()
  await context.fetchMissing()
}

/** A single value as a row; objects that it refers to are fetched first. */
export async function rowOf(type: ValueType, value: unknown, context: StatementContext): Promise<RowChunk> {
  const rows = evaluateRows(context, [value], () => rowBy((json) => writeResult(json, type, value, context)))
  return (rows instanceof Promise ? await rows : rows)[0] as RowChunk
}

/** A single value that needs no reads. */
export function valueRow(type: ValueType, value: unknown, context: StatementContext): RowChunk {
  return rowBy((json) => writeValue(json, type, value, context.catalog))
}
