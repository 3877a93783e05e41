/** Statements and commands of a file or a pipe, one after the other, up to the first that fails. */
import type { Session } from './session.ts'
import { StatementReader } from './statement-reader.ts'

/** A line that begins with a backslash. */
export type RunCommand = (session: Session, line: string, signal: AbortSignal) => Promise<void>

/** `place`: of the lines, for messages. Throws what fails; where it was is then told by `session.place`. */
export async function runLines(
  session: Session,
  lines: AsyncIterable<string>,
  place: string,
  runCommand: RunCommand,
  signal: AbortSignal,
): Promise<void> {
  const reader = new StatementReader()
  const outer = { reader: session.reader, place: session.place }
  session.reader = reader
  let number = 0
  let begin = 1
  try {
    for await (const line of lines) {
      number++
      if (reader.isEmpty) begin = number
      session.place = { name: place, line: begin }
      if (reader.takesCommands && isCommand(line)) await runCommand(session, line, signal)
      else {
        const text = reader.add(number === 1 ? line.replace(/^\ufeff/, '') : line)
        if (text !== undefined) await session.runText(text, signal)
      }
      if (session.isLeft) return
    }
    const text = reader.take()
    if (text !== undefined) await session.runText(text, signal)
    session.place = outer.place
  } finally {
    session.reader = outer.reader
  }
}

export function isCommand(line: string): boolean {
  return /^\s*\\/.test(line)
}
