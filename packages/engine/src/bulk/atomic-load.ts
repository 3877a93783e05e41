/** An atomic load: all lines are buffered until the end and committed together or not at all (contract 2.2.20). */
import { isMemoryRefused } from '../budget/request-memory.ts'
import { AshlarError } from '../errors.ts'
import type { Sequence } from '../store/sequence.ts'
import { type BulkCommand, type BulkDone, indexOf } from './bulk-command.ts'
import { type BulkCounts, duplicateId, type LineLoad, type LineOutcome, type LoadSettings } from './bulk-load.ts'
import type { AtomicLoadSettings, CreatedOids } from './carry-out-held.ts'
import { type CommandOfLine, isLineError, withLineNumber } from './failed-lines.ts'
import type { BufferedLines } from './held-lines.ts'

export type CommitAtomicLoad = (
  lines: BufferedLines,
  settings: Pick<AtomicLoadSettings, 'cuts' | 'upsertOn' | 'isExact'>,
) => Promise<Sequence<BulkDone> | CreatedOids>

export class AtomicLoad implements LineLoad {
  readonly counts: BulkCounts = { created: 0, updated: 0, deleted: 0, failed: 0 }
  /** A failure is thrown and ends the load. */
  readonly isStopped = false
  /** Open names are resolved at the end. */
  readonly hasOpenNames = false
  private readonly commit: CommitAtomicLoad
  private readonly load: LoadSettings
  private readonly lines: BufferedLines
  private readonly ids = new Set<string>()
  private readonly idsSinceCut = new Set<string>()
  /** State since the last cut: the index used to find objects, and whether a line may have changed its entries. */
  private keyIndex: string | undefined
  private changesKeys = false
  private readonly cuts: number[] = []
  private isOver = false

  constructor(commit: CommitAtomicLoad, load: LoadSettings, lines: BufferedLines) {
    this.commit = commit
    this.load = load
    this.lines = lines
  }

  get waiting(): number {
    return this.isOver ? 0 : this.lines.count
  }

  get namesCount(): number {
    return this.ids.size
  }

  needsCommitBefore(): boolean {
    return false
  }

  /** Throws LimitExceeded, ServerBusy, and MalformedRequest for a duplicate id. */
  add(command: BulkCommand, bytes: number): Promise<void> | undefined {
    if (command.kind === 'create' && command.id !== undefined) {
      if (this.ids.has(command.id)) throw duplicateId(command.id)
      this.ids.add(command.id)
    }
    const index = indexOf(command, this.load.upsertOn)
    const isOther = this.changesKeys || (this.keyIndex ?? index) !== index || this.isKeyPending(command)
    if (index !== undefined && this.lines.count > 0 && isOther) {
      this.cuts.push(this.lines.count)
      this.keyIndex = undefined
      this.changesKeys = false
      this.idsSinceCut.clear()
    }
    if (command.kind === 'create' && command.id !== undefined) this.idsSinceCut.add(command.id)
    if (index === undefined || this.load.mayChangeKeys(command)) this.changesKeys = true
    this.keyIndex ??= index
    return this.lines.add(command, bytes)
  }

  /** Whether the key by which the line finds its object contains that of a line since the last cut. */
  private isKeyPending(command: BulkCommand): boolean {
    return command.refersTo?.some((id) => this.idsSinceCut.has(id)) === true && this.load.refersInKey(command)
  }

  refuse(_line: number, error: unknown): void {
    throw error
  }

  /** Must be called once. Throws an error whose message and `line` identify the failed line. */
  async flush(): Promise<Sequence<LineOutcome>> {
    this.isOver = true
    const { lines, cuts } = this
    const { upsertOn } = this.load
    await lines.finish()
    let done: Sequence<BulkDone> | CreatedOids
    try {
      done = await this.commit(lines, { cuts, upsertOn }).catch((error: unknown) => {
        // Lines that are run together may fail for what others have done; of very many, that is not looked into.
        if (!isNearStart(error)) throw error
        return this.commit(lines, { cuts, upsertOn, isExact: true })
      })
    } catch (error) {
      throw await this.withLineNumberOf(error)
    }
    if ('oids' in done) this.counts.created += done.oids.length
    else for (const { change } of done) this.counts[change]++
    return new Outcomes(lines, done)
  }

  async end(): Promise<void> {
    await this.lines.close()
  }

  private async withLineNumberOf(error: unknown): Promise<unknown> {
    if (!(error instanceof AshlarError)) return error
    const positions = [...new Set(error.errors.map(({ place: [position] }) => position))].filter(
      (position) => typeof position === 'number',
    )
    positions.sort((one, other) => one - other)
    const commands = await this.lines.some(positions)
    const entries: CommandOfLine[] = []
    for (const [i, command] of commands.entries()) entries[positions[i] as number] = { line: command.line, command }
    return withLineNumber(entries, error)
  }
}

const exactLinesMax = 10_000

function isNearStart(error: unknown): boolean {
  if (!(error instanceof AshlarError) || !isLineError(error) || isMemoryRefused(error)) return false
  const position = error.errors[0]?.place[0]
  return typeof position === 'number' && position < exactLinesMax
}

/** Creates outcomes on iteration: there may be millions. */
class Outcomes implements Sequence<LineOutcome> {
  readonly length: number
  private readonly lines: BufferedLines
  private readonly done: Sequence<BulkDone> | CreatedOids

  constructor(lines: BufferedLines, done: Sequence<BulkDone> | CreatedOids) {
    this.lines = lines
    this.done = done
    this.length = lines.count
  }

  *[Symbol.iterator](): Generator<LineOutcome, undefined, undefined> {
    const { lines, done } = this
    let position = 0
    if ('oids' in done) for (const oid of done.oids) yield { line: lines.numberAt(position++), oid }
    else for (const { oid } of done) yield { line: lines.numberAt(position++), oid }
    return undefined
  }
}
