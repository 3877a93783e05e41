/** Runs a command with its output, Ctrl-C, and the report of its failure. */
import { setMaxListeners } from 'node:events'
import { CommandError, interruptedError } from '../errors/command-error.ts'
import { printCommandError } from './failure.ts'
import { Output, type OutputOptions, ReaderGone } from './output.ts'

/** Default messages after Ctrl-C. */
export const interruptionMessages = {
  amidChange: 'Stopped. A change in progress was made completely or not at all: check before you repeat it.',
  /** The statements may have changed data on the server. */
  amidStatements:
    'Stopped. If the statements change data, the change was made completely or not at all: check before you run them again.',
  amidReading: 'Stopped.',
} as const

export interface CommandRun {
  readonly output: Output
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  /** Sets the text in which failures are located. */
  explainWith(text: string): void
}

/** Sets the exit code of the process; throws only on an internal error. */
export async function runCommand(
  options: OutputOptions,
  work: (run: CommandRun) => Promise<void>,
  stoppedMessage: string = interruptionMessages.amidChange,
): Promise<void> {
  const interrupted = new AbortController()
  const interrupt = (): void => {
    // A second signal ends the process by default.
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    interrupted.abort(interruptedError(stoppedMessage))
  }
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  // Each request adds a listener.
  setMaxListeners(0, interrupted.signal)
  let text: string | undefined
  try {
    const output = new Output(options)
    try {
      await work({
        output,
        signal: interrupted.signal,
        explainWith(explained) {
          text = explained
        },
      })
      await output.finish()
    } catch (error) {
      await output.discard()
      throw error
    }
  } catch (error) {
    if (error instanceof ReaderGone) return
    const reason = interrupted.signal.aborted && !(error instanceof CommandError) ? interrupted.signal.reason : error
    printCommandError(reason, { isJson: options.json === true, text })
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
  }
}
