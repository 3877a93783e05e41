/** The rows of a followed query, and the events that transform them into the rows of a later run. */
import { createHash } from 'node:crypto'
import type { LiveRow } from '../query/run-live-query.ts'
import type { TimeSlice } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'

export type RowEventName = 'row' | 'enter' | 'change' | 'leave'

export interface RowEvent {
  readonly name: RowEventName
  /** UTF-8 on one line. */
  readonly json: Buffer
}

/** Approximate memory per row: an OID twice, a digest, and map overhead. */
export const followedRowBytes = 250

const byteOfEnd = 1

export class FollowedRows {
  private digests: ReadonlyMap<Oid, string> = new Map()
  private order: readonly Oid[] = []
  private isInitialized = false

  get count(): number {
    return this.order.length
  }

  /**
   * Replaces the rows by another run's. Events are in order of application: removals, then in row order the rows that enter, change or move; `after`
   * is the OID of the preceding row, null for the first.
   */
  async replace(rows: readonly LiveRow[], isOrdered: boolean, slice: TimeSlice): Promise<RowEvent[]> {
    const digests = new Map<Oid, string>()
    for (const { oid, json } of rows) {
      digests.set(oid, createHash('sha256').update(json).digest('base64'))
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    const left = this.order.filter((oid) => !digests.has(oid))
    const events = left.map((oid): RowEvent => ({ name: 'leave', json: Buffer.from(`{"oid":"${oid}"}`) }))
    const stationary = isOrdered ? this.stationary(rows) : undefined
    let before: Oid | undefined
    for (const { oid, json } of rows) {
      const place = isOrdered ? `,"after":${before === undefined ? 'null' : `"${before}"`}` : ''
      before = oid
      const previous = this.digests.get(oid)
      const isMoved = stationary !== undefined && !stationary.has(oid)
      if (previous === undefined)
        events.push({ name: this.isInitialized ? 'enter' : 'row', json: withPlace(json, place) })
      else if (previous !== digests.get(oid))
        events.push({ name: 'change', json: withPlace(json, isMoved ? place : '') })
      else if (isMoved) events.push({ name: 'change', json: Buffer.from(`{"oid":"${oid}"${place}}`) })
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    this.digests = digests
    this.order = rows.map(({ oid }) => oid)
    this.isInitialized = true
    return events
  }

  /** A largest set of rows that keep their relative order; the rest are reported as moved. */
  private stationary(rows: readonly LiveRow[]): ReadonlySet<Oid> {
    const ranks = new Map(this.order.map((oid, rank) => [oid, rank]))
    const retained = rows.flatMap(({ oid }) => {
      const rank = ranks.get(oid)
      return rank === undefined ? [] : [rank]
    })
    return new Set(longestRising(retained).map((rank) => this.order[rank] as Oid))
  }
}

function withPlace(json: Buffer, place: string): Buffer {
  return place === '' ? json : Buffer.concat([json.subarray(0, json.length - byteOfEnd), Buffer.from(`${place}}`)])
}

/** A longest increasing subsequence, in O(n log n). */
export function longestRising(numbers: readonly number[]): number[] {
  // For each length, the index of the best last element; for each index, its predecessor.
  const ends: number[] = []
  const before: number[] = []
  for (const [at, number] of numbers.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((numbers[ends[middle] as number] as number) < number) low = middle + 1
      else high = middle
    }
    before.push(low === 0 ? -1 : (ends[low - 1] as number))
    ends[low] = at
  }
  const found: number[] = []
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] as number) found.push(numbers[at] as number)
  return found.reverse()
}
