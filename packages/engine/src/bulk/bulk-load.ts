/** A load of many lines in batches, each one commit unless lines fail (contract 2.2.9). Batches run in order, while the next one is gathered. */
import { AshlarError } from '../errors.ts'
import { bulkAttemptsMax } from '../limits.ts'
import type { Sequence } from '../store/sequence.ts'
import type { Oid } from '../types/oid.ts'
import { type BulkCommand, type BulkDone, indexOf } from './bulk-command.ts'
import { addDependents, failuresIn, isLineError } from './failed-lines.ts'
import { divisions } from './line-parts.ts'

export interface BulkCounts {
  created: number
  updated: number
  deleted: number
  failed: number
}

export type LineOutcome =
  | { readonly line: number; readonly oid: Oid }
  /** Places in `error` are relative to the line. */
  | { readonly line: number; readonly error: unknown }

/**
 * Commits one batch; `names`: ids of lines committed before. Error places begin with the position of the command. In skip mode, it throws
 * `FailedLines` with all lines that fail on their own.
 */
export type CommitBatch = (
  commands: readonly BulkCommand[],
  names: ReadonlyMap<string, Oid | undefined>,
  /** Run each line by itself, so that an error is that of the first line that fails. */
  isExact: boolean,
) => Promise<readonly BulkDone[]>

export interface BulkSettings {
  readonly onError: 'stop' | 'skip'
  /** A unique index: a create becomes an update if an object with the key exists. */
  readonly upsertOn?: string | undefined
  /** All lines are one commit: `flush` is called once and throws the error of the failed line. */
  readonly isAtomic?: boolean
}

export interface LoadSettings extends BulkSettings {
  /** Whether a line may change keys by which other lines find their objects. */
  readonly mayChangeKeys: (command: BulkCommand) => boolean
  /** Whether the key by which a line finds its object contains the object of another line. */
  readonly refersInKey: (command: BulkCommand) => boolean
}

export interface LineLoad {
  readonly counts: BulkCounts
  readonly isStopped: boolean
  /** Number of lines not yet committed. */
  readonly waiting: number
  /** Pending lines refer to ids that have not been seen yet. */
  readonly hasOpenNames: boolean
  readonly namesCount: number
  /** True if the pending lines must be committed first, because they may have changed entries of the index by which the command finds its object. */
  needsCommitBefore(command: BulkCommand): boolean
  /** `bytes`: size of the line. The caller must await a returned promise. Throws LimitExceeded and ServerBusy in an atomic load. */
  add(command: BulkCommand, bytes: number): Promise<void> | undefined
  /** Adds a line that could not be read. */
  refuse(line: number, error: unknown): void
  /**
   * Executes all pending lines after the previous batch and returns their outcomes in order; if the load stops, up to the line that failed. Throws
   * errors that are not caused by a line, such as StoreUnavailable.
   */
  flush(): Promise<Sequence<LineOutcome>>
  /** Releases buffered lines. Must be called in every case. */
  end(): Promise<void>
}

interface Entry {
  readonly line: number
  readonly command: BulkCommand
  /** At most one of `done` and `error` is set, once the outcome is known. */
  done: BulkDone | undefined
  error: AshlarError | undefined
}

interface Refused {
  readonly line: number
  readonly command?: undefined
  readonly error: unknown
}

export class BulkLoad implements LineLoad {
  readonly counts: BulkCounts = { created: 0, updated: 0, deleted: 0, failed: 0 }
  isStopped = false
  private readonly commit: CommitBatch
  private readonly settings: LoadSettings
  /** Ids of all lines so far; undefined until the line is committed. */
  private readonly names = new Map<string, Oid | undefined>()
  /** Ids referred to but not defined by a line yet. */
  private readonly open = new Set<string>()
  private pending: (Entry | Refused)[] = []
  /** The index by which pending lines find their objects, and whether a line may have changed its entries. */
  private keyIndex: string | undefined
  private changesKeys = false
  private before: Promise<unknown> = Promise.resolve()

  constructor(commit: CommitBatch, settings: LoadSettings) {
    this.commit = commit
    this.settings = settings
  }

  get waiting(): number {
    return this.pending.length
  }

  get hasOpenNames(): boolean {
    return this.open.size > 0
  }

  get namesCount(): number {
    return this.names.size
  }

