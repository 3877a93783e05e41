/** The rows that a follower of a query has, and the events that lead from them to those of a later run. */
import { createHash } from 'node:crypto'
import type { LiveRow } from '../query/run-live-query.ts'
import type { TimeSlice } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'

export type RowEventName = 'row' | 'enter' | 'change' | 'leave'

export interface RowEvent {
  readonly name: RowEventName
  /** In UTF-8, on one line. */
  readonly json: Buffer
}

/** Of a row that is held: an OID twice, a digest, and what the map has for them. */
export const heldRowBytes = 250

const byteOfEnd = 1

export class FollowedRows {
  private digests: ReadonlyMap<Oid, string> = new Map()
  private order: readonly Oid[] = []
  private isBegun = false

  get count(): number {
    return this.order.length
  }

  /**
   * Those of another run take the place of the ones that are held. Events are told one after the other: what leaves, then in the order of the rows
   * those that enter, have changed or have another place; `after` is the OID of the row before, null for the first.
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
    const stay = isOrdered ? this.inPlace(rows) : undefined
    let before: Oid | undefined
    for (const { oid, json } of rows) {
      const place = isOrdered ? `,"after":${before === undefined ? 'null' : `"${before}"`}` : ''
      before = oid
      const held = this.digests.get(oid)
      const isMoved = stay !== undefined && !stay.has(oid)
      if (held === undefined) events.push({ name: this.isBegun ? 'enter' : 'row', json: withPlace(json, place) })
      else if (held !== digests.get(oid)) events.push({ name: 'change', json: withPlace(json, isMoved ? place : '') })
      else if (isMoved) events.push({ name: 'change', json: Buffer.from(`{"oid":"${oid}"${place}}`) })
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    this.digests = digests
    this.order = rows.map(({ oid }) => oid)
    this.isBegun = true
    return events
  }

  /** As many as possible of those that are held and stay in the same order: the others have another place. */
  private inPlace(rows: readonly LiveRow[]): ReadonlySet<Oid> {
    const ranks = new Map(this.order.map((oid, rank) => [oid, rank]))
    const kept = rows.flatMap(({ oid }) => {
      const rank = ranks.get(oid)
      return rank === undefined ? [] : [rank]
    })
    return new Set(longestRising(kept).map((rank) => this.order[rank] as Oid))
  }
}

function withPlace(json: Buffer, place: string): Buffer {
  return place === '' ? json : Buffer.concat([json.subarray(0, json.length - byteOfEnd), Buffer.from(`${place}}`)])
}

/** The longest of the sequences of rising numbers within: n log n. */
export function longestRising(numbers: readonly number[]): number[] {
  // The last position of the best sequence of each length, and for each position the one before it.
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
