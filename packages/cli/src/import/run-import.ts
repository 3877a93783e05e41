/** A running import: sends records, tracks their outcomes, and reports how to resume after an interruption. */
import { type AshlarClient, AshlarConnectionError, AshlarRequestError, type BulkCreation } from '@ashlar/client'
import { CommandError, interruptedError, invalidInput, unavailableError } from '../errors/command-error.ts'
import { exitCodeOfStatus } from '../errors/exit-codes.ts'
import { ProgressLine } from '../output/progress.ts'
import { numberText } from '../output/texts.ts'
import { attributeNameOf } from './column-names.ts'
import { RecordProblem } from './column-values.ts'
import type { Fields, FileRecord } from './file-record.ts'
import type { References } from './references.ts'
import type { RejectsFile } from './rejects-file.ts'
import type { ToAttributes } from './to-attributes.ts'

/** Answered records that are not yet removed from the list. */
const answeredMax = 1_000
/** Longest wait for pending answers after Ctrl-C, to learn the outcome of the records sent. */
const answersMsMax = 5_000
/** Longest wait if all records are answered. */
const lateAnswerMsMax = 100
/** Records whose references are looked up together. */
const referringRecords = 1_000

export interface ImportWork {
  readonly className: string
  readonly toAttributes: ToAttributes
  readonly references: References | undefined
  /** Number of leading records to skip. */
  readonly skip: number
  readonly upsertOn: string | undefined
  /** Whether rejected records are skipped; otherwise the first one ends the import. */
  readonly skipsRejected: boolean
  /** Records are checked instead of sent. */
  readonly isDryRun: boolean
  /** The file for rejected records; undefined in a dry run. */
  readonly rejects: RejectsFile | undefined
  readonly isQuiet: boolean
  readonly position: () => { readonly bytesRead: number; readonly total: number | undefined }
}

export interface Imported {
  readonly created: number
  readonly updated: number
  readonly rejected: number
  readonly firstReason: string | undefined
  /** Number of records read, including skipped ones. */
  readonly seen: number
}

export interface ImportContext {
  /** `loadObjects` of a client, or of a dry run. */
  readonly load: AshlarClient['loadObjects']
  readonly signal: AbortSignal
}

export function importRecords(
  context: ImportContext,
  work: ImportWork,
  records: AsyncIterable<FileRecord>,
): Promise<Imported> {
  return new Import(context, work).run(records)
}

class Import {
  private readonly context: ImportContext
  private readonly work: ImportWork
  /** Records sent, oldest first; the first `answered` ones are answered. */
  private readonly inProgress: { readonly record: FileRecord; readonly number: number }[] = []
  /** Number of answered records in `inProgress`, which are removed in batches. */
  private answered = 0
  private readonly refused: { readonly record: FileRecord; readonly reason: string }[] = []
  private seen = 0
  /** Number of records with a known outcome, including skipped ones. */
  private settled = 0
  private rejected = 0
  private firstReason: string | undefined
  private isInterrupted = false
  /** Whether there were more refused records than `refused` holds. */
  private isTruncated = false
  private readonly ending = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private broken: { readonly error: unknown } | undefined

  constructor(context: ImportContext, work: ImportWork) {
    this.context = context
    this.work = work
    this.settled = work.skip
  }

  async run(records: AsyncIterable<FileRecord>): Promise<Imported> {
    const { load, signal } = this.context
    const { upsertOn, rejects, skipsRejected, isQuiet, position } = this.work
    // A resumed import keeps the rejects of the earlier part.
    await rejects?.begin(this.work.skip > 0)
    const progress = new ProgressLine({ unit: 'bytes', isQuiet })
    if (signal.aborted) this.finishSoon()
    else signal.addEventListener('abort', () => this.finishSoon())
    const replies = load(this.linesOf(records), {
      signal: this.ending.signal,
      onError: skipsRejected ? 'skip' : 'stop',
      ...(upsertOn !== undefined && { upsertOn }),
    })
    let summary = { created: 0, updated: 0 }
    try {
      for await (const reply of replies) {
        if ('summary' in reply) summary = reply.summary
        else {
          const settled = this.settle(reply.error?.message)
          if (settled !== undefined) await settled
          if (this.isInterrupted && this.isAllAnswered) throw signal.reason
        }
        const { bytesRead, total } = position()
        progress.update(bytesRead, total)
      }
      await this.writeRefused()
      if (this.broken !== undefined) throw this.broken.error
      if (this.isTruncated) throw signal.reason
    } catch (error) {
      throw this.explained(error)
    } finally {
      clearTimeout(this.timer)
      progress.stop()
    }
    const { rejected, firstReason, seen } = this
    return { created: summary.created, updated: summary.updated, rejected, firstReason, seen }
  }

  /** Sends nothing more, and waits a short time for pending answers. */
  private finishSoon(): void {
    this.isInterrupted = true
    // If the source of records is slow, no more may arrive soon.
    const patienceMs = this.isAllAnswered ? lateAnswerMsMax : answersMsMax
    this.timer = setTimeout(() => this.ending.abort(this.context.signal.reason), patienceMs)
  }

  private get isAllAnswered(): boolean {
    return this.answered === this.inProgress.length
  }

  /** Yields the records before a failure of the file, and keeps the error. */
  private async *linesOf(records: AsyncIterable<FileRecord>): AsyncGenerator<BulkCreation> {
    try {
      yield* this.creations(records)
    } catch (error) {
      this.broken = { error }
    }
  }

