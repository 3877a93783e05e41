/** OIDs from an access path of a synchronous store: as bytes in batches, without a promise or string per OID. */
import { keySpace } from '../../bytes/key-space.ts'
import { readInt32 } from '../../bytes/read-number.ts'
import type { KeyConditionRange } from '../../indexes/index-key.ts'
import type { Bytes, KeyRange, Snapshot } from '../../store/store.ts'
import { type Oid, oidFromBytes, oidLength, writeOidBytes } from '../../types/oid.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { MayQualify } from './entry-filter.ts'

export interface OidSource {
  /** Adds OIDs until the batch is full or many keys were looked up without result; returns false at the end. */
  next(batch: OidBatch): boolean
}

export class OidBatch {
  count = 0
  readonly bytes: Buffer
  private readonly max: number

  constructor(max: number) {
    this.max = max
    this.bytes = Buffer.allocUnsafe(max * oidLength)
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

  /** Adds the OID of an index entry; returns false when the batch is full. */
  addEntry(value: Bytes): boolean {
    return this.addFrom(value, 0)
  }

  /** Like `addEntry`, for an OID at any position. */
  addFrom(from: Bytes, at: number): boolean {
    const { bytes } = this
    const to = this.count++ * oidLength
    for (let i = 0; i < oidLength; i++) bytes[to + i] = from[at + i] as number
    return this.count < this.max
  }

  oidAt(nth: number): Oid {
    return oidFromBytes(this.bytes, nth * oidLength)
  }

  highAt(nth: number): number {
    return readInt32(this.bytes, nth * oidLength)
  }

  lowAt(nth: number): number {
    return readInt32(this.bytes, nth * oidLength + oidLength / 2)
  }

  /** Adds the nth OID of another batch; returns false when the batch is full. */
  addOf(other: OidBatch, nth: number): boolean {
    return this.addFrom(other.bytes, nth * oidLength)
  }

  /** Writes the nth OID into the key of a record. */
  writeKey(nth: number, key: Buffer): void {
    const { bytes } = this
    const at = nth * oidLength
    key[0] = keySpace.object
    for (let i = 0; i < oidLength; i++) key[i + 1] = bytes[at + i] as number
  }
}

/** The maximum number of missing keys looked up per batch. */
const lookupsMax = 256
/** The maximum number of entries rejected by a filter per batch. */
const rejectedMax = 1_024

export class IndexEntrySource implements OidSource {
  private readonly snapshot: Snapshot
  private readonly ranges: readonly KeyConditionRange[]
  private readonly isReverse: boolean
  private at = 0
  private rest: KeyRange | undefined

  private readonly mayQualify: MayQualify | undefined
  private readonly plan: ExplainNode | undefined

  /** In key order, or in reverse. `plan`: counts the entries. */
  constructor(
    snapshot: Snapshot,
    ranges: readonly KeyConditionRange[],
    isReverse: boolean,
    mayQualify: MayQualify | undefined,
    plan: ExplainNode | undefined,
  ) {
    this.snapshot = snapshot
    this.plan = plan
    this.mayQualify = mayQualify
    this.ranges = isReverse ? ranges.toReversed() : ranges
    this.isReverse = isReverse
  }

  next(batch: OidBatch): boolean {
    const { snapshot, ranges, isReverse, mayQualify } = this
    const before = batch.count
    let rejected = 0
    const take = (key: Bytes, value: Bytes): boolean => {
      if (mayQualify === undefined || mayQualify(key)) return batch.addEntry(value)
      return ++rejected < rejectedMax
    }
    for (let lookups = 0; lookups < lookupsMax && !batch.isFull && rejected < rejectedMax; lookups++) {
      const range = ranges[this.at]
      if (range === undefined) break
      if (range.isOneKey) {
        snapshot.view(range.from, (value) => batch.addEntry(value))
        this.at++
        continue
      }
      const from = this.rest ?? range
      const last = snapshot.visit?.(from, isReverse, take, mayQualify === undefined ? batch.room : undefined)
      this.rest = last && restOf(from, last, isReverse)
      if (last === undefined) this.at++
    }
    if (this.plan !== undefined) this.plan.examined += batch.count - before + rejected
    return this.at < ranges.length
  }
}

const zero = Buffer.of(0)

/** The rest of a range after the entry with the key. */
export function restOf(range: KeyRange, last: Bytes, isReverse: boolean): KeyRange {
  return isReverse ? { ...range, to: last } : { ...range, from: Buffer.concat([last, zero]) }
}

export class OidList implements OidSource {
  private readonly oids: readonly Oid[]
  private at = 0

  constructor(oids: readonly Oid[]) {
    this.oids = oids
  }

  next(batch: OidBatch): boolean {
    const { oids } = this
    while (this.at < oids.length && !batch.isFull) batch.addText(oids[this.at++] as Oid)
    return this.at < oids.length
  }
}
