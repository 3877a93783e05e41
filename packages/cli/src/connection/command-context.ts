/** The context and the input of a command. */
import { readFileSync } from 'node:fs'
import type { AshlarClient } from '@ashlar/client'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { unreadableFileError } from '../errors/file-errors.ts'
import { parseExactly } from '../output/exact-json.ts'
import type { CommandRun } from '../output/run-command.ts'
import type { Connection } from './connection.ts'

/** The signal aborts requests. */
export interface CommandContext extends CommandRun {
  readonly client: AshlarClient
  readonly connection: Connection
}

/** Returns the text of `@file`, of standard input for `-`, or the argument itself. */
export function readInput(word: string): string {
  if (word === '-') return readFile(0, 'Standard input')
  return word.startsWith('@') ? readFile(word.slice(1), `The file ${word.slice(1)}`) : word
}

/** `-`: standard input; `exitCode`: see `parseInput`. */
export function readInputFile(file: string, exitCode: number = exitCodes.invalid): string {
  return file === '-' ? readFile(0, 'Standard input', exitCode) : readFile(file, `The file ${file}`, exitCode)
}

function readFile(file: string | number, what: string, exitCode: number = exitCodes.invalid): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw unreadableFileError(what, error)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError(exitCode, `${what} is not UTF-8.`)
  }
}

/** `what`: the source, for messages. `exitCode`: of a text that is not data, such as a mapping. */
export function parseJsonInput(text: string, what: string, exitCode: number = exitCodes.invalid): unknown {
  if (text.trim() === '') throw new CommandError(exitCode, `${what} is empty, where JSON is expected.`)
  try {
    return parseExactly(text)
  } catch (error) {
    throw new CommandError(exitCode, `${what} is not JSON: ${(error as Error).message}`)
  }
}
