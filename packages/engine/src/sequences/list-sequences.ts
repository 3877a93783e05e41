/** Lists the sequences of a federated database with their next numbers, for replies and archives. */
import { decodeNextNumber, nextNumberKey } from '../catalog/next-number.ts'
import type { Catalog } from '../schema/catalog.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Awaitable, Bytes, ReadAnswer } from '../store/store.ts'

export interface ListedSequence {
  readonly name: string
  /** Decimal digits, as for the other numbers. */
  readonly start: string
  readonly step: string
  /** The next number to be drawn; null if the sequence is exhausted. */
  readonly next: string | null
}

/** Entries per read. */
const keyBatchSize = 1_000

/** In order of creation. `from`: the source of the entries. */
export async function listSequences(
  { state: { sequences } }: Catalog,
  from: { read(keys: readonly Bytes[]): Awaitable<ReadAnswer> },
): Promise<readonly ListedSequence[]> {
  const listed: ListedSequence[] = []
  for (let at = 0; at < sequences.length; at += keyBatchSize) {
    const part = sequences.slice(at, at + keyBatchSize)
    const { values } = await from.read(part.map(({ number }) => nextNumberKey(number)))
    for (const [i, { name, start, step }] of part.entries()) {
      const stored = values[i]
      if (stored === undefined) throw new ReadSkew(`sequence ${name} has no entry for its next number`)
      listed.push({ name, start, step, next: decodeNextNumber(stored)?.toString() ?? null })
    }
  }
  return listed
}

/** Uses JSON numbers, of which a client may lose digits beyond 2^53, as for 64-bit attributes. */
export function sequenceJson({ name, start, step, next }: ListedSequence): string {
  return `{"name":${JSON.stringify(name)},"start":${start},"step":${step},"next":${next}}`
}
