/** What the readers of files give. */
import type { AttributeDefinition } from '@ashlar/client'

/** An attribute without its name. */
export type Definition = Omit<AttributeDefinition, 'attributeName'>

export type Fields = Readonly<Record<string, unknown>>

export interface FileRecord {
  /** The line on which the record ends; in a JSON array its number, from 1. */
  readonly line: number
  /** Undefined if the record could not be read. */
  readonly fields: Fields | undefined
  /** Then why. */
  readonly problem?: string
}

export interface OpenFile {
  readonly records: AsyncIterable<FileRecord>
  /** In bytes; undefined if unknown. */
  readonly size: number | undefined
  /** Bytes of the file that were read so far. */
  readonly bytesRead: () => number
  /** The columns in the order of the file, after the first record was read; undefined for records without columns. */
  readonly header: () => readonly string[] | undefined
  /** Whether all values are texts, and what looks like a number is one. */
  readonly areTexts: boolean
  /** The types that the file declares for columns. */
  readonly definitions: ReadonlyMap<string, Definition>
}

export interface PeekedFile extends OpenFile {
  /** Undefined if the file has no records. */
  readonly first: FileRecord | undefined
}

/** Reads the first record, after which the columns are known. The iteration still begins with it. */
export async function begun(file: OpenFile): Promise<PeekedFile> {
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
