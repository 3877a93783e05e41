/** The configuration that the environment gives: ASHLAR_HOST and the like. */
import { ConfigError, type ConfigSource } from './config.ts'
import { didYouMean, splitValues } from './read-value.ts'
import { renamedNote, settings, variableOf, variablePrefix } from './settings.ts'

/** Secrets, which are read where they are needed and nowhere else. */
const otherVariables: readonly string[] = ['ASHLAR_ADMIN_PASSWORD', 'ASHLAR_ADMIN_PASSWORD_FILE']

/** Of the commands that talk to a server (`cli/connection.ts`), which may have its environment. */
export const clientVariables = {
  url: 'ASHLAR_URL',
  fd: 'ASHLAR_FD',
  token: 'ASHLAR_TOKEN',
  tokenFile: 'ASHLAR_TOKEN_FILE',
  user: 'ASHLAR_USER',
  password: 'ASHLAR_PASSWORD',
  ca: 'ASHLAR_CA',
  profile: 'ASHLAR_PROFILE',
  profiles: 'ASHLAR_PROFILES',
} as const

const notOfTheServer: readonly string[] = Object.values(clientVariables).filter((name) => name !== clientVariables.fd)

const byVariable = new Map(
  settings.flatMap((setting) => (setting.option === undefined ? [] : [[variableOf(setting.option), setting] as const])),
)

/** Throws ConfigError for an ASHLAR_ variable that is none of ours, with a near name. */
export function configFromEnvironment(environment: NodeJS.ProcessEnv): ConfigSource {
  const source: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(variablePrefix) || value === undefined) continue
    if (otherVariables.includes(name) || notOfTheServer.includes(name)) continue
    const setting = byVariable.get(name)
    if (setting === undefined) {
      throw new ConfigError(
        renamedNote(name) ?? `There is no setting ${name}.${didYouMean(name, [...byVariable.keys()])}`,
      )
    }
    source[setting.field] = setting.read(setting.isRepeatable === true ? splitValues(value) : value, name)
  }
  return source
}
