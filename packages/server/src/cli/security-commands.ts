/** `ashlar user`, `token` and `role`: declared once, for a server and for its machine. What they do is loaded once they run. */
import { type Command, Option } from 'commander'
import { addConnectionOptions, addOutputOptions, collect, firstSentence } from './client-command.ts'
import type { SecurityCommandName } from './security/run-security-command.ts'

export function addUserCommand(program: Command): void {
  const users = program.command('user').description('Users of a server with authentication (ashlar serve --auth).')
  add(users, 'add <name>', 'Add a user.', 'addUser')
    .option('--role <role>', 'a role: reader, or writer@orders,shop for some federated databases (repeatable)', collect)
    .option('--password-file <file>', passwordHelp)
    .option('--no-password', 'a user who has tokens and cannot sign in')
  add(users, 'list', 'List the users.', 'listUsers')
  add(users, 'password <name>', 'Give a user another password; sessions end.', 'setPassword').option(
    '--password-file <file>',
    passwordHelp,
  )
  add(users, 'roles <name> [role...]', 'Give a user these roles in place of others.', 'setRoles')
  add(users, 'disable <name>', 'Refuse a user and the tokens of the user.', 'disableUser')
  add(users, 'enable <name>', 'Let a user in again.', 'enableUser')
  add(users, 'remove <name>', 'Remove a user, with its tokens and sessions.', 'removeUser')
}

export function addTokenCommand(program: Command): void {
  const tokens = program.command('token').description('Tokens of a server with authentication (ashlar serve --auth).')
  add(tokens, 'create', 'Create a token; its text is shown once.', 'createToken')
    .requiredOption('--name <name>', 'what it is for')
    .option('--owner <user>', 'the user whose it is, beyond whose roles it allows nothing')
    .option(
      '--role <role>',
      'a role: reader, or writer@orders,shop (repeatable; without one, those of the owner)',
      collect,
    )
    .option('--expires <when>', 'as 90d, 12h, or 2030-01-31T12:00:00Z; without it, it does not expire')
  add(tokens, 'list', 'List the tokens, without their secrets.', 'listTokens')
  const revoked = 'Revoke a token, by its id or its text: servers refuse it within a second.'
  add(tokens, 'revoke <id>', revoked, 'revokeToken')
}

export function addRoleCommand(program: Command): void {
  const roles = program.command('role').description('Roles of a server with authentication (ashlar serve --auth).')
  add(roles, 'list', 'List the roles, with those that are built in.', 'listRoles')
  add(roles, 'show <name>', 'Show a role, with its grants as JSON.', 'showRole')
  add(
    roles,
    'add <name> [action...]',
    'Add a role: some of read, write, define, operate, administer, and grants on parts of federated databases.',
    'addRole',
  ).option('--grants-file <file>', grantsHelp)
  add(roles, 'set <name> [action...]', 'Change a role; actions or grants that are not given stay.', 'setRole')
    .option('--grants-file <file>', grantsHelp)
    .option('--no-actions', 'take its actions away')
    .option('--no-grants', 'take its grants away')
  add(roles, 'remove <name>', 'Remove a role that nobody has.', 'removeRole')
}

const passwordHelp = 'a file with the password, - for standard input; without one it is made and shown once'
const grantsHelp = 'a file with grants as JSON, - for standard input: an array, or a role as role show prints it'

/** `name`: of its work in `security/run-security-command.ts`. */
function add(parent: Command, usage: string, description: string, name: SecurityCommandName): Command {
  const command = parent.command(usage).summary(firstSentence(description)).description(description)
  addConnectionOptions(command, { isOfServer: true })
  addMachineOptions(command)
  addOutputOptions(command)
  return command.optionsGroup('Options:').action(async () => {
    const { runSecurityCommand } = await import('./security/run-security-command.ts')
    await runSecurityCommand(name, command.processedArgs, command.opts())
  })
}

/** As the server has them: its security database is found by them. */
function addMachineOptions(command: Command): void {
  const all: readonly (readonly [string, string])[] = [
    ['--data <dir>', 'data directory of the server'],
    ['--security-store <store>', 'store of users, tokens and roles, where the server has one of its own'],
    ['--config <file>', 'configuration file of the server'],
    ['--audit-log <file>', 'audit log of the server, to which changes add a line'],
  ]
  for (const [flags, text] of all) command.addOption(new Option(flags, text).helpGroup(machineGroup))
}

export const machineGroup = 'On the machine of the server:'
