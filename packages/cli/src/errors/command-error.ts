/** The failure of a command: a sentence for its user, and an exit code. */
import { exitCodes } from './exit-codes.ts'

export class CommandError extends Error {
  readonly exitCode: number
  /** Lines below the sentence. */
  readonly details: readonly string[]
  /** The equivalent reply of a server, if the command does the work itself. */
  readonly refusal: { readonly type: string; readonly status: number } | undefined

  /** Compares names: each bundle of the program has a separate copy of the class, and errors pass between bundles. */
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

/** Creates the error for data or a statement that cannot be parsed. */
export function invalidInput(message: string, details: readonly string[] = []): CommandError {
  return new CommandError(exitCodes.invalid, message, details)
}

export function notFoundError(message: string): CommandError {
  return new CommandError(exitCodes.notFound, message)
}

export function conflictError(message: string, details: readonly string[] = []): CommandError {
  return new CommandError(exitCodes.conflict, message, details)
}

/** Creates the error for a server that cannot be reached. */
export function unavailableError(message: string): CommandError {
  return new CommandError(exitCodes.unavailable, message)
}

/** Creates the error for a command that was stopped by Ctrl-C. */
export function interruptedError(message: string, details: readonly string[] = []): CommandError {
  return new CommandError(exitCodes.interrupted, message, details)
}
