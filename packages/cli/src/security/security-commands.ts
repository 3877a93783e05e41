/** Declares `ashlar user`, `token` and `role`, for a server and for its machine. The implementation is loaded when a command runs. */
import { type Command, Option } from 'commander'
import { addConnectionOptions, addOutputOptions, collect, firstSentence } from '../declaration/client-command.ts'
import type { SecurityCommandName } from './run-security-command.ts'

export function addUserCommand(program: Command): void {
  const users = program
    .command('user')
    .description('Manage users of a server with authentication (ashlar serve --auth).')
  add(users, 'add <name>', 'Add a user.', 'addUser')
    .option(
      '--role <role>',
      'role of the user: reader, or writer@orders,shop for some federated databases only (repeatable)',
      collect,
    )
    .option('--password-file <file>', passwordHelp)
    .addOption(
      new Option('--no-password', 'create a user who cannot sign in and only has tokens').conflicts('passwordFile'),
    )
  add(users, 'list', 'List the users.', 'listUsers')
  add(users, 'password <name>', 'Change the password of a user and end the sessions.', 'setPassword').option(
    '--password-file <file>',
    passwordHelp,
  )
  add(users, 'roles <name> [role...]', 'Replace the roles of a user.', 'setRoles')
  add(users, 'disable <name>', 'Disable a user and the tokens of the user.', 'disableUser')
  add(users, 'enable <name>', 'Enable a disabled user.', 'enableUser')
  add(users, 'remove <name>', 'Remove a user, with all tokens and sessions.', 'removeUser')
}

export function addTokenCommand(program: Command): void {
  const tokens = program
    .command('token')
    .description('Manage tokens of a server with authentication (ashlar serve --auth).')
  add(tokens, 'create', 'Create a token; it is shown only once.', 'createToken')
    .requiredOption('--name <name>', 'purpose of the token')
    .option('--owner <user>', 'user that owns the token; the token never allows more than the roles of its owner')
    .option(
      '--role <role>',
      'role of the token: reader, or writer@orders,shop (repeatable; default: the roles of the owner)',
      collect,
    )
    .option('--expires <when>', 'expiry, such as 90d, 12h or 2030-01-31T12:00:00Z (default: never)')
  add(tokens, 'list', 'List the tokens, without their secrets.', 'listTokens')
  const revoked = 'Revoke a token, given by its id or text. All servers reject it within a second.'
  add(tokens, 'revoke <id>', revoked, 'revokeToken')
}

export function addRoleCommand(program: Command): void {
  const roles = program
    .command('role')
    .description('Manage roles of a server with authentication (ashlar serve --auth).')
  add(roles, 'list', 'List the roles, including the built-in ones.', 'listRoles')
  add(roles, 'show <name>', 'Show a role and its grants, as JSON.', 'showRole')
  add(
    roles,
    'add <name> [action...]',
    'Add a role with actions (read, write, define, operate, administer) and grants on parts of federated databases.',
    'addRole',
  ).option('--grants-file <file>', grantsHelp)
  add(
    roles,
    'set <name> [action...]',
    'Change a role. Actions or grants that are not specified stay unchanged.',
    'setRole',
  )
    .option('--grants-file <file>', grantsHelp)
    .option('--no-actions', 'remove all its actions')
    .option('--no-grants', 'remove all its grants')
  add(roles, 'remove <name>', 'Remove a role that is not assigned to anybody.', 'removeRole')
}

const passwordHelp = 'file with the password, or - for standard input (default: a generated password, shown once)'
const grantsHelp = 'JSON file with grants, or - for standard input: an array, or a role as printed by role show'

/** `name`: the key of the implementation in `security/run-security-command.ts`. */
function add(parent: Command, usage: string, description: string, name: SecurityCommandName): Command {
  const command = parent.command(usage).summary(firstSentence(description)).description(description)
  addConnectionOptions(command, { isServerWide: true })
  addMachineOptions(command)
  addOutputOptions(command)
  return command.optionsGroup('Options:').action(async () => {
    const { runSecurityCommand } = await import('./run-security-command.ts')
    await runSecurityCommand(name, command.processedArgs, command.opts())
  })
}

function addMachineOptions(command: Command): void {
  const all: readonly (readonly [string, string])[] = [
    ['--data <dir>', 'data directory of the server'],
    ['--security-store <store>', 'security store of the server, if it is not in the data directory'],
    ['--config <file>', 'configuration file of the server'],
    ['--audit-log <file>', 'audit log of the server, in which changes are recorded'],
  ]
  for (const [flags, text] of all) command.addOption(new Option(flags, text).helpGroup(machineGroup))
}

export const machineGroup = 'On the machine of the server:'
