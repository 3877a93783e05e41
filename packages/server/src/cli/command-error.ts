/** A command that cannot be carried out: a sentence for its user, and an exit code. */
import { exitCodes } from './exit-codes.ts'

export class CommandError extends Error {
  readonly exitCode: number
  /** Lines below the sentence. */
  readonly details: readonly string[]
  /** What a server would have replied, if the command does the work itself. */
  readonly refusal: { readonly type: string; readonly status: number } | undefined

  /** Compares names: each file of the program has a class of its own, and errors pass between files. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return error instanceof Error && error.name === 'CommandError'
  }

  constructor(
    exitCode: number,
    message: string,
    details: readonly string[] = [],
    refusal: CommandError['refusal'] = undefined,
  ) {
    super(message)
    this.name = 'CommandError'
    this.exitCode = exitCode
    this.details = details
    this.refusal = refusal
  }
}

/** Creates the error for an invalid command line. */
export function usageError(message: string, details: readonly string[] = []): CommandError {
  return new CommandError(exitCodes.usage, message, details)
}

/** Data or a statement cannot be understood. */
export function invalidInput(message: string, details: readonly string[] = []): CommandError {
  return new CommandError(exitCodes.invalid, message, details)
}
