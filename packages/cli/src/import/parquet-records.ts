/** Reads records of a Parquet file by a library that trusts the file's metadata: use it only in a thread that can be terminated. */

import { open } from 'node:fs/promises'
import {
  type AsyncBuffer,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type RowGroup,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { type CommandError, invalidInput } from '../errors/command-error.ts'
import { unreadableFileError } from '../errors/file-errors.ts'
import { RecordProblem } from './column-values.ts'
import type { Definition, FileRecord } from './file-record.ts'
import { parseRecord } from './parse-record.ts'

/** Rows per read if the file has a page index; otherwise each read has a row group. */
const batchRows = 20_000
/** Largest uncompressed size of a row group that is read as a whole. */
const rowGroupBytesMax = 2 ** 30

export interface ParquetFile {
  readonly definitions: readonly (readonly [string, Definition])[]
  readonly columns: readonly string[]
  readonly size: number
  readonly rows: number
  readonly records: AsyncGenerator<FileRecord>
}

/** The iteration closes the file. Throws CommandError; so does the iteration. */
export async function openParquetFile(file: string): Promise<ParquetFile> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw unreadableFileError(file, error)
  })
  try {
    const size = (await handle.stat()).size
    if (size === 0) throw unreadableParquet(file, new Error('it is empty'))
    const buffer: AsyncBuffer = {
      byteLength: size,
      async slice(start, end = size) {
        const bytes = new Uint8Array(Math.max(0, Math.min(end, size) - start))
        await handle.read(bytes, 0, bytes.length, start)
        return bytes.buffer
      },
    }
    const metadata = await parquetMetadataAsync(buffer).catch((error: unknown) => {
      throw unreadableParquet(file, error)
    })
    const columns = parquetSchema(structuredClone(metadata)).children
    readAsStored(metadata)
    const records = async function* (): AsyncGenerator<FileRecord> {
      try {
        yield* recordsOf(file, buffer, metadata, columns)
      } finally {
        await handle.close()
      }
    }
    return {
      definitions: columns.flatMap((column) => definitionOf(column)),
      columns: columns.map(({ element }) => element.name),
      size,
      rows: Number(metadata.num_rows),
      records: records(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

function unreadableParquet(file: string, error: unknown): CommandError {
  return invalidInput(`${file} cannot be read as Parquet: ${(error as Error).message}`)
}

function fewerRows(file: string): CommandError {
  return unreadableParquet(file, new Error('it has fewer rows than it says'))
}

async function* recordsOf(
  file: string,
  buffer: AsyncBuffer,
  metadata: FileMetaData,
  columns: readonly SchemaTree[],
): AsyncGenerator<FileRecord> {
  let first = 0
  for (const group of metadata.row_groups) {
    const end = first + Number(group.num_rows)
    const step = stepOf(file, group)
    for (let from = first; from < end; from += step) {
      const part = { rowStart: from, rowEnd: Math.min(from + step, end) }
      const rows = await parquetReadObjects({ file: buffer, metadata, ...part, ...reading }).catch((error: unknown) => {
        throw unreadableParquet(file, error)
      })
      if (rows.length < part.rowEnd - from) throw fewerRows(file)
      for (const [at, row] of rows.entries()) {
        // For a flat column, undefined means a missing value, unlike null; for nested columns, both are undefined.
        if (columns.some((column) => isFlat(column) && row[column.element.name] === undefined)) throw fewerRows(file)
        yield rowRecord(row, columns, from + at + 1)
      }
    }
    first = end
  }
}

/** Returns the rows per read: without a page index, each read would decode the row group from its beginning. */
function stepOf(file: string, { columns, num_rows: rows, total_byte_size: bytes }: RowGroup): number {
  if (columns.every(({ offset_index_offset: index }) => index !== undefined)) return batchRows
  if (bytes <= BigInt(rowGroupBytesMax)) return Math.max(Number(rows), 1)
  throw invalidInput(
    `${file} has a row group of ${bytes} bytes without an index of its pages, and would have to be held as a whole: write it with row groups of at most ${rowGroupBytesMax} bytes.`,
  )
}

function rowRecord(row: Readonly<Record<string, unknown>>, columns: readonly SchemaTree[], line: number): FileRecord {
  try {
    const fields = columns.map((column) => [column.element.name, jsonOf(row[column.element.name], column)] as const)
    return { line, fields: Object.fromEntries(fields) }
  } catch (error) {
    if (!(error instanceof RecordProblem)) throw error
    return { line, fields: undefined, problem: error.message }
  }
}

/** Removes decimal and map types: the library would convert decimals to doubles, and maps to objects. */
function readAsStored({ schema }: FileMetaData): void {
  for (const element of schema) {
    if (isDecimal(element) || isMap(element)) {
      delete element.converted_type
      delete element.logical_type
    }
  }
}

function isDecimal({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted === 'DECIMAL' || logical?.type === 'DECIMAL'
}

function isMap({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted === 'MAP' || converted === 'MAP_KEY_VALUE' || logical?.type === 'MAP'
}

function isFlat({ element, children }: SchemaTree): boolean {
  return children.length === 0 && element.repetition_type !== 'REPEATED'
}

/** Preserves digits that a Date would lose. */
const reading = {
  compressors,
  utf8: false,
  useOffsetIndex: true,
  geoparquet: false,
  parsers: {
    timestampFromMilliseconds: (count: bigint) => instantText(BigInt(count), 1_000n),
    timestampFromMicroseconds: (count: bigint) => instantText(BigInt(count), 1_000_000n),
    timestampFromNanoseconds: (count: bigint) => instantText(BigInt(count), 1_000_000_000n),
    jsonFromBytes: (bytes: Uint8Array) => bytes && parseRecord(new TextDecoder().decode(bytes)),
    dateFromDays: (days: number) => new Date(days * 86_400_000).toISOString().slice(0, -'T00:00:00.000Z'.length),
  },
}

/** Formats `count` units since 1970, with `perSecond` units per second and without an offset. */
function instantText(count: bigint, perSecond: bigint): string {
  const fraction = ((count % perSecond) + perSecond) % perSecond
  const seconds = new Date(Number((count - fraction) / perSecond) * 1_000).toISOString().slice(0, -'.000Z'.length)
  return `${seconds}${fractionText(fraction, perSecond)}`
}

function fractionText(fraction: bigint, perSecond: bigint): string {
  if (fraction === 0n) return ''
  const digits = String(perSecond).length - 1
  return `.${String(fraction).padStart(digits, '0').replace(/0+$/, '')}`
}

/** Throws RecordProblem. */
function jsonOf(value: unknown, node: SchemaTree): unknown {
  if (value === null || value === undefined) return null
  const { element, children } = node
  if (Array.isArray(value)) {
    const inner = elementOf(node)
    return value.map((one) => jsonOf(one, inner))
  }
  if (value instanceof Uint8Array) return isDecimal(element) ? decimalText(value, element) : utf8Text(value, node)
  if (ArrayBuffer.isView(value)) return [...(value as unknown as readonly unknown[])].map((one) => leafOf(one, element))
  if (typeof value !== 'object') return leafOf(value, element)
  const [pairs] = children
  if (isMap(element) && pairs !== undefined)
    return jsonOf((value as Readonly<Record<string, unknown>>)[pairs.element.name], pairs)
  const inner = new Map(children.map((child) => [child.element.name, child]))
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, jsonOf(one, inner.get(name) ?? node)]))
}

/** Returns the element type of a list in any of the common encodings. */
function elementOf(node: SchemaTree): SchemaTree {
  const [repeated] = node.children
  if (repeated === undefined || node.element.repetition_type === 'REPEATED') return node
  return repeated.children.length === 1 ? (repeated.children[0] as SchemaTree) : repeated
}

function utf8Text(bytes: Uint8Array, { element, path }: SchemaTree): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new RecordProblem(`has bytes in the column ${path.join('.') || element.name} that are not UTF-8 text`)
  }
}

