/** How many objects are read at a time, by how large those before were: what they take in memory is known only once they are read. */
import type { Bytes } from '../store/store.ts'

/** While nothing is known of their sizes, unless told otherwise. */
const firstObjects = 32
/** What a part may take in memory, about. */
const partBytes = 4 * 2 ** 20

export class PartSizes {
  private readonly objectsMax: number
  private objects: number

  constructor(objectsMax: number, first = firstObjects) {
    this.objectsMax = objectsMax
    this.objects = first
  }

  /** How many the next part may have. */
  get next(): number {
    return this.objects
  }

  /** Each part is as large as is right when it is asked for. */
  *parts<T>(all: readonly T[]): Generator<readonly T[]> {
    let at = 0
    while (at < all.length) {
      const { objects } = this
      yield at === 0 && all.length <= objects ? all : all.slice(at, at + objects)
      at += objects
    }
  }

  /** The records of a part, as they were read; `parted`: how many the part had, of which several may share a record. */
  note(records: Iterable<Bytes | undefined>, parted: number): void {
    let bytes = 0
    for (const record of records) bytes += record?.length ?? 0
    this.noteBytes(bytes, parted)
  }

  /** The same where it is known what they take. */
  noteBytes(bytes: number, parted: number): void {
    const fitting = Math.floor((partBytes * parted) / Math.max(1, bytes))
    // A few records say little of the others: the next part is not much larger than this one.
    this.objects = Math.max(1, Math.min(fitting, this.objectsMax, Math.max(firstObjects, 8 * parted)))
  }
}
