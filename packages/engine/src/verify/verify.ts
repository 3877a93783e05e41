/**
 * Checks the consistency of a whole federated database: every object has its index entries and the inverse entries of its
 * links, every entry has its object, and no entry is damaged. Reads only, in bounded memory.
 */

import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { type CatalogPart, catalogPartRange, numberOfCatalogKey } from '../catalog/catalog-keys.ts'
import type { AshlarError } from '../errors.ts'
import { receiptRange } from '../receipts/receipt-entry.ts'
import { type CheckSource, noChecks } from '../records/constraints.ts'
import { PartSizes } from '../records/part-sizes.ts'
import { isLongRecord } from '../records/record-format.ts'
import type { Catalog } from '../schema/catalog.ts'
import { DamagedEntry } from '../store/damaged-entry.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Bytes, Entry, KeyRange, Snapshot } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { problemsOfCountedLinks } from './counted-links.ts'
import { probeIndexEntry } from './index-probes.ts'
import { probeLinkEntry } from './link-probes.ts'
import { probeObject } from './object-probes.ts'
import type { Probe, Verdict, VerifyContext } from './probe.ts'
import { damaged, ProbeReader } from './read-probes.ts'
import { probeReceipt } from './receipt-probes.ts'
import { probeDefinition, probeNextNumber } from './sequence-probes.ts'

export interface VerifyReport {
  /** Empty if the store is consistent; at most the first 1,000. */
  readonly problems: readonly string[]
  readonly objects: number
  readonly linkEntries: number
  readonly indexEntries: number
}

const problemsMax = 1_000
const batchEntries = 500

export interface VerifyOptions {
  /** Aborts the check. */
  readonly signal?: CancelSignal
  /** Called with the number of entries read. */
  readonly onProgress?: (entries: number) => void
  /** Evaluates the checks of classes; if missing, they are skipped. */
  readonly checks?: CheckSource
}

/** Throws the signal's reason. */
export async function verifyStore(
  snapshot: Snapshot,
  catalog: Catalog,
  { signal, onProgress, checks = noChecks }: VerifyOptions = {},
): Promise<VerifyReport> {
  const problems: string[] = []
  const droppedIndexes = await numbersOf(snapshot, 'droppedIndexes', problems)
  const droppedLinkAttributes = await numbersOf(snapshot, 'droppedLinkAttributes', problems)
  // The catalog of writers, which determines how links are stored.
  const context: VerifyContext = {
    catalog: catalog.writers?.() ?? catalog,
    checks,
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
  const before = await probeRange(snapshot, context, { to: Buffer.from([keySpace.object]) }, probeDefinition, step)
  const objects = await probeRange(snapshot, context, spaceRange(keySpace.object), probeObject, step)
  const linkEntries = await probeRange(snapshot, context, spaceRange(keySpace.link), probeLinkEntry, step)
  const indexEntries = await probeRange(snapshot, context, spaceRange(keySpace.index), probeIndexEntry, step)
  const receipts = await probeRange(snapshot, context, receiptRange, probeReceipt, step)
  const sequenceRange = spaceRange(keySpace.sequence)
  const log = await probeRange(snapshot, context, { from: receiptRange.to, to: sequenceRange.from }, none, step)
  const sequences = await probeRange(snapshot, context, sequenceRange, probeNextNumber, step)
  const after = await probeRange(snapshot, context, { from: sequenceRange.to }, none, step)
  const counted = snapshot.entryCount
  const found = before + objects + linkEntries + indexEntries + receipts + log + sequences + after
  // Links of a damaged store are not counted, as some may be missing.
  if (problems.length === 0) {
    for (const problem of await problemsOfCountedLinks(snapshot, context.catalog, checks, signal))
      tell(context, problem)
  }
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

type ProbeEntry = (context: VerifyContext, key: Bytes, value: Bytes) => Probe[]

/** Collects the probes of each entry in the range and reads them in batches. Returns the number of entries. */
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
    // The first entry after the previous range is encountered twice.
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
        byEntry.push(probesOf(context, probe, entry))
        const pause = isLongRecord(entry.value) ? slice.yieldIfDue() : undefined
        if (pause !== undefined) await pause
      }
      const probes = byEntry.flat()
      const values = await reader.read(byEntry)
      sizes.note(recordsIn(values), part.length)
      for (const [position, value] of values.entries()) {
        if (value === damaged) continue
        const problem = verdictOf(probes[position]!, value)
        if (problem !== undefined) tell(context, problem)
        const pause = value !== undefined && isLongRecord(value) ? slice.yieldIfDue() : undefined
        if (pause !== undefined) await pause
      }
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
  return count
}

/** Without duplicates, however many probes read them. */
function recordsIn(values: readonly (Bytes | undefined | typeof damaged)[]): Set<Bytes> {
  return new Set(values.filter((value) => value instanceof Uint8Array))
}

function tell(context: VerifyContext, problem: string): void {
  if (context.problems.length < problemsMax) context.problems.push(problem)
}

/** An entry that cannot be decoded is a problem; the check continues. */
function probesOf(context: VerifyContext, probe: ProbeEntry, { key, value }: Entry): Probe[] {
  try {
    return probe(context, key, value)
  } catch (error) {
    tell(context, notUnderstood(key, error))
    return []
  }
}

function verdictOf(probe: Probe, value: Bytes | undefined): Verdict {
  try {
    return probe.evaluate(value)
  } catch (error) {
    return notUnderstood(probe.key, error)
  }
}

function notUnderstood(key: Bytes, error: unknown): string {
  const why = error instanceof ReadSkew ? error.contradiction : String(error)
  return `the entry under key ${Buffer.from(key).toString('hex')} cannot be understood: ${why}`
}
