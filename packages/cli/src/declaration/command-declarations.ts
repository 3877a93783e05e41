/** Declares the commands that talk to a server. Their implementations are loaded by `client-commands.ts` when one of them runs. */

import { type Command, Option } from 'commander'
import { addClientCommand, collect } from './client-command.ts'

const attributesHelp =
  'Attributes are written as name=text or name:=JSON, or all at once as a JSON object: quoted, @file, or - for standard input.'

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
  const command = addClientCommand(
    program,
    'query [statements]',
    'Run a query (statements of the query language DO), and stream the rows of the last statement. Without statements, or with -, reads them from standard input.',
    'runQuery',
  ).option('-f, --file <file>', 'read the query from a file')
  addRowOptions(command)
    .option('--explain', 'show the query plans without running them')
    .option('--analyze', 'run the query, roll back its changes, and show the plans with row counts and times')
}

export function addShellCommand(program: Command): void {
  addRowOptions(
    addClientCommand(
      program,
      'shell',
      'Start an interactive shell for queries, with history, completion and help. If standard input is a pipe, run its statements and stop at the first error.',
      'runShell',
    ),
  )
}

function addRowOptions(command: Command): Command {
  const format = new Option('--format <format>', 'output format of rows; --json is short for json')
  return command
    .option('-p, --param <name=value>', 'value of the parameter $name: name=text or name:=JSON (repeatable)', collect)
    .addOption(format.choices(['table', 'json', 'ndjson', 'csv']))
}

export function addDataCommands(program: Command): void {
  addClientCommand(
    program,
    'import <file>',
    'Import a CSV, TSV, JSON, NDJSON or Parquet file, optionally compressed, into a class. - reads standard input. If the class does not exist, it is created with types that hold all records.',
    'importFile',
  )
    .requiredOption('--class <name>', 'class of the imported objects')
    .addOption(
      new Option('--format <format>', 'format of the file (default: by its name)').choices([
        'csv',
        'tsv',
        'json',
        'ndjson',
        'parquet',
      ]),
    )
    .option('--columns <names>', 'column names of CSV or TSV without a header, separated by commas')
    .option('--delimiter <character>', "field delimiter, such as ';' or tab (default: a comma; in TSV a tab)")
    .option('--null <text>', String.raw`text that stands for null in CSV and TSV, such as \N (default: an empty cell)`)
    .option('--mapping <file>', 'JSON file that maps columns to attributes (docs/import.md)')
    .option('--upsert-on <index>', 'a unique index: update objects whose key exists already')
    .option('--rejects <file>', 'skip invalid records, and write them to this file with the reasons')
    .option('--skip <records>', 'skip this many records at the beginning, to resume an interrupted import')
    .option('--dry-run', 'show the class and the first objects without changing anything')
  addClientCommand(
    program,
    'export [class]',
    'Export the objects of a class or the rows of a query as NDJSON or CSV, or the whole federated database as an archive. An export is one consistent snapshot.',
    'exportData',
  )
    .option('--query <statements>', 'export the rows of a query instead of a class')
    .addOption(
      new Option('--format <format>', 'output format (default: ndjson; archive for a whole database)').choices([
        'ndjson',
        'csv',
        'archive',
      ]),
    )
    .option('--columns <names>', 'columns of CSV: attributes separated by commas; dots lead into embedded objects')
    .option(
      '--escape-formulas',
      'in CSV for spreadsheets, put an apostrophe before texts that would be taken for a formula',
    )
    .option('--after <oid>', 'only objects after this OID, to resume an interrupted export')
}

export function addChangesCommand(program: Command): void {
  addClientCommand(
    program,
    'changes',
    'Show the change feed (change data capture), one change per line, and the position to continue from.',
    'listChanges',
  )
    .option(
      '--since <position>',
      'start after this position; first: at the oldest change kept; now: at future changes',
      'first',
    )
    .option('--class <name>', 'only objects of this class and its subclasses')
    .option('--attributes <names>', 'only these attributes of the class, separated by commas')
    .option('--where <predicate>', 'only objects that match this DO predicate before or after the change')
    .option('--keys', 'omit values: show only OIDs and attribute names')
    .option('--follow', 'keep waiting for new changes, until Ctrl-C')
}

export function addWebhookCommand(program: Command): void {
  const hooks = program.command('webhook').description('Manage webhooks and their deliveries.')
  addClientCommand(hooks, 'list', 'List the webhooks and the state of their deliveries.', 'listWebhooks')
  addClientCommand(
    hooks,
    'resume <name>',
    'Re-enable a disabled webhook, or retry failed deliveries now.',
    'resumeWebhook',
  )
  addClientCommand(
    hooks,
    'dead-letters <name>',
    'List the dead letters of a webhook: deliveries that were abandoned.',
    'listDeadLetters',
  )
  addClientCommand(hooks, 'show <name> <number>', 'Show the content of a dead letter.', 'showDeadLetter')
  addClientCommand(hooks, 'redeliver <name> <number>', 'Send a dead letter again now.', 'redeliverDeadLetter')
  addClientCommand(hooks, 'drop <name> <number>', 'Delete a dead letter.', 'dropDeadLetter')
}

