/** Failures of a request that the server itself finds on the way and that have no type of their own in the catalogue. */
import type { AshlarError } from '@ashlar/engine'
import type { Problem } from './problem.ts'
import type { ServerError } from './server-errors.ts'

/** The client disconnected: nobody is left to be told of the outcome. */
export class ClientDisconnected extends Error {
  constructor() {
    super('the client disconnected')
  }
}

/** An operation of a transaction failed: with its status and type, and which one it was (contract 7.1.9). */
export class OperationFailure extends Error {
  /** From 1. */
  readonly operation: number
  override readonly cause: AshlarError | ServerError | BodyValidationError

  constructor(operation: number, cause: AshlarError | ServerError | BodyValidationError) {
    super(cause.message)
    this.operation = operation
    this.cause = cause
  }
}

/** A line of a load that is done as a whole or not at all failed: with its status and type, and which one it was (contract 2.2.9). */
export class LineFailure extends Error {
  /** From 1. */
  readonly line: number
  override readonly cause: unknown

  constructor(line: number, cause: unknown) {
    super(`Line ${line} failed.`)
    this.line = line
    this.cause = cause
  }
}

/** A body within a request that is not as its schema has it. */
export class BodyValidationError extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.message)
    this.problem = problem
  }
}
