/** The command line: selects and runs a command. */

import { suggestSetting } from '@ashlar/server/shared'
import { CommanderError } from 'commander'
import { usageError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { unwritable } from '../errors/file-errors.ts'
import { failureLine, reportFailure, requestsJson } from '../serve/process.ts'
import { programOf } from './program.ts'

/** `args`: the arguments after the program's name. Reports an error in one line on standard error, and by the exit code. */
export async function runProgram(args: readonly string[]): Promise<void> {
  const isJson = requestsJson(args)
  process.stdout.on('error', (error) => reportUnwritableOutput(error, isJson))
  await reportFailure(execute(args.length === 0 ? ['--help'] : args, isJson), isJson)
}

async function execute(words: readonly string[], isJson: boolean): Promise<void> {
  const [first = ''] = words
  // Options without a command belong to `serve`, except options of the program itself.
  const isServe = first.startsWith('-') && !['-h', '--help', '-V', '--version'].includes(first)
  const program = programOf(isServe ? 'serve' : first, isJson)
  // Otherwise an unknown command would be an operand of `serve`, the default command.
  const commandNames = program.commands.flatMap((command) => [command.name(), ...command.aliases()])
  if (!first.startsWith('-') && first !== 'help' && !commandNames.includes(first)) {
    const message = `There is no command ${first}.${suggestSetting(first, commandNames)} See ashlar --help.`
    throw usageError(message)
  }
  refuseUnknownTopic(words, commandNames)
  try {
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // Commander has printed it; help and version are not errors.
    process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  }
}

/** Refuses an unknown topic of `ashlar help <command>`, for which commander would show the general help. */
function refuseUnknownTopic([first, topic]: readonly string[], commandNames: readonly string[]): void {
  if (first !== 'help' || topic === undefined || topic.startsWith('-')) return
  if (topic === 'help' || commandNames.includes(topic)) return
  const message = `There is no command ${topic}.${suggestSetting(topic, commandNames)} See ashlar --help.`
  throw usageError(message)
}

let isOutputFailureReported = false

/** The reader may close the output early, as `head` does. A command with a listener for that reports it itself. */
function reportUnwritableOutput(error: NodeJS.ErrnoException, isJson: boolean): void {
  if (error.code === 'EPIPE' || isOutputFailureReported || process.stdout.listenerCount('error') > 1) return
  isOutputFailureReported = true
  const { message } = unwritable('Standard output', error)
  process.stderr.write(failureLine(exitCodes.failed, message, isJson))
  process.exitCode = exitCodes.failed
}