function leafOf(value: unknown, element: SchemaElement): unknown {
  const { converted_type: converted, logical_type: logical } = element
  if (isDecimal(element)) return decimalText(value as number | bigint, element)
  // The library may return signed values.
  if (isUnsigned(element, 64)) return BigInt.asUintN(64, BigInt(value as number | bigint))
  if (typeof value === 'string' && isInstant(element)) return `${value}Z`
  if (converted === 'TIME_MILLIS' || converted === 'TIME_MICROS' || logical?.type === 'TIME') {
    const units = { MILLIS: 1_000n, MICROS: 1_000_000n, NANOS: 1_000_000_000n }
    const unit = logical?.type === 'TIME' ? logical.unit : converted === 'TIME_MICROS' ? 'MICROS' : 'MILLIS'
    return instantText(BigInt(value as number | bigint), units[unit]).slice('1970-01-01T'.length)
  }
  return value
}

function isUnsigned({ converted_type: converted, logical_type: logical }: SchemaElement, bits: 32 | 64): boolean {
  return converted === `UINT_${bits}` || (logical?.type === 'INTEGER' && logical.bitWidth === bits && !logical.isSigned)
}

/** Formats all digits of the scale. The stored value is an integer, or the bytes of one. */
function decimalText(stored: number | bigint | Uint8Array, { scale, logical_type: logical }: SchemaElement): string {
  const places = scale ?? (logical?.type === 'DECIMAL' ? logical.scale : 0)
  const unscaled =
    stored instanceof Uint8Array
      ? BigInt.asIntN(8 * stored.length, BigInt(`0x0${Buffer.from(stored).toString('hex')}`))
      : BigInt(stored)
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(places + 1, '0')
  const point = digits.length - places
  const text = places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
  return unscaled < 0n ? `-${text}` : text
}

