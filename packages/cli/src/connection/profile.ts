/** The profile file: addresses of servers, and credentials for them. */
import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { clientVariables, suggestSetting } from '@ashlar/server/shared'
import { usageError } from '../errors/command-error.ts'
import { unreadableFileError } from '../errors/file-errors.ts'

export interface Profile {
  readonly url?: string
  readonly fd?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly user?: string
  readonly password?: string
  readonly ca?: string
}

const fields: readonly (keyof Profile)[] = ['url', 'fd', 'token', 'tokenFile', 'user', 'password', 'ca']
const secrets: readonly (keyof Profile)[] = ['token', 'password']

/** Returns `ASHLAR_PROFILES`, or a file below `XDG_CONFIG_HOME` or `~/.config`. */
export function profileFile(environment: NodeJS.ProcessEnv): string {
  const { [clientVariables.profiles]: named, XDG_CONFIG_HOME: xdg } = environment
  if (named !== undefined && named !== '') return named
  return join(xdg === undefined || xdg === '' ? join(homedir(), '.config') : xdg, 'ashlar', 'config.json')
}

/** `name`: by default that of the file. Throws CommandError, also if other users can read a file with a token or password. */
export function readProfile(file: string, name: string | undefined): Profile {
  const text = readIfExists(file)
  if (text === undefined) {
    if (name === undefined) return {}
    throw usageError(`There is no profile ${name}: ${file} does not exist.`)
  }
  const { default: defaultName, profiles } = fileOf(text, file)
  // A reader of the file can read the secrets of all profiles.
  const all = Object.values(profiles)
  if (all.some((profile) => secrets.some((secret) => profile[secret] !== undefined))) refuseIfOpen(file)
  const chosen = name ?? defaultName
  if (chosen === undefined) return {}
  const profile = profiles[chosen]
  if (profile === undefined)
    throw usageError(`${file} has no profile ${chosen}.${suggestSetting(chosen, Object.keys(profiles))}`)
  return profile
}

interface ProfileFile {
  readonly default: string | undefined
  readonly profiles: Readonly<Record<string, Profile>>
}

function fileOf(text: string, file: string): ProfileFile {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw usageError(`${file} is not JSON: ${(error as Error).message}`)
  }
  const { default: defaultName, profiles = {}, ...others } = objectOf(json, file)
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw usageError(`${file}: ${unknown} is not known; there are default and profiles.`)
  if (defaultName !== undefined && typeof defaultName !== 'string')
    throw usageError(`${file}: default must be the name of a profile.`)
  const read = Object.entries(objectOf(profiles, `${file}: profiles`)).map(([name, profile]) => {
    return [name, profileOf(objectOf(profile, `${file}: profile ${name}`), `${file}: profile ${name}`)] as const
  })
  return { default: defaultName, profiles: Object.fromEntries(read) }
}

function profileOf(record: Readonly<Record<string, unknown>>, place: string): Profile {
  for (const [field, value] of Object.entries(record)) {
    if (!(fields as readonly string[]).includes(field))
      throw usageError(`${place}: ${field} is not known.${suggestSetting(field, fields)}`)
    if (typeof value !== 'string') throw usageError(`${place}: ${field} must be a string.`)
  }
  return record
}

function objectOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw usageError(`${place} is not an object.`)
  return value as Readonly<Record<string, unknown>>
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw unreadableFileError(`The profile file ${file}`, error)
  }
}

/** Refuses a file that other users may read, as ssh does with keys. Windows has no such mode. */
function refuseIfOpen(file: string): void {
  if (process.platform === 'win32' || (statSync(file).mode & 0o077) === 0) return
  throw usageError(`${file} holds a token or password, and others may read it: run chmod 600 ${file}.`)
}