const placeHelp = '<files> is a file, a folder of .do files, or - for standard input.'

export function addSchemaCommand(program: Command): void {
  const schema = program.command('schema').description('Manage the schema as files in the query language DO.')
  addScope(
    addClientCommand(
      schema,
      'pull [folder]',
      'Print the schema in DO, or write it to a folder, one file per namespace, replacing the .do files there.',
      'pullSchema',
    ),
  )
  addScope(
    addClientCommand(
      schema,
      'diff <files>',
      `Compare the schema with files: - marks what is only in the database, + what is only in the files. Exit code 8 if they differ. ${placeHelp}`,
      'diffSchema',
    ),
  )
  addPlanOptions(
    addClientCommand(
      schema,
      'plan <files>',
      `Show the steps that would change the schema to match the files, what would be lost (!), and what cannot be done (x). The server runs them and rolls back. ${placeHelp}`,
      'planSchema',
    ),
  )
  addPlanOptions(
    addClientCommand(
      schema,
      'apply <files>',
      `Change the schema to match the files, in one transaction, and record the new version in the schema log. ${placeHelp}`,
      'applySchema',
    ),
  )
    .option(
      '--stepwise',
      'run each step as an online change of its own, for changes too large for one transaction; if interrupted, run the same command again to resume',
    )
    .option('--allow-loss', 'allow steps that lose attributes, classes or values')
    .option('-m, --message <text>', 'message for the schema log')
  addScope(
    addClientCommand(
      schema,
      'check <files>',
      `Check whether the schema matches the files: exit code 0 if so, 8 if not. ${placeHelp}`,
      'checkSchema',
    ),
  )
  addClientCommand(
    schema,
    'log [version]',
    'List the applied schema versions, or print the schema of one version.',
    'showSchemaLog',
  )
  addClientCommand(
    schema,
    'diagram [files]',
    `Draw a diagram of the schema of the database, or of files. ${placeHelp}`,
    'drawSchema',
  ).addOption(new Option('--format <format>', 'diagram format (default: mermaid)').choices(['mermaid', 'svg']))
}

export function addTypesCommand(program: Command): void {
  addClientCommand(
    program,
    'types [files]',
    `Write the classes as TypeScript declarations for the typed interface of @ashlar/client: those of a server, of a store (--data), or of schema files. ${placeHelp}`,
    'writeTypes',
  )
    .option('--data <store>', 'read the classes from a store, lmdb:<dir> or postgres://<host>/<database>')
    .option('--dates', 'instants are Date, for clients with the option dates')
    .option('--bigint', "integers of 64 bits are number | bigint, for clients with the option integers: 'bigint'")
    .option('--check <file>', 'write nothing: exit code 0 if the file has these declarations, 8 if not')
}

function addPlanOptions(command: Command): Command {
  return addScope(command).option(
    '--rename <old=new>',
    'a class or attribute that the files rename, such as Fleet.Car=Fleet.Vehicle or Fleet.Vehicle.km=mileage (repeatable); otherwise the old one is deleted and a new one created',
    collect,
  )
}

function addScope(command: Command): Command {
  return command.option(
    '--namespace <name>',
    'only the classes of this namespace and their indexes (repeatable; Default: classes without a namespace); all others stay as they are',
    collect,
  )
}

export function addServerCommands(program: Command): void {
  addClientCommand(
    program,
    'status',
    'Show whether the server is ready, its federated databases, and running statements.',
    'showStatus',
    {
      isServerWide: true,
    },
  )
  const fds = program.command('fd').description('Show the federated databases of a server.')
  addClientCommand(fds, 'list', 'List the federated databases.', 'listFds', { isServerWide: true })
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
  addClientCommand(tools, 'list', 'List the tools and their flags.', 'listTools', { isServerWide: true })
  addClientCommand(tools, 'run <tool> [flag...]', 'Run a tool. Flags are written as name=value.', 'runTool')
}

export function addBenchCommand(program: Command): void {
  addClientCommand(
    program,
    'bench',
    'Benchmark your own server for some seconds with reads and writes of small objects, and print throughput and latencies. ' +
      'The objects belong to a class of their own, which is removed at the end, even after Ctrl-C.',
    'runBench',
  )
    .option('--seconds <number>', 'duration, up to 600 (default: 10)')
    .option('--connections <number>', 'concurrent requests, up to 256 (default: 16)')
    .option(
      '--reads <percent>',
      'percentage of reads; the rest alternates between creating and updating objects (default: 90)',
    )
}
