/** `ashlar shell`: executes statements one after another, from a terminal, a pipe or a file. */
import { AshlarRequestError } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { parametersOf } from '../data/query.ts'
import type { RowFormat } from '../data/rows.ts'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { runShellCommand } from './commands.ts'
import { runInteractively } from './run-interactively.ts'
import { linesOf, runLines } from './run-lines.ts'
import { Session, type ShellScreen } from './session.ts'

interface ShellOptions {
  readonly param?: readonly string[]
  readonly format?: RowFormat
  readonly json?: boolean
  readonly output?: string
}

export async function runShell(context: CommandContext, _: readonly unknown[], options: ShellOptions): Promise<void> {
  const parameters = parametersOf(options.param ?? []) ?? {}
  const format = options.json === true ? 'json' : (options.format ?? 'table')
  if (process.stdin.isTTY && context.output.terminal !== undefined) {
    return runInteractively(context, parameters, format)
  }
  await refuseAway(context)
  await runScript(new Session(context, screenOf(context), parameters, format))
}

/** Checks that a server responds, also for a script without statements. Throws CommandError and AshlarConnectionError; ignores error replies. */
async function refuseAway({ client }: CommandContext): Promise<void> {
  try {
    await client.getReadiness()
  } catch (error) {
    if (!(error instanceof AshlarRequestError)) throw error
  }
}

function screenOf({ output }: CommandContext): ShellScreen {
  return {
    target: output,
    isTerminal: output.terminal !== undefined,
    begin: () => undefined,
    note: (text) => output.note(text),
    paging: undefined,
  }
}

async function runScript(session: Session): Promise<void> {
  const { context } = session
  try {
    await runLines(session, linesOf(process.stdin, 'Standard input'), 'Standard input', runShellCommand, context.signal)
  } catch (error) {
    if (session.textAtWork !== undefined) context.explainWith(session.textAtWork)
    const isOurs = error instanceof CommandError && error.exitCode === exitCodes.interrupted
    if (!isOurs && !context.output.isJson && session.place !== undefined)
      context.output.note(`${session.place.name}, line ${session.place.line}:`)
    throw error
  } finally {
    // The rest of standard input is not needed.
    process.stdin.destroy()
  }
  await session.end()
}
