/** Reads the input files of commands on users and roles. */
import { readFileSync } from 'node:fs'
import { invalidInput } from '../errors/command-error.ts'
import { unreadableFileError } from '../errors/file-errors.ts'

/** `-`: standard input. `what`: the name in messages, which do not repeat the text. */
export function readSecretFile(file: string, what: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw unreadableFileError(`The file with ${what}, ${file},`, error)
  }
}

/** Reads an array of grants, or the grants of a role as printed; undefined without a file. */
export function readGrantsFile(file: string | undefined): unknown {
  if (file === undefined) return undefined
  const text = readSecretFile(file, 'grants')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    const place = file === '-' ? 'standard input' : file
    throw invalidInput(`The grants in ${place} are not JSON: ${(error as Error).message}`)
  }
  return typeof json === 'object' && json !== null && 'grants' in json ? json.grants : json
}
