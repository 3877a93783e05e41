/** LRU cache of data that is derived from catalogs for callers, bounded by its memory. */
import { accessCacheBytesMax } from '../limits.ts'

/** Data derived from a catalog for callers with the same grants. */
export interface CachedAccess {
  /** Approximate memory in bytes; it may grow. */
  readonly bytes: number
  /** Called on eviction; requests that use it are not affected. */
  evict(): void
}

/** Entries grow slowly while they are used, so that their sizes are not summed up on each use. */
const usesPerCheck = 64

/** One per federated database. */
export class AccessCache {
  private readonly bytesMax: number
  /** Least recently used first. */
  private readonly all = new Set<CachedAccess>()
  private last: CachedAccess | undefined
  private uses = 0

  constructor(bytesMax = accessCacheBytesMax) {
    this.bytesMax = bytesMax
  }

  /** Must be called on each use; adds new entries. */
  use(access: CachedAccess): void {
    if (access === this.last) return
    this.last = access
    this.all.delete(access)
    this.all.add(access)
    if (++this.uses % usesPerCheck === 0) this.bound(access)
  }

  /** Evicts least recently used entries until the rest fits; `access` stays. */
  bound(access: CachedAccess): void {
    let bytes = this.bytes
    for (const oldest of this.all) {
      if (bytes <= this.bytesMax || oldest === access) return
      bytes -= oldest.bytes
      this.drop(oldest)
    }
  }

  drop(access: CachedAccess): void {
    if (access === this.last) this.last = undefined
    if (this.all.delete(access)) access.evict()
  }

  get bytes(): number {
    let bytes = 0
    for (const access of this.all) bytes += access.bytes
    return bytes
  }
}
