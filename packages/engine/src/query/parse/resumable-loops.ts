/** Loops of the parser that a long statement leaves in the middle, so that others have their turn, and goes on with later. */

/** Thrown out of the statement that is being parsed: it begins once more, and passes over what its loops have parsed already. */
export const pause: unique symbol = Symbol('others have their turn')

/** Tokens between two pauses: a millisecond or two while the code is not compiled yet. */
const tokensBetweenPauses = 1_024

/** Where a parser stands, but for what it comes to again by itself. */
export interface ParserPlace {
  readonly position: number
  readonly positionAfterName: number
  readonly namedUses: number
}

interface Cursor {
  place(): ParserPlace
  goTo(place: ParserPlace): void
}

interface KeptLoop {
  readonly items: unknown[]
  /** Behind the last of them. */
  readonly place: ParserPlace
  readonly isDone: boolean
}

/** More than loops can be open within each other. */
const openMax = 1_024

/** Of one statement. The parser never goes back: where it begins again, it takes the same way, and comes to the same loops. */
export class ResumableLoops {
  private readonly kept = new Map<number, KeptLoop>()
  private open = 0
  private pausedAt = 0

  constructor(position: number) {
    this.pausedAt = position
  }

  /** As `while (step(items));` with the items that are `first` there, perhaps a part of it: throws `pause`, and goes on behind the last item when it is called again. */
  run<T>(cursor: Cursor, step: (items: T[]) => boolean, first: T[]): T[] {
    const key = cursor.place().position * openMax + this.open
    const known = this.kept.get(key)
    const items = (known?.items ?? first) as T[]
    if (known !== undefined) cursor.goTo(known.place)
    if (known?.isDone === true) return items
    let place = cursor.place()
    let isDone = false
    this.open++
    try {
      while (!isDone) {
        isDone = !step(items)
        place = cursor.place()
        if (!isDone) this.pauseIfDue(place)
      }
    } catch (error) {
      if (error === pause) this.kept.set(key, { items, place, isDone: false })
      throw error
    } finally {
      this.open--
    }
    this.kept.set(key, { items, place, isDone: true })
    return items
  }

  /** Behind an item, so that each time something is done. */
  private pauseIfDue({ position }: ParserPlace): void {
    if (position - this.pausedAt < tokensBetweenPauses) return
    this.pausedAt = position
    throw pause
  }
}
