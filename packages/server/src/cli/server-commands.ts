/** `ashlar status`, `fd`, `index` and `tool`: commands about a server that runs. */
import type { Command } from 'commander'
import { addClientCommand } from './client-command.ts'

export function addServerCommands(program: Command): void {
  addClientCommand(
    program,
    'status',
    'Show whether the server answers, what it serves, and what it is at.',
    'showStatus',
    {
      isOfServer: true,
    },
  )
  const fds = program.command('fd').description('The federated databases of a server.')
  addClientCommand(fds, 'list', 'List the federated databases.', 'listFds', { isOfServer: true })
  addClientCommand(fds, 'show [alias]', 'Show one: its store, counts and readers.', 'showFd')
}

export function addIndexCommand(program: Command): void {
  const indexes = program.command('index').description('The indexes of a federated database.')
  addClientCommand(indexes, 'list', 'List the indexes.', 'listIndexes')
  addClientCommand(
    indexes,
    'create <name> <class> <attribute...>',
    'Create an index, beside writes, and wait for its build. Ended by Ctrl-C, the build goes on.',
    'createIndex',
  )
    .option('--unique', 'no two objects have the same values')
    .option('--background', 'do not wait for the build')
  addClientCommand(indexes, 'drop <name>', 'Drop an index.', 'dropIndex')
}

export function addToolCommand(program: Command): void {
  const tools = program.command('tool').description('The administrative tools of a server.')
  addClientCommand(tools, 'list', 'List the tools and their flags.', 'listTools', { isOfServer: true })
  addClientCommand(tools, 'run <tool> [flag...]', 'Run a tool; a flag is name=value.', 'runTool')
}
