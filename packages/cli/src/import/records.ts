/** Records of a file: CSV, TSV, JSON, NDJSON or Parquet, decompressed as needed. */
import { basename } from 'node:path'
import { Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { JsonSource, noteTextOf } from '@ashlar/engine'
import { unreadableFile } from '@ashlar/server/shared'
import { type CsvError, type Options, parse } from 'csv-parse'
import { parse as parseSync, type Options as SyncOptions } from 'csv-parse/sync'
import { CommandError, invalidInput, usageError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { checkedUtf8 } from './checked-utf8.ts'
import { checkHeader, csvProblem, lineBreaks, linesBeforeEnd, linesBeforeFault } from './csv-faults.ts'
import type { Fields, FileRecord, OpenImportFile } from './file-record.ts'
import { duplicateKey, parseRecord } from './parse-record.ts'
import type { TextSource } from './text-source.ts'

/** Parquet has internal compression. */
export type StreamFormat = 'csv' | 'tsv' | 'json' | 'ndjson'
export type FileFormat = StreamFormat | 'parquet'

/** Derives the format from the file name, ignoring the extension of a compression. */
export function formatOfName(file: string): FileFormat {
  const ending = /\.(csv|tsv|tab|json|ndjson|jsonl)(\.(gz|zst))?$/i.exec(basename(file))?.[1]?.toLowerCase()
  if (/\.(parquet|pq)$/i.test(file)) return 'parquet'
  const formats: Readonly<Record<string, FileFormat>> = {
    tab: 'tsv',
    jsonl: 'ndjson',
    csv: 'csv',
    tsv: 'tsv',
    json: 'json',
    ndjson: 'ndjson',
  }
  const format = formats[ending ?? '']
  if (format !== undefined) return format
  const what = file === '-' ? 'Standard input has no name that tells' : `The name ${file} does not tell`
  throw usageError(`${what} the format: give --format csv, tsv, json, ndjson or parquet.`)
}

export interface TableForm {
  /** Column names, for a file without a header. */
  readonly columns: readonly string[] | undefined
  /** The delimiter; by default that of the format. */
  readonly delimiter: string | undefined
  /** The unquoted text that means null; empty by default. */
  readonly nullText: string
}

/** Opens a text file; the iteration throws CommandError for unreadable content. */
export function openTextRecords(source: TextSource, format: StreamFormat, table: TableForm): OpenImportFile {
  const stream = source.open()
  let bytes = 0
  let header = table.columns
  const onHeader = (names: readonly string[]): void => {
    header = names
  }
  stream.on('data', (chunk: Buffer | string) => {
    bytes += chunk.length
  })
  stream.pause()
  const { what } = source
  const opened = decompressed(stream, what)
  const records = async function* (): AsyncGenerator<FileRecord> {
    try {
      const { bytes: text, isCompressed } = await opened
      const missed = isCompressed ? undefined : compressionOf(what)
      yield* readers[format](Readable.from(checkedUtf8(text, missed), { objectMode: false }), { ...table, onHeader })
    } catch (error) {
      if (error instanceof CommandError) throw error
      throw unreadable(what, error as NodeJS.ErrnoException)
    } finally {
      stream.destroy()
    }
  }
  const areTexts = format === 'csv' || format === 'tsv'
  return {
    records: records(),
    size: source.size,
    bytesRead: () => bytes,
    header: () => header,
    areTexts,
    definitions: new Map(),
  }
}

function unreadable(what: string, error: NodeJS.ErrnoException): CommandError {
  if (/^(Z|ZSTD)_/.test(error.code ?? '')) return invalidInput(`${what} is damaged or cut off: ${error.message}.`)
  // Errors of the operating system concern the file, and the rest its content.
  const exitCode = error.syscall === undefined ? exitCodes.invalid : exitCodes.usage
  return new CommandError(exitCode, `${what} cannot be read: ${unreadableFile(error)}.`)
}

const gzipMagic = Buffer.from([0x1f, 0x8b])
const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

function compressionOf(name: string): string | undefined {
  const [, ending] = /\.(gz|zst)$/i.exec(name) ?? []
  return ending === undefined ? undefined : ending.toLowerCase() === 'gz' ? 'gzip' : 'zstd'
}

/** Detects compression by the first bytes. `what`: for messages. */
async function decompressed(
  source: Readable,
  what: string,
): Promise<{ readonly bytes: Readable; readonly isCompressed: boolean }> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const first = await chunks.next()
  const all = async function* (): AsyncGenerator<Buffer> {
    for (let next = first; next.done !== true; next = await chunks.next()) yield next.value
  }
  const bytes = Readable.from(all(), { objectMode: false })
  const head = first.done === true ? Buffer.alloc(0) : first.value.subarray(0, 4)
  if (head.subarray(0, 2).equals(gzipMagic)) return { bytes: piped(bytes, zlib.createGunzip()), isCompressed: true }
  if (!head.equals(zstdMagic)) return { bytes, isCompressed: false }
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }
  if (createZstdDecompress !== undefined) return { bytes: piped(bytes, createZstdDecompress()), isCompressed: true }
  // Before version 22.15 of Node.js.
  const { unzstd } = await import('./unzstd.ts')
  return { bytes: Readable.from(unzstd(bytes, what), { objectMode: false, highWaterMark: 1 }), isCompressed: true }
}

