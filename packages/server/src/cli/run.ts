/** The command line: runs the command that the words name. */
import { CommanderError } from 'commander'
import { didYouMean } from '../config/read-value.ts'
import { CommandError } from './command-error.ts'
import { exitCodes } from './exit-codes.ts'
import { tellFailure } from './process.ts'
import { programOf } from './program.ts'
import { unwritable } from './unwritable.ts'

/** `words`: the arguments after the program's name. A mistake is told in one line on standard error, and by the exit code. */
export async function run(given: readonly string[]): Promise<void> {
  process.stdout.on('error', tellUnwritableOutput)
  const words = given.length === 0 ? ['--help'] : given
  const [first = ''] = words
  // Options without a command are those of `serve`, but for those of the program itself.
  const isServe = first.startsWith('-') && !['-h', '--help', '-V', '--version'].includes(first)
  const program = programOf(isServe ? 'serve' : first)
  // Else it would be an operand of `serve`, which is meant without the name of a command.
  const known = program.commands.flatMap((command) => [command.name(), ...command.aliases()])
  if (!first.startsWith('-') && first !== 'help' && !known.includes(first)) {
    process.stderr.write(`ashlar: There is no command ${first}.${didYouMean(first, known)} See ashlar --help.\n`)
    process.exitCode = exitCodes.usage
    return
  }
  await tellFailure(
    program.parseAsync(words, { from: 'user' }).catch((error: unknown) => {
      if (error instanceof CommandError) {
        process.stderr.write(`ashlar: ${error.message}\n`)
        process.exitCode = error.exitCode
        return
      }
      if (!(error instanceof CommanderError)) throw error
      // Commander has told it; help and version are no mistakes.
      process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    }),
  )
}

let isOutputFailureTold = false

/** Whoever reads the output may have read enough, as `head` does. A command that listens itself tells of it itself. */
function tellUnwritableOutput(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || isOutputFailureTold || process.stdout.listenerCount('error') > 1) return
  isOutputFailureTold = true
  process.stderr.write(`ashlar: ${unwritable('Standard output', error).message}\n`)
  process.exitCode = exitCodes.failed
}