/** Returns true for an instant, as opposed to a local timestamp. */
function isInstant({ type, converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  if (logical?.type === 'TIMESTAMP') return logical.isAdjustedToUTC
  return type === 'INT96' || converted === 'TIMESTAMP_MILLIS' || converted === 'TIMESTAMP_MICROS'
}

/** Derives the type of a flat column. Nested columns are inferred from values. */
function definitionOf(column: SchemaTree): (readonly [string, Definition])[] {
  const { name, type, converted_type: converted, logical_type: logical } = column.element
  if (!isFlat(column)) return []
  if (converted === 'JSON' || logical?.type === 'JSON') return []
  const definition = annotated(column.element) ?? plain[type ?? ''] ?? { logicalType: 'string' }
  return [[name, definition]]
}

const plain: Readonly<Record<string, Definition>> = {
  BOOLEAN: { logicalType: 'boolean' },
  INT32: { logicalType: 'integer' },
  INT64: { logicalType: 'integer', storage: 'b64' },
  FLOAT: { logicalType: 'real', storage: 'b32' },
  DOUBLE: { logicalType: 'real' },
}

function annotated(element: SchemaElement): Definition | undefined {
  const { converted_type: converted, logical_type: logical, type } = element
  if (isDecimal(element)) return decimalDefinition(element)
  if (logical?.type === 'FLOAT16') return { logicalType: 'real' }
  if (converted === 'DATE' || logical?.type === 'DATE') return { logicalType: 'date' }
  if (converted?.startsWith('TIME_') === true || logical?.type === 'TIME') return { logicalType: 'time' }
  if (isInstant(element)) return { logicalType: 'datetime', storage: 'datetimeoffset' }
  if (logical?.type === 'TIMESTAMP') return { logicalType: 'datetime' }
  if (logical?.type === 'UUID') return { logicalType: 'guid' }
  if (isUnsigned(element, 32)) return { logicalType: 'integer', storage: 'b64' }
  if (isUnsigned(element, 64)) return { logicalType: 'integer', encoding: 'unsigned', storage: 'b64' }
  return type === 'BYTE_ARRAY' ? { logicalType: 'string' } : undefined
}

/** Precision up to which 64-bit integers and decimals represent all numbers. */
const integerDigitsMax = 18
const decimalDigitsMax = 38

/** Returns a numeric type if it represents all digits of the column's precision, otherwise string. */
function decimalDefinition({ precision: digits, scale: places, logical_type: logical }: SchemaElement): Definition {
  const { precision, scale } =
    logical?.type === 'DECIMAL' ? logical : { precision: digits ?? Number.POSITIVE_INFINITY, scale: places ?? 0 }
  if (scale === 0 && precision <= integerDigitsMax) return { logicalType: 'integer', storage: 'b64' }
  return precision <= decimalDigitsMax ? { logicalType: 'decimal', precision, scale } : { logicalType: 'string' }
}