function piped(source: Readable, through: Transform): Readable {
  source.on('error', (error) => through.destroy(error))
  return source.pipe(through)
}

interface Table extends TableForm {
  onHeader(header: readonly string[]): void
}

type Reader = (source: Readable, table: Table) => AsyncIterable<FileRecord>

const readers: Readonly<Record<StreamFormat, Reader>> = {
  csv: (source, table) => readTable(source, ',', table),
  tsv: (source, table) => readTable(source, '\t', table),
  ndjson: readLines,
  json: readArray,
}

interface ParsedRow {
  readonly record: Record<string, string | null>
  /** The raw text in the file, including skipped text before it. */
  readonly raw: string
}

interface SkippedRow {
  /** The number of readable records before it. */
  readonly after: number
  readonly raw: string
  readonly error: CsvError | undefined
}

/** Longest CSV record: after an unclosed quote, the rest of the file would be read as one value. */
const recordCharactersMax = 32 * 2 ** 20

/** Reads the header, unless `columns` has the names. A cell equal to `nullText` is null, unless quoted. */
async function* readTable(
  source: Readable,
  usualDelimiter: string,
  { columns, delimiter, nullText, onHeader }: Table,
): AsyncGenerator<FileRecord> {
  const skipped: SkippedRow[] = []
  let names = columns
  let read = 0
  /** The line on which the next record begins. */
  let line = 1
  const named = (header: string[]): string[] => {
    checkHeader(header, delimiter !== undefined)
    names = header
    onHeader(header)
    line = parser.info.lines + 1
    return header
  }
  const faulty = ({ raw, error }: SkippedRow): FileRecord => {
    const at = line + linesBeforeFault(raw, error)
    line += lineBreaks(raw)
    return { line: at, fields: undefined, problem: csvProblem(error, names?.length) }
  }
  const form: SyncOptions & Options = {
    delimiter: delimiter ?? usualDelimiter,
    // Accept all three anywhere: by default, the parser would use only the first one in the file, and read the rest as parts of values.
    record_delimiter: ['\r\n', '\n', '\r'],
    skip_empty_lines: true,
    ...(usualDelimiter === '\t' && { quote: null }),
  }
  const parser = parse({
    ...form,
    bom: true,
    columns: columns === undefined ? named : [...columns],
    raw: true,
    max_record_size: recordCharactersMax,
    skip_records_with_error: true,
    on_skip: (error) => {
      if (error?.code === 'CSV_MAX_RECORD_SIZE') parser.destroy(tooLong(line - 1))
      skipped.push({ after: Number(error?.records ?? 0), raw: String(error?.raw ?? ''), error })
      return undefined
    },
  })
  const checked = columns === undefined ? Readable.from(withShortHeader(source), { objectMode: false }) : source
  checked.on('error', (error) => parser.destroy(error))
  // Count lines here: the corresponding option makes the parser slower by half.
  for await (const row of checked.pipe(parser) as AsyncIterable<ParsedRow>) {
    // The parser may be ahead of the rows that it has emitted.
    while (skipped[0] !== undefined && skipped[0].after <= read) yield faulty(skipped.shift() as SkippedRow)
    read++
    const last = line + linesBeforeEnd(row.raw)
    line += lineBreaks(row.raw)
    yield { line: last, fields: withNulls(row, nullText, names ?? [], form) }
  }
  for (const one of skipped) yield faulty(one)
}

/** Longest header, far beyond the needs of any class. The parser takes seconds for a line of many megabytes. */
const headerBytesMax = 4 * 2 ** 20

/** Throws CommandError if the first line is too long. */
async function* withShortHeader(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [bytes, isOver] = [0, false]
  for await (const chunk of source) {
    if (!isOver) {
      const end = chunk.findIndex((byte) => byte === 0x0a || byte === 0x0d)
      isOver = end >= 0
      bytes += isOver ? end : chunk.length
      if (bytes > headerBytesMax) throw headerTooLong()
    }
    yield chunk
  }
}

function headerTooLong(): CommandError {
  const megabytes = headerBytesMax / 2 ** 20
  const hint = 'is it CSV, and are its lines ended by line breaks?'
  return invalidInput(`The first line is longer than ${megabytes} MiB, the limit of a header: ${hint}`)
}

