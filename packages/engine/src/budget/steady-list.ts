/** A list of any number of elements that grows without a pause: an `Array` copies all of its elements at once whenever it is full. */

import type { Sequence } from '../store/sequence.ts'

/** Of one `Array`: copying so many takes a fraction of a millisecond. */
export const elementsOfPart = 16_384

/** Its elements are in one `Array` while they are few, at no cost over that, and then in several. */
export class SteadyList<T> {
  private last: T[] = []
  /** All of them, the last too, once there are several. */
  private parts: T[][] | undefined
  private count = 0

  get length(): number {
    return this.count
  }

  push(element: T): void {
    if (this.last.length === elementsOfPart) {
      this.parts ??= [this.last]
      this.last = []
      this.parts.push(this.last)
    }
    this.last.push(element)
    this.count++
  }

  /** `position`: below `length`. */
  at(position: number): T {
    return this.partOf(position)[position % elementsOfPart] as T
  }

  /** Replaces an element. */
  set(position: number, element: T): void {
    this.partOf(position)[position % elementsOfPart] = element
  }

  /** An `Array` where they are few: what walks through that is the quickest. */
  all(): Sequence<T> {
    return this.parts === undefined ? this.last : this
  }

  *[Symbol.iterator](): Generator<T, undefined, undefined> {
    for (const part of this.parts ?? [this.last]) yield* part
    return undefined
  }

  private partOf(position: number): T[] {
    return this.parts === undefined ? this.last : (this.parts[Math.floor(position / elementsOfPart)] as T[])
  }
}
