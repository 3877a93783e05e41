/** Reads values of single settings from options, environment and file. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { ChangeLogSetting, Dialect, Isolation } from '@ashlar/engine'
import { defaultEngineLimits } from '@ashlar/engine/limits'
import type { BackupSettings } from '../backups/backup-settings.ts'
import { durationMs } from '../backups/duration.ts'
import { hostNameOf } from '../browsers/host-names.ts'
import { defaultServerLimits, type Limits, limitsOffAtZero, renamedLimits } from '../limits.ts'
import { ConfigError, type ConfigSource } from './config.ts'

/** `name`: the setting, as the user wrote it. */
export function readPort(value: unknown, name: string): number {
  const isDigits = typeof value === 'string' && /^\d{1,5}$/.test(value)
  if ((typeof value === 'number' || isDigits) && Number(value) <= 65_535) return Number(value)
  throw new ConfigError(`${name} is a port (0 to 65535), not ${JSON.stringify(value)}.`)
}

export function readWorkers(value: unknown, name: string): number {
  const isDigits = typeof value === 'string' && /^\d{1,5}$/.test(value)
  if (typeof value === 'number' || isDigits) return Number(value)
  throw new ConfigError(`${name} is a number of workers, not ${JSON.stringify(value)}.`)
}

export function readBoolean(value: unknown, name: string): boolean {
  if (value === true || value === 'true' || value === '1') return true
  if (value === false || value === 'false' || value === '0') return false
  throw new ConfigError(`${name} is true or false, not ${JSON.stringify(value)}.`)
}

export function readText(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new ConfigError(`${name} must be a non-empty string, not ${JSON.stringify(value)}.`)
}

/** Reads addresses, networks, and names of networks. */
export function readProxies(value: unknown, name: string): string[] {
  return readTexts(value, name).map((text) => {
    if (/^(?:loopback|linklocal|uniquelocal)$/.test(text)) return text
    const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
    const version = isIP(address)
    // With a network of all addresses, each client could choose its address.
    if (version !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128)))) {
      return text
    }
    throw new ConfigError(
      `${name}: '${text}' is not the address of a proxy, a network such as 10.0.0.0/8, or loopback, linklocal or uniquelocal.`,
    )
  })
}

/** Host names of the server; `*` for any. */
export function readHostNames(value: unknown, name: string): string[] {
  return readTexts(value, name).map((text) => {
    if (text === '*' || hostNameOf(text) === text.toLowerCase()) return text.toLowerCase()
    throw new ConfigError(`${name}: '${text}' is not the name of a host such as db.example.com, without a port, nor *.`)
  })
}

/** Origins as sent by browsers, also of applications (`app://notes`). */
export function readOrigins(value: unknown, name: string): string[] {
  return readTexts(value, name).map((text) => {
    const origin = text.toLowerCase()
    if (originForm.test(origin) && (!origin.startsWith('http') || isOrigin(origin))) return origin
    const every = text === '*' ? ' With *, any page that an operator opens could change everything.' : ''
    throw new ConfigError(`${name}: '${text}' is not an origin such as https://app.example.com.${every}`)
  })
}