/** `line`: the end of the previous record. The rest cannot be split into records. */
function tooLong(line: number): CommandError {
  const megabytes = recordCharactersMax / 2 ** 20
  const why = 'a quote that is not closed has the rest of the file as one value'
  return invalidInput(`The record after line ${line} is longer than ${megabytes} MiB: ${why}.`)
}

/** Reporting for each value whether it was quoted makes the parser five times as slow, so only rows for which it matters are parsed again that way. */
function withNulls(
  { record, raw }: ParsedRow,
  nullText: string,
  columns: readonly string[],
  form: SyncOptions,
): Fields {
  const areQuoted = raw.includes(`"${nullText}"`)
  for (const column in record) {
    if (record[column] !== nullText) continue
    if (areQuoted) return readAgain(raw, nullText, columns, form)
    record[column] = null
  }
  return record
}

function readAgain(raw: string, nullText: string, columns: readonly string[], form: SyncOptions): Fields {
  const cast = (value: string, { quoting }: { readonly quoting: boolean }): string | null =>
    value === nullText && !quoting ? null : value
  const records: unknown[] = parseSync(raw, { ...form, columns: [...columns], cast })
  return records[0] as Fields
}

async function* readLines(source: Readable): AsyncGenerator<FileRecord> {
  let [line, rest] = [0, '']
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const chunk of source as AsyncIterable<Buffer>) {
    // The incomplete line of previous chunks is joined when it ends, which may take several chunks.
    const [end = '', ...lines] = decoder.decode(chunk, { stream: true }).split('\n')
    rest += end
    for (const next of lines) {
      const text = rest
      rest = next
      line++
      if (text.trim() !== '') yield jsonRecord(text, line)
    }
  }
  if (rest.trim() !== '') yield jsonRecord(rest, line + 1)
}

async function* readArray(source: Readable): AsyncGenerator<FileRecord> {
  let number = 0
  for await (const text of elementsOf(source)) yield jsonRecord(text, ++number)
}

function jsonRecord(text: string, line: number): FileRecord {
  let value: unknown
  try {
    value = parseRecord(text)
  } catch (error) {
    return { line, fields: undefined, problem: `is not JSON: ${(error as Error).message}` }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { line, fields: undefined, problem: 'is not a JSON object' }
  if (text.length > 2 * depthMax && isDeeperThan(depthMax, value))
    return { line, fields: undefined, problem: 'is nested too deeply' }
  const twice = duplicateKey(text, value)
  if (twice !== undefined) {
    const excerpt = twice.length > excerptCharacters ? `${twice.slice(0, excerptCharacters)}…` : twice
    return {
      line,
      fields: undefined,
      problem: `has the key '${excerpt}' twice in one object, and one value would be lost`,
    }
  }
  noteTextOf(value, JsonSource.fromText(text))
  return { line, fields: value as Fields }
}

const excerptCharacters = 40

/** Maximum depth of a record, scanned level by level: deeper than servers accept, and shallow enough for the stack. */
const depthMax = 500

function isDeeperThan(depth: number, value: object): boolean {
  let level: object[] = [value]
  for (let left = depth; level.length > 0; left--) {
    if (left === 0) return true
    level = level.flatMap((one) => Object.values(one).filter((inner) => typeof inner === 'object' && inner !== null))
  }
  return false
}

/** Yields the elements of a JSON array as texts. */
async function* elementsOf(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let [text, at, start, depth] = ['', 0, -1, 0]
  let [isInString, isOver] = [false, false]
  for await (const chunk of source) {
    text += decoder.decode(chunk, { stream: true })
    for (; at < text.length; at++) {
      const character = text[at] as string
      if (isInString) {
        // An escaped character may be in the next chunk.
        if (character === '\\' && ++at === text.length) {
          at--
          break
        }
        isInString = character !== '"'
      } else if (depth === 0) {
        if (/[\s\uFEFF]/.test(character)) continue
        if (isOver) throw new Error('text follows the end of the JSON array')
        if (character !== '[') throw new Error('it is not a JSON array')
        depth = 1
      } else if (depth === 1 && (character === ',' || character === ']')) {
        if (start >= 0) yield text.slice(start, at)
        start = -1
        isOver = character === ']'
        if (isOver) depth = 0
      } else {
        if (start < 0 && !/\s/.test(character)) start = at
        isInString = character === '"'
        if (character === '[' || character === '{') depth++
        else if (character === ']' || character === '}') depth--
      }
    }
    const from = start < 0 ? at : start
    text = text.slice(from)
    at -= from
    if (start >= 0) start = 0
  }
  // An empty file has no records.
  if (depth > 0) throw new Error('the JSON array has no end, as in a file that is cut off')
}
