/** `ashlar role`: roles of a server with authentication, beside those that are built in. */
import type { Command } from 'commander'
import {
  addStoreOptions,
  onSecurityStore,
  type SecurityPlace,
  type StoreOptions,
  shown,
  table,
} from './security-store.ts'

export function addRoleCommand(program: Command): void {
  const roles = program.command('role').description('Roles of a server with authentication (ashlar serve --auth).')
  addStoreOptions(roles.command('list').description('List the roles, with those that are built in.')).action(
    (options: StoreOptions) => onSecurityStore(options, (place) => list(place, options)),
  )
  addStoreOptions(
    roles
      .command('add <name> <action...>')
      .description('Add a role: a name for some of read, write, define, operate, administer.'),
  ).action((name: string, actions: string[], options: StoreOptions) =>
    onSecurityStore(options, async (place) => {
      const role = await (await open(place, true)).finally((commands) => commands.addRole(name, actions))
      return shown(options, role, () => `Role ${name} is added: ${role.actions.join(', ')}.`)
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
  const rows = roles.map(({ name, actions, isBuiltIn }) => [name, actions.join(' '), isBuiltIn ? 'built in' : ''])
  return shown(options, roles, () => table(['NAME', 'ACTIONS', ''], rows))
}
