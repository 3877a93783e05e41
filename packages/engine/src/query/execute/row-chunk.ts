/** Chunks of rows that are already complete. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import { JsonWriter } from '../../bytes/json-writer.ts'
import type { RowChunk, RowChunks } from '../query-request.ts'

/** Precedes each row. */
export const newline = 0x0a

export class RowsAtHand implements RowChunks {
  readonly atHand: readonly RowChunk[]

  constructor(atHand: readonly RowChunk[]) {
    this.atHand = atHand
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RowChunk> {
    yield* this.atHand
  }
}

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

/** Releases `memory` once the chunks are consumed. */
export async function* chunksOf(chunks: readonly RowChunk[], memory?: RequestMemory): AsyncGenerator<RowChunk> {
  try {
    yield* chunks
  } finally {
    memory?.release()
  }
}
