/** `ashlar status`, `fd`, `index` and `tool`: commands about a server that runs. */
import type { Command } from 'commander'
import { addClientCommand } from './client-command.ts'

export function addServerCommands(program: Command): void {
  addClientCommand(
    program,
    'status',
    'Show whether the server is ready, its federated databases, and running statements.',
    'showStatus',
    {
      isOfServer: true,
    },
  )
  const fds = program.command('fd').description('Show the federated databases of a server.')
  addClientCommand(fds, 'list', 'List the federated databases.', 'listFds', { isOfServer: true })
  addClientCommand(fds, 'show [alias]', 'Show the store, counts and readers of one federated database.', 'showFd')
}

export function addIndexCommand(program: Command): void {
  const indexes = program.command('index').description('Manage indexes.')
  addClientCommand(indexes, 'list', 'List the indexes.', 'listIndexes')
  addClientCommand(
    indexes,
    'create <name> <class> <attribute...>',
    'Create an index online, without blocking writes, and wait for the build. After Ctrl-C the build continues on the server.',
    'createIndex',
  )
    .option('--unique', 'create a unique index')
    .option('--background', 'do not wait for the build')
  addClientCommand(indexes, 'drop <name>', 'Drop an index.', 'dropIndex')
}

export function addToolCommand(program: Command): void {
  const tools = program.command('tool').description('Run the administrative tools of a server.')
  addClientCommand(tools, 'list', 'List the tools and their flags.', 'listTools', { isOfServer: true })
  addClientCommand(tools, 'run <tool> [flag...]', 'Run a tool. Flags are given as name=value.', 'runTool')
}
