/** Keys that several requests need at the same time: read by one statement, with a result for each request. */
import type { Bytes } from '../store.ts'

/** So many at most in one statement, unless one alone asks for more. */
const keysMax = 512

interface ReadRequest {
  readonly keys: readonly Bytes[]
  /** Of the keys, as text. */
  readonly names: readonly string[]
  /** When it stops waiting for a connection, by `performance.now()`. */
  readonly end: number
  resolve(values: (Bytes | undefined)[]): void
  reject(error: unknown): void
}

export interface KeysOfBatch {
  /** Each once. */
  readonly keys: readonly Bytes[]
  /** When the first of those who ask stops waiting. */
  readonly end: number
  /** In the order of the keys. */
  resolve(values: readonly (Bytes | undefined)[]): void
  reject(error: unknown): void
  /** Rejects those who stop waiting by that time; the others are the first of those who ask again. */
  rejectUntil(end: number, error: unknown): void
}

export class ReadBatch {
  private readonly isShared: boolean
  private waiting: ReadRequest[] = []

  /** `isShared`: several who ask for a key get the same bytes, which nobody writes to. */
  constructor(isShared = false) {
    this.isShared = isShared
  }

  /** Rejects those who have waited for as long as they would. */
  expire(error: unknown): void {
    const now = performance.now()
    if (this.waiting.every(({ end }) => end > now)) return
    for (const request of this.waiting) if (request.end <= now) request.reject(error)
    this.waiting = this.waiting.filter(({ end }) => end > now)
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  /** In the order of the keys; the bytes belong to the caller, unless they are shared. */
  ask(keys: readonly Bytes[], end = Number.POSITIVE_INFINITY): Promise<(Bytes | undefined)[]> {
    // What is no key rejects it here: thrown when a statement is put together, it would stay for ever among those that wait.
    return new Promise((resolve, reject) => this.waiting.push({ keys, names: keys.map(nameOf), end, resolve, reject }))
  }

  /** The first of those who ask, as many as go into one statement. */
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
        const given = new Set<number>()
        const valueAt = (place: number): Bytes | undefined => {
          return isShared ? values[place] : ownValue(values, place, given)
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

function nameOf(key: Bytes): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}

function placesOf(request: ReadRequest, places: Map<string, number>, keys: Bytes[]): number[] {
  return request.names.map((name, i) => {
    const known = places.get(name)
    if (known !== undefined) return known
    places.set(name, keys.length)
    return keys.push(request.keys[i] as Bytes) - 1
  })
}

/** Who asks second for a key gets a copy. */
function ownValue(values: readonly (Bytes | undefined)[], place: number, given: Set<number>): Bytes | undefined {
  const value = values[place]
  if (value === undefined || !given.has(place)) {
    given.add(place)
    return value
  }
  return Buffer.from(value)
}