  private async *creations(records: AsyncIterable<FileRecord>): AsyncGenerator<BulkCreation> {
    for await (const record of this.withReferences(records)) {
      this.isTruncated = this.isInterrupted
      if (this.isTruncated) return
      const number = ++this.seen
      if (number <= this.work.skip) continue
      const line = this.lineOf(record)
      if (typeof line === 'string') {
        if (!this.work.skipsRejected) throw new UnreadableRecord(record, line)
        this.refused.push({ record, reason: line })
        continue
      }
      this.inProgress.push({ record, number })
      yield line
    }
  }

  /** Returns the line to send, or the reason why the record cannot be sent. */
  private lineOf({ fields, problem }: FileRecord): BulkCreation | string {
    if (fields === undefined) return `The record ${problem ?? 'cannot be read'}.`
    try {
      return { class: this.work.className, attributes: this.work.toAttributes(fields) }
    } catch (error) {
      if (error instanceof RecordProblem) return error.message
      throw error
    }
  }

  /** Looks up references for a batch of records at a time. */
  private async *withReferences(records: AsyncIterable<FileRecord>): AsyncGenerator<FileRecord> {
    const { references, skip } = this.work
    if (references === undefined) {
      yield* records
      return
    }
    let batch: FileRecord[] = []
    const found = async (): Promise<FileRecord[]> => {
      const all = batch
      batch = []
      // Skipped records are not looked up.
      const sent = all.slice(Math.max(0, skip - this.seen))
      await references.find(sent.flatMap(({ fields }) => (fields === undefined ? [] : [fields])))
      return all
    }
    for await (const record of records) {
      if (batch.push(record) === referringRecords) yield* await found()
    }
    yield* await found()
  }

  /** Returns undefined if nothing was refused. */
  private settle(reason: string | undefined): Promise<void> | undefined {
    const answered = this.inProgress[this.answered]
    if (answered === undefined) return undefined
    if (++this.answered === answeredMax) {
      this.inProgress.splice(0, answeredMax)
      this.answered = 0
    }
    if (reason !== undefined && !this.work.skipsRejected) throw this.failure(answered.record, reason)
    this.settled = answered.number
    if (reason !== undefined) this.refused.push({ record: answered.record, reason })
    return this.refused.length === 0 ? undefined : this.writeRefused()
  }

  private async writeRefused(): Promise<void> {
    for (const { record, reason } of this.refused.splice(0)) await this.reject(record, reason)
  }

  private async reject(record: FileRecord, reason: string): Promise<void> {
    this.rejected++
    this.firstReason ??= `Line ${record.line}: ${reason}`
    await this.work.rejects?.write(record, reason)
  }

  private failure({ line, fields }: FileRecord, reason: string): CommandError {
    const retype = /^Class \S+, attribute /.test(reason)
      ? 'change the type of the attribute (docs/schema-changes.md), '
      : ''
    const hint = `Correct the file, ${retype}${nullRule(fields, reason)}or skip such records with --rejects <file>.`
    // Answers come in order, and lines after the first refusal are not executed.
    const isNothing = this.settled === 0 && this.answered > 0 && !this.work.isDryRun
    const how = isNothing ? 'Nothing was imported.' : this.resumeAdvice()
    return invalidInput(`Line ${line}: ${reason} ${hint} ${how}`)
  }

  /** Adds to an error how to resume the import. */
  private explained(error: unknown): unknown {
    if (error instanceof UnreadableRecord) return this.failure(error.record, error.message)
    if (this.isInterrupted) return interruptedError(`Stopped. ${this.resumeAdvice()}`)
    // If nothing was sent, there is nothing to resume.
    if (this.seen <= this.work.skip) return error
    if (error === this.broken?.error && error instanceof CommandError) {
      return new CommandError(error.exitCode, `${error.message} ${this.resumeAdvice()}`, error.details)
    }
    if (error instanceof AshlarConnectionError) {
      return unavailableError(`${error.message}. ${this.resumeAdvice()}`)
    }
    if (error instanceof AshlarRequestError) {
      const { status, type, message } = error
      return new CommandError(exitCodeOfStatus(status), `${message} ${this.resumeAdvice()}`, [], { type, status })
    }
    return error
  }

  private resumeAdvice(): string {
    if (this.work.isDryRun) return 'This was a dry run: nothing was imported.'
    if (this.settled === 0) return this.howToBegin()
    const done = this.settled === 1 ? '1 record is' : `${numberText(this.settled)} records are`
    if (this.isInterrupted && this.isAllAnswered) return `${done} done: resume with --skip ${this.settled}.`
    return `At least ${done} done: resume with --skip ${this.settled}, and with --upsert-on <index>, since further records may have been created.`
  }

  private howToBegin(): string {
    if (this.isAllAnswered) return 'Nothing was imported.'
    return 'Some records may have been created: run the import again with --upsert-on <index>, so that none is created twice.'
  }
}

/** Suggests a mapping for a refused text that may mean null. */
function nullRule(fields: Fields | undefined, reason: string): string {
  const [, attribute, value] = /attribute ([\w.:]+): "([^"]{1,40})" is not/.exec(reason) ?? []
  const [column] =
    Object.entries(fields ?? {}).find(([name, one]) => {
      return typeof one === 'string' && one.trim() === value && attributeNameOf(name) === attribute
    }) ?? []
  if (column === undefined) return ''
  const rule = JSON.stringify({ columns: { [column]: { nulls: [value] } } })
  return `give --mapping a file with ${rule}, by which such values are null, `
}

class UnreadableRecord extends Error {
  readonly record: FileRecord

  constructor(record: FileRecord, reason: string) {
    super(reason)
    this.record = record
  }
}
