/** Combines keys that several requests need at the same time for one statement, with a result for each request. */
import { keyText } from '../key-text.ts'
import type { Bytes } from '../store.ts'

/** Maximum number of keys in one statement, unless a single request has more. */
const keysMax = 512

interface ReadRequest {
  readonly keys: readonly Bytes[]
  /** The keys as text. */
  readonly names: readonly string[]
  /** When the request stops waiting for a connection, by `performance.now()`. */
  readonly end: number
  resolve(values: (Bytes | undefined)[]): void
  reject(error: unknown): void
}

export interface KeysOfBatch {
  readonly keys: readonly Bytes[]
  readonly end: number
  /** `values`: in the order of the keys. */
  resolve(values: readonly (Bytes | undefined)[]): void
  reject(error: unknown): void
  /** Rejects the requests that end by that time; the rest is the beginning of the next batch. */
  rejectUntil(end: number, error: unknown): void
}

export class ReadBatch {
  private readonly isShared: boolean
  private waiting: ReadRequest[] = []

  /** `isShared`: requests for the same key get the same bytes, which must not be written to. */
  constructor(isShared = false) {
    this.isShared = isShared
  }

  /** Rejects requests that have waited too long. */
  expire(error: unknown): void {
    const now = performance.now()
    if (this.waiting.every(({ end }) => end > now)) return
    for (const request of this.waiting) if (request.end <= now) request.reject(error)
    this.waiting = this.waiting.filter(({ end }) => end > now)
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  /** Values in the order of the keys; the bytes belong to the caller unless they are shared. */
  add(keys: readonly Bytes[], end = Number.POSITIVE_INFINITY): Promise<(Bytes | undefined)[]> {
    // An invalid key must reject here: if it threw when the statement is built, the request would wait forever.
    return new Promise((resolve, reject) => this.waiting.push({ keys, names: keys.map(keyText), end, resolve, reject }))
  }

  /** Removes the first waiting requests, as many as fit one statement. */
  take(): KeysOfBatch {
    const places = new Map<string, number>()
    const keys: Bytes[] = []
    const group: { readonly request: ReadRequest; readonly places: readonly number[] }[] = []
    for (const request of this.waiting) {
      if (group.length > 0 && keys.length + request.keys.length > keysMax) break
      group.push({ request, places: placesOf(request, places, keys) })
    }
    this.waiting = this.waiting.slice(group.length)
    const { isShared } = this
    return {
      keys,
      end: group.reduce((first, { request }) => Math.min(first, request.end), Number.POSITIVE_INFINITY),
      resolve(values) {
        const used = new Set<number>()
        const valueAt = (place: number): Bytes | undefined => {
          return isShared ? values[place] : unsharedValue(values, place, used)
        }
        for (const { request, places } of group) request.resolve(places.map(valueAt))
      },
      reject(error) {
        for (const { request } of group) request.reject(error)
      },
      rejectUntil: (end, error) => {
        const left: ReadRequest[] = []
        for (const { request } of group) {
          if (request.end <= end) request.reject(error)
          else left.push(request)
        }
        this.waiting = [...left, ...this.waiting]
      },
    }
  }
}

function placesOf(request: ReadRequest, places: Map<string, number>, keys: Bytes[]): number[] {
  return request.names.map((name, i) => {
    const existing = places.get(name)
    if (existing !== undefined) return existing
    places.set(name, keys.length)
    return keys.push(request.keys[i] as Bytes) - 1
  })
}

/** Returns a copy unless the value is used for the first time. */
function unsharedValue(values: readonly (Bytes | undefined)[], place: number, used: Set<number>): Bytes | undefined {
  const value = values[place]
  if (value === undefined || !used.has(place)) {
    used.add(place)
    return value
  }
  return Buffer.from(value)
}