const originForm = /^[a-z][a-z\d+.-]*:\/\/[^/\s?#@*\\]+$/

function isOrigin(text: string): boolean {
  try {
    return new URL(text).origin === text
  } catch {
    return false
  }
}

export function readTexts(value: unknown, name: string): string[] {
  if (Array.isArray(value)) return value.map((entry: unknown) => readText(entry, `An entry of ${name}`))
  throw new ConfigError(`${name} must be an array of strings, not ${JSON.stringify(value)}.`)
}

/** Returns the milliseconds of `7d`, `12h`, `30m` or `90s`. */
export function readDuration(value: unknown, name: string): number {
  const ms = durationMs(value)
  if (ms !== undefined) return ms
  throw new ConfigError(`${name} is a time such as 7d, 12h, 30m or 90s, not ${JSON.stringify(value)}.`)
}

const backupFields = ['directory', 'every', 'incrementalEvery', 'keep'] as const

export function readBackups(value: unknown, name: string): BackupSettings {
  const object = requireConfigObject(value, name)
  refuseUnknownSettings(object, backupFields, name)
  const { directory, every, incrementalEvery, keep } = object
  const time = (field: string, text: unknown): number | undefined =>
    text === undefined ? undefined : readDuration(text, `${field} of ${name}`)
  if (every === undefined && (incrementalEvery ?? keep) !== undefined)
    throw new ConfigError(`${name} needs every, the time between full backups, for incrementalEvery and keep.`)
  return {
    directory: resolve(readText(directory, `directory of ${name}`)),
    everyMs: time('every', every),
    incrementalEveryMs: time('incrementalEvery', incrementalEvery),
    keepMs: time('keep', keep),
  }
}

/** Splits the comma-separated values of an environment variable; an empty one has none. */
export function splitValues(value: string): string[] {
  return value.trim() === '' ? [] : value.split(',').map((part) => part.trim())
}

/** Reads `ALIAS` or `ALIAS=STORE`. */
export function readFdOption(text: string): { alias: string; store?: string } {
  const separator = text.indexOf('=')
  if (separator < 0) return { alias: text }
  const store = text.slice(separator + 1)
  if (store === '') throw new ConfigError(`'${text}' names no store after the =.`)
  return { alias: text.slice(0, separator), store }
}

/** Reads `ALIAS=VALUE` texts. */
export function byAlias<T>(read: (value: unknown, name: string) => T) {
  return (value: unknown, name: string): Readonly<Record<string, T>> => {
    const pairs = readTexts(value, name).map((text) => {
      const [, alias, word] = /^([^=]+)=(.*)$/s.exec(text) ?? []
      if (alias === undefined) throw new ConfigError(`${name} is ALIAS=VALUE, not '${text}'.`)
      return [alias, read(word, name)] as const
    })
    return Object.fromEntries(pairs)
  }
}

export function oneOf<Word extends string>(...words: readonly Word[]) {
  return (value: unknown, name: string): Word => {
    const word = words.find((one) => one === value)
    if (word !== undefined) return word
    throw new ConfigError(`${name} is ${listOr(words)}, not ${JSON.stringify(value)}.`)
  }
}

function listOr(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(' or ')
}

export const readChangeLog = oneOf<ChangeLogSetting>('on', 'off', 'auto')
export const readIsolation = oneOf<Isolation>('serializable', 'snapshot')

/** Throws ConfigError for a field that `allowed` does not include. */
export function refuseUnknownSettings(object: object, allowed: readonly string[], what: string): void {
  const unknown = Object.keys(object).find((field) => !allowed.includes(field))
  if (unknown !== undefined)
    throw new ConfigError(`${what} has no field ${unknown}.${suggestSetting(unknown, allowed)}`)
}

const fdFields = ['alias', 'store', 'dialect', 'isolation', 'changeLog']

export function readFds(value: unknown, name: string): NonNullable<ConfigSource['federatedDatabases']> {
  if (!Array.isArray(value))
    throw new ConfigError(`${name} is an array of {"alias","store","dialect","isolation","changeLog"}.`)
  return value.map((entry: unknown) => {
    const fd = requireConfigObject(entry, `An entry of ${name}`)
    refuseUnknownSettings(fd, fdFields, `${name}: a federated database`)
    const alias = readText(fd.alias, `alias of ${name}`)
    return {
      alias,
      ...(fd.store !== undefined && { store: readText(fd.store, `store of ${alias} in ${name}`) }),
      ...(fd.dialect !== undefined && { dialect: readDialect(fd.dialect, `dialect of ${alias} in ${name}`) }),
      ...(fd.isolation !== undefined && {
        isolation: readIsolation(fd.isolation, `isolation of ${alias} in ${name}`),
      }),
      ...(fd.changeLog !== undefined && { changeLog: readChangeLog(fd.changeLog, `changeLog of ${alias} in ${name}`) }),
    }
  })
}

export function readLimits(value: unknown, name: string): Partial<Limits> {
  const names = Object.keys({ ...defaultServerLimits, ...defaultEngineLimits })
  const limits = requireConfigObject(value, name)
  for (const [limit, bound] of Object.entries(limits)) {
    if (Object.hasOwn(renamedLimits, limit)) {
      throw new ConfigError(`${name}: ${limit} is now called ${renamedLimits[limit]}, and counts callers by identity.`)
    }
    if (!names.includes(limit))
      throw new ConfigError(`${name}: there is no limit ${limit}.${suggestSetting(limit, names)}`)
    const least = limitsOffAtZero.includes(limit) ? 0 : 1
    if (typeof bound === 'number' && Number.isInteger(bound) && bound >= least) continue
    throw new ConfigError(
      `${name}: ${limit} must be ${least === 0 ? 'an' : 'a positive'} integer, not ${JSON.stringify(bound)}.`,
    )
  }
  return limits as Partial<Limits>
}

export function requireConfigObject(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>
  throw new ConfigError(`${what} is a JSON object.`)
}

export function readDialect(value: unknown, name: string): Dialect {
  const dialect = dialectNamed(value)
  if (dialect !== undefined) return dialect
  throw new ConfigError(`${name} is ${dialectWords}, not ${JSON.stringify(value)}.`)
}

/** Returns ` Did you mean x?` if a known name is similar. */
export function suggestSetting(name: string, candidates: readonly string[]): string {
  const lowerName = name.toLowerCase()
  const near = nearness.map((isNear) => candidates.find((candidate) => isNear(lowerName, candidate.toLowerCase())))
  const nearest = near.find((candidate) => candidate !== undefined)
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`
}

/** Tests of similarity, the best first: same in another case, prefix, extension, typo. */
const nearness: readonly ((name: string, candidate: string) => boolean)[] = [
  (name, candidate) => name === candidate,
  (name, candidate) => name !== '' && candidate.startsWith(name),
  (name, candidate) => candidate !== '' && name.startsWith(candidate),
  isSlip,
]

/** Returns true for a likely typo: letters added, missing, replaced or swapped; at most one in a short word. */
function isSlip(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  if (long.length - short.length > 2) return false
  let matched = 0
  for (const letter of long) if (letter === short[matched]) matched++
  if (matched >= short.length - 1 && short.length > 2) return true
  if (one.length !== other.length || one.length < 3) return false
  const wrong = [...one].flatMap((letter, at) => (letter === other[at] ? [] : [at]))
  const [first = 0, second = 0] = wrong
  const isSwapped = wrong.length === 2 && one[first] === other[second] && one[second] === other[first]
  return isSwapped || wrong.length <= (one.length < 5 ? 1 : 2)
}

/** Completes "… cannot be read: ", without a full stop. */
export function unreadableFile(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file; check its name'
  if (code === 'EISDIR') return 'it is a directory; name a file'
  if (code === 'ELOOP') return 'it is a symbolic link that leads to itself; put the file in its place'
  if (code === 'EACCES' || code === 'EPERM')
    return 'the user who runs Ashlar may not read it; give that user the right to'
  return message
}

const dialects: readonly Dialect[] = ['ashlar', 'objectivity']

/** Finds a dialect by its case-insensitive name. */
export function dialectNamed(word: unknown): Dialect | undefined {
  return typeof word === 'string' ? dialects.find((dialect) => dialect === word.toLowerCase()) : undefined
}

export const dialectWords = dialects.join(' or ')
