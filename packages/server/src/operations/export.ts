/** Exports of a class, of a query result, or of a whole federated database (contract 2.2.25 to 2.2.28). */
import { AshlarError, type RowChunk, type RowChunks } from '@ashlar/engine'
import {
  booleanParam,
  type FdOperation,
  type FdRequest,
  type OperationReply,
  type OperationRequest,
  type ReplyType,
} from '../dispatch/operation.ts'
import { quoteForMessage, quoteNames } from '../errors/problem.ts'
import { Type } from '../wire/json-schema.ts'
import { archiveChunks } from './export/archive.ts'
import { csvRows, csvWithHeader } from './export/csv.ts'

type Format = 'ndjson' | 'csv' | 'archive'

const formats: readonly Format[] = ['ndjson', 'csv', 'archive']
const replyTypes: Record<Format, ReplyType> = { ndjson: 'ndjson', csv: 'csv', archive: 'gzip' }
const parameters = ['class', 'query', 'after', 'format', 'columns'] as const

interface ExportOptions {
  readonly format: Format
  readonly class: string | undefined
  readonly query: string | undefined
  readonly after: string | undefined
  readonly columns: readonly string[] | undefined
  readonly isEscaping: boolean
}

/** Returns the requested format; undefined if it is unknown. */
function formatOf({ format, class: className, query }: OperationRequest['query']): Format | undefined {
  if (format === undefined) return className === undefined && query === undefined ? 'archive' : 'ndjson'
  return formats.find((one) => one === format)
}

function readOptions(request: OperationRequest): ExportOptions {
  const texts: Partial<Record<(typeof parameters)[number], string>> = {}
  for (const name of parameters) {
    const value = request.query[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || value === '') {
      throw new AshlarError('MalformedValue', `The parameter ${name} must be specified once, and must not be empty.`)
    }
    texts[name] = value
  }
  const format = formatOf(request.query)
  if (format === undefined)
    throw new AshlarError(
      'MalformedValue',
      `The parameter format must be ndjson, csv or archive, not ${quoteForMessage(texts.format ?? '')}.`,
    )
  const { class: className, query, after, columns } = texts
  if (className !== undefined && query !== undefined) throw contradiction(['class', 'query'])
  if (after !== undefined && query !== undefined) throw contradiction(['after', 'query'])
  if (format === 'archive') {
    const other = parameters.filter((name) => name !== 'format' && texts[name] !== undefined)
    if (other.length > 0) throw contradiction(['format=archive', ...other])
  } else if (columns !== undefined && format !== 'csv') throw contradiction([`format=${format}`, 'columns'])
  if (format === 'csv' && className === undefined && query === undefined) {
    throw new AshlarError('MalformedRequest', 'CSV has the columns of one class, or of a query: name either.')
  }
  const isEscaping = booleanParam(request, 'escapeFormulas')
  if (isEscaping && format !== 'csv') throw contradiction([`format=${format}`, 'escapeFormulas'])
  return { format, class: className, query, after, columns: columnsIn(columns), isEscaping }
}

/** Returns distinct columns: repeated names would repeat long values. Throws MalformedValue. */
function columnsIn(columns: string | undefined): readonly string[] | undefined {
  if (columns === undefined) return undefined
  const names = new Set<string>()
  for (const part of columns.split(',')) {
    const name = part.trim()
    if (names.has(name))
      throw new AshlarError('MalformedValue', `The parameter columns names ${quoteForMessage(name)} twice.`)
    names.add(name)
  }
  return [...names]
}

function contradiction(names: readonly string[]): AshlarError {
  return new AshlarError('MalformedRequest', `The parameters ${quoteNames(names)} do not go together.`)
}

/** Drops the cached form of rows, since the reply is serialized again. */
function streamed(rows: AsyncGenerator<RowChunk>): RowChunks {
  return { [Symbol.asyncIterator]: () => rows }
}

const identity = ['__class__', '__identifier__']

/** Besides attributes, a column may name an embedded object or a path into a map. Throws UnknownAttribute. */
function requireColumns(columns: readonly string[], attributes: ReadonlySet<string>, className = ''): void {
  const all = [...identity, ...attributes]
  for (const column of columns) {
    if (all.some((one) => one === column || one.startsWith(`${column}.`) || column.startsWith(`${one}.`))) continue
    const message = `Class ${className} and its subclasses have no attribute ${quoteNames([column])}, which is among the columns.`
    throw new AshlarError('UnknownAttribute', message)
  }
}

async function rowsOf(options: ExportOptions, request: FdRequest): Promise<RowChunks> {
  const { database, signal, watch, caller, fd } = request
  if (options.query !== undefined) {
    const query = { text: options.query, user: caller.userOn(fd.alias), signal, watch }
    if ((await database.classify(query)) !== 'read') {
      throw new AshlarError(
        'ValueNotAllowed',
        'An export only reads: statements that change something are for POST /v1/query.',
      )
    }
    const { chunks } = await database.query(query)
    if (options.format !== 'csv') return chunks
    const { columns, isEscaping } = options
    return streamed(columns === undefined ? csvRows(chunks, options) : csvWithHeader(chunks, { columns, isEscaping }))
  }
  const exported = await database.export({ class: options.class, after: options.after, signal, watch })
  if (options.format === 'archive') return streamed(archiveChunks(exported, fd.alias))
  if (options.format !== 'csv') return exported.objects
  if (options.columns !== undefined) requireColumns(options.columns, exported.allColumns, options.class)
  const columns = options.columns ?? [...identity, ...exported.columns]
  return streamed(
    csvWithHeader(exported.objects, { columns, isEscaping: options.isEscaping, jsonColumns: exported.jsonColumns }),
  )
}

const text = Type.String()

export const exportOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/export',
    needs: 'read',
    summary: 'Export objects of a class, rows of a query, or the whole federated database',
    description:
      'Streams one snapshot, in the order of OIDs. Without class and query: an archive (gzipped tar) of the schema, the indexes and all objects that the caller can see.',
    tag: 'Queries',
    isTransactional: false,
    queryParameters: {
      class: {
        description: 'Full name or number of a class: exports its objects and those of its subclasses.',
        schema: text,
      },
      query: { description: 'A read-only query: exports the rows of its last statement.', schema: text },
      after: { description: 'An OID: only objects after it, to resume an interrupted export.', schema: text },
      format: {
        description: 'ndjson (the default with class or query), csv, or archive (the default without).',
        schema: Type.Union([Type.Literal('ndjson'), Type.Literal('csv'), Type.Literal('archive')]),
      },
      columns: {
        description: 'CSV only: columns, separated by commas; dots lead into embedded objects.',
        schema: text,
      },
      escapeFormulas: {
        description: 'CSV only: puts an apostrophe before texts that a spreadsheet would treat as a formula.',
        schema: Type.Boolean(),
      },
    },
    status: 200,
    replyTypeOf: ({ query }) => replyTypes[formatOf(query) ?? 'ndjson'],
    statement: { kind: 'query', text: () => 'export' },
    errors: [
      'MalformedValue',
      'MalformedRequest',
      'MalformedOid',
      'ClassNotFound',
      'ClassNotReferenceable',
      'QuerySyntaxError',
      'QueryError',
      'UnknownClass',
      'UnknownAttribute',
      'AmbiguousAttribute',
      'ValueNotAllowed',
      'LimitExceeded',
      'IndexNotFound',
      'ObjectNotFound',
    ],
    async run(_database, request): Promise<OperationReply> {
      return { rows: await rowsOf(readOptions(request), request) }
    },
  },
]
