/** Merges the records of several runs in order of key, then number. */
import { assert } from '../errors.ts'
import { RunReader } from './run-reader.ts'
import type { Run } from './run-writer.ts'

export class MergedRuns {
  /** Upper bound of the memory for blocks of the runs. */
  readonly bytesMax: number
  /** A binary heap with the smallest record first. */
  private readonly heap: RunReader[] = []

  private constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Reads the first block of each run. */
  static async of(runs: readonly Run[], blockBytes: number): Promise<MergedRuns> {
    const merged = new MergedRuns(runs.reduce((sum, run) => sum + RunReader.bytesMax(run, blockBytes), 0))
    for (const reader of runs.map((run) => new RunReader(run, blockBytes)))
      if (await reader.fill()) merged.heap.push(reader)
    for (let i = (merged.heap.length >> 1) - 1; i >= 0; i--) merged.sink(i)
    return merged
  }

  /** The reader of the current record; undefined after the last. */
  get current(): RunReader | undefined {
    return this.heap[0]
  }

  /** Advances to the next record. A promise if a block has to be read. */
  advance(): Promise<void> | undefined {
    const [first] = this.heap
    assert(first !== undefined, 'there is a record to go on from')
    if (!first.next()) return this.advanceAsync(first)
    this.sink(0)
    return undefined
  }

  private async advanceAsync(first: RunReader): Promise<void> {
    if (!(await first.fill())) {
      const last = this.heap.pop()
      if (last === first || last === undefined) return
      this.heap[0] = last
    }
    this.sink(0)
  }

  private sink(from: number): void {
    const { heap } = this
    const moved = heap[from] as RunReader
    let at = from
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1] as RunReader, heap[below] as RunReader)) below++
      if (!isBefore(heap[below] as RunReader, moved)) break
      heap[at] = heap[below] as RunReader
      at = below
    }
    heap[at] = moved
  }
}

/** Most keys differ in an early byte, which a loop finds faster than a native call. */
const loopedBytesMax = 24

function isBefore(one: RunReader, other: RunReader): boolean {
  const [oneLength, otherLength] = [one.keyEnd - one.keyStart, other.keyEnd - other.keyStart]
  const here = Math.min(oneLength, otherLength, loopedBytesMax)
  for (let at = 0; at < here; at++) {
    const difference = (one.bytes[one.keyStart + at] as number) - (other.bytes[other.keyStart + at] as number)
    if (difference !== 0) return difference < 0
  }
  if (here === loopedBytesMax) {
    const order = one.bytes.compare(other.bytes, other.keyStart + here, other.keyEnd, one.keyStart + here, one.keyEnd)
    return order === 0 ? one.order < other.order : order < 0
  }
  return oneLength === otherLength ? one.order < other.order : oneLength < otherLength
}
