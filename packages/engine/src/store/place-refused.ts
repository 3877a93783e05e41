/** Why a store or a backup named by an operator is refused, for programs that return a code. */

/**
 * `wrongPlace`: it does not exist, or is of another kind; `conflict`: its state does not permit the operation, such
 * as a target that is not empty; `damaged`: its content is corrupt or unreadable.
 */
export type RefusalCause = 'wrongPlace' | 'conflict' | 'damaged'

/** The message is a sentence for the operator, or the part of one that gives the reason. */
export class PlaceRefused extends Error {
  readonly refusal: RefusalCause

  constructor(refusal: RefusalCause, message: string) {
    super(message)
    this.refusal = refusal
  }
}

/** The cause of an error of `openStore`, `copyStore`, `backUpStore`, `restoreBackup` etc.; undefined for other errors, such as a full disk. */
export function refusalCause(error: unknown): RefusalCause | undefined {
  if (error instanceof PlaceRefused) return error.refusal
  return error instanceof Error ? refusalCause(error.cause) : undefined
}
