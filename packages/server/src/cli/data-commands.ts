/** `ashlar import` and `ashlar export`: data of others into a federated database, and out of it. */
import { type Command, Option } from 'commander'
import { addClientCommand } from './client-command.ts'

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
