/** `ashlar import`: records of a file become objects, by the bulk loads of the server. */

import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { type AshlarClient, AshlarRequestError, type AttributeDefinition, type ClassDescription } from '@ashlar/client'
import { unreadableFile } from '../../config/unreadable-file.ts'
import { type CommandContext, parseInput, readInputFile } from '../command-context.ts'
import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { checkAttributes, checkColumns } from './import/check-columns.ts'
import { RecordProblem } from './import/column-values.ts'
import type { Definition, Fields, FileRecord, OpenFile } from './import/file-record.ts'
import { inferClasses } from './import/infer-class.ts'
import { attributeNameOf, type Mapping, noMapping, readMapping } from './import/mapping.ts'
import { type FileFormat, formatOfName, openRecords } from './import/records.ts'
import { References } from './import/references.ts'
import { RejectsFile } from './import/rejects-file.ts'
import { type Imported, importRecords } from './import/run-import.ts'
import { shownDefinition, showPlan } from './import/show-plan.ts'
import { attributesBy, type ToAttributes } from './import/to-attributes.ts'
import { numberText } from './texts.ts'

interface Options {
  readonly class: string
  readonly format?: FileFormat
  readonly columns?: string
  readonly delimiter?: string
  readonly null?: string
  readonly mapping?: string
  readonly upsertOn?: string
  readonly rejects?: string
  readonly skip?: string
  readonly dryRun?: boolean
  readonly quiet?: boolean
}

/** By which a class is made that is not there. */
const sampledRecords = 1_000

export async function importFile(context: CommandContext, [file]: readonly [string], options: Options): Promise<void> {
  const skip = skipOf(options.skip)
  for (const read of [file, options.mapping]) {
    refuseUnreadable(read)
    refuseOverwriting(read, options.rejects)
  }
  if (/\.tar(\.gz)?$|\.tgz$/i.test(file)) {
    const how = `ashlar copy archive:${file} <store>`
    throw new CommandError(exitCodes.usage, `${file} is an archive: it goes into an empty store, by ${how}.`)
  }
  const format = options.format ?? formatOfName(file)
  const mapping = mappingIn(options.mapping)
  const columns = options.columns?.split(',').map((name) => name.trim())
  const { client, output } = context
  if (options.null !== undefined && format !== 'csv' && format !== 'tsv')
    throw new CommandError(exitCodes.usage, `--null is for CSV and TSV: ${format} has a null of its own.`)
  const form = { columns, delimiter: delimiterOf(options.delimiter), nullText: options.null ?? '' }
  const source = await openRecords(file, format, form, context.signal)
  const { sample, all, count } = await sampled(source.records)
  checkColumns(mapping, source, sample)
  const known = await attributesOf(client, options.class)
  if (options.upsertOn !== undefined) await checkKey(client, options.upsertOn, options.class, known !== undefined)
  const references = await References.open(client, mapping, async (name) => (await attributesOf(client, name)) ?? [])
  const made = known === undefined ? inferredClasses(options.class, sample, source, { mapping, references }) : undefined
  const attributes = known ?? made?.at(-1)?.attributes ?? []
  if (known !== undefined) checkAttributes(options.class, known, mapping, source, sample)
  const toAttributes = attributesBy(mapping, attributes, references)
  if (options.dryRun === true) return showPlan(context, { made, attributes, toAttributes, references }, sample)
  const isMade = made === undefined ? '' : ` The class ${options.class}, which this import has made, stays.`
  const total = file === '-' ? undefined : statSync(file).size
  // Before the class is made: a file that cannot be written leaves nothing behind.
  const rejects = options.rejects === undefined ? undefined : await RejectsFile.open(options.rejects)
  try {
    if (made !== undefined) {
      await client.createClasses(made)
      for (const { className, attributes: its } of made)
        output.note(`Class ${className} was made: ${its.map(shownDefinition).join(', ')}.`)
    }
    const told = await importRecords(
      { client: context.connection.uninterrupted, signal: context.signal },
      {
        className: options.class,
        toAttributes,
        references,
        skip,
        upsertOn: options.upsertOn,
        rejects,
        isQuiet: output.hidesProgress,
        made: isMade,
        position: () => ({ bytesRead: source.bytesRead(), total }),
      },
      all,
    )
    if (count() < skip)
      throw new CommandError(
        exitCodes.usage,
        `--skip ${skip} is more than the ${numberText(count())} records of the file.`,
      )
    if (skip === 0) refuseNothing(told, options.rejects, isMade)
    await tellImported(output, told, options.rejects)
  } finally {
    await rejects?.close()
  }
}

