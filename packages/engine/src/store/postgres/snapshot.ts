/** A snapshot of a store on PostgreSQL: one transaction that only reads, begun with the first read. */
import type { PoolClient, QueryArrayConfig } from 'pg'
import { MomentPassed } from '../moment-passed.ts'
import type { Bytes, Entry, KeyRange, RangeRead, ReadAnswer, ScanOptions, Snapshot, SnapshotOptions } from '../store.ts'
import type { Connections } from './connections.ts'
import { failureOf, thrownFor } from './failures.ts'
import { type GroupReads, severalKeys, valuesFrom } from './group-reads.ts'
import { placementOf, type Segment, segmentsOf } from './placement.ts'

const batchEntriesDefault = 1_000
/** The first page of a scan is small: many look at the first entries only. */
const firstPageEntries = 256
const attemptsMax = 5
const nothing = Buffer.alloc(0)

type Row = readonly Buffer[]
type Query = QueryArrayConfig<unknown[]>

export class PostgresSnapshot implements Snapshot {
  readonly openedAtMs = performance.now()
  private readonly connections: Connections
  private readonly reads: GroupReads
  private readonly options: SnapshotOptions
  private readonly ended: (snapshot: PostgresSnapshot) => void
  private client: Promise<PoolClient> | undefined
  /** Something was read: from then on the moment is fixed, and a lost connection cannot be replaced by another. */
  private isPinned = false
  private isReleased = false

  /** What the first keys held, by key, read without a transaction. */
  private readonly early = new Map<string, Bytes | undefined>()
  private earlyRead: Promise<void> | undefined
  private isEarlyChecked = false

  constructor(
    connections: Connections,
    reads: GroupReads,
    options: SnapshotOptions,
    ended: (snapshot: PostgresSnapshot) => void,
  ) {
    this.connections = connections
    this.reads = reads
    this.options = options
    this.ended = ended
    for (const key of options.first ?? []) this.early.set(textOf(key), undefined)
  }

  async view<T>(key: Bytes, use: (value: Bytes) => T): Promise<T | undefined> {
    if (this.isEarly(key)) {
      const value = await this.earlyValue(key)
      return value === undefined ? undefined : use(value)
    }
    const [row] = await this.run(this.oneKey(key))
    return row === undefined ? undefined : use(row[0] as Buffer)
  }

  async read(keys: readonly Bytes[], ranges: readonly RangeRead[] = []): Promise<ReadAnswer> {
    if (ranges.length === 0 && keys.every((key) => this.isEarly(key))) {
      const values = await Promise.all(keys.map((key) => this.earlyValue(key)))
      return { values: values.map((value) => value && Buffer.from(value)), ranges: [] }
    }
    const [values, entries] = await Promise.all([
      this.readKeys(keys),
      Promise.all(ranges.map((range) => this.readRange(range))),
    ])
    return { values, ranges: entries }
  }

