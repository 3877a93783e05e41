/** `ashlar user`: users of a server with authentication, on its machine itself. */
import type { Command } from 'commander'
import {
  addStoreOptions,
  collect,
  onSecurityStore,
  type SecurityPlace,
  type StoreOptions,
  shown,
  table,
} from './security-store.ts'

interface UserOptions extends StoreOptions {
  readonly role?: readonly string[]
  /** False: none. */
  readonly password?: boolean
  readonly passwordFile?: string
}

const roleHelp = 'a role: reader, or writer@orders,shop for some federated databases (repeatable)'
const fileHelp = 'a file with the password, - for standard input; without one it is made and shown once'

export function addUserCommand(program: Command): void {
  const users = program.command('user').description('Users of a server with authentication (ashlar serve --auth).')
  addStoreOptions(users.command('add <name>').description('Add a user.'))
    .option('--role <role>', roleHelp, collect)
    .option('--password-file <file>', fileHelp)
    .option('--no-password', 'a user who has tokens and cannot sign in')
    .action((name: string, options: UserOptions) => onSecurityStore(options, (place) => add(place, name, options)))
  addStoreOptions(users.command('list').description('List the users.')).action((options: StoreOptions) =>
    onSecurityStore(options, (place) => list(place, options)),
  )
  addStoreOptions(users.command('password <name>').description('Give a user another password; sessions end.'))
    .option('--password-file <file>', fileHelp)
    .action((name: string, options: UserOptions) => onSecurityStore(options, (place) => password(place, name, options)))
  addStoreOptions(
    users.command('roles <name> [role...]').description('Give a user these roles in place of others.'),
  ).action((name: string, roles: string[], options: StoreOptions) =>
    onSecurityStore(options, async (place) => {
      const user = await (await open(place)).finally((commands) => commands.setRoles(name, roles))
      return shown(options, user, () => `User ${name}: ${rolesText(user.roles)}.`)
    }),
  )
  for (const [word, isDisabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    const description = isDisabled ? 'Refuse a user and the tokens of the user.' : 'Let a user in again.'
    addStoreOptions(users.command(`${word} <name>`).description(description)).action(
      (name: string, options: StoreOptions) =>
        onSecurityStore(options, async (place) => {
          const user = await (await open(place)).finally((commands) => commands.setDisabled(name, isDisabled))
          return shown(options, user, () => `User ${name} is ${word}d.`)
        }),
    )
  }
  addStoreOptions(users.command('remove <name>').description('Remove a user, with its tokens and sessions.')).action(
    (name: string, options: StoreOptions) =>
      onSecurityStore(options, async (place) => {
        await (await open(place)).finally((commands) => commands.removeUser(name))
        return shown(options, { name }, () => `User ${name} is removed.`)
      }),
  )
}

async function open(place: SecurityPlace, mayMake = false) {
  return (await import('./security-commands.ts')).securityCommands(place, mayMake)
}

async function add(place: SecurityPlace, name: string, options: UserOptions): Promise<string> {
  const { role = [], password: hasPassword, passwordFile } = options
  const file = hasPassword === false ? false : passwordFile
  const added = await (await open(place, true)).finally((commands) => commands.addUser(name, role, file))
  return shown(options, { ...added.user, ...told(added.password) }, () =>
    [`User ${name} is added: ${rolesText(added.user.roles)}.`, ...passwordText(added.password)].join('\n'),
  )
}

async function password(place: SecurityPlace, name: string, options: UserOptions): Promise<string> {
  const changed = await (await open(place)).finally((commands) => commands.setPassword(name, options.passwordFile))
  return shown(options, { ...changed.user, ...told(changed.password) }, () =>
    [`User ${name} has another password; the sessions of the user have ended.`, ...passwordText(changed.password)].join(
      '\n',
    ),
  )
}

async function list(place: SecurityPlace, options: StoreOptions): Promise<string> {
  const users = await (await open(place)).finally((commands) => commands.listUsers())
  const rows = users.map(({ name, roles, isDisabled, hasPassword, createdAt }) => {
    const notes = [...(isDisabled ? ['disabled'] : []), ...(hasPassword ? [] : ['no password'])]
    return [name, roles.join(' '), notes.join(', '), createdAt]
  })
  return shown(options, users, () =>
    rows.length === 0 ? 'No users.' : table(['NAME', 'ROLES', 'NOTES', 'CREATED'], rows),
  )
}

function told(made: string | undefined): { readonly password?: string } {
  return made === undefined ? {} : { password: made }
}

function passwordText(made: string | undefined): string[] {
  return made === undefined ? [] : [`The password, which is shown this once: ${made}`]
}

function rolesText(roles: readonly string[]): string {
  return roles.length === 0 ? 'no roles' : `roles ${roles.join(' ')}`
}
