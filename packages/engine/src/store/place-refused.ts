/** Why a store or a backup that an operator names is refused, for programs that answer by a code. */

/**
 * `wrongPlace`: there is no such thing, or it is of another kind; `conflict`: what is there does not permit it, such as a target that is not empty;
 * `damaged`: it is not what was written, or cannot be understood.
 */
export type RefusalCause = 'wrongPlace' | 'conflict' | 'damaged'

/** The message is a sentence for the operator, or the part of one that tells the reason. */
export class PlaceRefused extends Error {
  readonly refusal: RefusalCause

  constructor(refusal: RefusalCause, message: string) {
    super(message)
    this.refusal = refusal
  }
}

/** Of what `openStore`, `copyStore`, `backUpStore`, `restoreBackup` and the like throw; undefined of anything else, as of a full disk. */
export function refusalCause(error: unknown): RefusalCause | undefined {
  if (error instanceof PlaceRefused) return error.refusal
  return error instanceof Error ? refusalCause(error.cause) : undefined
}
