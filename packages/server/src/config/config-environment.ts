/** The configuration from environment variables such as ASHLAR_HOST. */
import type { NotedSource } from './config.ts'
import { splitValues, suggestSetting } from './read-value.ts'
import { renamedNote, settings, variableOf, variablePrefix } from './settings.ts'

/** Secrets, which are read only where needed, and a variable for the set-up of a checkout. */
const otherVariables: readonly string[] = ['ASHLAR_ADMIN_PASSWORD', 'ASHLAR_ADMIN_PASSWORD_FILE', 'ASHLAR_COMPILE_LMDB']

/** Variables of the client commands (`packages/cli`), which may share the environment of a server. */
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

/** Matches variables that Kubernetes sets in each pod for a service called `ashlar` or `ashlar-…`, such as `ASHLAR_PORT=tcp://10.0.0.1:8185`. */
const serviceLinkName = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
const serviceLinkValue = /^(tcp|udp|sctp):\/\//

/** Unknown variables may belong to other programs, so they cause a note, not an error. Throws ConfigError for an invalid value. */
export function configFromEnvironment(environment: NodeJS.ProcessEnv): NotedSource {
  const source: Record<string, unknown> = {}
  const notes: string[] = []
  const links: string[] = []
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(variablePrefix) || value === undefined) continue
    if (otherVariables.includes(name) || notOfTheServer.includes(name)) continue
    const setting = byVariable.get(name)
    if (serviceLinkValue.test(value) || (setting === undefined && serviceLinkName.test(name))) {
      links.push(name)
      continue
    }
    if (setting === undefined) {
      const why = renamedNote(name) ?? `There is no setting ${name}.${suggestSetting(name, [...byVariable.keys()])}`
      notes.push(`ashlar: WARNING: ${why} The variable is ignored.`)
      continue
    }
    source[setting.field] = setting.read(setting.isRepeatable === true ? splitValues(value) : value, name)
  }
  if (links.length > 0) {
    notes.push(
      `ashlar: WARNING: ${links.sort().join(', ')}: ignored, since these variables describe a service, as Kubernetes sets them in pods. ` +
        'To avoid them, set enableServiceLinks: false in the pod. Settings can be given as options or in a file (--config).',
    )
  }
  return { source, notes }
}
