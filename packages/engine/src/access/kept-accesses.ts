/** What is kept for callers between their requests, and how much memory that takes: the one used last goes last. */
import { accessKeptBytesMax } from '../limits.ts'

/** What is made of a catalog for callers with the same grants. */
export interface KeptAccess {
  /** About what it takes, in bytes of memory; it may grow. */
  readonly bytes: number
  /** Has whoever keeps it forget it; requests that have it go on with it. */
  forget(): void
}

/** What is kept grows little while it is used: then it is not counted each time. */
const usesBetweenBounds = 64

/** Of one federated database. */
export class KeptAccesses {
  private readonly bytesMax: number
  /** The one used last at the end. */
  private readonly all = new Set<KeptAccess>()
  private last: KeptAccess | undefined
  private uses = 0

  constructor(bytesMax = accessKeptBytesMax) {
    this.bytesMax = bytesMax
  }

  /** To be called with each use; it may be a new one. */
  use(access: KeptAccess): void {
    if (access === this.last) return
    this.last = access
    this.all.delete(access)
    this.all.add(access)
    if (++this.uses % usesBetweenBounds === 0) this.bound(access)
  }

  /** Forgets those that were not used for longest, until the others take no more than they may; `access` stays. */
  bound(access: KeptAccess): void {
    let bytes = this.bytes
    for (const eldest of this.all) {
      if (bytes <= this.bytesMax || eldest === access) return
      bytes -= eldest.bytes
      this.drop(eldest)
    }
  }

  drop(access: KeptAccess): void {
    if (access === this.last) this.last = undefined
    if (this.all.delete(access)) access.forget()
  }

  get bytes(): number {
    let bytes = 0
    for (const access of this.all) bytes += access.bytes
    return bytes
  }
}
