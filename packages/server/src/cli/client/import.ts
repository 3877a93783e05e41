/** `ashlar import`: records of a file become objects, by the bulk loads of the server. */

import { existsSync, realpathSync, statSync } from 'node:fs'
import { type AshlarClient, AshlarRequestError, type AttributeDefinition, type ClassDescription } from '@ashlar/client'
import { type CommandContext, parseInput, readInputFile } from '../command-context.ts'
import { CommandError } from '../command-error.ts'
import { stringifyExactly } from '../exact-json.ts'
import { exitCodes } from '../exit-codes.ts'
import { RecordProblem } from './import/column-values.ts'
import type { Definition, Fields, FileRecord, OpenFile } from './import/file-record.ts'
import { inferClasses } from './import/infer-class.ts'
import { attributeNameOf, type Mapping, noMapping, readMapping } from './import/mapping.ts'
import { type FileFormat, formatOfName, openRecords } from './import/records.ts'
import { References } from './import/references.ts'
import { importRecords } from './import/run-import.ts'
import { attributesBy, type ToAttributes } from './import/to-attributes.ts'
import { numberText } from './texts.ts'

interface Options {
  readonly class: string
  readonly format?: FileFormat
  readonly columns?: string
  readonly delimiter?: string
  readonly mapping?: string
  readonly upsertOn?: string
  readonly rejects?: string
  readonly skip?: string
  readonly dryRun?: boolean
  readonly quiet?: boolean
}

/** By which a class is made that is not there. */
const sampledRecords = 1_000
const shownRecords = 3
export async function importFile(context: CommandContext, [file]: readonly [string], options: Options): Promise<void> {
  const skip = skipOf(options.skip)
  for (const read of [file, options.mapping]) refuseOverwriting(read, options.rejects)
  if (/\.tar(\.gz)?$|\.tgz$/i.test(file)) {
    const how = `ashlar copy archive:${file} <store>`
    throw new CommandError(exitCodes.usage, `${file} is an archive: it goes into an empty store, by ${how}.`)
  }
  const format = options.format ?? formatOfName(file)
  const mapping =
    options.mapping === undefined
      ? noMapping
      : readMapping(parseInput(readInputFile(options.mapping), `The file ${options.mapping}`))
  const columns = options.columns?.split(',').map((name) => name.trim())
  const { client, output } = context
  const form = { columns, delimiter: delimiterOf(options.delimiter) }
  const source = await openRecords(file, format, form, context.signal)
  const { sample, all, count } = await sampled(source.records)
  checkColumns(mapping, source, sample)
  const known = await attributesOf(client, options.class)
  if (options.upsertOn !== undefined) await checkKey(client, options.upsertOn, options.class, known !== undefined)
  const references = await References.open(client, mapping, async (name) => (await attributesOf(client, name)) ?? [])
  const made = known === undefined ? inferredClasses(options.class, sample, source, { mapping, references }) : undefined
  const attributes = known ?? made?.at(-1)?.attributes ?? []
  const toAttributes = attributesBy(mapping, attributes, references)
  if (options.dryRun === true) return showPlan(context, made, sample, { toAttributes, references })
  if (made !== undefined) {
    await client.createClasses(made)
    for (const { className, attributes: its } of made)
      output.note(`Class ${className} was made: ${its.map(shownDefinition).join(', ')}.`)
  }
  const total = file === '-' ? undefined : statSync(file).size
  const told = await importRecords(
    context,
    {
      className: options.class,
      toAttributes,
      references,
      skip,
      upsertOn: options.upsertOn,
      rejects: options.rejects,
      isQuiet: options.quiet === true,
      made: made === undefined ? '' : ` The class ${options.class}, which this import has made, stays.`,
      position: () => ({ bytesRead: source.bytesRead(), total }),
    },
    all,
  )
  if (count() < skip)
    throw new CommandError(
      exitCodes.usage,
      `--skip ${skip} is more than the ${numberText(count())} records of the file.`,
    )
  const where = told.rejected === 0 ? '' : ` (see ${options.rejects})`
  await output.result(told, () => [
    `${numberText(told.created)} created, ${numberText(told.updated)} updated, ${numberText(told.rejected)} rejected${where}.`,
  ])
}

function skipOf(word = '0'): number {
  if (/^\d{1,15}$/.test(word)) return Number(word)
  throw new CommandError(exitCodes.usage, `--skip is a number of records, not ${word}.`)
}

function refuseOverwriting(read: string | undefined, rejects: string | undefined): void {
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

/** Records of JSON may do without any of them. Throws CommandError. */
function checkColumns({ columns }: Mapping, { areTexts, definitions }: OpenFile, sample: readonly FileRecord[]): void {
  const fields = sample.find((record) => record.fields !== undefined)?.fields
  if (fields === undefined || (!areTexts && definitions.size === 0)) return
  const named = [...columns].flatMap(([column, { reference }]) => [column, ...(reference?.columns?.values() ?? [])])
  const missing = named.find((column) => !Object.hasOwn(fields, column) && columns.get(column)?.default === undefined)
  if (missing === undefined) return
  const there = Object.keys(fields).join(', ')
  throw new CommandError(exitCodes.usage, `The mapping names the column ${missing}; the file has ${there}.`)
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
  { areTexts, definitions }: OpenFile,
  { mapping, references }: { readonly mapping: Mapping; readonly references: References | undefined },
): readonly ClassDescription[] {
  const toAttributes = attributesBy(mapping, [])
  const records = sample.flatMap(({ fields }) => recordsOf(fields, toAttributes))
  const [first] = sample
  if (first !== undefined && sample.every(({ fields }) => fields === undefined))
    throw new CommandError(exitCodes.invalid, `Line ${first.line}: The record ${first.problem ?? 'cannot be read'}.`)
  if (records.length === 0 && definitions.size === 0)
    throw new CommandError(
      exitCodes.invalid,
      'The file has no records, so its columns and their types are not known and no class was made.',
    )
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
  return inferClasses(name, { records, areTexts, known })
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

function shownDefinition({
  attributeName,
  logicalType,
  storage,
  elementSpecification: element,
}: AttributeDefinition): string {
  const type = element === undefined ? logicalType : `${logicalType} of ${element.logicalType}`
  return `${attributeName} ${type}${storage === undefined ? '' : ` ${storage}`}`
}

async function showPlan(
  { output }: CommandContext,
  made: readonly ClassDescription[] | undefined,
  sample: readonly FileRecord[],
  { toAttributes, references }: { readonly toAttributes: ToAttributes; readonly references: References | undefined },
): Promise<void> {
  const shown = sample.flatMap(({ fields }) => (fields === undefined ? [] : [fields])).slice(0, shownRecords)
  await references?.find(shown)
  const objects = shown.map((fields) => {
    try {
      return toAttributes(fields)
    } catch (error) {
      if (error instanceof RecordProblem) return { error: error.message }
      throw error
    }
  })
  const [described] = made?.slice(-1) ?? []
  const embedded = made?.slice(0, -1) ?? []
  const plan = { class: described ?? null, ...(embedded.length > 0 && { embeddedClasses: embedded }), objects }
  await output.data(plan, () => [
    ...(made === undefined
      ? ['The class is there, and stays as it is.']
      : made.flatMap(({ className, attributes }) => [
          `The class ${className} would be made:`,
          ...attributes.map((one) => `  ${shownDefinition(one)}`),
        ])),
    'The first objects:',
    ...objects.map((one) => `  ${stringifyExactly(one)}`),
  ])
}
