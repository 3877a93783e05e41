/** `ashlar get`, `create`, `update`, `delete` and `query`: objects of a federated database. */
import { type Command, Option } from 'commander'
import { addClientCommand, collect } from './client-command.ts'

const attributesHelp =
  'Attributes are given as name=text or name:=JSON, or all at once as a JSON object: quoted, @file, or - for standard input.'

export function addObjectCommands(program: Command): void {
  addClientCommand(
    program,
    'get <oid...>',
    'Show objects, all from one snapshot. - reads OIDs from standard input. With --json, one OID prints an object; several OIDs or - print an array.',
    'getObjects',
  )
  addClientCommand(
    program,
    'create <class> [attributes...]',
    `Create an object and print its OID. ${attributesHelp} A JSON array creates several objects atomically.`,
    'createObjects',
  )
  addClientCommand(
    program,
    'update <oid> <attributes...>',
    `Update attributes of an object, leaving the others unchanged. ${attributesHelp}`,
    'updateObject',
  ).option('--if-match <etag>', 'only if the object still has this entity tag')
  addClientCommand(
    program,
    'delete <oid...>',
    'Delete objects atomically. - reads OIDs from standard input.',
    'deleteObjects',
  ).option('--if-match <etag>', 'only if the object still has this entity tag')
}

export function addQueryCommand(program: Command): void {
  addClientCommand(
    program,
    'query [statements]',
    'Run a query (statements of the query language DO), and stream the rows of the last statement. Without statements, or with -, reads them from standard input.',
    'runQuery',
  )
    .option('-f, --file <file>', 'read the query from a file')
    .option('-p, --param <name=value>', 'value of the parameter $name: name=text or name:=JSON (repeatable)', collect)
    .addOption(
      new Option('--format <format>', 'output format of rows; --json is short for json').choices([
        'table',
        'json',
        'ndjson',
        'csv',
      ]),
    )
    .option('--explain', 'show the query plans without running them')
    .option('--analyze', 'run the query, roll back its changes, and show the plans with row counts and times')
}
