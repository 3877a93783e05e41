/** Sorted records on disk, in runs: `fanIn` runs of one level are merged to one of the next, so each record is written once per level. */
import { MergedRuns } from './merged-runs.ts'
import type { RequestSpace } from './request-space.ts'
import { RunReader } from './run-reader.ts'
import { headerBytes, type Run, RunWriter } from './run-writer.ts'
import type { TemporaryFile } from './temporary-file.ts'

export interface RunSizes {
  /** Bytes per read or write. */
  readonly blockBytes: number
  /** Number of runs merged together. */
  readonly fanIn: number
}

const blockBytesMin = 4_096
const blockBytesMax = 262_144
const fanInMin = 4
const fanInMax = 32

/** Sizes for the memory limit of a statement: one operator's blocks use an eighth of it, unless it is very small. */
export function runSizes(bytesMax: number): RunSizes {
  const blockBytes = Math.max(blockBytesMin, Math.min(blockBytesMax, 2 ** Math.floor(Math.log2(bytesMax / 256))))
  return { blockBytes, fanIn: Math.max(fanInMin, Math.min(fanInMax, Math.floor(bytesMax / 8 / blockBytes))) }
}

interface Level {
  readonly file: TemporaryFile
  runs: Run[]
}

/** Mask of record numbers: the clock is checked every 16 records. */
const clockCheckMask = 15

export class SortedRuns {
  readonly sizes: RunSizes
  /** Runs written, without results of merging. */
  count = 0
  /** Bytes written, including runs since merged. */
  bytesWritten = 0
  private readonly space: RequestSpace
  /** Yields when due; throws to end the statement. */
  private readonly yieldIfDue: () => Promise<void> | undefined
  private readonly levels: Level[] = []
  /** At most `fanIn` runs with all records. */
  private few: Promise<readonly Run[]> | undefined

  constructor(space: RequestSpace, sizes: RunSizes, yieldIfDue: () => Promise<void> | undefined) {
    this.space = space
    this.sizes = sizes
    this.yieldIfDue = yieldIfDue
  }

  /** `write` writes the records in order, and awaits `flush` when the writer is full. */
  async add(write: (writer: RunWriter) => Promise<void>): Promise<void> {
    await this.addTo(0, write)
    this.count++
    for (let i = 0; i < this.levels.length; i++) {
      const { runs } = this.levels[i] as Level
      const first = this.mergeable(runs)
      if (runs.length < this.sizes.fanIn && first.length === runs.length) break
      await this.mergeInto(i + 1, first)
    }
  }

  /** All records; none may be added afterwards. Can be read several times concurrently. */
  async merged(): Promise<MergedRuns> {
    this.few ??= this.mergedToFew()
    return this.open(await this.few)
  }

  private async mergedToFew(): Promise<readonly Run[]> {
    const { fanIn } = this.sizes
    for (;;) {
      const runs = this.levels.flatMap((level) => level.runs)
      const first = this.mergeable(runs)
      if (first.length === runs.length) return runs
      // Merges the shortest possible number of runs, so that `fanIn` remain.
      const merged = first.length < fanIn ? first : first.slice(0, Math.max(2, runs.length - fanIn + 1))
      await this.mergeInto(this.levels.length, merged)
    }
  }

  /** Merges all runs into one; no more records may be added. */
  async mergeAll(): Promise<void> {
    this.few = undefined
    for (;;) {
      const runs = this.levels.flatMap((level) => level.runs)
      if (runs.length <= 1) return
      await this.mergeInto(this.levels.length, this.mergeable(runs))
    }
  }

  /** Must be called in any case. */
  async close(): Promise<void> {
    for (const { file } of this.levels.splice(0)) await file.close()
  }

  /** The longest prefix of the runs that can be read concurrently, at least two: its buffers take no more memory than `fanIn` blocks. */
  private mergeable(runs: readonly Run[]): readonly Run[] {
    const { blockBytes, fanIn } = this.sizes
    let bytes = 0
    for (const [i, run] of runs.entries()) {
      bytes += RunReader.bytesMax(run, blockBytes)
      if (i >= 2 && (i >= fanIn || bytes > fanIn * blockBytes)) return runs.slice(0, i)
    }
    return runs
  }

  private async addTo(level: number, write: (writer: RunWriter) => Promise<void>): Promise<void> {
    while (this.levels.length <= level) this.levels.push({ file: await this.space.open(), runs: [] })
    const { file, runs } = this.levels[level] as Level
    const writer = new RunWriter(file, this.sizes.blockBytes)
    await write(writer)
    const run = await writer.finish()
    this.bytesWritten += run.end - run.start
    runs.push(run)
  }

  private async mergeInto(level: number, runs: readonly Run[]): Promise<void> {
    const merged = await this.open(runs)
    await this.addTo(level, async (writer) => {
      let records = 0
      for (let reader = merged.current; reader !== undefined; reader = merged.current) {
        writer.copy(reader.bytes, reader.keyStart - headerBytes, reader.end)
        if (writer.isFull) await writer.flush()
        const wait = merged.advance()
        if (wait !== undefined) await wait
        if ((records++ & clockCheckMask) !== clockCheckMask) continue
        const pause = this.yieldIfDue()
        if (pause !== undefined) await pause
      }
    })
    const done = new Set(runs)
    for (const one of this.levels) {
      const before = one.runs.length
      one.runs = one.runs.filter((run) => !done.has(run))
      if (one.runs.length === 0 && before > 0) await one.file.clear()
    }
  }

  private open(runs: readonly Run[]): Promise<MergedRuns> {
    return MergedRuns.of(runs, this.sizes.blockBytes)
  }
}
