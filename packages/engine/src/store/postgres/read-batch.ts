/** Keys that several ask for at once, to be read by one statement and answered to each. */
import type { Bytes } from '../store.ts'

/** So many at most in one statement, unless one alone asks for more. */
const keysMax = 512

interface ReadRequest {
  readonly keys: readonly Bytes[]
  resolve(values: (Bytes | undefined)[]): void
  reject(error: unknown): void
}

export interface KeysOfBatch {
  /** Each once. */
  readonly keys: readonly Bytes[]
  /** In the order of the keys. */
  resolve(values: readonly (Bytes | undefined)[]): void
  reject(error: unknown): void
}

export class ReadBatch {
  private waiting: ReadRequest[] = []

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  /** In the order of the keys; the bytes belong to the caller. */
  ask(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    return new Promise((resolve, reject) => this.waiting.push({ keys, resolve, reject }))
  }

  /** The first of those who ask, as many as go into one statement. */
  take(): KeysOfBatch {
    const places = new Map<string, number>()
    const keys: Bytes[] = []
    const group: { readonly request: ReadRequest; readonly places: readonly number[] }[] = []
    for (const request of this.waiting) {
      if (group.length > 0 && keys.length + request.keys.length > keysMax) break
      group.push({ request, places: request.keys.map((key) => placeOf(key, places, keys)) })
    }
    this.waiting = this.waiting.slice(group.length)
    return {
      keys,
      resolve(values) {
        const given = new Set<number>()
        for (const { request, places } of group) request.resolve(places.map((place) => ownValue(values, place, given)))
      },
      reject(error) {
        for (const { request } of group) request.reject(error)
      },
    }
  }
}

function placeOf(key: Bytes, places: Map<string, number>, keys: Bytes[]): number {
  const name = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
  const known = places.get(name)
  if (known !== undefined) return known
  places.set(name, keys.length)
  return keys.push(key) - 1
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
