/** Long work outside of expressions: others have their turns between its pieces. */
import type { StatementContext } from '../execute/statement-context.ts'
import type { Pieces } from '../functions/work.ts'

export async function inTurns(pieces: Pieces, context: StatementContext): Promise<unknown> {
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
}
