/** Work accounting of expressions: the only check of a statement's limits while an expression is evaluated. */

/** Work steps of about 10 ns. */
const stepsBetweenChecks = 100_000
/** Steps of a piece that does not count its own: about a millisecond. */
const pieceSteps = 100_000

export class Work {
  private readonly check: (isLong: boolean) => void
  private left = stepsBetweenChecks

  /** `check` throws if the statement must end or be abandoned; `isLong`: the next operation may exceed a time slice. */
  constructor(check: (isLong: boolean) => void) {
    this.check = check
  }

  /** Called before uninterruptible work that counts no steps, as in a library. Throws like `check`. */
  beginLong(): void {
    this.check(true)
  }

  /** Throws like `check`. */
  spend(steps: number): void {
    this.left -= steps
    if (this.left >= 0) return
    this.left = stepsBetweenChecks
    this.check(false)
  }

  /** Runs a generator that yields the steps of each piece; returns its result. */
  run<T>(pieces: Iterator<number | undefined, T>): T {
    for (;;) {
      const piece = pieces.next()
      if (piece.done === true) return piece.value
      this.spend(piece.value ?? pieceSteps)
    }
  }
}

/** Work on long values that the caller runs in pieces. */
export class LongWork {
  readonly pieces: StepwiseResult

  constructor(pieces: StepwiseResult) {
    this.pieces = pieces
  }
}

/** Yields the steps of each piece, and returns the result. */
export type StepwiseResult = Iterator<number, unknown>
