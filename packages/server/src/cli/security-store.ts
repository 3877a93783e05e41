/** What the commands on users, tokens and roles have in common: where the security database is, and how a result is shown. */
import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { configFromEnvironment } from '../config/config-environment.ts'
import { mergeConfig } from '../config/merge-config.ts'
import { inChild } from './in-child.ts'

export interface StoreOptions {
  readonly data?: string
  readonly securityStore?: string
  readonly config?: string
  readonly auditLog?: string
  readonly json?: boolean
}

/** As the server has them: the commands find its security database by them. */
export function addStoreOptions(command: Command): Command {
  return command
    .option('--data <dir>', 'data directory of the server')
    .option('--security-store <store>', 'store of users, tokens and roles, where the server has one of its own')
    .option('--config <file>', 'configuration file of the server')
    .option('--audit-log <file>', 'audit log of the server, to which changes add a line')
    .option('--json', 'print JSON')
}

/** Where the users, tokens and roles of the server are, and what it keeps of changes to them. */
export type SecurityPlace = Pick<
  Config,
  'federatedDatabases' | 'securityStore' | 'auditLog' | 'auditOnFailure' | 'limits'
>

/** `run` is given what the configuration says; what it resolves with is printed. */
export async function onSecurityStore(
  options: StoreOptions,
  run: (place: SecurityPlace) => Promise<string>,
): Promise<void> {
  const config = await configOf(options)
  const { securityStore } = config
  const guarded = { work: 'security', addresses: [securityStore], lostExitCode: 1 } as const
  await inChild(guarded, async () => {
    process.stdout.write(await run(config))
  })
}

async function configOf({ data, securityStore, auditLog, config: named }: StoreOptions): Promise<Config> {
  const given = {
    ...(data !== undefined && { data }),
    ...(securityStore !== undefined && { securityStore }),
    ...(auditLog !== undefined && { auditLog }),
  }
  const environment = configFromEnvironment(process.env)
  const configFile = named ?? environment.config
  const file =
    configFile === undefined ? undefined : (await import('../config/config-file.ts')).readConfigFile(configFile)
  return mergeConfig([given, environment, file?.source ?? {}])
}

/** JSON where that is asked for, else the words for people. */
export function shown({ json }: StoreOptions, value: unknown, words: () => string): string {
  return json === true ? `${JSON.stringify(value, null, 2)}\n` : `${words()}\n`
}

/** Columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  return all.map(line).join('\n')
}

export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}
