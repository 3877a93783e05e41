/**
 * The lines of a load that is one commit, held until they are carried out together: as texts, since very many objects would take several times as
 * much, and beyond a few MiB in a temporary file. They can be gone through as often as there are attempts.
 */
import type { MemoryHolder, MemoryPool } from '../budget/memory-pool.ts'
import { RequestMemory } from '../budget/request-memory.ts'
import { AshlarError, assert } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import { textOf } from '../requests/given-text.ts'
import { RequestSpace } from '../spill/request-space.ts'
import type { TemporaryFile } from '../spill/temporary-file.ts'
import type { TemporarySpace } from '../spill/temporary-space.ts'
import type { BulkCommand, BulkCreate } from './bulk-command.ts'
import { isPlainJson } from './is-plain-json.ts'

/** Lines of one text: they are made and read again in a fraction of a millisecond. */
const partLinesMax = 256
const partBytesMax = 65_536
/** Texts in memory. */
const textBytesMax = 4_194_304

/** A command, and its values as they are in memory. */
const bytesOfLine = (bytes: number): number => 200 + 2 * bytes

/** Lines that follow each other: as they are, as a text, or as a text in the file. */
interface Part {
  readonly first: number
  readonly count: number
  /** Of all lines, as they came. */
  readonly bytes: number
  readonly kept: readonly BulkCommand[] | Buffer | { readonly start: number; readonly length: number }
}

export class HeldLines {
  /** Of all lines: they create objects whose values are given. */
  areCreations = true
  private readonly memory: RequestMemory
  private readonly limits: EngineLimits
  private readonly space: RequestSpace | undefined
  private readonly numbers: number[] = []
  private readonly parts: Part[] = []
  private open: BulkCommand[] = []
  private openBytes = 0
  private textBytes = 0
  private file: TemporaryFile | undefined

  constructor(limits: EngineLimits, pool: MemoryPool, temporary: TemporarySpace, holder?: MemoryHolder) {
    this.limits = limits
    this.memory = new RequestMemory(pool, limits, holder)
    this.space = limits.statementDiskBytesMax > 0 ? new RequestSpace(temporary, limits) : undefined
  }

  get count(): number {
    return this.numbers.length
  }

  /** The number of a line that is at that position. */
  numberAt(position: number): number {
    return this.numbers[position] as number
  }

  /** `bytes`: of the line. Where there is a promise, it is to be waited for before more is added. Throws LimitExceeded and ServerBusy. */
  add(command: BulkCommand, bytes: number): Promise<void> | undefined {
    checkLoadedObjects(this.count + 1, this.limits)
    this.numbers.push(command.line)
    this.areCreations &&= command.kind === 'create' && command.refersTo === undefined
    if (bytes > partBytesMax || hasText(command) || !isPlainJson(command)) {
      const kept = this.keepOpen()
      return kept === undefined ? this.keepAsIs(command, bytes) : kept.then(() => this.keepAsIs(command, bytes))
    }
    this.open.push(command)
    this.openBytes += bytes
    return this.open.length < partLinesMax && this.openBytes < partBytesMax ? undefined : this.keepOpen()
  }

  /** To be called once, when all lines are there. */
  async finish(): Promise<void> {
    await this.keepOpen()
  }

  /** All lines in their order, where they are `areCreations`. Throws ServerBusy. */
  async *creations(): AsyncGenerator<readonly BulkCreate[], void, undefined> {
    assert(this.areCreations, 'other lines are not asked for as creations')
    for (const part of this.parts) yield (await this.read(part)) as readonly BulkCreate[]
  }

  /** All lines at once, for which there has to be room in memory. Throws LimitExceeded and ServerBusy. */
  async all(): Promise<readonly BulkCommand[]> {
    const commands: BulkCommand[] = []
    for (const part of this.parts) {
      if (!Array.isArray(part.kept)) this.memory.chargeRequest(200 * part.count + 2 * part.bytes)
      for (const command of await this.read(part)) commands.push(command)
    }
    return commands
  }

  /** `positions`: ascending. */
  async some(positions: readonly number[]): Promise<readonly BulkCommand[]> {
    const commands: BulkCommand[] = []
    for (const part of this.parts) {
      const here = positions.filter((position) => position >= part.first && position < part.first + part.count)
      if (here.length === 0) continue
      const all = await this.read(part)
      for (const position of here) commands.push(all[position - part.first] as BulkCommand)
    }
    return commands
  }

  async close(): Promise<void> {
    this.open = []
    this.parts.length = 0
    this.memory.release()
    const { file } = this
    this.file = undefined
    await file?.close()
  }

  private keepAsIs(command: BulkCommand, bytes: number): undefined {
    this.memory.chargeRequest(bytesOfLine(bytes))
    this.parts.push({ first: this.nextFirst(), count: 1, bytes, kept: [command] })
    return undefined
  }

  private keepOpen(): Promise<void> | undefined {
    const { open, openBytes } = this
    if (open.length === 0) return undefined
    const text = Buffer.from(JSON.stringify(open))
    const part = { first: this.nextFirst(), count: open.length, bytes: openBytes }
    this.open = []
    this.openBytes = 0
    if (this.space !== undefined && this.textBytes + text.length > textBytesMax)
      return this.keepInFile(this.space, part, text)
    this.memory.chargeRequest(text.length)
    this.textBytes += text.length
    this.parts.push({ ...part, kept: text })
    return undefined
  }

  private async keepInFile(space: RequestSpace, part: Omit<Part, 'kept'>, text: Buffer): Promise<void> {
    this.file ??= await space.open()
    const start = this.file.end
    this.parts.push({ ...part, kept: { start, length: text.length } })
    await this.file.append(text, text.length)
  }

  private nextFirst(): number {
    const last = this.parts.at(-1)
    return last === undefined ? 0 : last.first + last.count
  }

  private async read({ kept }: Part): Promise<readonly BulkCommand[]> {
    if (Buffer.isBuffer(kept)) return JSON.parse(kept.toString())
    if (!('start' in kept)) return kept
    const { start, length } = kept
    const { file } = this
    assert(file !== undefined, 'the lines are held until they are carried out')
    const text = Buffer.allocUnsafe(length)
    await file.read(text, 0, length, start)
    return JSON.parse(text.toString())
  }
}

/** What stands in a text of its own is not written into another. */
function hasText(command: BulkCommand): boolean {
  return command.kind !== 'delete' && textOf(command.attributes) !== undefined
}

/** Throws LimitExceeded. */
function checkLoadedObjects(lines: number, { atomicLoadObjectsMax }: EngineLimits): void {
  if (lines <= atomicLoadObjectsMax) return
  throw new AshlarError(
    'LimitExceeded',
    `A load with atomic=true has at most ${atomicLoadObjectsMax} lines (atomicLoadObjectsMax), since other changes wait while they are committed together. ` +
      'Load them without atomic, by upsertOn so that they can be sent again, or in several loads.',
  )
}
