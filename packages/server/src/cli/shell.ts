/** `ashlar shell`: a prompt for statements of DO. */
import { type Command, Option } from 'commander'
import { addClientCommand, collect } from './client-command.ts'

export function addShellCommand(program: Command): void {
  addClientCommand(
    program,
    'shell',
    'Start an interactive shell for queries, with history, completion and help. If standard input is a pipe, run its statements and stop at the first error.',
    'runShell',
  )
    .option('-p, --param <name=value>', 'value of the parameter $name: name=text or name:=JSON (repeatable)', collect)
    .addOption(
      new Option('--format <format>', 'output format of rows; --json is short for json').choices([
        'table',
        'json',
        'ndjson',
        'csv',
      ]),
    )
}
