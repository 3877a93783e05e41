/** Reports the failure of a command: a sentence on standard error, the place of the error below it, and the exit code. */
import { AshlarConnectionError, AshlarRequestError } from '@ashlar/client'
import { CommandError } from '../errors/command-error.ts'
import { inCommandWords } from '../errors/command-words.ts'
import { exitCodeOfStatus, exitCodes } from '../errors/exit-codes.ts'
import { printable } from './table.ts'

/** `text`: the query that was sent, to show the place of the error. */
export interface FailureOptions {
  readonly isJson: boolean
  readonly text?: string | undefined
}

/** Writes to standard error, and sets the exit code of the process. */
export function printCommandError(error: unknown, { isJson, text }: FailureOptions): void {
  process.exitCode = exitCodeOf(error)
  process.stderr.write(failureText(error, { isJson, text }))
}

/** Includes the final line break. `name`: the program that failed. */
export function failureText(error: unknown, { isJson, text }: FailureOptions, name = 'ashlar'): string {
  return isJson ? `${JSON.stringify({ error: errorRecord(error) })}\n` : sentencesOf(error, text, name)
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode
  if (error instanceof AshlarConnectionError) return exitCodes.unavailable
  return error instanceof AshlarRequestError ? exitCodeOfStatus(error.status) : exitCodes.failed
}

function messageOf(error: unknown): string {
  if (error instanceof AshlarRequestError) return inCommandWords(error.message)
  return error instanceof Error ? error.message : String(error)
}

/** Makes the JSON of an error: `exitCode` and `message`; for an error of the server also `type`, `status`, and the place. */
function errorRecord(error: unknown): object {
  const message = messageOf(error)
  const common = { exitCode: exitCodeOf(error), message }
  if (error instanceof CommandError)
    return { ...common, ...error.refusal, ...(error.details.length > 0 && { details: error.details }) }
  if (!(error instanceof AshlarRequestError)) return common
  const { type, status, line, column, expected, operation, errors, valuesLost } = error
  return {
    ...common,
    type,
    status,
    ...(line !== undefined && { line, column }),
    ...(expected.length > 0 && { expected }),
    ...(operation !== undefined && { operation }),
    ...(errors.length > 0 && { errors }),
    ...(valuesLost.length > 0 && { valuesLost }),
  }
}

function sentencesOf(error: unknown, text: string | undefined, name: string): string {
  const message = messageOf(error)
  const details = error instanceof CommandError ? error.details : []
  const below = error instanceof AshlarRequestError ? placeOf(error, text) : details
  return [`${name}: ${message}${adviceOn(error)}`, ...below].map((line) => `${printable(line, 'lines')}\n`).join('')
}

/** Names the command's options for authentication, which the server does not know. */
function adviceOn(error: unknown): string {
  const isUnknown = error instanceof AshlarRequestError && error.type === 'Unauthenticated'
  return isUnknown ? ` ${authenticationAdvice}` : ''
}

const authenticationAdvice =
  'Authenticate by --token, --token-file or ASHLAR_TOKEN, by --user with the password in ASHLAR_PASSWORD, or by a --profile.'

function placeOf(error: AshlarRequestError, text: string | undefined): string[] {
  const { line, column, errors, valuesLost, operation } = error
  const sourceLine = line === undefined ? undefined : text?.split('\n')[line - 1]
  return [
    ...(sourceLine === undefined || column === undefined ? [] : marked(sourceLine.replace(/\r$/, ''), column)),
    // Omitted if the message of the server contains it.
    ...(operation === undefined || error.message.includes(`operation ${operation},`)
      ? []
      : [`  operation ${operation}`]),
    // The message already describes a single error.
    ...(errors.length < 2 ? elementOf(errors) : errors.map(({ pointer, message }) => `  ${pointer}: ${message}`)),
    ...valuesLost.map(({ className, attributeName, values }) => `  ${className}.${attributeName}: ${values} values`),
  ]
}

/** Returns the index of the faulty element in a list. */
function elementOf([only]: AshlarRequestError['errors']): string[] {
  const [, element, place] = /^\/(\d+)(\/.*)?$/s.exec(only?.pointer ?? '') ?? []
  return element === undefined
    ? []
    : [`  element ${Number(element) + 1} of the list${place === undefined ? '' : `, at ${place}`}`]
}

/** Characters of a long line that are shown around the fault. */
const lineCharactersMax = 100

function marked(line: string, column: number): string[] {
  const from = Math.max(0, Math.min(column - 1 - lineCharactersMax / 2, line.length - lineCharactersMax))
  const before = line.slice(from, column - 1).replaceAll(/[^\t]/gu, ' ')
  return [`  ${line.slice(from, from + lineCharactersMax)}`, `  ${before}^`]
}
