/** A command that cannot be carried out: a sentence for its user, and an exit code. */

export class CommandError extends Error {
  readonly exitCode: number
  /** Lines below the sentence. */
  readonly details: readonly string[]

  constructor(exitCode: number, message: string, details: readonly string[] = []) {
    super(message)
    this.name = 'CommandError'
    this.exitCode = exitCode
    this.details = details
  }
}
