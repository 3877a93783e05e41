/** The interactive shell: prompts, history and completion. It continues after failures. */
import { styleText } from 'node:util'
import { version } from '@ashlar/server/shared'
import type { CommandContext } from '../connection/command-context.ts'
import type { RowFormat } from '../data/rows.ts'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { failureText } from '../output/failure.ts'
import { ReaderGone } from '../output/output.ts'
import { printable } from '../output/table.ts'
import { runShellCommand } from './commands.ts'
import { completeLine } from './complete-line.ts'
import { asOneLine, History, historyFile } from './history.ts'
import { PageLeft, Pager } from './pager.ts'
import { isCommand } from './run-lines.ts'
import { Session } from './session.ts'
import { Terminal } from './terminal.ts'

/** Runs until Ctrl-D or \q. Throws an error that prevents its start, such as a server that does not respond. */
export async function runInteractively(
  context: CommandContext,
  parameters: Readonly<Record<string, unknown>>,
  format: RowFormat,
): Promise<void> {
  const { output, client, connection } = context
  const { alias } = await client.getFederatedDatabase()
  const history = new History(historyFile(process.env))
  const terminal: Terminal = new Terminal({
    input: process.stdin,
    output: process.stdout,
    history: history.entries,
    complete: (line, signal) => completeLine(session, line, signal),
  })
  const pager = new Pager(output, terminal)
  const note = (text: string): void => output.note(text)
  const screen = { target: pager, isTerminal: true, begin: () => pager.begin(), note, paging: pager }
  const session: Session = new Session(context, screen, parameters, format)
  session.fd = alias
  note(
    `Ashlar ${version}, ${printable(alias)} at ${printable(connection.url)}. Statements end with ; and \\? lists commands.`,
  )
  if (history.problem !== undefined) note(history.problem)
  const stop = (): void => terminal.close()
  context.signal.addEventListener('abort', stop)
  try {
    while (!session.isLeft) {
      const read = await terminal.readLine(promptOf(session))
      if (read === 'ended') break
      if (read === 'interrupted') session.reader.clear()
      else await runInput(session, terminal, history, read.line)
    }
    context.signal.throwIfAborted()
    // After Ctrl-D, the cursor is still on the line of the prompt.
    if (!session.isLeft) process.stdout.write('\n')
    await session.end()
  } finally {
    context.signal.removeEventListener('abort', stop)
    terminal.close()
  }
}

/** Returns a prompt like that of psql, whose last character shows the open element. */
function promptOf({ reader, fd, transaction }: Session): string {
  const open = reader.isEmpty ? '=' : (reader.open?.replace('/', '') ?? '-')
  return `${printable(fd)}${transaction === undefined ? open : `*${open}`}> `
}

/** Common first inputs of beginners, which psql accepts as well. */
const wordsOfShells: Readonly<Record<string, string>> = { quit: '\\q', exit: '\\q', help: '\\?' }

async function runInput(session: Session, terminal: Terminal, history: History, line: string): Promise<void> {
  try {
    await terminal.run(async (signal) => {
      const { reader } = session
      const word = reader.isEmpty ? wordsOfShells[line.replace(/;\s*$/, '').trim().toLowerCase()] : undefined
      if (word !== undefined) return runShellCommand(session, word, signal)
      if (reader.takesCommands && isCommand(line)) {
        addToHistory(terminal, history, line)
        return runShellCommand(session, line, signal)
      }
      // An empty line ends an incomplete statement.
      const text = line.trim() === '' && reader.takesCommands ? reader.take() : reader.add(line)
      if (text === undefined) return
      addToHistory(terminal, history, text)
      await session.runText(text, signal)
    })
  } catch (error) {
    await printError(session, error)
  }
}

function addToHistory(terminal: Terminal, history: History, text: string): void {
  // As in other shells, lines that begin with a blank are not stored.
  if (/^\s/.test(text)) return
  const line = asOneLine(text)
  for (const entry of line === undefined ? text.split('\n') : [line]) history.add(entry)
  terminal.setHistory(history.entries)
}

/** Prints an error; the shell continues, unless its output is closed. */
async function printError(session: Session, error: unknown): Promise<void> {
  const { textAtWork: text, place } = session
  session.textAtWork = undefined
  session.place = undefined
  if (error instanceof ReaderGone) throw error
  if (error instanceof PageLeft) return
  if (error instanceof CommandError && error.exitCode === exitCodes.interrupted) {
    return session.screen.note('Stopped.')
  }
  const where = place === undefined ? '' : `${printable(place.name)}, line ${place.line}: `
  const failure = failureText(error, { isJson: false, text }, 'error')
  const isColored = process.stderr.isTTY && process.stderr.hasColors()
  const name = isColored ? styleText('red', 'error', { validateStream: false }) : 'error'
  process.stderr.write(`${where}${name}${failure.slice('error'.length)}`)
}
