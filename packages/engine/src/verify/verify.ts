/**
 * The consistency check of a whole federated database: every object has its index entries and its links' mirrors, and
 * every entry has its object. Reads only; memory stays flat whatever the size.
 */

import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import { type CatalogPart, catalogPartRange, numberOfCatalogKey } from '../catalog/catalog-keys.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes, Entry, Snapshot } from '../store/store.ts'
import { probeIndexEntry } from './index-probes.ts'
import { probeLinkEntry } from './link-probes.ts'
import { probeObject } from './object-probes.ts'
import type { Probe, VerifyContext } from './probe.ts'

export interface VerifyReport {
  /** Empty when all is well; the first 1,000 otherwise. */
  readonly problems: readonly string[]
  readonly objects: number
  readonly linkEntries: number
  readonly indexEntries: number
}

const problemsMax = 1_000
const batchEntries = 500

export interface VerifyOptions {
  /** Ends the check. */
  readonly signal?: AbortSignal
  /** Told how many entries have been looked at. */
  readonly onProgress?: (entries: number) => void
}

/** Throws the signal's reason. */
export async function verifyStore(
  snapshot: Snapshot,
  catalog: Catalog,
  { signal, onProgress }: VerifyOptions = {},
): Promise<VerifyReport> {
  const garbage = await numbersOf(snapshot, 'garbage')
  const linkGarbage = await numbersOf(snapshot, 'linkGarbage')
  const context: VerifyContext = { catalog, garbage, linkGarbage, problems: [] }
  let seen = 0
  const step = (entries: number): void => {
    signal?.throwIfAborted()
    seen += entries
    onProgress?.(seen)
  }
  return {
    objects: await probeSpace(snapshot, context, keySpace.object, probeObject, step),
    linkEntries: await probeSpace(snapshot, context, keySpace.link, probeLinkEntry, step),
    indexEntries: await probeSpace(snapshot, context, keySpace.index, probeIndexEntry, step),
    problems: context.problems,
  }
}

async function numbersOf(snapshot: Snapshot, part: CatalogPart): Promise<Set<number>> {
  const numbers = new Set<number>()
  for await (const batch of snapshot.scan(catalogPartRange(part), numberOfCatalogKey, { keysOnly: true })) {
    for (const number of batch) numbers.add(number)
  }
  return numbers
}

/** Gathers what each entry of the space asks of other keys, and reads those batch by batch. */
async function probeSpace(
  snapshot: Snapshot,
  context: VerifyContext,
  space: number,
  probe: (context: VerifyContext, key: Bytes, value: Bytes) => Probe[],
  step: (entries: number) => void,
): Promise<number> {
  let count = 0
  const range = { from: Buffer.from([space]), to: prefixEnd(Buffer.from([space])) }
  const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
  for await (const batch of snapshot.scan(range, copy, { batch: batchEntries })) {
    count += batch.length
    step(batch.length)
    const probes = batch.flatMap(({ key, value }) => probe(context, key, value))
    const { values } = await snapshot.read(probes.map(({ key }) => key))
    for (const [position, { verdict }] of probes.entries()) {
      const problem = verdict(values[position])
      if (problem !== undefined && context.problems.length < problemsMax) context.problems.push(problem)
    }
  }
  return count
}
