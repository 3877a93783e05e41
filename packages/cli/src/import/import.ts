/** `ashlar import`: imports the records of a file as objects, by bulk loads. */

import { existsSync, realpathSync } from 'node:fs'
import { type AshlarClient, AshlarRequestError, type AttributeDefinition } from '@ashlar/client'
import { type CommandContext, parseJsonInput, readInputFile } from '../connection/command-context.ts'
import { usageError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { refuseUnreadable } from '../errors/file-errors.ts'
import { ProgressLine } from '../output/progress.ts'
import { checkAttributes, checkColumns } from './check-columns.ts'
import { execute, type ImportPlan } from './execute-import.ts'
import { type OpenImportFile, type PeekedFile, peek } from './file-record.ts'
import { declaresTypes, inferFromFile } from './infer-from-file.ts'
import { type Mapping, noMapping, readMapping } from './mapping.ts'
import { type FileFormat, formatOfName, openTextRecords, type TableForm } from './records.ts'
import { openReferences } from './references.ts'
import { textSource, withRereadable } from './text-source.ts'

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

export async function runImport(context: CommandContext, [file]: readonly [string], options: Options): Promise<void> {
  const skip = skipOf(options.skip)
  for (const read of [file, options.mapping]) {
    // Check this first, so that a mistyped file name is not reported as another error.
    if (read !== undefined && read !== '-') refuseUnreadable(read)
    refuseOverwriting(read, options.rejects)
  }
  if (/\.tar(\.gz)?$|\.tgz$/i.test(file)) {
    const how = `ashlar copy archive:${file} <store>`
    throw usageError(`${file} is an archive: it goes into an empty store, by ${how}.`)
  }
  const format = options.format ?? formatOfName(file)
  const mapping = mappingIn(options.mapping)
  if (options.null !== undefined && format !== 'csv' && format !== 'tsv')
    throw usageError(`--null is for CSV and TSV: ${format} has a null of its own.`)
  const columns = options.columns?.split(',').map((name) => name.trim())
  const form = { columns, delimiter: delimiterOf(options.delimiter), nullText: options.null ?? '' }
  const { client } = context
  const classes = new ClassCache(client)
  const existing = await classes.attributes(options.class)
  if (options.upsertOn !== undefined) await checkKey(client, options.upsertOn, options.class, existing !== undefined)
  const attributesOf = async (name: string): Promise<AttributeDefinition[]> => (await classes.attributes(name)) ?? []
  const references = await openReferences(client, mapping, attributesOf)
  const plan = { ...options, className: options.class, mapping, references, skip }
  if (existing === undefined) return await importIntoNew(context, file, { format, form }, plan)
  await classes.readEmbedded(existing)
  const opened = await peek(await openFile(file, { format, form }, context.signal))
  checkColumns(mapping, opened, opened.first)
  checkAttributes(options.class, existing, mapping, opened, opened.first)
  await execute(context, opened, {
    ...plan,
    attributes: existing,
    attributesOf: (name) => classes.get(name),
    newClasses: [],
    notes: [],
  })
}

interface FileForm {
  readonly format: FileFormat
  readonly form: TableForm
}

type ImportRequest = Omit<ImportPlan, 'attributes' | 'attributesOf' | 'newClasses' | 'notes'>

/** Creates the class with types inferred from all records, and therefore reads the file twice. */
async function importIntoNew(context: CommandContext, file: string, as: FileForm, plan: ImportRequest): Promise<void> {
  const { format, form } = as
  if (format === 'parquet') {
    const open = (): Promise<OpenImportFile> => openFile(file, as, context.signal)
    return await inferAndExecute(context, open, plan)
  }
  await withRereadable(textSource(file), context.signal, async (source) => {
    await inferAndExecute(context, async () => openTextRecords(source, format, form), plan)
  })
}

async function inferAndExecute(
  context: CommandContext,
  open: () => Promise<OpenImportFile>,
  plan: ImportRequest,
): Promise<void> {
  let file = await peek(await open())
  checkColumns(plan.mapping, file, file.first)
  const isReadTwice = !declaresTypes(file)
  const { classes, notes } = isReadTwice
    ? await inferred(context, file, plan)
    : await inferred(context, { ...file, records: none() }, { ...plan, skip: 0 })
  if (isReadTwice) file = await peek(await open())
  const attributesOf = (name: string): readonly AttributeDefinition[] | undefined =>
    classes.find(({ className }) => className === name)?.attributes
  const attributes = classes.at(-1)?.attributes ?? []
  await execute(context, file, { ...plan, attributes, attributesOf, newClasses: classes, notes })
}

async function* none(): AsyncGenerator<never> {}

async function inferred(
  { signal, output }: CommandContext,
  file: PeekedFile,
  plan: ImportRequest,
): ReturnType<typeof inferFromFile> {
  const hasTypes = [...plan.mapping.columns.values()].some(({ definition }) => definition !== undefined)
  // Loaded on demand: most imports do not need it.
  const checks = hasTypes ? await import('./value-checks.ts') : undefined
  const progress = new ProgressLine({ unit: 'bytes', isQuiet: output.hidesProgress })
  try {
    return await inferFromFile(file, {
      ...plan,
      checkOf: checks && ((definition) => checks.checkOf(definition, () => undefined)),
      isLenient: plan.rejects !== undefined,
      onRecord: () => {
        signal.throwIfAborted()
        progress.update(file.bytesRead(), file.size)
      },
    })
  } finally {
    progress.stop()
  }
}

async function openFile(file: string, { format, form }: FileForm, signal: AbortSignal): Promise<OpenImportFile> {
  if (format !== 'parquet') return openTextRecords(textSource(file), format, form)
  // Loaded on demand: most imports do not need it.
  const { openParquet } = await import('./parquet.ts')
  return await openParquet(file, signal)
}

function skipOf(word = '0'): number {
  if (/^\d{1,15}$/.test(word)) return Number(word)
  throw usageError(`--skip is a number of records, not ${word}.`)
}

function mappingIn(file: string | undefined): Mapping {
  if (file === undefined) return noMapping
  return readMapping(parseJsonInput(readInputFile(file, exitCodes.usage), `The file ${file}`, exitCodes.usage))
}

function refuseOverwriting(read: string | undefined, rejects: string | undefined): void {
  // Standard output has the messages of the import.
  if (rejects === '-') throw usageError('--rejects names a file: standard output is for the result of the import.')
  if (read === undefined || rejects === undefined || !existsSync(read) || !existsSync(rejects)) return
  if (realpathSync(read) !== realpathSync(rejects)) return
  throw usageError(`--rejects ${rejects} would overwrite the file that is read.`)
}

/** Checks the index that identifies objects; the server checks the rest. */
async function checkKey(client: AshlarClient, name: string, className: string, classExists: boolean): Promise<void> {
  const { isUnique, indexedClass } = await client.getIndex(name)
  const advice = '--upsert-on takes a unique index of the class, or of one above it.'
  if (!isUnique) throw usageError(`The index '${name}' is not unique: ${advice}`)
  if (classExists) return
  throw usageError(
    `The index '${name}' is of class ${indexedClass}, and the class ${className} is not there yet: ${advice}`,
  )
}

function delimiterOf(word: string | undefined): string | undefined {
  if (word === 'tab' || word === '\\t') return '\t'
  if (word === undefined || /^[^"\r\n]$/u.test(word)) return word
  throw usageError(`--delimiter is one character, or tab, not ${word}.`)
}

/** Attributes of the classes of the server, each of which is read once. */
class ClassCache extends Map<string, AttributeDefinition[] | undefined> {
  private readonly client: AshlarClient

  constructor(client: AshlarClient) {
    super()
    this.client = client
  }

  /** Returns attributes including inherited ones; undefined if the class does not exist. */
  async attributes(className: string): Promise<AttributeDefinition[] | undefined> {
    if (!this.has(className)) this.set(className, await this.read(className))
    return this.get(className)
  }

  private async read(className: string): Promise<AttributeDefinition[] | undefined> {
    try {
      const { attributes, superClass } = await this.client.getClass(className)
      return [...((superClass === null ? undefined : await this.attributes(superClass)) ?? []), ...attributes]
    } catch (error) {
      if (error instanceof AshlarRequestError && error.status === 404) return undefined
      throw error
    }
  }

  async readEmbedded(attributes: readonly AttributeDefinition[]): Promise<void> {
    for (const { class: own, elementSpecification: element } of attributes) {
      for (const name of [own, element?.class]) {
        if (typeof name !== 'string' || this.has(name)) continue
        await this.readEmbedded((await this.attributes(name)) ?? [])
      }
    }
  }
}