  async *scan<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions = {},
  ): AsyncGenerator<T[]> {
    const { batch, reverse = false, keysOnly = false, limit = Number.POSITIVE_INFINITY } = options
    let left = limit
    let size = Math.min(batch ?? firstPageEntries, left)
    let results: T[] = []
    for (const segment of inOrder(segmentsOf(range), reverse)) {
      let rest: Segment | undefined = segment
      while (rest !== undefined && left > 0) {
        const wanted = size - results.length
        const rows: readonly Row[] = await this.run(this.page(rest, reverse, wanted, keysOnly))
        for (const [key, value] of rows) results.push(use(key as Buffer, keysOnly ? nothing : (value as Buffer)))
        left -= rows.length
        rest = rows.length < wanted ? undefined : segmentBeyond(rest, rows.at(-1)?.[0] as Buffer, reverse)
        if (results.length < size) continue
        yield results
        results = []
        size = Math.min(batch ?? batchEntriesDefault, left)
        this.checkOpen()
      }
    }
    if (results.length > 0) yield results
  }

  release(): void {
    if (this.isReleased) return
    this.isReleased = true
    this.ended(this)
    // Reads under way are answered first: what is sent on one connection is answered in order.
    this.client?.then(endTransaction, () => undefined)
  }

  private checkOpen(): void {
    if (this.isReleased) throw new Error('The snapshot is released and cannot be read any more.')
  }

  /** Once a transaction has begun without them, the first keys are read within it like all others. */
  private isEarly(key: Bytes): boolean {
    return this.early.has(textOf(key)) && (this.earlyRead !== undefined || this.client === undefined)
  }

  private async earlyValue(key: Bytes): Promise<Bytes | undefined> {
    this.checkOpen()
    this.earlyRead ??= this.readEarly()
    await this.earlyRead
    return this.early.get(textOf(key))
  }

  private async readEarly(): Promise<void> {
    const keys = this.options.first ?? []
    const values = await this.reads.read(keys)
    for (const [i, key] of keys.entries()) this.early.set(textOf(key), values[i])
  }

  /** The transaction shows the moment of what was read before it only if that is still the same. */
  private async checkEarly(client: PoolClient): Promise<void> {
    if (this.earlyRead === undefined || this.isEarlyChecked) return
    const keys = this.options.first ?? []
    const [{ rows }] = await Promise.all([client.query<unknown[]>(this.several(keys)), this.earlyRead])
    const isSame = (value: Bytes | undefined, i: number): boolean =>
      isEqual(value, this.early.get(textOf(keys[i] as Bytes)))
    if (!valuesFrom(keys.length, rows).every(isSame)) throw new MomentPassed()
    this.isEarlyChecked = true
  }

  private async run(query: Query): Promise<readonly Row[]> {
    this.checkOpen()
    for (let attempt = 1; ; attempt++) {
      const begun = this.begun()
      try {
        const client = await begun
        const [, { rows }] = await Promise.all([this.checkEarly(client), client.query<unknown[]>(query)])
        this.isPinned = true
        return rows as unknown as Row[]
      } catch (error) {
        if (error instanceof MomentPassed) throw error
        const isWorthAnother =
          !this.isPinned && !this.isReleased && attempt < attemptsMax && failureOf(error) === 'lost'
        if (!isWorthAnother) throw thrownFor(this.connections.address.location, error)
        if (this.client === begun) this.client = undefined
        begun.then((client) => client.release(true)).catch(() => undefined)
      }
    }
  }

  /** The connection, with the transaction begun on it: both are sent at once with the first read. */
  private begun(): Promise<PoolClient> {
    this.client ??= this.connections.reader(this.options.isNested === true).then((client) => {
      // When this fails, so does the read behind it.
      client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY').catch(() => undefined)
      return client
    })
    return this.client
  }

  private async readKeys(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    if (keys.length === 0) return []
    if (keys.length === 1) return [(await this.run(this.oneKey(keys[0] as Bytes)))[0]?.[0]]
    return valuesFrom(keys.length, await this.run(this.several(keys)))
  }

  private async readRange({ reverse = false, limit, ...range }: RangeRead): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    for (const segment of inOrder(segmentsOf(range), reverse)) {
      const left = limit === undefined ? undefined : limit - entries.length
      if (left !== undefined && left <= 0) break
      for (const [key, value] of await this.run(this.page(segment, reverse, left, false))) {
        entries.push({ key: key as Buffer, value: value as Buffer })
      }
    }
    return entries
  }

  private several(keys: readonly Bytes[]): Query {
    return severalKeys(this.connections.address.schema, keys)
  }

  private oneKey(key: Bytes): Query {
    return {
      name: 'key',
      rowMode: 'array',
      text: `SELECT value FROM ${this.connections.address.schema}.kv WHERE placement = $1 AND key = $2`,
      values: [placementOf(key), key],
    }
  }

  private page(segment: Segment, isReverse: boolean, limit: number | undefined, keysOnly: boolean): Query {
    const { firstPlacement, lastPlacement, from, to } = segment
    const isOne = firstPlacement === lastPlacement
    const placement = isOne ? 'placement = $1 AND $1 = $2' : '(placement, key) >= ($1, $3) AND placement <= $2'
    const order = isReverse ? 'DESC' : 'ASC'
    return {
      name: `page${isOne ? ' of one' : ''}${to === undefined ? ' to the end' : ''}${keysOnly ? ' keys' : ''} ${order}`,
      rowMode: 'array',
      text: `SELECT key${keysOnly ? '' : ', value'} FROM ${this.connections.address.schema}.kv
        WHERE ${placement} AND key >= $3${to === undefined ? '' : ' AND key < $5'}
        ORDER BY placement ${order}, key ${order} LIMIT $4`,
      values: [firstPlacement, lastPlacement, from, limit ?? null, ...(to === undefined ? [] : [to])],
    }
  }
}

function isEqual(one: Bytes | undefined, other: Bytes | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one, other) === 0
}

function textOf(key: Bytes): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}

/** What follows the last key of a page: bounds at its placement, so that no row is passed twice. */
function segmentBeyond(segment: Segment, last: Bytes, isReverse: boolean): Segment {
  const placement = placementOf(last)
  if (isReverse) return { ...segment, to: last, lastPlacement: placement }
  return { ...segment, from: Buffer.concat([last, Buffer.of(0)]), firstPlacement: placement }
}

function inOrder(segments: readonly Segment[], isReverse: boolean): readonly Segment[] {
  return isReverse ? segments.toReversed() : segments
}

async function endTransaction(client: PoolClient): Promise<void> {
  try {
    await client.query('COMMIT')
    client.release()
  } catch {
    client.release(true)
  }
}