  needsCommitBefore(command: BulkCommand): boolean {
    const index = indexOf(command, this.settings.upsertOn)
    if (index === undefined || this.pending.length === 0) return false
    const refersToPending = command.refersTo?.some((id) => this.names.has(id) && this.names.get(id) === undefined)
    const isKeyPending = refersToPending === true && this.settings.refersInKey(command)
    return this.changesKeys || (this.keyIndex ?? index) !== index || isKeyPending
  }

  add(command: BulkCommand): undefined {
    const { line, refersTo } = command
    if (command.kind === 'create' && command.id !== undefined) {
      if (this.names.has(command.id)) {
        this.refuse(line, duplicateId(command.id))
        return undefined
      }
      this.names.set(command.id, undefined)
      this.open.delete(command.id)
    }
    for (const id of refersTo ?? []) if (!this.names.has(id)) this.open.add(id)
    const index = indexOf(command, this.settings.upsertOn)
    if (index === undefined || this.settings.mayChangeKeys(command)) this.changesKeys = true
    this.keyIndex ??= index
    this.pending.push({ line, command, done: undefined, error: undefined })
    return undefined
  }

  refuse(line: number, error: unknown): void {
    this.pending.push({ line, error })
  }

  flush(): Promise<readonly LineOutcome[]> {
    const lines = this.pending
    this.pending = []
    this.open.clear()
    this.keyIndex = undefined
    this.changesKeys = false
    const outcomes = this.before.then(() => this.carryOut(lines))
    this.before = outcomes
    // The caller of `flush` receives the error.
    this.before.catch(() => undefined)
    return outcomes
  }

  async end(): Promise<void> {
    this.pending = []
  }

  private async carryOut(lines: readonly (Entry | Refused)[]): Promise<readonly LineOutcome[]> {
    if (this.isStopped) return []
    const refused = lines.findIndex((one) => !isEntry(one))
    const isEnd = refused >= 0 && this.settings.onError === 'stop'
    const attempted = isEnd ? lines.slice(0, refused + 1) : lines
    const entries = refused < 0 ? (attempted as readonly Entry[]) : attempted.filter(isEntry)
    await new Batch(this.commit, this.names, this.settings.onError, entries).run()
    const outcomes: LineOutcome[] = []
    for (const one of attempted) {
      const outcome = outcomeOf(one)
      // Not executed, because an earlier line failed.
      if (outcome === undefined) continue
      this.note(one)
      outcomes.push(outcome)
      if ('error' in outcome && this.settings.onError === 'stop') {
        this.isStopped = true
        break
      }
    }
    return outcomes
  }

  private note(one: Entry | Refused): void {
    if (isEntry(one) && one.done !== undefined) {
      this.counts[one.done.change]++
      return
    }
    this.counts.failed++
    const { command } = one
    if (command?.kind === 'create' && command.id !== undefined) this.names.delete(command.id)
  }
}

interface Part {
  readonly entries: readonly Entry[]
  /** Failed attempts while the part exceeded `linesMax` and could not be divided. */
  readonly attempts: number
}

class Batch {
  private readonly commit: CommitBatch
  private readonly names: Map<string, Oid | undefined>
  private readonly onError: BulkSettings['onError']
  /** Parts to try, in order; no line refers to a line in a later part. */
  private readonly parts: Part[]
  /** Lines per attempt: halved on failure, since a failed line wastes the work for the rest of its part. */
  private linesMax = Number.POSITIVE_INFINITY

  constructor(
    commit: CommitBatch,
    names: Map<string, Oid | undefined>,
    onError: BulkSettings['onError'],
    entries: readonly Entry[],
  ) {
    this.commit = commit
    this.names = names
    this.onError = onError
    this.parts = entries.length === 0 ? [] : [{ entries, attempts: 0 }]
  }

  async run(): Promise<void> {
    for (let part = this.parts.shift(); part !== undefined; part = this.parts.shift()) {
      const { entries, attempts } = part
      const cut = entries.length > this.linesMax ? cutNear(entries, this.linesMax) : entries.length
      if (cut < entries.length) this.parts.unshift({ entries: entries.slice(cut), attempts })
      // Lines that refer to each other cannot be separated; the number of attempts is limited.
      const isIndivisible = cut > this.linesMax
      await this.tryPart({ entries: entries.slice(0, cut), attempts: isIndivisible ? attempts + 1 : attempts })
    }
  }

