/** Rows of a CSV file, gzipped or not, one at a time. */
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { parse } from 'csv-parse'

export interface CsvRow {
  readonly place: string
  readonly fields: readonly string[]
}

/** `from`: the first row wanted, 1 = the first line. Quoted fields, UTF-8; rows may differ in length. */
export async function* readCsv(file: string, from = 1): AsyncGenerator<CsvRow> {
  const parser = parse({ relax_column_count: true, relax_quotes: true, skip_empty_lines: true, from })
  const source = createReadStream(file)
  // An error of any stage reaches the reader through the parser, which `pipeline` destroys with it.
  const ignore = (): void => undefined
  if (file.endsWith('.gz')) pipeline(source, createGunzip(), parser, ignore)
  else pipeline(source, parser, ignore)
  let line = from
  for await (const fields of parser as AsyncIterable<string[]>) {
    // The apostrophes of the OpenFlights files are escaped twice over.
    yield { place: `${basename(file)}, row ${line++}`, fields: fields.map((field) => field.replace(/\\+'/g, "'")) }
  }
}
