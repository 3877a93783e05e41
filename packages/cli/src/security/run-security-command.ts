/** Runs commands on users, tokens and roles, through a server or on its machine. */

import { type Config, clientVariables } from '@ashlar/server/shared'
import type { ConnectionOptions } from '../connection/connection.ts'
import { usageError } from '../errors/command-error.ts'
import { defined } from '../output/defined.ts'
import { printCommandError } from '../output/failure.ts'
import type { OutputOptions } from '../output/output.ts'
import { runCommand } from '../output/run-command.ts'
import { readConfig } from '../serve/read-config.ts'
import { inChild } from '../stores/in-child.ts'
import * as roles from './roles.ts'
import type { SecurityContext } from './security-work.ts'
import * as tokens from './tokens.ts'
import * as users from './users.ts'

const commands: Readonly<Record<SecurityCommandName, unknown>> = { ...roles, ...tokens, ...users }

export type SecurityCommandName = keyof typeof roles | keyof typeof tokens | keyof typeof users

/** Commands that may create the security database. */
const makers: readonly SecurityCommandName[] = ['addUser', 'addRole']

/** The options that `addMachineOptions` declares. */
interface MachineOptions {
  readonly data?: string
  readonly securityStore?: string
  readonly config?: string
  readonly auditLog?: string
}

type Options = ConnectionOptions & OutputOptions & MachineOptions

/** `words`: the operands. Sets the exit code of the process; throws only on an internal error. */
export async function runSecurityCommand(name: SecurityCommandName, words: unknown[], options: Options): Promise<void> {
  const work = commands[name] as (context: SecurityContext, words: unknown[], options: object) => Promise<void>
  try {
    if (isByServer(options, process.env)) return await byServer(options, (context) => work(context, words, options))
    const config = await configOf(options)
    await inChild('security', [config.securityStore], () =>
      runCommand({ ...options, isPrivate: true }, async ({ output }) => {
        const { onMachine } = await import('./on-machine.ts')
        const opened = { mayMake: makers.includes(name), note: (message: string) => output.note(`ashlar: ${message}`) }
        await onMachine(config, opened, (security) => work({ security, output }, words, options))
      }),
    )
  } catch (error) {
    printCommandError(error, { isJson: options.json === true })
  }
}

/** Options take precedence over the environment. */
function isByServer({ url, profile, ...options }: Options, environment: NodeJS.ProcessEnv): boolean {
  const machine = (['data', 'securityStore', 'config', 'auditLog'] as const).filter(
    (name) => options[name] !== undefined,
  )
  const named = (['token', 'tokenFile', 'user', 'ca'] as const).filter((name) => options[name] !== undefined)
  const isServer = url !== undefined || profile !== undefined || named.length > 0
  if (isServer && machine.length > 0) {
    const flags = { data: '--data', securityStore: '--security-store', config: '--config', auditLog: '--audit-log' }
    const list = machine.map((name) => flags[name]).join(', ')
    throw usageError(`Give either the server (--url, --profile) or what it has on this machine (${list}), not both.`)
  }
  const isSet = (variable: string): boolean => (environment[variable] ?? '') !== ''
  return isServer || (machine.length === 0 && (isSet(clientVariables.url) || isSet(clientVariables.profile)))
}

async function byServer(options: Options, work: (context: SecurityContext) => Promise<void>): Promise<void> {
  const { connect } = await import('../connection/connection.ts')
  await runCommand({ ...options, isPrivate: true }, async ({ output, signal }) => {
    const { url, token, tokenFile, user, ca, profile } = options
    const { client } = connect(defined({ url, token, tokenFile, user, ca, profile }), process.env, signal)
    await work({ security: client.security, output })
  })
}

async function configOf({ data, securityStore, auditLog, config }: MachineOptions): Promise<Config> {
  try {
    return (await readConfig(defined({ data, securityStore, auditLog, config }))).config
  } catch (error) {
    throw usageError((error as Error).message)
  }
}
