/** Keys that several requests need at the same time, for one statement, with a result for each request. */
import { keyText } from '../key-text.ts'
import type { Bytes } from '../store.ts'
import type { WaitingRequest } from './grouped-statements.ts'

/** Maximum number of keys in one statement, counted with repetitions, unless a single request has more. */
const keysMax = 1_024

export interface KeyRequest extends WaitingRequest {
  readonly keys: readonly Bytes[]
  /** The keys as text. */
  readonly names: readonly string[]
  /** `values`: in the order of the keys. */
  resolve(values: (Bytes | undefined)[]): void
}

/** Throws for an invalid key: if it threw when the statement is built, the other requests would fail. */
export function keyRequest(
  keys: readonly Bytes[],
  end: number,
  { resolve, reject }: Pick<KeyRequest, 'resolve' | 'reject'>,
): KeyRequest {
  return { keys, names: keys.map(keyText), end, resolve, reject }
}

/** The first requests, as many as fit one statement. */
export function firstKeyRequests(waiting: readonly KeyRequest[]): readonly KeyRequest[] {
  let keys = 0
  const beyond = waiting.findIndex((request, i) => {
    keys += request.keys.length
    return i > 0 && keys > keysMax
  })
  return beyond < 0 ? waiting : waiting.slice(0, beyond)
}

export interface JoinedKeys {
  /** Distinct. */
  readonly keys: readonly Bytes[]
  /** `values`: in the order of the keys. */
  resolve(values: readonly (Bytes | undefined)[]): void
}

/** `isShared`: requests for the same key get the same bytes, which must not be written to; otherwise the bytes belong to the caller. */
export function joinKeys(requests: readonly KeyRequest[], isShared: boolean): JoinedKeys {
  const places = new Map<string, number>()
  const keys: Bytes[] = []
  const placesOf = requests.map((request) => {
    return request.names.map((name, i) => {
      const existing = places.get(name)
      if (existing !== undefined) return existing
      places.set(name, keys.length)
      return keys.push(request.keys[i] as Bytes) - 1
    })
  })
  return {
    keys,
    resolve(values) {
      const used = new Set<number>()
      const valueAt = (place: number): Bytes | undefined => {
        const value = values[place]
        if (isShared || value === undefined || !used.has(place)) {
          used.add(place)
          return value
        }
        return Buffer.from(value)
      }
      for (const [i, request] of requests.entries()) request.resolve((placesOf[i] as number[]).map(valueAt))
    },
  }
}
