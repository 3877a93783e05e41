/** The interface of file readers. */
import type { AttributeDefinition } from '@ashlar/client'

export type Definition = Omit<AttributeDefinition, 'attributeName'>

export type Fields = Readonly<Record<string, unknown>>

export interface FileRecord {
  /** The line on which the record ends; in a JSON array, its number, starting at 1. */
  readonly line: number
  /** Undefined if the record could not be read. */
  readonly fields: Fields | undefined
  /** The reason, if `fields` is undefined. */
  readonly problem?: string
}

export interface OpenImportFile {
  readonly records: AsyncIterable<FileRecord>
  /** In bytes; undefined if unknown. */
  readonly size: number | undefined
  readonly bytesRead: () => number
  /** Returns the columns in the order of the file, after the first record was read; undefined for records without columns. */
  readonly header: () => readonly string[] | undefined
  /** Whether all values are texts, which may represent numbers. */
  readonly areTexts: boolean
  /** The types that the file declares for columns. */
  readonly definitions: ReadonlyMap<string, Definition>
}

export interface PeekedFile extends OpenImportFile {
  /** Undefined if the file has no records. */
  readonly first: FileRecord | undefined
}

/** Reads the first record, after which the columns are known. The iteration includes it. */
export async function peek(file: OpenImportFile): Promise<PeekedFile> {
  const iterator = file.records[Symbol.asyncIterator]()
  const next = await iterator.next()
  const records = async function* (): AsyncGenerator<FileRecord> {
    try {
      for (let one = next; one.done !== true; one = await iterator.next()) yield one.value
    } finally {
      await iterator.return?.()
    }
  }
  return { ...file, first: next.done === true ? undefined : next.value, records: records() }
}

/** Reads an own field: a record has no `constructor` unless the file has it. */
export function fieldOf(record: Fields, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
