/** `ashlar import`: records of a file become objects, by the bulk loads of the server. */

import { statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import {
  type AshlarClient,
  AshlarRequestError,
  type AttributeDefinition,
  type BulkCreation,
  type ClassDescription,
} from '@ashlar/client'
import { type CommandContext, parseInput, readInputFile } from '../command-context.ts'
import { CommandError } from '../command-error.ts'
import { stringifyExactly } from '../exact-json.ts'
import { exitCodes } from '../exit-codes.ts'
import { Progress } from '../progress.ts'
import { inferClass } from './import/infer-class.ts'
import { attributesBy, noMapping, readMapping, type ToAttributes } from './import/mapping.ts'
import { type FileFormat, type FileRecord, formatOfName, openRecords } from './import/records.ts'
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
/** Records that are answered, and still held. */
const answeredMax = 1_000

export async function importFile(context: CommandContext, [file]: readonly [string], options: Options): Promise<void> {
  const skip = skipOf(options.skip)
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
  const { records, bytesRead } = openRecords(file, format, { columns, delimiter: delimiterOf(options.delimiter) })
  const { sample, all } = await sampled(records)
  const known = await attributesOf(context.client, options.class)
  if (options.upsertOn !== undefined) await context.client.getIndex(options.upsertOn)
  const described = known === undefined ? inferredClass(options.class, sample, mapping) : undefined
  const toAttributes = attributesBy(mapping, known ?? described?.attributes ?? [])
  if (options.dryRun === true) return showPlan(context, described, sample, toAttributes)
  if (described !== undefined) {
    await context.client.createClasses([described])
    context.output.note(`Class ${options.class} was made: ${described.attributes.map(shownDefinition).join(', ')}.`)
  }
  const total = file === '-' ? undefined : statSync(file).size
  await new Import(context, options, skip, toAttributes, () => ({ bytesRead: bytesRead(), total })).run(all)
}

function skipOf(word = '0'): number {
  if (/^\d{1,15}$/.test(word)) return Number(word)
  throw new CommandError(exitCodes.usage, `--skip is a number of records, not ${word}.`)
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
}

async function sampled(records: AsyncIterable<FileRecord>): Promise<Sampled> {
  const iterator = records[Symbol.asyncIterator]()
  const sample: FileRecord[] = []
  while (sample.length < sampledRecords) {
    const next = await iterator.next()
    if (next.done === true) break
    sample.push(next.value)
  }
  const all = async function* (): AsyncGenerator<FileRecord> {
    yield* sample
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  }
  return { sample, all: all() }
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
function inferredClass(
  name: string,
  sample: readonly FileRecord[],
  mapping: Parameters<typeof attributesBy>[0],
): ClassDescription {
  const toAttributes = attributesBy(mapping, [])
  const records = sample.flatMap(({ fields }) => (fields === undefined ? [] : [toAttributes(fields)]))
  if (records.length === 0)
    throw new CommandError(
      exitCodes.invalid,
      'The file has no records, so its columns and their types are not known and no class was made.',
    )
  return inferClass(name, records)
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
  described: ClassDescription | undefined,
  sample: readonly FileRecord[],
  toAttributes: ToAttributes,
): Promise<void> {
  const objects = sample
    .filter(({ fields }) => fields !== undefined)
    .slice(0, shownRecords)
    .map(({ fields }) => toAttributes(fields ?? {}))
  await output.data({ class: described ?? null, objects }, () => [
    ...(described === undefined
      ? ['The class is there, and stays as it is.']
      : ['This class would be made:', ...described.attributes.map((one) => `  ${shownDefinition(one)}`)]),
    'The first objects:',
    ...objects.map((one) => `  ${stringifyExactly(one)}`),
  ])
}

class Import {
  private readonly context: CommandContext
  private readonly options: Options
  private readonly skip: number
  private readonly toAttributes: ToAttributes
  private readonly position: () => { readonly bytesRead: number; readonly total: number | undefined }
  /** Sent, and not answered: the first is the next one to be. */
  private readonly underWay: { readonly record: FileRecord; readonly number: number }[] = []
  /** Of these, how many are answered: they are taken out together. */
  private answered = 0
  private readonly refused: { readonly record: FileRecord; readonly reason: string }[] = []
  private seen = 0
  /** Records of which it is known what became of them, those that were skipped included. */
  private settled = 0
  private rejected = 0
  private rejects: FileHandle | undefined
  /** What the file has failed with. */
  private broken: { readonly error: unknown } | undefined

  constructor(
    context: CommandContext,
    options: Options,
    skip: number,
    toAttributes: ToAttributes,
    position: () => { readonly bytesRead: number; readonly total: number | undefined },
  ) {
    this.context = context
    this.options = options
    this.skip = skip
    this.toAttributes = toAttributes
    this.position = position
    this.settled = skip
  }

  async run(records: AsyncIterable<FileRecord>): Promise<void> {
    const { client, signal, output } = this.context
    const { upsertOn, rejects, quiet } = this.options
    if (rejects !== undefined) this.rejects = await open(rejects, 'w').catch(unwritable)
    const progress = new Progress({ unit: 'bytes', isQuiet: quiet === true })
    const replies = client.loadObjects(this.linesOf(records), {
      signal,
      onError: rejects === undefined ? 'stop' : 'skip',
      ...(upsertOn !== undefined && { upsertOn }),
    })
    let summary = { created: 0, updated: 0 }
    try {
      for await (const reply of replies) {
        if ('summary' in reply) summary = reply.summary
        else {
          const settled = this.settle(reply.error?.message)
          if (settled !== undefined) await settled
        }
        progress.update(this.position().bytesRead, this.position().total)
      }
      await this.writeRefused()
      if (this.broken !== undefined) throw this.broken.error
    } catch (error) {
      throw this.explained(error)
    } finally {
      progress.stop()
      await this.rejects?.close()
    }
    const told = { created: summary.created, updated: summary.updated, rejected: this.rejected }
    await output.result(told, () => [
      `${numberText(told.created)} created, ${numberText(told.updated)} updated, ${numberText(told.rejected)} rejected${told.rejected === 0 ? '' : ` (see ${rejects})`}.`,
    ])
  }

  /** Where the file fails, the lines before it are carried out all the same. */
  private async *linesOf(records: AsyncIterable<FileRecord>): AsyncGenerator<BulkCreation> {
    try {
      yield* this.creations(records)
    } catch (error) {
      this.broken = { error }
    }
  }

  private async *creations(records: AsyncIterable<FileRecord>): AsyncGenerator<BulkCreation> {
    for await (const record of records) {
      const number = ++this.seen
      if (number <= this.skip) continue
      if (record.fields === undefined) {
        const reason = `The record ${record.problem ?? 'cannot be read'}.`
        if (this.rejects === undefined) throw new UnreadableRecord(record, reason)
        this.refused.push({ record, reason })
        continue
      }
      this.underWay.push({ record, number })
      yield { class: this.options.class, attributes: this.toAttributes(record.fields) }
    }
  }

  /** At once where nothing was refused. */
  private settle(reason: string | undefined): Promise<void> | undefined {
    const answered = this.underWay[this.answered]
    if (answered === undefined) return undefined
    if (++this.answered === answeredMax) {
      this.underWay.splice(0, answeredMax)
      this.answered = 0
    }
    if (reason !== undefined && this.rejects === undefined) throw this.failure(answered.record, reason)
    this.settled = answered.number
    if (reason !== undefined) this.refused.push({ record: answered.record, reason })
    return this.refused.length === 0 ? undefined : this.writeRefused()
  }

  private async writeRefused(): Promise<void> {
    for (const { record, reason } of this.refused.splice(0)) await this.reject(record, reason)
  }

  private async reject({ line, fields }: FileRecord, reason: string): Promise<void> {
    this.rejected++
    await this.rejects?.write(`${stringifyExactly({ line, reason, ...(fields && { record: fields }) })}\n`)
  }

  private failure({ line }: FileRecord, reason: string): CommandError {
    const hint = 'Correct the file, or have such records left out by --rejects <file>.'
    return new CommandError(exitCodes.invalid, `Line ${line}: ${reason} ${hint} ${this.howToGoOn()}`)
  }

  /** What ends it before the last record says how to go on. */
  private explained(error: unknown): unknown {
    if (error instanceof UnreadableRecord) return this.failure(error.record, error.message)
    if (error instanceof CommandError) return error
    if (this.context.signal.aborted) {
      return new CommandError(exitCodes.interrupted, `Stopped. ${this.howToGoOn()}`)
    }
    return error
  }

  private howToGoOn(): string {
    const done = this.settled === 1 ? '1 record is' : `${numberText(this.settled)} records are`
    return `${done} certainly done: go on with --skip ${this.settled}, and with --upsert-on <index> so that none is created twice.`
  }
}

class UnreadableRecord extends Error {
  readonly record: FileRecord

  constructor(record: FileRecord, reason: string) {
    super(reason)
    this.record = record
  }
}

function unwritable(error: NodeJS.ErrnoException): never {
  throw new CommandError(exitCodes.usage, `The file for rejects cannot be written: ${error.message}`)
}
