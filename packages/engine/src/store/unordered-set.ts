/** A set whose members are added and removed with every request. */

export interface Placed {
  /** Where it stands in the one set that it is a member of; kept by that. */
  place?: number | undefined
}

/**
 * A `Set` makes a new table whenever it has grown or shrunk, and the table before keeps a reference to it. As soon as one of them is in the
 * old generation of the heap, all that follow get there, with whatever was in them: requests that have long ended then outlive each
 * collection of the young generation, and make it several times as expensive. Here each member knows its place in one array.
 */
export class UnorderedSet<T extends Placed> {
  private readonly members: T[] = []

  /** It is in no set. */
  add(member: T): void {
    member.place = this.members.length
    this.members.push(member)
  }

  /** Does nothing where it is no member any more. */
  delete(member: T): void {
    const { place } = member
    if (place === undefined) return
    member.place = undefined
    const last = this.members.pop() as T
    if (last === member) return
    this.members[place] = last
    last.place = place
  }

  /** Those that are members now, for whoever ends some of them meanwhile. */
  all(): T[] {
    return this.members.slice()
  }
}
