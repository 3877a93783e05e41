/** A set whose members are added and removed with every request. */

export interface Placed {
  /** Its index in its one set; maintained by the set. */
  place?: number | undefined
}

/**
 * A `Set` allocates a new table when it grows or shrinks, and the old table references the new one. Once one is in
 * the old generation of the heap, all later ones follow, with their members: ended requests then survive collections
 * of the young generation, which become several times as expensive. Here each member knows its index in one array.
 */
export class UnorderedSet<T extends Placed> {
  private readonly members: T[] = []

  /** The member must be in no set. */
  add(member: T): void {
    member.place = this.members.length
    this.members.push(member)
  }

  /** Does nothing for a non-member. */
  delete(member: T): void {
    const { place } = member
    if (place === undefined) return
    member.place = undefined
    const last = this.members.pop() as T
    if (last === member) return
    this.members[place] = last
    last.place = place
  }

  /** A copy, so that members may be removed during iteration. */
  all(): T[] {
    return this.members.slice()
  }
}
