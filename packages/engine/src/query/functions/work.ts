/** What expressions spend: nothing else looks at the limits of a statement while one is evaluated. */

/** Steps of about 10 ns. */
const stepsBetweenChecks = 100_000
/** Of a piece of work that does not count its steps: a millisecond or so. */
const pieceSteps = 100_000

export class Work {
  private readonly check: (isLong: boolean) => void
  private left = stepsBetweenChecks

  /** `check`: throws if the statement is to end, or to be abandoned; `isLong`: what comes next may take longer than a slice. */
  constructor(check: (isLong: boolean) => void) {
    this.check = check
  }

  /** Before work that counts no steps and may take long, as in a library. Throws what `check` does. */
  beginLong(): void {
    this.check(true)
  }

  /** Throws what `check` throws. */
  spend(steps: number): void {
    this.left -= steps
    if (this.left >= 0) return
    this.left = stepsBetweenChecks
    this.check(false)
  }

  /** The result of work that yields the steps of each of its pieces. */
  run<T>(pieces: Iterator<number | undefined, T>): T {
    for (;;) {
      const piece = pieces.next()
      if (piece.done === true) return piece.value
      this.spend(piece.value ?? pieceSteps)
    }
  }
}

/** Work on long values, which whoever asked for it runs. */
export class LongWork {
  readonly pieces: Pieces

  constructor(pieces: Pieces) {
    this.pieces = pieces
  }
}

/** Yields the steps that each piece took, and returns the result. */
export type Pieces = Iterator<number, unknown>
