/** `ashlar get`, `create`, `update`, `delete` and `query`: objects of a federated database. */
import { type Command, Option } from 'commander'
import { addClientCommand, collect } from './client-command.ts'

const attributesHelp =
  'Attributes are name=text or name:=JSON, or a JSON object as a whole: a word in quotes, @file, or - for standard input.'

export function addObjectCommands(program: Command): void {
  addClientCommand(
    program,
    'get <oid...>',
    'Show objects, of one point in time. With --json one OID gives an object, several or - an array. - reads OIDs from standard input.',
    'getObjects',
  )
  addClientCommand(
    program,
    'create <class> [attributes...]',
    `Create an object and print its OID. ${attributesHelp} A JSON array of objects creates all of them, or none.`,
    'createObjects',
  )
  addClientCommand(
    program,
    'update <oid> <attributes...>',
    `Change attributes of an object; the others stay. ${attributesHelp}`,
    'updateObject',
  ).option('--if-match <etag>', 'only if the object still has this entity tag')
  addClientCommand(
    program,
    'delete <oid...>',
    'Delete objects: all of them, or none. - reads OIDs from standard input.',
    'deleteObjects',
  ).option('--if-match <etag>', 'only if the object still has this entity tag')
}

export function addQueryCommand(program: Command): void {
  addClientCommand(
    program,
    'query [statements]',
    'Run statements of DO, and print the rows of the last one as they arrive. Without statements, or by -, they are read from standard input.',
    'runQuery',
  )
    .option('-f, --file <file>', 'read the statements from a file')
    .option('-p, --param <name=value>', 'a parameter $name: name=text, or name:=JSON (repeatable)', collect)
    .addOption(
      new Option('--format <format>', 'how rows are printed; --json is the same as json').choices([
        'table',
        'json',
        'ndjson',
        'csv',
      ]),
    )
    .option('--explain', 'show the plans; run nothing')
    .option('--analyze', 'run the statements, undo what they change, and show the plans with what they touched')
}
