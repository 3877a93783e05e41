/** Batches of OIDs from access paths: as bytes, without a string or promise per OID. */
import { keySpace } from '../../bytes/key-space.ts'
import { readInt32 } from '../../bytes/read-number.ts'
import { readIndexOidsOf } from '../../indexes/lookup.ts'
import { linkHeaderBytes, targetOfKey } from '../../records/link-keys.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import { type Oid, oidFromBytes, oidLength, writeOidBytes } from '../../types/oid.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { MayQualify } from './entry-filter.ts'
import { OidSet } from './oid-set.ts'

/** OIDs per batch unless fewer are requested. */
export const oidsPerBatch = 4_096

export class OidBatch {
  count = 0
  readonly bytes: Buffer
  private readonly max: number

  constructor(max: number) {
    this.max = max
    this.bytes = Buffer.allocUnsafe(max * oidLength)
  }

  static of(oids: readonly Oid[]): OidBatch {
    const batch = new OidBatch(oids.length)
    for (const oid of oids) batch.addText(oid)
    return batch
  }

  get isFull(): boolean {
    return this.count === this.max
  }

  get room(): number {
    return this.max - this.count
  }

  addText(oid: Oid): void {
    writeOidBytes(oid, this.bytes, this.count++ * oidLength)
  }

  /** Returns false when the batch is full. */
  addFrom(from: Bytes, at: number): boolean {
    const { bytes } = this
    const to = this.count++ * oidLength
    for (let i = 0; i < oidLength; i++) bytes[to + i] = from[at + i] as number
    return this.count < this.max
  }

  oidAt(nth: number): Oid {
    return oidFromBytes(this.bytes, nth * oidLength)
  }

  /** As texts. */
  get oids(): Oid[] {
    return Array.from({ length: this.count }, (_, nth) => this.oidAt(nth))
  }

  highAt(nth: number): number {
    return readInt32(this.bytes, nth * oidLength)
  }

  lowAt(nth: number): number {
    return readInt32(this.bytes, nth * oidLength + oidLength / 2)
  }

  /** Retains the OIDs for which `test` is true, in order. */
  retain(test: (high: number, low: number) => boolean): void {
    const { count, bytes } = this
    this.count = 0
    for (let nth = 0; nth < count; nth++) {
      if (test(this.highAt(nth), this.lowAt(nth))) this.addFrom(bytes, nth * oidLength)
    }
  }

  dropFirst(count: number): void {
    this.bytes.copyWithin(0, count * oidLength, this.count * oidLength)
    this.count -= count
  }

  /** Writes the nth OID into the key of a record. */
  writeKey(nth: number, key: Buffer): void {
    const { bytes } = this
    const at = nth * oidLength
    key[0] = keySpace.object
    for (let i = 0; i < oidLength; i++) key[i + 1] = bytes[at + i] as number
  }
}

/** Each batch is valid until the next one is requested. */
export type OidBatches = AsyncGenerator<OidBatch>

/** Entries of an index or of links. */
export interface EntriesRange extends Required<KeyRange> {
  readonly isOneKey?: boolean
}

interface EntryReads {
  readonly isReverse?: boolean
  /** OIDs per batch. */
  readonly size?: number | undefined
  readonly mayQualify?: MayQualify | undefined
  /** The entries are links of a set, with the OID in the key. */
  readonly isInKey?: boolean
}

/** Keys looked up, or entries rejected by a filter, for one batch. */
const lookupsMax = 256
const rejectedMax = 1_024
const keysPerTrip = 256

/** The OIDs in entries of indexes or links, in the order of the ranges. A batch may be empty. `plan`: counts the entries. */
export async function* entryOids(
  rangeBatches: AsyncIterable<readonly EntriesRange[]> | Iterable<readonly EntriesRange[]>,
  reads: EntryReads,
  context: StatementContext,
  plan: ExplainNode | undefined,
): OidBatches {
  const { snapshot } = context
  if (snapshot.visit === undefined) {
    for await (const ranges of rangeBatches) yield* remoteOids(ranges, reads, context, plan)
    return
  }
  const { isReverse = false, size = oidsPerBatch, mayQualify, isInKey = false } = reads
  const batch = new OidBatch(size)
  let [lookups, rejected, counted] = [0, 0, 0]
  const take = (key: Bytes, value: Bytes): boolean => {
    counted++
    if (mayQualify?.(key) === false) return ++rejected < rejectedMax
    return isInKey ? batch.addFrom(key, linkHeaderBytes) : batch.addFrom(value, 0)
  }
  const takeValue = (value: Bytes): boolean => {
    counted++
    return batch.addFrom(value, 0)
  }
  const count = (): void => {
    if (plan !== undefined) plan.examined += counted
    lookups = 0
    rejected = 0
    counted = 0
  }
  for await (const ranges of rangeBatches) {
    for (const range of isReverse ? ranges.toReversed() : ranges) {
      let rest: KeyRange | undefined = range
      while (rest !== undefined) {
        if (range.isOneKey === true) {
          snapshot.view(range.from, takeValue)
          rest = undefined
        } else {
          const last = snapshot.visit(rest, isReverse, take, mayQualify === undefined ? batch.room : undefined)
          rest = last && restOf(rest, last, isReverse)
        }
        if (!batch.isFull && ++lookups < lookupsMax && rejected < rejectedMax) continue
        count()
        yield batch
        batch.count = 0
      }
    }
  }
  count()
  if (batch.count > 0) yield batch
}

async function* remoteOids(
  ranges: readonly EntriesRange[],
  { isReverse = false, size, mayQualify, isInKey }: EntryReads,
  context: StatementContext,
  plan: ExplainNode | undefined,
): OidBatches {
  async function* found(): AsyncGenerator<Oid[]> {
    if (ranges.every(({ isOneKey }) => isOneKey === true)) {
      for (let at = 0; at < ranges.length; at += keysPerTrip)
        yield await readIndexOidsOf(
          context.snapshot,
          ranges.slice(at, at + keysPerTrip).map(({ from }) => from),
        )
      return
    }
    const counted =
      mayQualify &&
      ((key: Bytes): boolean => {
        const isPossible = mayQualify(key)
        if (!isPossible && plan !== undefined) plan.examined++
        return isPossible
      })
    for (const range of isReverse ? ranges.toReversed() : ranges) {
      if (isInKey === true) yield* context.snapshot.scan(range, targetOfKey, size === undefined ? {} : { batch: size })
      else yield* context.entries(range, isReverse, size, counted)
    }
  }
  for await (const oids of found()) {
    if (plan !== undefined) plan.examined += oids.length
    await context.yieldIfDue()
    if (oids.length > 0) yield OidBatch.of(oids)
  }
}

/** Without duplicates; the memory is charged until the statement ends. */
export async function* distinctOids(batches: OidBatches, context: StatementContext): OidBatches {
  const seen = new OidSet()
  for await (const batch of batches) {
    const before = seen.count
    batch.retain((high, low) => seen.add(high, low))
    context.hold(0, (seen.count - before) * OidSet.bytesOfOne)
    yield batch
  }
}

const zero = Buffer.of(0)

/** The rest of a range after the entry with the key. */
export function restOf(range: KeyRange, last: Bytes, isReverse: boolean): KeyRange {
  return isReverse ? { ...range, to: last } : { ...range, from: Buffer.concat([last, zero]) }
}
