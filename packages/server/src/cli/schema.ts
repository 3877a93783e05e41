/** `ashlar schema`: the schema of a federated database as files of DO. */
import { type Command, Option } from 'commander'
import { addClientCommand, collect } from './client-command.ts'

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
