/** Executes statements and commands of a file or a pipe in order, up to the first failure. */

import { CommandError, invalidInput } from '../errors/command-error.ts'
import { unreadableFileError } from '../errors/file-errors.ts'
import type { Session } from './session.ts'
import { StatementReader, textCharactersMax } from './statement-reader.ts'

/** A line that begins with a backslash. */
export type RunCommand = (session: Session, line: string, signal: AbortSignal) => Promise<void>

/** `place`: the origin of the lines, for messages. Throws failures; `session.place` then locates them. */
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

/** `what`: for messages. Throws CommandError for unreadable input, invalid UTF-8, and excessively long lines. */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  what: string,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  // Joins the pieces of a line only once.
  let parts: string[] = []
  let characters = 0
  try {
    for await (const chunk of stream) {
      const [end = '', ...starts] = decoder.decode(chunk, { stream: true }).split('\n')
      parts.push(end)
      characters += end.length
      for (const start of starts) {
        yield parts.join('').replace(/\r$/, '')
        parts = [start]
        characters = start.length
      }
      if (characters > textCharactersMax) {
        throw invalidInput(`${what} has a line of more than ${textCharactersMax} characters.`)
      }
    }
    parts.push(decoder.decode())
  } catch (error) {
    if (error instanceof CommandError) throw error
    if (error instanceof TypeError) throw invalidInput(`${what} is not UTF-8.`)
    throw unreadableFileError(what, error)
  }
  const last = parts.join('')
  if (last !== '') yield last
}
