/**
 * The consistency check of a whole federated database: every object has its index entries and its links' inverse entries, and
 * every entry has its object, and no entry is damaged. Reads only; memory stays flat whatever the size.
 */

import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { type CatalogPart, catalogPartRange, numberOfCatalogKey } from '../catalog/catalog-keys.ts'
import type { AshlarError } from '../errors.ts'
import { receiptRange } from '../receipts/receipt-entry.ts'
import { PartSizes } from '../records/part-sizes.ts'
import type { Catalog } from '../schema/catalog.ts'
import { DamagedEntry } from '../store/damaged-entry.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Bytes, Entry, KeyRange, Snapshot } from '../store/store.ts'
import { inTurns, openTimeSlice, type TimeSlice } from '../store/time-slice.ts'
import type { Pieces } from '../types/logical-type.ts'
import { probeIndexEntry } from './index-probes.ts'
import { probeLinkEntry } from './link-probes.ts'
import { probeObject } from './object-probes.ts'
import type { Probe, Verdict, VerifyContext } from './probe.ts'
import { damaged, ProbeReader } from './read-probes.ts'
import { probeReceipt } from './receipt-probes.ts'

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
  readonly signal?: CancelSignal
  /** Told how many entries have been looked at. */
  readonly onProgress?: (entries: number) => void
}

/** Throws the signal's reason. */
export async function verifyStore(
  snapshot: Snapshot,
  catalog: Catalog,
  { signal, onProgress }: VerifyOptions = {},
): Promise<VerifyReport> {
  const problems: string[] = []
  const droppedIndexes = await numbersOf(snapshot, 'droppedIndexes', problems)
  const droppedLinkAttributes = await numbersOf(snapshot, 'droppedLinkAttributes', problems)
  // By which links are kept.
  const context: VerifyContext = {
    catalog: catalog.writers?.() ?? catalog,
    droppedIndexes,
    droppedLinkAttributes,
    problems,
  }
  let seen = 0
  const step = (entries: number): void => {
    signal?.throwIfAborted()
    seen += entries
    onProgress?.(seen)
  }
  const none = (): Probe[] => []
  const before = await probeRange(snapshot, context, { to: Buffer.from([keySpace.object]) }, none, step)
  const objects = await probeRange(snapshot, context, spaceRange(keySpace.object), probeObject, step)
  const linkEntries = await probeRange(snapshot, context, spaceRange(keySpace.link), probeLinkEntry, step)
  const indexEntries = await probeRange(snapshot, context, spaceRange(keySpace.index), probeIndexEntry, step)
  const receipts = await probeRange(snapshot, context, receiptRange, probeReceipt, step)
  const after = await probeRange(snapshot, context, { from: receiptRange.to }, none, step)
  const counted = snapshot.entryCount
  const found = before + objects + linkEntries + indexEntries + receipts + after
  if (counted !== undefined && counted !== found)
    tell(context, `a scan finds ${found} entries, and the store counts ${counted}: a damaged page hides some`)
  return { objects, linkEntries, indexEntries, problems }
}

async function numbersOf(snapshot: Snapshot, part: CatalogPart, problems: string[]): Promise<Set<number>> {
  const numbers = new Set<number>()
  const onDamage = (error: AshlarError): number => problems.push(error.message)
  const options = { keysOnly: true, onDamage }
  for await (const batch of snapshot.scan(catalogPartRange(part), numberOfCatalogKey, options)) {
    for (const number of batch) numbers.add(number)
  }
  return numbers
}

function spaceRange(space: number): { from: Buffer; to: Buffer } {
  const from = Buffer.from([space])
  return { from, to: prefixEnd(from) }
}

type ProbeEntry = (context: VerifyContext, key: Bytes, value: Bytes) => Probe[] | Pieces<Probe[]>

/** Gathers what each entry of the range asks of other keys, and reads those batch by batch. Returns how many there are. */
async function probeRange(
  snapshot: Snapshot,
  context: VerifyContext,
  range: KeyRange,
  probe: ProbeEntry,
  step: (entries: number) => void,
): Promise<number> {
  let count = 0
  const reader = new ProbeReader(snapshot)
  const sizes = new PartSizes(batchEntries)
  const slice = openTimeSlice()
  const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
  const onDamage = (error: AshlarError): void => {
    // The first behind the range before is met twice.
    if (context.problems.includes(error.message)) return
    if (error instanceof DamagedEntry) count++
    tell(context, error.message)
  }
  for await (const batch of snapshot.scan(range, copy, { batch: batchEntries, onDamage })) {
    count += batch.length
    step(batch.length)
    for (const part of sizes.parts(batch)) {
      const byEntry: Probe[][] = []
      for (const entry of part) {
        byEntry.push(await probesOf(context, probe, entry, slice))
      }
      const probes = byEntry.flat()
      const values = await reader.read(byEntry)
      sizes.note(recordsIn(values), part.length)
      for (const [position, value] of values.entries()) {
        if (value === damaged) continue
        const problem = await verdictOf(probes[position]!, value, slice)
        if (problem !== undefined) tell(context, problem)
      }
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
  return count
}

/** Each once, however many have asked for it. */
function recordsIn(values: readonly (Bytes | undefined | typeof damaged)[]): Set<Bytes> {
  return new Set(values.filter((value) => value instanceof Uint8Array))
}

function tell(context: VerifyContext, problem: string): void {
  if (context.problems.length < problemsMax) context.problems.push(problem)
}

/** Bytes that cannot be understood are a problem of their entry, and no reason to stop. */
async function probesOf(
  context: VerifyContext,
  probe: ProbeEntry,
  { key, value }: Entry,
  slice: TimeSlice,
): Promise<Probe[]> {
  try {
    const probes = probe(context, key, value)
    return isInPieces(probes) ? await inTurns(probes, slice) : probes
  } catch (error) {
    tell(context, notUnderstood(key, error))
    return []
  }
}

async function verdictOf(probe: Probe, value: Bytes | undefined, slice: TimeSlice): Promise<Verdict> {
  try {
    const verdict = probe.evaluate(value)
    return isInPieces(verdict) ? await inTurns(verdict, slice) : verdict
  } catch (error) {
    return notUnderstood(probe.key, error)
  }
}

function isInPieces<T extends Probe[] | Verdict>(made: T | Pieces<T>): made is Pieces<T> {
  return typeof made === 'object' && !Array.isArray(made)
}

function notUnderstood(key: Bytes, error: unknown): string {
  const why = error instanceof ReadSkew ? error.contradiction : String(error)
  return `the entry under key ${Buffer.from(key).toString('hex')} cannot be understood: ${why}`
}
