/** The configuration that the environment gives: ASHLAR_HOST and the like. */
import { ConfigError, type ConfigSource } from './config.ts'
import {
  didYouMean,
  readBoolean,
  readDialects,
  readFdOption,
  readHostNames,
  readOrigins,
  readPort,
  readText,
  readWorkers,
  splitValues,
} from './read-value.ts'

const prefix = 'ASHLAR_'
const readers: Readonly<Record<string, (value: string, name: string) => ConfigSource>> = {
  ASHLAR_HOST: (value, name) => ({ host: readText(value, name) }),
  ASHLAR_PORT: (value, name) => ({ port: readPort(value, name) }),
  ASHLAR_DATA: (value, name) => ({ data: readText(value, name) }),
  ASHLAR_WORKERS: (value, name) => ({ workers: readWorkers(value, name) }),
  ASHLAR_DEFAULT: (value, name) => ({ default: readText(value, name) }),
  /** Several are separated by commas. */
  ASHLAR_FD: (value) => ({ federatedDatabases: value.split(',').map((fd) => readFdOption(fd.trim())) }),
  /** The same. */
  ASHLAR_DIALECT: (value, name) => ({ dialects: readDialects(splitValues(value), name) }),
  ASHLAR_ALLOW_SHUTDOWN: (value, name) => ({ allowShutdown: readBoolean(value, name) }),
  ASHLAR_ALLOW_REMOTE: (value, name) => ({ allowRemote: readBoolean(value, name) }),
  ASHLAR_HOST_NAME: (value, name) => ({ hosts: readHostNames(splitValues(value), name) }),
  ASHLAR_CORS: (value, name) => ({ cors: readOrigins(splitValues(value), name) }),
  ASHLAR_LOG_LEVEL: (value, name) => ({ logLevel: readText(value, name) }),
  ASHLAR_IMPORT_DIR: (value, name) => ({ importDir: readText(value, name) }),
}
/** Read by the command line, which then reads the file. */
const elsewhere = ['ASHLAR_CONFIG']

/** Throws ConfigError for an ASHLAR_ variable that is none of ours, with a near name. */
export function configFromEnvironment(environment: NodeJS.ProcessEnv): ConfigSource {
  const sources: ConfigSource[] = []
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || value === undefined || elsewhere.includes(name)) continue
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined
    if (read === undefined) {
      throw new ConfigError(`There is no setting ${name}.${didYouMean(name, [...Object.keys(readers), ...elsewhere])}`)
    }
    sources.push(read(value, name))
  }
  return Object.assign({}, ...sources)
}
