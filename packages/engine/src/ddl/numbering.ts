/** Assigns the same numbers to classes, shapes, attributes, indexes and sequences in a transaction as in its rehearsal. */
import type { CatalogCounters } from '../schema/class-definition.ts'

/** For one attempt: its rehearsal and the run that is committed. */
export class Numbering {
  private readonly rehearsed = new Map<number, CatalogCounters>()

  /**
   * The next numbers for an operation: the greater of the rehearsal's and those in `present`. Returns `present`
   * itself if nothing has to change.
   */
  countersFor(operation: number, present: CatalogCounters): CatalogCounters {
    const first = this.rehearsed.get(operation)
    if (first === undefined) {
      this.rehearsed.set(operation, present)
      return present
    }
    const sequence = Math.max(present.sequence ?? 1, first.sequence ?? 1)
    const isFar =
      present.classOrShape >= first.classOrShape &&
      present.attribute >= first.attribute &&
      present.index >= first.index &&
      (present.sequence ?? 1) === sequence
    if (isFar) return present
    return {
      ...present,
      ...(sequence === 1 ? {} : { sequence }),
      classOrShape: Math.max(present.classOrShape, first.classOrShape),
      attribute: Math.max(present.attribute, first.attribute),
      index: Math.max(present.index, first.index),
    }
  }
}
