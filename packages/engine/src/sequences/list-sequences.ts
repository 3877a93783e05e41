/** The sequences of a federated database, each with its next number, as replies and archives show them. */
import { decodeNextNumber, nextNumberKey } from '../catalog/next-number.ts'
import type { Catalog } from '../schema/catalog.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Awaitable, Bytes, ReadAnswer } from '../store/store.ts'

export interface ListedSequence {
  readonly name: string
  /** Decimal digits, as of the others. */
  readonly start: string
  readonly step: string
  /** What would be given next; null where the sequence has given its last number. */
  readonly next: string | null
}

/** Entries that are read together. */
const keysAtOnce = 1_000

/** In the order in which they were made. `from`: what the entries are read from. */
export async function listSequences(
  { state: { sequences } }: Catalog,
  from: { read(keys: readonly Bytes[]): Awaitable<ReadAnswer> },
): Promise<readonly ListedSequence[]> {
  const listed: ListedSequence[] = []
  for (let at = 0; at < sequences.length; at += keysAtOnce) {
    const part = sequences.slice(at, at + keysAtOnce)
    const { values } = await from.read(part.map(({ number }) => nextNumberKey(number)))
    for (const [i, { name, start, step }] of part.entries()) {
      const stored = values[i]
      if (stored === undefined) throw new ReadSkew(`sequence ${name} has no entry for its next number`)
      listed.push({ name, start, step, next: decodeNextNumber(stored)?.toString() ?? null })
    }
  }
  return listed
}

/** With JSON numbers, of which a client may lose digits beyond 2^53, as of attributes of 64 bits. */
export function sequenceJson({ name, start, step, next }: ListedSequence): string {
  return `{"name":${JSON.stringify(name)},"start":${start},"step":${step},"next":${next}}`
}
