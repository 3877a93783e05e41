/** `ashlar import` and `ashlar export`: data of others into a federated database, and out of it. */
import { type Command, Option } from 'commander'
import { addClientCommand } from './client-command.ts'

export function addDataCommands(program: Command): void {
  addClientCommand(
    program,
    'import <file>',
    'Load records of a file into a class: CSV, TSV, JSON, NDJSON or Parquet, maybe compressed; - reads standard input. A class that is not there is made of what the first records look like.',
    'importFile',
  )
    .requiredOption('--class <name>', 'the class of the objects')
    .addOption(
      new Option('--format <format>', 'of the file; by default its name tells').choices([
        'csv',
        'tsv',
        'json',
        'ndjson',
        'parquet',
      ]),
    )
    .option('--columns <names>', 'the columns of CSV and TSV without a header, with commas between them')
    .option(
      '--delimiter <character>',
      "what separates the values of a line, as ';' or tab (default: a comma, in TSV a tab)",
    )
    .option('--mapping <file>', 'which column is which attribute, as JSON (docs/import.md)')
    .option('--upsert-on <index>', 'a unique index: objects that have the key already are changed')
    .option('--rejects <file>', 'leave out the records that are refused, and write them to this file, with the reasons')
    .option('--skip <records>', 'leave out so many records at the beginning: to go on where an import was ended')
    .option('--dry-run', 'show the class and the first objects; nothing is made')
  addClientCommand(
    program,
    'export [class]',
    'Write the objects of a class, or the rows of a query: as NDJSON or CSV; without either the whole federated database as an archive. As one snapshot has them.',
    'exportData',
  )
    .option('--query <statements>', 'the rows of a query instead of a class')
    .addOption(
      new Option('--format <format>', 'by default ndjson, or archive for all').choices(['ndjson', 'csv', 'archive']),
    )
    .option('--columns <names>', 'of CSV: attributes with commas between them; dots lead into embedded objects')
    .option(
      '--escape-formulas',
      'of CSV for spreadsheets: an apostrophe before texts that they would take for a formula',
    )
    .option('--after <oid>', 'only objects behind this OID: to go on where an export broke off')
}
