/** What the readers of files give. */
import type { AttributeDefinition } from '@ashlar/client'

/** An attribute without its name. */
export type Definition = Omit<AttributeDefinition, 'attributeName'>

export type Fields = Readonly<Record<string, unknown>>

export interface FileRecord {
  /** Where it stands: the line on which it ends; of a JSON array its number, from 1. */
  readonly line: number
  /** Undefined of what is no record. */
  readonly fields: Fields | undefined
  /** Then why. */
  readonly problem?: string
}

export interface OpenFile {
  readonly records: AsyncIterable<FileRecord>
  /** Bytes of the file that were read so far. */
  readonly bytesRead: () => number
  /** The columns in the order of the file, once records are read; undefined where they have none. */
  readonly header: () => readonly string[] | undefined
  /** Whether all values are texts, and what looks like a number is one. */
  readonly areTexts: boolean
  /** Of columns whose types the file tells. */
  readonly definitions: ReadonlyMap<string, Definition>
}

/** Of its own: a record of JSON has no `constructor` unless it is there. */
export function fieldOf(record: Fields, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
