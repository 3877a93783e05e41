/** `ashlar schema`: the schema of a federated database as files of DO. */
import { type Command, Option } from 'commander'
import { addClientCommand, collect } from './client-command.ts'

const placeHelp = 'The files are one file, a folder of files that end in .do, or - for standard input.'

export function addSchemaCommand(program: Command): void {
  const schema = program.command('schema').description('The schema of a federated database as files of DO.')
  addClientCommand(
    schema,
    'pull [folder]',
    'Print the schema as a text of DO, or write it into a folder: a file a namespace, in place of the .do files there.',
    'pullSchema',
  )
  addClientCommand(
    schema,
    'diff <files>',
    `Show what of the schema differs from the files: - is in the database alone, + in the files. Exit code 8 where anything does. ${placeHelp}`,
    'diffSchema',
  )
  addPlanOptions(
    addClientCommand(
      schema,
      'plan <files>',
      `Show the steps that make the schema that of the files, and what would be lost (!). The server tries them out, and keeps nothing. ${placeHelp}`,
      'planSchema',
    ),
  )
  addPlanOptions(
    addClientCommand(
      schema,
      'apply <files>',
      `Make the schema that of the files, in one transaction, and note it in the log. ${placeHelp}`,
      'applySchema',
    ),
  )
    .option(
      '--stepwise',
      'each step by itself, beside the work of others, for changes that are more than one transaction can be; stopped, the same command goes on',
    )
    .option('--allow-loss', 'also where attributes, classes or values go')
    .option('-m, --message <text>', 'what the log says of it')
  addClientCommand(
    schema,
    'check <files>',
    `Tell by the exit code whether the schema is that of the files: 0, or 8. ${placeHelp}`,
    'checkSchema',
  )
  addClientCommand(
    schema,
    'log [version]',
    'List the versions that were applied, or print the schema as a version left it.',
    'showSchemaLog',
  )
  addClientCommand(
    schema,
    'diagram [files]',
    `Draw the schema of the database, or of the files. ${placeHelp}`,
    'drawSchema',
  ).addOption(new Option('--format <format>', 'of the drawing (default: mermaid)').choices(['mermaid', 'svg']))
}

function addPlanOptions(command: Command): Command {
  return command.option(
    '--rename <old=new>',
    'a class that has another name in the files, as Fleet.Car=Fleet.Vehicle, or an attribute, as Fleet.Vehicle.km=mileage (repeatable); else it is one that goes and one that comes',
    collect,
  )
}
