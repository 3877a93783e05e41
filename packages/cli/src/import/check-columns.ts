/** Checks the columns of a file against the mapping and the class before anything is sent. */
import type { AttributeDefinition } from '@ashlar/client'
import { invalidInput, usageError } from '../errors/command-error.ts'
import { attributeNameOf } from './column-names.ts'
import type { FileRecord, OpenImportFile } from './file-record.ts'
import type { Mapping } from './mapping.ts'

/** JSON records may lack any of the columns. */
export function checkColumns({ columns }: Mapping, file: OpenImportFile, first: FileRecord | undefined): void {
  const there = columnsOf(file, first)
  if (there === undefined) return
  const named = [...columns].flatMap(([column, { reference }]) => [column, ...(reference?.columns?.values() ?? [])])
  const missing = named.find((column) => !there.includes(column) && columns.get(column)?.default === undefined)
  if (missing === undefined) return
  throw usageError(`The mapping names the column ${missing}; the file has ${there.join(', ')}.`)
}

/** Checks columns against an existing class, before the server refuses every record. `attributes` includes inherited ones. */
export function checkAttributes(
  className: string,
  attributes: readonly AttributeDefinition[],
  { columns }: Mapping,
  file: OpenImportFile,
  first: FileRecord | undefined,
): void {
  const names = new Set(attributes.map(({ attributeName }) => attributeName))
  const missing = columnsOf(file, first)?.flatMap((column) => {
    const own = columns.get(column)
    if (column.startsWith('__') || own?.attribute === null) return []
    const attribute = own?.attribute ?? attributeNameOf(column)
    const [first = ''] = (own?.attribute ?? column.trim()).split('.')
    // The server resolves attributes qualified by a class.
    return names.has(attribute) || names.has(first) || attribute.includes('::') ? [] : [{ column, attribute }]
  })
  const [one] = missing ?? []
  if (one === undefined) return
  const { column, attribute } = one
  const add = `add the attribute (UPDATE SCHEMA { ALTER CLASS ${className} {ADD ${attribute}: String} })`
  const skip = `skip the column by a --mapping: {"columns": {${JSON.stringify(column)}: null}}`
  throw invalidInput(`Class ${className} has no attribute ${attribute} for the column ${column}: ${add}, or ${skip}.`)
}

/** Returns the columns in the order of the file, if all records have them. */
function columnsOf(
  { areTexts, definitions, header }: OpenImportFile,
  first: FileRecord | undefined,
): readonly string[] | undefined {
  if (first === undefined || (!areTexts && definitions.size === 0)) return undefined
  return header()
}
