/** Maps and sets of any number of texts that grow without a pause: a `Map` copies all of its entries at once whenever it is full. */

import { isLongText, textDigest } from '../bytes/text-digest.ts'

/** Entries of one `Map` before others are opened: at the copying of so many, about a millisecond passes. */
export const entriesOfOneMap = 16_384
/** A power of two; so many together hold a million entries before one of them copies more than `entriesOfOneMap`. */
const shardCount = 64

/**
 * A `Map` of a million texts takes 50 to 200 ms at a time to double. This one keeps its first entries in one `Map`, at no cost over that, and
 * spreads the others over many, each of which copies its few at a time of its own.
 */
export class SteadyMap<K extends string, V> {
  /** Made for the first entry: an empty one costs next to nothing. */
  private first: Map<K, V> | undefined
  private shards: readonly Map<K, V>[] | undefined
  private long: LongTexts<K, V> | undefined

  get size(): number {
    let size = (this.first?.size ?? 0) + (this.long?.size ?? 0)
    for (const shard of this.shards ?? []) size += shard.size
    return size
  }

  *keys(): Generator<K> {
    for (const one of [this.first, ...(this.shards ?? []), this.long]) if (one !== undefined) yield* one.keys()
  }

  get(key: K): V | undefined {
    if (isLongText(key)) return this.long?.get(key)
    if (this.first === undefined) return undefined
    const value = this.first.get(key)
    return value !== undefined || this.shards === undefined ? value : shardOf(this.shards, key).get(key)
  }

  has(key: K): boolean {
    if (isLongText(key)) return this.long?.has(key) === true
    if (this.first === undefined) return false
    return this.first.has(key) || (this.shards !== undefined && shardOf(this.shards, key).has(key))
  }

  set(key: K, value: V): void {
    if (isLongText(key)) {
      this.long ??= new LongTexts()
      this.long.set(key, value)
      return
    }
    this.first ??= new Map()
    if (this.first.size < entriesOfOneMap || this.first.has(key)) this.first.set(key, value)
    else {
      this.shards ??= Array.from({ length: shardCount }, () => new Map<K, V>())
      shardOf(this.shards, key).set(key, value)
    }
  }
}

/** The same of keys alone; an empty one costs next to nothing. */
export class SteadySet<K extends string> {
  private first: Set<K> | undefined
  private shards: readonly Set<K>[] | undefined
  private long: LongTexts<K, true> | undefined

  has(key: K): boolean {
    if (isLongText(key)) return this.long?.has(key) === true
    if (this.first === undefined) return false
    return this.first.has(key) || (this.shards !== undefined && shardOf(this.shards, key).has(key))
  }

  add(key: K): void {
    if (isLongText(key)) {
      this.long ??= new LongTexts()
      this.long.set(key, true)
      return
    }
    this.first ??= new Set()
    if (this.first.size < entriesOfOneMap) this.first.add(key)
    else if (!this.first.has(key)) {
      this.shards ??= Array.from({ length: shardCount }, () => new Set<K>())
      shardOf(this.shards, key).add(key)
    }
  }
}

/** Of texts for which a `Map` has no hash: so many that it copies much when it is full are more than memory holds. */
class LongTexts<K extends string, V> {
  private readonly byDigest = new Map<string, { readonly key: K; readonly value: V }>()
  /** Mostly a text is set after it was looked for. */
  private last: K | undefined
  private lastDigest = ''

  get size(): number {
    return this.byDigest.size
  }

  *keys(): Generator<K> {
    for (const { key } of this.byDigest.values()) yield key
  }

  get(key: K): V | undefined {
    return this.byDigest.get(this.digest(key))?.value
  }

  has(key: K): boolean {
    return this.byDigest.has(this.digest(key))
  }

  set(key: K, value: V): void {
    this.byDigest.set(this.digest(key), { key, value })
  }

  private digest(key: K): string {
    if (key !== this.last) {
      this.lastDigest = textDigest(key)
      this.last = key
    }
    return this.lastDigest
  }
}

/** By an FNV-1a digest of the whole key: keys mostly differ in few places only. */
function shardOf<T>(shards: readonly T[], key: string): T {
  let digest = 0x811c9dc5
  for (let i = 0; i < key.length; i++) digest = Math.imul(digest ^ key.charCodeAt(i), 0x01000193)
  return shards[(digest ^ (digest >>> 15)) & (shardCount - 1)] as T
}
