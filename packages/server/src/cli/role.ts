/** `ashlar role`: roles of a server with authentication, beside those that are built in. */
import type { Command } from 'commander'
import type { RoleRecord } from '../security/own-roles.ts'
import type { CheckedRole } from './security-commands.ts'
import {
  addStoreOptions,
  onSecurityStore,
  type SecurityPlace,
  type StoreOptions,
  shown,
  table,
} from './security-store.ts'

interface RoleOptions extends StoreOptions {
  readonly grantsFile?: string
  /** False: none. */
  readonly actions?: boolean
  readonly grants?: boolean
}

const fileHelp = 'a file with grants as JSON, - for standard input: an array, or a role as role show prints it'

export function addRoleCommand(program: Command): void {
  const roles = program.command('role').description('Roles of a server with authentication (ashlar serve --auth).')
  addStoreOptions(roles.command('list').description('List the roles, with those that are built in.')).action(
    (options: StoreOptions) => onSecurityStore(options, (place) => list(place, options)),
  )
  addStoreOptions(roles.command('show <name>').description('Show a role, with its grants as JSON.')).action(
    (name: string, options: StoreOptions) => onSecurityStore(options, (place) => show(place, name, options)),
  )
  addStoreOptions(
    roles
      .command('add <name> [action...]')
      .description(
        'Add a role: some of read, write, define, operate, administer, and grants on parts of federated databases.',
      ),
  )
    .option('--grants-file <file>', fileHelp)
    .action((name: string, actions: string[], options: RoleOptions) =>
      onSecurityStore(options, async (place) => {
        const wanted = { actions, grantsFile: options.grantsFile }
        const role = await (await open(place, true)).finally((commands) => commands.addRole(name, wanted))
        return shown(options, role, () => [`Role ${name} is added: ${wordsOf(role)}.`, ...problemsOf(role)].join('\n'))
      }),
    )
  addStoreOptions(
    roles.command('set <name> [action...]').description('Change a role; actions or grants that are not given stay.'),
  )
    .option('--grants-file <file>', fileHelp)
    .option('--no-actions', 'take its actions away')
    .option('--no-grants', 'take its grants away')
    .action((name: string, actions: string[], options: RoleOptions) =>
      onSecurityStore(options, async (place) => {
        const wanted = {
          actions: actions.length > 0 || options.actions === false ? actions : undefined,
          grantsFile: options.grantsFile ?? (options.grants === false ? options.grants : undefined),
        }
        const role = await (await open(place)).finally((commands) => commands.setRole(name, wanted))
        return shown(options, role, () => [`Role ${name}: ${wordsOf(role)}.`, ...problemsOf(role)].join('\n'))
      }),
    )
  addStoreOptions(roles.command('remove <name>').description('Remove a role that nobody has.')).action(
    (name: string, options: StoreOptions) =>
      onSecurityStore(options, async (place) => {
        await (await open(place)).finally((commands) => commands.removeRole(name))
        return shown(options, { name }, () => `Role ${name} is removed.`)
      }),
  )
}

async function open(place: SecurityPlace, mayMake = false) {
  return (await import('./security-commands.ts')).securityCommands(place, mayMake)
}

async function list(place: SecurityPlace, options: StoreOptions): Promise<string> {
  const roles = await (await open(place)).finally((commands) => commands.listRoles())
  const rows = roles.map((role) => [role.name, role.actions.join(' '), String(role.grants.length), kindOf(role)])
  return shown(options, roles, () => table(['NAME', 'ACTIONS', 'GRANTS', ''], rows))
}

async function show(place: SecurityPlace, name: string, options: StoreOptions): Promise<string> {
  const role = await (await open(place)).finally((commands) => commands.findRole(name))
  const words = (): string =>
    [`Role ${name}: ${wordsOf(role)}.`, JSON.stringify(role.grants, null, 2), ...problemsOf(role)].join('\n')
  return shown(options, role, words)
}

function problemsOf({ problems }: CheckedRole): string[] {
  if (problems.length === 0) return []
  const lines = problems.map(({ fdAlias, grant, field, message }) => {
    return `- Grant ${grant}, ${field}${fdAlias === null ? '' : ` in ${fdAlias}`}: ${message}`
  })
  return ['What does not agree with the classes that there are, and so allows or hides nothing:', ...lines]
}

function kindOf({ isBuiltIn }: RoleRecord): string {
  return isBuiltIn ? 'built in' : ''
}

function wordsOf({ actions, grants }: RoleRecord): string {
  const granted = grants.length === 0 ? [] : [grants.length === 1 ? '1 grant' : `${grants.length} grants`]
  return [...actions, ...granted].join(', ')
}