  private async tryPart(part: Part): Promise<void> {
    const { entries } = part
    let done: readonly BulkDone[]
    try {
      done = await this.commitExactly(entries.map(({ command }) => command))
    } catch (error) {
      if (!(error instanceof AshlarError) || !isLineError(error)) throw error
      this.linesMax = Math.max(1, Math.floor(entries.length / 2))
      this.divide(part, error)
      return
    }
    // Doubles only after a part of full size: a single good line says nothing about the next ones.
    if (entries.length >= this.linesMax) this.linesMax *= 2
    for (let position = 0; position < entries.length; position++) {
      const entry = entries[position] as Entry
      const { command } = entry
      const one = done[position] as BulkDone
      entry.done = one
      if (command.kind === 'create' && command.id !== undefined) this.names.set(command.id, one.oid)
    }
  }

  /** Lines that are run together may fail for what others have done. */
  private async commitExactly(commands: readonly BulkCommand[]): Promise<readonly BulkDone[]> {
    try {
      return await this.commit(commands, this.names, false)
    } catch (error) {
      if (!(error instanceof AshlarError) || !isLineError(error) || isIndivisible(commands)) throw error
      return this.commit(commands, this.names, true)
    }
  }

  /** After a failure, retries without the failed lines, or in halves if the failed line is unknown. */
  private divide(part: Part, error: AshlarError): void {
    const { entries, attempts } = part
    const failures = failuresIn(entries, error)
    if (failures.size === 0) {
      this.halve(part, error)
      return
    }
    if (this.onError === 'skip') addDependents(entries, failures)
    const first = Math.min(...failures.keys())
    for (const [position, inLine] of failures) this.fail(entries[position] as Entry, inLine)
    if (attempts >= bulkAttemptsMax) {
      this.giveUp(entries.filter((_, position) => !failures.has(position)))
      return
    }
    const cut = cutAt(entries, first)
    const rest = entries.filter((_, position) => position >= cut && !failures.has(position))
    // An earlier line may fail too, and is then the one to report.
    if (this.onError === 'stop') this.parts.length = 0
    this.push(attempts, entries.slice(0, cut), this.onError === 'stop' ? [] : rest)
  }

  private halve({ entries, attempts }: Part, error: AshlarError): void {
    const middle = cutAt(entries, entries.length >> 1)
    if (middle > 0) {
      this.push(attempts, entries.slice(0, middle), entries.slice(middle))
      return
    }
    for (const entry of entries) this.fail(entry, error)
    if (this.onError === 'stop') this.parts.length = 0
  }

  private giveUp(entries: readonly Entry[]): void {
    const message =
      `Of the lines that refer to each other, and can be committed only together, more have failed in each of ${bulkAttemptsMax} ` +
      'attempts (bulkAttemptsMax): this one was left out with them.'
    for (const entry of entries) this.fail(entry, new AshlarError('LimitExceeded', message))
    if (this.onError === 'stop') this.parts.length = 0
  }

  private fail(entry: Entry, error: AshlarError): void {
    entry.error = error
  }

  private push(attempts: number, ...parts: readonly (readonly Entry[])[]): void {
    this.parts.unshift(...parts.filter(({ length }) => length > 0).map((entries) => ({ entries, attempts })))
  }
}

function isIndivisible(commands: readonly BulkCommand[]): boolean {
  return divisions(commands).next().value === commands.length
}

function isEntry(one: Entry | Refused): one is Entry {
  return one.command !== undefined
}

function outcomeOf(one: Entry | Refused): LineOutcome | undefined {
  const { line, error } = one
  if (error !== undefined || !isEntry(one)) return { line, error }
  return one.done === undefined ? undefined : { line, oid: one.done.oid }
}

/** Returns the largest cut of at most `most` lines, or 0 if there is none. A single line is always a cut. */
function cutAt(part: readonly Entry[], most: number): number {
  let last = 0
  for (const cut of divisions(part.map(({ command }) => command))) {
    if (cut > most) break
    last = cut
  }
  return last
}

/** Like `cutAt`, but returns the first later cut if there is none up to `most`. */
function cutNear(part: readonly Entry[], most: number): number {
  let last = 0
  for (const cut of divisions(part.map(({ command }) => command))) {
    if (cut > most) return last === 0 ? cut : last
    last = cut
  }
  return last
}

export function duplicateId(id: string): AshlarError {
  return new AshlarError('MalformedRequest', `A line before has the id '${id}' already.`, [
    { place: ['id'], message: 'is taken' },
  ])
}
