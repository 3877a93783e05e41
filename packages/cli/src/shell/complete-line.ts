/** Completes the word at the cursor of a line of the shell, for the Tab key. */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { commandNamed, type ShellCommand, shellCommands } from './commands.ts'
import { completeText } from './complete-text.ts'
import { helpTopics } from './help-topics.ts'
import { isCommand } from './run-lines.ts'
import { orAborted, type Session } from './session.ts'
import type { Completed } from './terminal.ts'

const candidatesMax = 200
/** Timeout of completion, for a server that does not respond. */
const completionMsMax = 3_000

/** Returns no candidates if the schema cannot be read: the next statement reports why. */
export async function completeLine(session: Session, line: string, signal: AbortSignal): Promise<Completed> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(completionMsMax)])
  try {
    const [all, word] = await completed(session, line, within)
    return [all.slice(0, candidatesMax), word]
  } catch {
    return [[], line]
  }
}

async function completed(session: Session, line: string, signal: AbortSignal): Promise<Completed> {
  if (session.reader.takesCommands && isCommand(line)) {
    const [, name, operand] = /^\s*\\(\S*)(?:\s+(.*))?$/s.exec(line) ?? []
    if (operand === undefined) {
      const names = shellCommands.map((command) => `\\${command.names[0]}`)
      return startingWith(line.trimStart(), names)
    }
    const command = commandNamed(name ?? '')
    if (command?.operand === '[statement]') return completeIn(session, operand, signal)
    return operands(session, command?.completes, operand, signal)
  }
  const { text } = session.reader
  return completeIn(session, text === '' ? line : `${text}\n${line}`, signal)
}

async function completeIn(session: Session, text: string, signal: AbortSignal): Promise<Completed> {
  const { candidates, word } = completeText(text, await session.schema(signal), [...session.parameters.keys()])
  // A single candidate completes the word.
  return [candidates.length === 1 && !/[(.]$/.test(candidates[0] ?? '') ? [`${candidates[0]} `] : [...candidates], word]
}

async function operands(
  session: Session,
  kind: ShellCommand['completes'],
  operand: string,
  signal: AbortSignal,
): Promise<Completed> {
  switch (kind) {
    case 'classes':
      return startingWith(operand, (await session.schema(signal)).classNames)
    case 'fds':
      return startingWith(operand, (await orAborted(session.client.getReadiness(), signal)).federatedDatabases)
    case 'files':
      return startingWith(operand, filesNear(operand))
    case 'topics':
      return startingWith(operand.toUpperCase(), Object.keys(helpTopics), operand)
    case 'parameters':
      return startingWith(operand, [...session.parameters.keys()])
    case 'switch':
      return startingWith(operand, ['on', 'off'])
    default:
      return [[], operand]
  }
}

function startingWith(word: string, all: readonly string[], typed = word): Completed {
  return [all.filter((candidate) => candidate.startsWith(word)), typed]
}

/** Folders end with a slash. */
function filesNear(path: string): string[] {
  const folder = path.endsWith('/') ? path : dirname(path)
  const isHere = folder === '.' && !path.startsWith('.')
  return readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const name = isHere ? entry.name : join(folder, entry.name)
    return entry.isDirectory() ? `${name}/` : name
  })
}
