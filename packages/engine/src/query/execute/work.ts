/** Long work of expressions, in parts: an expression cannot wait, so it is broken off, and goes on from what is kept of it. */

/** Thrown when others are to have their turn. One value, because making an error each time would cost too much. */
export const turnDue: unique symbol = Symbol('turn due')

/** What is done before others have their turn, in steps of about 10 ns. */
const stepsAtOnce = 500_000

/** A result that an interrupted row keeps; or how far a loop of it has come. */
export interface Kept {
  readonly value: unknown
}

/**
 * Expressions that may take long say what they spend. When it is enough they keep what they have by then under their place, and throw
 * `turnDue`; whoever evaluates the row gives others their turn, calls `goOn`, and evaluates the row again. From then on every such
 * expression of the row keeps its result, so that nothing of it is done more than twice.
 */
export class Work {
  private readonly stepsAtOnce: number
  private left: number
  private kept: Map<number, Kept> | undefined

  /** Another number in tests. */
  constructor(steps = stepsAtOnce) {
    this.stepsAtOnce = steps
    this.left = steps
  }

  spend(steps: number): void {
    this.left -= steps
  }

  get isDue(): boolean {
    return this.left < 0
  }

  /** Whether the row at hand was broken off before. */
  get isInterrupted(): boolean {
    return this.kept !== undefined
  }

  of(place: number): Kept | undefined {
    return this.kept?.get(place)
  }

  keep(place: number, kept: Kept): void {
    this.kept ??= new Map()
    this.kept.set(place, kept)
  }

  /** What is within a loop, when it goes on to its next element: the places from `first` to before `end`. */
  forget(first: number, end: number): void {
    for (const place of this.kept?.keys() ?? []) if (place >= first && place < end) this.kept?.delete(place)
  }

  /** Others had their turn. */
  goOn(): void {
    this.left = this.stepsAtOnce
  }

  endRow(): void {
    this.kept = undefined
  }
}
