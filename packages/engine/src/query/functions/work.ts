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

/** Work on long values that is done a piece at a time; see `inParts`. */
export class LongWork {
  private readonly pieces: Pieces
  private readonly finish: (result: unknown) => unknown
  private end: { readonly value: unknown } | undefined

  constructor(pieces: Pieces, finish: (result: unknown) => unknown = (result) => result) {
    this.pieces = pieces
    this.finish = finish
  }

  /** The same work with something done at its end. */
  followedBy(finish: (result: unknown) => unknown): LongWork {
    return new LongWork(this.pieces, (result) => finish(this.finish(result)))
  }

  /** Does a piece. Undefined while there are more, else the result, however often it is asked for. */
  next(work: Work): { readonly value: unknown } | undefined {
    if (this.end !== undefined) return this.end
    const piece = this.pieces.next()
    if (piece.done === true) this.end = { value: this.finish(piece.value) }
    else work.spend(piece.value)
    return this.end
  }
}

/** Steps of about 10 ns for a piece of what is not told by steps: a millisecond or so. */
const pieceSteps = 100_000

/** Work of others, as codecs have it, as that of an expression. */
export function longWorkOf(pieces: Iterator<undefined, unknown>): LongWork {
  return new LongWork(counted(pieces))
}

function* counted(pieces: Iterator<undefined, unknown>): Generator<number, unknown> {
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value
    yield pieceSteps
  }
}

/** Yields the steps that each piece took, and returns the result. */
export type Pieces = Iterator<number, unknown>
