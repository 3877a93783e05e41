/** Files that commands on users and roles are given. */
import { readFileSync } from 'node:fs'
import { invalidInput } from '../command-error.ts'
import { unreadable } from '../file-errors.ts'

/** `-`: standard input. `what`: for messages, which repeat nothing of the text. */
export function readSecretFile(file: string, what: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw unreadable(`The file with ${what}, ${file},`, error)
  }
}

/** An array of grants, or a role as it is shown, of which the grants are taken; undefined without a file. */
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
