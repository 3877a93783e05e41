/** Rows as JSON text, in chunks: the first one soon, later ones large enough to be worth sending. */

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
import { isScalar, type ValueType } from '../values/value-type.ts'
import { newline, rowBy } from './row-chunk.ts'

export const chunkBytesMin = 32_768
const noLinks: LinkEntries = new Map()

export type WriteRow<R> = (json: JsonWriter, row: OutputRow<R>) => void

/** The object as a read by OID shows it; throws `needsFetch` where its links have to be waited for. */
export function writeObject(json: JsonWriter, view: ObjectView, { reader }: Pick<EvaluationContext, 'reader'>): void {
  const { format, oid, record } = view
  if (format === undefined) {
    json.ascii('null')
    return
  }
  // Room for most of it at once: a buffer that doubles would be copied over and over.
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

/** A value; OBJECT(ref) and `{*}` as the objects they name, also within collections, maps and records. */
function writeResult(json: JsonWriter, type: ValueType, value: unknown, context: StatementContext): void {
  if (value === null || value === undefined) {
    json.ascii('null')
    return
  }
  if (type.kind === 'object') {
    if (value === noOid) json.ascii('null')
    else writeObject(json, context.reader.object(value as Oid), context)
  } else if (type.kind === 'collection' && namesObjects(type.element)) {
    json.ascii('[')
    writeEach(json, value as readonly unknown[], (element) => writeResult(json, type.element, element, context))
    json.ascii(']')
  } else if (type.kind === 'map' && namesObjects(type.element)) {
    json.ascii('{')
    writeEach(json, value as readonly MapPair[], ({ key, value: held }) => {
      json.string(String(key))
      json.ascii(':')
      writeResult(json, type.element, held, context)
    })
    json.ascii('}')
  } else if (type.kind === 'record' && namesObjects(type)) {
    json.ascii('{')
    writeEach(json, type.fields, (field, i) => {
      const held = (value as readonly unknown[])[i]
      if (field.isSpread === true) return writeSpread(json, field.type, held, context)
      json.string(field.name)
      json.ascii(':')
      writeResult(json, field.type, held, context)
    })
    json.ascii('}')
  } else writeValue(json, type, value, context.catalog)
}

const namingTypes = new WeakMap<ValueType, boolean>()

/** Values are written with what objects hold that they name, or with what is shown of one of their parts. */
function namesObjects(type: ValueType): boolean {
  if (type.kind === 'object') return true
  if (type.kind !== 'collection' && type.kind !== 'map' && type.kind !== 'record') return false
  let names = namingTypes.get(type)
  if (names === undefined) {
    names =
      type.kind === 'record'
        ? type.fields.some((field) => field.isSpread === true || namesObjects(field.type))
        : namesObjects(type.element)
    namingTypes.set(type, names)
  }
  return names
}

/** What one part has to wait for does not keep the others from asking for theirs. Throws `needsFetch`: what was written is of no use then. */
function writeEach<T>(json: JsonWriter, parts: readonly T[], write: (part: T, i: number) => void): void {
  let isMissing = false
  const start = json.to.length
  for (let i = 0; i < parts.length; i++) {
    if (json.to.length > start) json.ascii(',')
    try {
      write(parts[i] as T, i)
    } catch (error) {
      if (error !== needsFetch) throw error
      isMissing = true
    }
  }
  if (isMissing) throw needsFetch
}

/** What is shown of an object, without its braces. */
function writeSpread(json: JsonWriter, type: ValueType, value: unknown, context: StatementContext): void {
  const start = json.to.length
  writeResult(json, type, value, context)
  const { bytes, length } = json.to
  bytes.copyWithin(start, start + 1, length - 1)
  json.to.length = length - 2
}

export type WriteResult = (json: JsonWriter, value: unknown, context: StatementContext) => void

/** `writeResult` of values of one type: what is asked of the type is asked once for all rows. */
export function resultWriter(type: ValueType): WriteResult {
  if (!isScalar(type)) return (json, value, context) => writeResult(json, type, value, context)
  const { writeJson } = scalarKinds[type.kind]
  return (json, value) => {
    if (value === null || value === undefined) json.ascii('null')
    else writeJson(json, value, type)
  }
}

const rowsBetweenLooks = 16

/** Chunks of rows. */
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
      // What a row has may take long to be worked out, and be a few bytes: thousands of such rows fill no chunk.
      if (written % rowsBetweenLooks === 0 && context.isTurnDue) await context.turn()
    }
    context.wroteRows(rows.length)
    // The first rows do not wait for others.
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

const usualBytes = 1_048_576

/** What the last statement has written its rows to, for the next one: it has grown to what a chunk takes. */
let spare: Buffer | undefined
const spareBytesMax = 131_072

/** Writes rows into chunks. Its buffer is held by the statement, until it is given away. */
export class ChunkWriter {
  json: JsonWriter
  /** Of the rows that are written whole. */
  starts: number[] = []
  private bytes = 0
  private readonly context: StatementContext

  constructor(context: StatementContext) {
    this.context = context
    this.json = this.fresh()
  }

  /** What was written so far. */
  take(): RowChunk {
    const { starts } = this
    const { to } = this.json
    this.starts = []
    if (to.length < usualBytes) {
      const bytes = to.copy()
      to.reset()
      return { bytes, starts }
    }
    this.json = this.fresh()
    this.context.hold(0, -this.bytes)
    this.bytes = 0
    return { bytes: to.bytes.subarray(0, to.length), starts }
  }

  /** After the last chunk: nothing is written any more. */
  end(): void {
    const { bytes } = this.json.to
    if (bytes.length <= spareBytesMax && bytes.length > (spare?.length ?? 0)) spare = bytes
  }

  private fresh(): JsonWriter {
    const room = spare
    spare = undefined
    return new JsonWriter((bytes) => {
      this.context.hold(0, bytes)
      this.bytes += bytes
    }, room)
  }
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

/** One value as a row; what it refers to is fetched first. */
export async function rowOf(type: ValueType, value: unknown, context: StatementContext): Promise<RowChunk> {
  const rows = evaluateRows(context, [value], () => rowBy((json) => writeResult(json, type, value, context)))
  return (rows instanceof Promise ? await rows : rows)[0] as RowChunk
}

/** One value that refers to nothing that would have to be read. */
export function valueRow(type: ValueType, value: unknown, context: StatementContext): RowChunk {
  return rowBy((json) => writeValue(json, type, value, context.catalog))
}
