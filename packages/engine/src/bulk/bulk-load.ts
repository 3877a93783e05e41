/**
 * A load of many lines: gathered in batches, each of which is one commit, as far as lines that fail let it be (contract 2.2.9). Batches are carried
 * out in their order, one at a time, while the next one is gathered.
 */
import { AshlarError } from '../errors.ts'
import { bulkAttemptsMax } from '../limits.ts'
import type { Sequence } from '../store/sequence.ts'
import type { Oid } from '../types/oid.ts'
import type { BulkCommand, BulkDone } from './bulk-command.ts'
import { addDependents, failuresIn, isOfLines } from './failed-lines.ts'

export interface BulkCounts {
  created: number
  updated: number
  deleted: number
  failed: number
}

/** What became of a line. */
export type LineOutcome =
  | { readonly line: number; readonly oid: Oid }
  /** `error`: with places in the line. */
  | { readonly line: number; readonly error: unknown }

/**
 * One commit; `names`: of lines committed before. Errors about a command have places that begin with its position. Where lines that fail are left out,
 * it throws `FailedLines` with all that fail by themselves.
 */
export type CommitBatch = (
  commands: readonly BulkCommand[],
  names: ReadonlyMap<string, Oid | undefined>,
) => Promise<readonly BulkDone[]>

export interface BulkSettings {
  /** What happens where a line fails: nothing more is done, or it is left out. */
  readonly onError: 'stop' | 'skip'
  /** A unique index: lines that create are updates where an object has the key already. */
  readonly upsertOn?: string | undefined
  /** All lines are one commit, or nothing is done: `flush` is called once, and throws what a line fails with. */
  readonly isAtomic?: boolean
}

/** What lines are given to, in their order. */
export interface LineLoad {
  readonly counts: BulkCounts
  /** A line has failed, after which nothing is done. */
  readonly isStopped: boolean
  /** Lines that wait for their commit. */
  readonly waiting: number
  /** Lines that wait refer to others that have not come. */
  readonly hasOpenNames: boolean
  /** How many ids there are. */
  readonly namesCount: number
  /** Whether the lines that wait have to be committed first: the command finds its object by an index, whose entries they may have changed. */
  needsCommitBefore(command: BulkCommand): boolean
  /** `bytes`: of its line. Where there is a promise, it is to be waited for before more is added. Throws LimitExceeded and ServerBusy where all lines are one commit. */
  add(command: BulkCommand, bytes: number): Promise<void> | undefined
  /** A line that could not be read. */
  refuse(line: number, error: unknown): void
  /**
   * Carries out all lines that wait, once those before them are carried out; what became of each, in their order. Of a load that is
   * stopped, of those up to the one that failed. Throws what is the fault of no line, as StoreUnavailable is.
   */
  flush(): Promise<Sequence<LineOutcome>>
  /** Nothing more will be done: whatever happens, what is held is let go of. */
  end(): Promise<void>
}

interface Entry {
  readonly line: number
  readonly command: BulkCommand
  /** What became of it, once that is known: one of the two. */
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
  private readonly settings: BulkSettings
  /** Of all lines so far; without an OID until they are committed. */
  private readonly names = new Map<string, Oid | undefined>()
  /** Ids that lines refer to and that no line has yet. */
  private readonly open = new Set<string>()
  private pending: (Entry | Refused)[] = []
  /** The index by which lines that wait find their objects, and whether one of them may have changed what it says. */
  private keyIndex: string | undefined
  private changesKeys = false
  private before: Promise<unknown> = Promise.resolve()

  constructor(commit: CommitBatch, settings: BulkSettings) {
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
    return index !== undefined && this.pending.length > 0 && (this.changesKeys || (this.keyIndex ?? index) !== index)
  }

  add(command: BulkCommand): undefined {
    const { line, refersTo } = command
    if (command.kind === 'create' && command.id !== undefined) {
      if (this.names.has(command.id)) {
        this.refuse(line, sameId(command.id))
        return undefined
      }
      this.names.set(command.id, undefined)
      this.open.delete(command.id)
    }
    for (const id of refersTo ?? []) if (!this.names.has(id)) this.open.add(id)
    const index = indexOf(command, this.settings.upsertOn)
    if (index === undefined || mayChangeKeys(command)) this.changesKeys = true
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
    // Whoever asked for it is told.
    this.before.catch(() => undefined)
    return outcomes
  }

  async end(): Promise<void> {
    this.pending = []
  }

