/** The flag `bootFile` of every tool: the federated database, as clients of the original name it (contract 2.2.12). */
import { resolve } from 'node:path'
import { AshlarError, withoutCredentials } from '@ashlar/engine'
import { storeDirectory } from '@ashlar/engine/store-address'
import type { Flag } from './tool.ts'

export const bootFileFlag: Flag = {
  type: 'text',
  description: 'Optional: the federated database, by its alias, its address, or a boot file of that name.',
}

export interface Place {
  /** `lmdb:<directory>`, `postgres://…` or `memory:`. */
  readonly store: string
  /** The boot file in a configuration of the original server. */
  readonly bootFile?: string | undefined
}

/** Returns true if `bootFile` may name the federated database of that alias at that place. */
export function bootFileAgrees(bootFile: string, alias: string, { store, bootFile: configured }: Place): boolean {
  const directory = storeDirectory(store)
  if ([alias, withoutUser(store), directory, configured].includes(withoutUser(bootFile))) return true
  const paths = [directory, configured].filter((path) => path !== undefined)
  const requestedPath = storeDirectory(bootFile) ?? bootFile
  if (paths.some((path) => resolve(path) === resolve(requestedPath))) return true
  const names = [alias, ...paths.flatMap((path) => [lastName(path), withoutExtension(path)])]
  return names.includes(withoutExtension(bootFile))
}

/** Keeps the parameters of an address: two addresses of one database may differ in them. */
function withoutUser(address: string): string {
  return address.replace(/^(postgres(?:ql)?:\/\/)[^@/?]*@/, '$1')
}

/** Returns the last part of a path with slashes of either kind. */
function lastName(path: string): string {
  return (
    path
      .replace(/[\\/]+$/, '')
      .split(/[\\/]/)
      .at(-1) ?? ''
  )
}

function withoutExtension(path: string): string {
  return lastName(path).replace(/(?<=.)\.[^.]*$/, '')
}

/** Separates the flag, whose name is case-insensitive, from the other flags. Throws MalformedRequest, MalformedValue. */
export function readBootFile(flags: unknown): { readonly bootFile: string | undefined; readonly others: unknown } {
  if (typeof flags !== 'object' || flags === null || Array.isArray(flags)) return { bootFile: undefined, others: flags }
  const others: [string, unknown][] = []
  let bootFile: string | undefined
  for (const [name, value] of Object.entries(flags)) {
    if (name.toLowerCase() !== 'bootfile') {
      others.push([name, value])
      continue
    }
    if (typeof value !== 'string' || value === '')
      throw fault('MalformedValue', `The flag ${name} must be a string.`, name)
    if (bootFile !== undefined && bootFile !== value) {
      throw fault('MalformedRequest', 'The flag bootFile is specified twice, with different values.', name)
    }
    bootFile = value
  }
  return { bootFile, others: Object.fromEntries(others) }
}

function fault(type: 'MalformedRequest' | 'MalformedValue', message: string, name: string): AshlarError {
  return new AshlarError(type, message, [{ place: ['flags', name], message }])
}

/** Returns the note for a bootFile that is accepted although it names no federated database of the server. */
export function bootFileNote(bootFile: string, alias: string): string {
  return `The bootFile ${quotedPath(bootFile)} is not known here: the federated database ${alias} was taken, the only one.`
}

/** Throws MalformedRequest. */
export function refuseBootFile(bootFile: string, problem: string): never {
  const message = `The bootFile ${quotedPath(bootFile)} ${problem}.`
  throw new AshlarError('MalformedRequest', message, [{ place: ['flags'], message }])
}

function quotedPath(bootFile: string): string {
  return `'${withoutCredentials(bootFile).slice(0, 100)}'`
}
