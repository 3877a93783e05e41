/** `ashlar shell`: a prompt for statements of DO. */
import { type Command, Option } from 'commander'
import { addClientCommand, collect } from './client-command.ts'

export function addShellCommand(program: Command): void {
  addClientCommand(
    program,
    'shell',
    'Run statements of DO as they are typed, with history, completion and help. From a pipe, run those of standard input up to the first that fails.',
    'runShell',
  )
    .option('-p, --param <name=value>', 'a parameter $name: name=text, or name:=JSON (repeatable)', collect)
    .addOption(
      new Option('--format <format>', 'how rows are printed; --json is the same as json').choices([
        'table',
        'json',
        'ndjson',
        'csv',
      ]),
    )
}