/** That some are left out has been asked for; that all are is rather a mistake. Throws CommandError. */
function refuseNothing(told: Imported, rejects: string | undefined, made: string): void {
  const { created, updated, rejected, firstReason } = told
  if (rejected === 0 || created + updated > 0) return
  const all = rejected === 1 ? 'The only record was' : `All ${numberText(rejected)} records were`
  throw new CommandError(
    exitCodes.invalid,
    `Nothing was imported. ${all} rejected (see ${rejects}). ${firstReason}${made}`,
  )
}

async function tellImported(output: Output, told: Imported, rejects: string | undefined): Promise<void> {
  const { created, updated, rejected } = told
  const where = rejected === 0 ? '' : ` (see ${rejects})`
  await output.result({ created, updated, rejected }, () => [
    `${numberText(created)} created, ${numberText(updated)} updated, ${numberText(rejected)} rejected${where}.`,
  ])
  // Whose summary goes to a file does not see it.
  if (rejected > 0 && output.file !== undefined)
    output.note(`${numberText(rejected)} ${rejected === 1 ? 'record was' : 'records were'} rejected${where}.`)
}

/** First, so that the name of a file that is not there is not taken for the fault of another. Throws CommandError. */
function refuseUnreadable(file: string | undefined): void {
  if (file === undefined || file === '-') return
  try {
    accessSync(file, constants.R_OK)
    if (statSync(file).isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
  } catch (error) {
    const why = unreadableFile(error as NodeJS.ErrnoException)
    throw new CommandError(exitCodes.usage, `The file ${file} cannot be read: ${why}.`)
  }
}

function skipOf(word = '0'): number {
  if (/^\d{1,15}$/.test(word)) return Number(word)
  throw new CommandError(exitCodes.usage, `--skip is a number of records, not ${word}.`)
}

function mappingIn(file: string | undefined): Mapping {
  if (file === undefined) return noMapping
  return readMapping(parseInput(readInputFile(file, exitCodes.usage), `The file ${file}`, exitCodes.usage))
}

function refuseOverwriting(read: string | undefined, rejects: string | undefined): void {
  // Standard output is for what the import tells.
  if (rejects === '-')
    throw new CommandError(exitCodes.usage, '--rejects names a file: standard output is for the result of the import.')
  if (read === undefined || rejects === undefined || !existsSync(read) || !existsSync(rejects)) return
  if (realpathSync(read) !== realpathSync(rejects)) return
  throw new CommandError(exitCodes.usage, `--rejects ${rejects} would overwrite the file that is read.`)
}

/** Of an index that is to tell which object is meant. What the server alone knows it refuses itself. Throws CommandError, AshlarRequestError. */
async function checkKey(client: AshlarClient, name: string, className: string, isThere: boolean): Promise<void> {
  const { isUnique, indexedClass } = await client.getIndex(name)
  const advice = '--upsert-on takes a unique index of the class, or of one above it.'
  if (!isUnique) throw new CommandError(exitCodes.usage, `The index '${name}' is not unique: ${advice}`)
  if (isThere) return
  throw new CommandError(
    exitCodes.usage,
    `The index '${name}' is of class ${indexedClass}, and the class ${className} is not there yet: ${advice}`,
  )
}

function delimiterOf(word: string | undefined): string | undefined {
  if (word === 'tab' || word === '\\t') return '\t'
  if (word === undefined || /^[^"\r\n]$/u.test(word)) return word
  throw new CommandError(exitCodes.usage, `--delimiter is one character, or tab, not ${word}.`)
}

interface Sampled {
  readonly sample: readonly FileRecord[]
  /** Those of the sample included. */
  readonly all: AsyncIterable<FileRecord>
  /** Of those that were read so far. */
  readonly count: () => number
}

async function sampled(records: AsyncIterable<FileRecord>): Promise<Sampled> {
  const iterator = records[Symbol.asyncIterator]()
  const sample: FileRecord[] = []
  while (sample.length < sampledRecords) {
    const next = await iterator.next()
    if (next.done === true) break
    sample.push(next.value)
  }
  let count = sample.length
  const all = async function* (): AsyncGenerator<FileRecord> {
    yield* sample
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      count++
      yield next.value
    }
  }
  return { sample, all: all(), count: () => count }
}

/** Inherited ones included; undefined where the class is not there. */
async function attributesOf(client: AshlarClient, className: string): Promise<AttributeDefinition[] | undefined> {
  try {
    const { attributes, superClass } = await client.getClass(className)
    return [...((superClass === null ? undefined : await attributesOf(client, superClass)) ?? []), ...attributes]
  } catch (error) {
    if (error instanceof AshlarRequestError && error.status === 404) return undefined
    throw error
  }
}

/** Of the sample as the mapping has it. Throws CommandError. */
function inferredClasses(
  name: string,
  sample: readonly FileRecord[],
  { areTexts, definitions, header }: OpenFile,
  { mapping, references }: { readonly mapping: Mapping; readonly references: References | undefined },
): readonly ClassDescription[] {
  const toAttributes = attributesBy(mapping, [])
  const records = sample.flatMap(({ fields }) => recordsOf(fields, toAttributes))
  const [first] = sample
  if (first !== undefined && sample.every(({ fields }) => fields === undefined))
    throw new CommandError(exitCodes.invalid, `Line ${first.line}: The record ${first.problem ?? 'cannot be read'}.`)
  if (records.length === 0 && definitions.size === 0) throw noRecords(header())
  const known = new Map<string, Definition>()
  for (const [column, definition] of definitions) {
    const own = mapping.columns.get(column)
    if (own === undefined) known.set(attributeNameOf(column), definition)
  }
  const referred = references?.classes() ?? new Map<string, string>()
  for (const [column, { attribute, definition }] of mapping.columns) {
    const referencedClass = referred.get(column)
    if (attribute === null || attribute.includes('.')) continue
    if (definition !== undefined) known.set(attribute, definition)
    else if (referencedClass !== undefined) known.set(attribute, referenceTo(referencedClass, records, attribute))
  }
  const order = header()?.map((column) => mapping.columns.get(column)?.attribute ?? attributeNameOf(column)) ?? []
  return inferClasses(name, { records, areTexts, known, order })
}

function noRecords(header: readonly string[] | undefined): CommandError {
  const columns =
    header === undefined ? undefined : `${numberText(header.length)} column${header.length === 1 ? '' : 's'}`
  const has = columns === undefined ? 'has no records' : `has a header of ${columns} and no records below it`
  const hint = columns === undefined ? '' : ' If the first line is a record, name the columns by --columns.'
  return new CommandError(
    exitCodes.invalid,
    `The file ${has}, so the types of its values are not known and no class was made.${hint}`,
  )
}

/** What cannot be read is told when it is its turn. */
function recordsOf(fields: Fields | undefined, toAttributes: ToAttributes): Fields[] {
  try {
    return fields === undefined ? [] : [toAttributes(fields)]
  } catch (error) {
    if (error instanceof RecordProblem) return []
    throw error
  }
}

/** A list of them where the column has a separator. */
function referenceTo(referencedClass: string, records: readonly Fields[], attribute: string): Definition {
  const reference = { logicalType: 'reference', referencedClass }
  const isList = records.some((fields) => Array.isArray(fields[attribute]))
  return isList ? { logicalType: 'list', elementSpecification: reference } : reference
}
