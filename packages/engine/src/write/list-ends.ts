/** The positions that are given to new elements of lists kept as links: each after all others of its list. */
import { linkKind, linkRange, positionOfKey } from '../records/link-keys.ts'
import type { Bytes } from '../store/store.ts'
import { inParts } from '../store/time-slice.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'

/** A list that is kept as links: an attribute of an object. */
export interface LinkList {
  readonly owner: Oid
  readonly attribute: AttributeNumber
}

/** Lists whose ends are read in one trip. */
const listsAtOnce = 1_000

export class ListEnds {
  private readonly transaction: Transaction
  private readonly session: StoreSession
  /** The last position of each list that was read; undefined for an empty one. Read once, since every position given is greater. */
  private ends: Map<string, Bytes | undefined> | undefined

  constructor(transaction: Transaction, session: StoreSession) {
    this.transaction = transaction
    this.session = session
  }

  /** Reads where the lists end, in one trip, so that `next` can be asked for them. */
  async read(lists: readonly LinkList[]): Promise<void> {
    const ends = this.ends ?? new Map<string, Bytes | undefined>()
    this.ends = ends
    const missing = lists.filter((list) => !ends.has(nameOf(list)))
    await inParts(missing, listsAtOnce, async (part) => {
      const ranges = part.map(({ owner, attribute }) => {
        return { ...linkRange(owner, attribute, linkKind.position), reverse: true, limit: 1 }
      })
      const answer = await this.transaction.read([], ranges)
      for (const [index, list] of part.entries()) {
        const last = answer.ranges[index]?.[0]
        ends.set(nameOf(list), last === undefined ? undefined : positionOfKey(last.key))
      }
    })
  }

  /** A position after all others of the list, whose end was read before. */
  next(list: LinkList): Buffer {
    return this.session.nextPosition(this.ends?.get(nameOf(list)), Date.now())
  }
}

function nameOf({ owner, attribute }: LinkList): string {
  return `${owner} ${attribute}`
}
