/** Rows that are made one by one, as chunks. */
import { JsonWriter } from '../../bytes/json-writer.ts'
import type { RowChunk } from '../query-request.ts'

/** What stands before each row. */
export const newline = 0x0a

export function rowBy(write: (json: JsonWriter) => void): RowChunk {
  const json = new JsonWriter()
  json.byte(newline)
  write(json)
  return { bytes: json.to.copy(), starts: [1] }
}

export function jsonRow(value: unknown): RowChunk {
  return textRow(JSON.stringify(value))
}

export function textRow(text: string): RowChunk {
  return { bytes: Buffer.from(`\n${text}`), starts: [1] }
}
