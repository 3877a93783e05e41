/** Buffers the lines of an atomic load as JSON text, which is smaller than objects; beyond a few MiB in a temporary file. Iterable repeatedly. */
import type { MemoryHolder, MemoryPool } from '../budget/memory-pool.ts'
import { RequestMemory } from '../budget/request-memory.ts'
import { AshlarError, assert } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import { textOf } from '../requests/json-source.ts'
import { RequestSpace } from '../spill/request-space.ts'
import type { TemporaryFile } from '../spill/temporary-file.ts'
import type { TemporarySpace } from '../spill/temporary-space.ts'
import type { BulkCommand, BulkCreate } from './bulk-command.ts'
import { isPlainJson } from './is-plain-json.ts'

/** Lines per text; parsing one takes a fraction of a millisecond. */
const partLinesMax = 256
const partBytesMax = 65_536
const textBytesMax = 4_194_304

const bytesOfLine = (bytes: number): number => 200 + 2 * bytes

interface Part {
  readonly first: number
  readonly count: number
  /** Total size of the lines as received. */
  readonly bytes: number
  readonly content: readonly BulkCommand[] | Buffer | { readonly start: number; readonly length: number }
}

export class BufferedLines {
  /** True while all lines create objects from given values. */
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

  numberAt(position: number): number {
    return this.numbers[position] as number
  }

  /** `bytes`: size of the line. The caller must await a returned promise before it adds more. Throws LimitExceeded and ServerBusy. */
  add(command: BulkCommand, bytes: number): Promise<void> | undefined {
    checkLoadedObjects(this.count + 1, this.limits)
    this.numbers.push(command.line)
    this.areCreations &&= command.kind === 'create' && command.refersTo === undefined
    if (bytes > partBytesMax || hasText(command) || !isPlainJson(command)) {
      const writing = this.closePart()
      return writing === undefined ? this.addAsIs(command, bytes) : writing.then(() => this.addAsIs(command, bytes))
    }
    this.open.push(command)
    this.openBytes += bytes
    return this.open.length < partLinesMax && this.openBytes < partBytesMax ? undefined : this.closePart()
  }

  async finish(): Promise<void> {
    await this.closePart()
  }

  /** Iterates all lines in order; requires `areCreations`. Throws ServerBusy. */
  async *creations(): AsyncGenerator<readonly BulkCreate[], void, undefined> {
    assert(this.areCreations, 'other lines are not asked for as creations')
    for (const part of this.parts) yield (await this.read(part)) as readonly BulkCreate[]
  }

  /** Reads all lines into memory. Throws LimitExceeded and ServerBusy. */
  async all(): Promise<readonly BulkCommand[]> {
    const commands: BulkCommand[] = []
    for (const part of this.parts) {
      if (!Array.isArray(part.content)) this.memory.chargeRequest(200 * part.count + 2 * part.bytes)
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

  private addAsIs(command: BulkCommand, bytes: number): undefined {
    this.memory.chargeRequest(bytesOfLine(bytes))
    this.parts.push({ first: this.nextFirst(), count: 1, bytes, content: [command] })
    return undefined
  }

  private closePart(): Promise<void> | undefined {
    const { open, openBytes } = this
    if (open.length === 0) return undefined
    const text = Buffer.from(JSON.stringify(open))
    const part = { first: this.nextFirst(), count: open.length, bytes: openBytes }
    this.open = []
    this.openBytes = 0
    if (this.space !== undefined && this.textBytes + text.length > textBytesMax)
      return this.writeToFile(this.space, part, text)
    this.memory.chargeRequest(text.length)
    this.textBytes += text.length
    this.parts.push({ ...part, content: text })
    return undefined
  }

  private async writeToFile(space: RequestSpace, part: Omit<Part, 'content'>, text: Buffer): Promise<void> {
    this.file ??= await space.open()
    const start = this.file.end
    this.parts.push({ ...part, content: { start, length: text.length } })
    await this.file.append(text, text.length)
  }

  private nextFirst(): number {
    const last = this.parts.at(-1)
    return last === undefined ? 0 : last.first + last.count
  }

  private async read({ content }: Part): Promise<readonly BulkCommand[]> {
    if (Buffer.isBuffer(content)) return JSON.parse(content.toString())
    if (!('start' in content)) return content
    const { start, length } = content
    const { file } = this
    assert(file !== undefined, 'the lines are held until they are carried out')
    const text = Buffer.allocUnsafe(length)
    await file.read(text, 0, length, start)
    return JSON.parse(text.toString())
  }
}

/** True if the command has a raw JSON text, which cannot be written into another text. */
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
