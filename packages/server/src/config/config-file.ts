/** The configuration file: our JSON, or the XML of the original server. */
import { readFileSync } from 'node:fs'
import { defaultEngineLimits } from '@ashlar/engine/limits'
import { defaultServerLimits, type Limits } from '../limits.ts'
import { ConfigError, type ConfigFile, type ConfigSource } from './config.ts'
import { configFromXml } from './config-xml.ts'
import {
  didYouMean,
  readBoolean,
  readDialect,
  readHostNames,
  readOrigins,
  readPort,
  readText,
  readWorkers,
} from './read-value.ts'

type Json = Readonly<Record<string, unknown>>

const readers: Readonly<Record<string, (value: unknown, name: string) => ConfigSource>> = {
  host: (value, name) => ({ host: readText(value, name) }),
  port: (value, name) => ({ port: readPort(value, name) }),
  data: (value, name) => ({ data: readText(value, name) }),
  workers: (value, name) => ({ workers: readWorkers(value, name) }),
  default: (value, name) => ({ default: readText(value, name) }),
  federatedDatabases: (value, name) => ({ federatedDatabases: readFds(value, name) }),
  limits: (value, name) => ({ limits: readLimits(value, name) }),
  allowShutdown: (value, name) => ({ allowShutdown: readBoolean(value, name) }),
  allowRemote: (value, name) => ({ allowRemote: readBoolean(value, name) }),
  logLevel: (value, name) => ({ logLevel: readText(value, name) }),
  importDir: (value, name) => (value === null ? {} : { importDir: readText(value, name) }),
  hosts: (value, name) => (value === null ? {} : { hosts: readHostNames(value, name) }),
  cors: (value, name) => (value === null ? {} : { cors: readOrigins(value, name) }),
}

/** Throws ConfigError. */
export function readConfigFile(file: string): ConfigFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(
      `The configuration file ${file} cannot be read: ${unreadable(error as NodeJS.ErrnoException)}`,
    )
  }
  if (text.trimStart().startsWith('<')) return configFromXml(text, file)
  return { source: configFromJson(text, file), notes: [] }
}

function unreadable({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file; check its name'
  if (code === 'EISDIR') return 'it is a directory; name a file'
  if (code === 'ELOOP') return 'it is a symbolic link that leads to itself; put the file in its place'
  if (code === 'EACCES' || code === 'EPERM')
    return 'the user who runs Ashlar may not read it; give that user the right to'
  return message
}

/** `file`: its name, for messages. Throws ConfigError. */
export function configFromJson(text: string, file: string): ConfigSource {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new ConfigError(`The configuration file ${file} is not JSON: ${(error as Error).message}`)
  }
  const settings = objectOf(json, `The configuration file ${file}`)
  return Object.assign({}, ...Object.entries(settings).map(([name, value]) => readSetting(name, value, file)))
}

function readSetting(name: string, value: unknown, file: string): ConfigSource {
  const read = Object.hasOwn(readers, name) ? readers[name] : undefined
  if (read !== undefined) return read(value, `${name} in ${file}`)
  throw new ConfigError(`${file}: there is no setting ${name}.${didYouMean(name, Object.keys(readers))}`)
}

const fdFields = ['alias', 'store', 'dialect']

function readFds(value: unknown, name: string): NonNullable<ConfigSource['federatedDatabases']> {
  if (!Array.isArray(value)) throw new ConfigError(`${name} is an array of {"alias","store","dialect"}.`)
  return value.map((entry: unknown) => {
    const fd = objectOf(entry, `An entry of ${name}`)
    for (const field of Object.keys(fd)) {
      if (fdFields.includes(field)) continue
      throw new ConfigError(`${name}: a federated database has no ${field}.${didYouMean(field, fdFields)}`)
    }
    const alias = readText(fd.alias, `alias of ${name}`)
    return {
      alias,
      ...(fd.store === undefined ? {} : { store: readText(fd.store, `store of ${alias} in ${name}`) }),
      ...(fd.dialect === undefined ? {} : { dialect: readDialect(fd.dialect, `dialect of ${alias} in ${name}`) }),
    }
  })
}

function readLimits(value: unknown, name: string): Partial<Limits> {
  const known = Object.keys({ ...defaultServerLimits, ...defaultEngineLimits })
  const limits = objectOf(value, name)
  for (const [limit, bound] of Object.entries(limits)) {
    if (!known.includes(limit)) throw new ConfigError(`${name}: there is no limit ${limit}.${didYouMean(limit, known)}`)
    if (typeof bound === 'number' && Number.isInteger(bound) && bound > 0) continue
    throw new ConfigError(`${name}: ${limit} is a positive whole number, not ${JSON.stringify(bound)}.`)
  }
  return limits as Partial<Limits>
}

function objectOf(value: unknown, what: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  throw new ConfigError(`${what} is a JSON object.`)
}
