/** Adapts the number of objects read at a time to the size of the previous ones, since their memory is known only after reading. */
import type { Bytes } from '../store/store.ts'

/** The default before any size is known. */
const firstObjects = 32
/** The approximate memory of a part. */
const partBytes = 4 * 2 ** 20

export class PartSizes {
  private readonly objectsMax: number
  private objects: number

  constructor(objectsMax: number, first = firstObjects) {
    this.objectsMax = objectsMax
    this.objects = first
  }

  /** The maximum number of objects in the next part. */
  get next(): number {
    return this.objects
  }

  /** Yields parts, each sized when it is requested. */
  *parts<T>(all: readonly T[]): Generator<readonly T[]> {
    let at = 0
    while (at < all.length) {
      const { objects } = this
      yield at === 0 && all.length <= objects ? all : all.slice(at, at + objects)
      at += objects
    }
  }

  /** `records`: as read. `parted`: the number of objects in the part, which may share records. */
  note(records: Iterable<Bytes | undefined>, parted: number): void {
    let bytes = 0
    for (const record of records) bytes += record?.length ?? 0
    this.noteBytes(bytes, parted)
  }

  /** Like `note`, for a known total size. */
  noteBytes(bytes: number, parted: number): void {
    const fitting = Math.floor((partBytes * parted) / Math.max(1, bytes))
    // A few records are a poor estimate, so parts grow gradually.
    this.objects = Math.max(1, Math.min(fitting, this.objectsMax, Math.max(firstObjects, 8 * parted)))
  }
}