  private async carryOut(lines: readonly (Entry | Refused)[]): Promise<readonly LineOutcome[]> {
    if (this.isStopped) return []
    const refused = lines.findIndex(isRefused)
    const isEnd = refused >= 0 && this.settings.onError === 'stop'
    const taken = isEnd ? lines.slice(0, refused + 1) : lines
    const entries = refused < 0 ? (taken as readonly Entry[]) : taken.filter(isEntry)
    await new Batch(this.commit, this.names, this.settings.onError, entries).run()
    const outcomes: LineOutcome[] = []
    for (const one of taken) {
      const outcome = outcomeOf(one)
      // A line before it has failed.
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
  /** How often lines of it have failed while it was more than is tried together, as it could not be divided. */
  readonly attempts: number
}

/** The lines of a batch, in as few commits as there can be. */
class Batch {
  private readonly commit: CommitBatch
  private readonly names: Map<string, Oid | undefined>
  private readonly onError: BulkSettings['onError']
  /** What is to be tried, in this order; no line of a part refers to one behind it. */
  private readonly parts: Part[]
  /** Lines that are tried together: where many fail, few, since each that fails is work in vain for the others. */
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
      // Lines that refer to each other cannot be parted: however many of them fail, they are not tried without end.
      const isWhole = cut > this.linesMax
      await this.tryPart({ entries: entries.slice(0, cut), attempts: isWhole ? attempts + 1 : attempts })
    }
  }

  private async tryPart(part: Part): Promise<void> {
    const { entries } = part
    let done: readonly BulkDone[]
    try {
      done = await this.commit(
        entries.map(({ command }) => command),
        this.names,
      )
    } catch (error) {
      if (!(error instanceof AshlarError) || !isOfLines(error)) throw error
      this.linesMax = Math.max(1, Math.floor(entries.length / 2))
      this.divide(part, error)
      return
    }
    // One good line among many that fail does not show that more of them would do together.
    if (entries.length >= this.linesMax) this.linesMax *= 2
    for (let position = 0; position < entries.length; position++) {
      const entry = entries[position] as Entry
      const { command } = entry
      const one = done[position] as BulkDone
      entry.done = one
      if (command.kind === 'create' && command.id !== undefined) this.names.set(command.id, one.oid)
    }
  }

  /** After a failure: without the lines that have failed, or in halves where it is not known which one it is. */
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
    // A line before it may fail too, and is then the one that is told.
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

function isEntry(one: Entry | Refused): one is Entry {
  return one.command !== undefined
}

function isRefused(one: Entry | Refused): one is Refused {
  return one.command === undefined
}

/** Undefined of a line that was left alone. */
function outcomeOf(one: Entry | Refused): LineOutcome | undefined {
  const { line, error } = one
  if (error !== undefined || !isEntry(one)) return { line, error }
  return one.done === undefined ? undefined : { line, oid: one.done.oid }
}

/** Up to `most` lines of which none refers to one behind them; 0 where there is no such cut before. All of them where there is one line. */
function cutAt(part: readonly Entry[], most: number): number {
  let last = 0
  for (const cut of cutsOf(part)) {
    if (cut > most) break
    last = cut
  }
  return last
}

/** As `cutAt`, but the first such cut behind `most` lines where there is none before. */
function cutNear(part: readonly Entry[], most: number): number {
  let last = 0
  for (const cut of cutsOf(part)) {
    if (cut > most) return last === 0 ? cut : last
    last = cut
  }
  return last
}

/** Wherever a part can be divided: no line before a cut refers to one behind it. The last is its end. */
function* cutsOf(part: readonly Entry[]): Generator<number> {
  const positions = new Map<string, number>()
  for (const [position, { command }] of part.entries()) {
    if (command.kind === 'create' && command.id !== undefined) positions.set(command.id, position)
  }
  let reach = 0
  for (const [position, { command }] of part.entries()) {
    for (const id of command.refersTo ?? []) reach = Math.max(reach, positions.get(id) ?? 0)
    if (reach <= position) yield position + 1
  }
}

export function indexOf(command: BulkCommand, upsertOn: string | undefined): string | undefined {
  if (command.kind === 'create') return upsertOn
  return 'key' in command.target ? command.target.key.index : undefined
}

/** Of a command that finds its object by an index: whether it gives an object another key than that. */
export function mayChangeKeys(command: BulkCommand): boolean {
  if (command.kind !== 'update' || !('key' in command.target)) return false
  const { values } = command.target.key
  return Object.keys(command.attributes).some((name) => Object.hasOwn(values, name) || name.includes('::'))
}

export function sameId(id: string): AshlarError {
  return new AshlarError('MalformedRequest', `A line before has the id '${id}' already.`, [
    { place: ['id'], message: 'is taken' },
  ])
}
