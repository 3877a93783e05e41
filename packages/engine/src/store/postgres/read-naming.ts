/** Reads entries and the objects that they name in one statement: for index entries, one round trip instead of two. */

import type { KeyPlacement } from '../key-placement.ts'
import type { Bytes, Entry, NamingEntries, RangeRead } from '../store.ts'
import { openTimeSlice } from '../time-slice.ts'
import { Attempts } from './attempts.ts'
import { byteaArray, int4Array } from './binary-array.ts'
import { type PreparedStatement, preparedStatement, RowsInBytes, rowsInBytes } from './binary-rows.ts'
import type { Connections } from './connections.ts'
import { allInUse, failureOf, toStoreError } from './failures.ts'
import type { PlainPage } from './read-pages.ts'
import { StatementSlots } from './statement-slots.ts'
import type { Tables } from './tables.ts'

/** Maximum number of pages in one statement, each of one placement, all in key order or all reversed. */
const pagesMax = 32
/** Maximum number of entries in one statement, unless a single page has more: the result is buffered. */
const entriesMax = 1_024
/** While statements run, requests gather for the next one; with this many, another is sent concurrently. */
const pagesForAnother = 16
const concurrentStatements = 4

/** Removes the first requests, as many as fit one statement. */
export function takeTogether<A extends { readonly page: NamingPage }>(requests: A[]): A[] {
  let entries = 0
  const beyond = requests.findIndex(({ page }, i) => {
    entries += page.limit
    return i === pagesMax || (i > 0 && entries > entriesMax)
  })
  return requests.splice(0, beyond < 0 ? requests.length : beyond)
}

export type NamingPage = PlainPage & { readonly limit: number }

/** Returns rows of the page's position, from 1, key, value, and the named value; if `key` is given, its value is in row 0. */
export function readNaming(
  { schema, keys }: Tables,
  pages: readonly NamingPage[],
  isReverse: boolean,
  key?: Bytes,
): PreparedStatement {
  const { prefix, bytes, placementOf } = keys.named
  const named = `'\\x${Buffer.from(prefix).toString('hex')}'::bytea || substr(e.value, 1, ${bytes})`
  const values: unknown[] = [
    int4Array(pages.map(({ segment }) => segment.firstPlacement)),
    byteaArray(pages.map(({ segment }) => segment.from)),
    byteaArray(pages.map(({ segment }) => segment.to)),
    int4Array(pages.map(({ limit }) => limit)),
  ]
  const text = `SELECT w.i::int4, e.key, e.value, o.value
      FROM unnest($1::int4[], $2::bytea[], $3::bytea[], $4::int4[]) WITH ORDINALITY AS w(p, f, t, l, i)
      CROSS JOIN LATERAL (
        SELECT key, value FROM ${schema}.kv WHERE placement = w.p AND key >= w.f AND key < w.t
          ORDER BY key ${isReverse ? 'DESC' : 'ASC'} LIMIT w.l
      ) AS e LEFT JOIN ${schema}.kv AS o ON o.placement = ${placementOf('e.value')} AND o.key = ${named}`
  const name = `naming${isReverse ? ' reversed' : ''}`
  if (key === undefined) return preparedStatement(name, text, values)
  values.push(keys.placementOf(key), key)
  const keyRow = `SELECT 0, key, NULL, value FROM ${schema}.kv WHERE placement = $5 AND key = $6`
  return preparedStatement(`${name} beside a key`, `${keyRow} UNION ALL ${text}`, values)
}

const column = { position: 0, key: 1, value: 2, named: 3 } as const

class EntriesOfPage implements NamingEntries {
  private readonly rows: RowsInBytes
  private readonly name: KeyPlacement['named']

  constructor(rows: RowsInBytes, name: KeyPlacement['named']) {
    this.rows = rows
    this.name = name
  }

  get count(): number {
    return this.rows.count
  }

  get namedBytes(): number {
    let bytes = 0
    for (let at = 0; at < this.rows.count; at++) bytes += this.rows.lengthOf(at, column.named)
    return bytes
  }

  key(at: number): Bytes {
    return this.rows.bytes(at, column.key) as Buffer
  }

  writeNamedKey(at: number, to: Uint8Array): void {
    const { prefix, bytes } = this.name
    for (let i = 0; i < prefix.length; i++) to[i] = prefix[i] as number
    this.rows.copy(at, column.value, to, prefix.length, bytes)
  }

  named(at: number): Bytes | undefined {
    return this.rows.bytes(at, column.named)
  }
}

/** The entries of each page, and the value of the additional key. */
export function namingEntriesFrom(
  { keys }: Tables,
  pages: number,
  isReverse: boolean,
  rows: RowsInBytes,
): { readonly entries: NamingEntries[]; readonly keyValue: Bytes | undefined } {
  const byPage = Array.from({ length: pages }, () => new RowsInBytes())
  let keyValue: Bytes | undefined
  for (let row = 0; row < rows.count; row++) {
    const position = rows.int4(row, column.position)
    if (position === 0) keyValue = rows.bytes(row, column.named)
    else byPage[position - 1]?.addFrom(rows, row)
  }
  return { entries: byPage.map((page) => new EntriesOfPage(inOrder(page, isReverse), keys.named)), keyValue }
}

/** The plan returns them in this order, but the statement does not guarantee it. */
function inOrder(rows: RowsInBytes, isReverse: boolean): RowsInBytes {
  const compare = (one: number, other: number): number =>
    isReverse ? rows.compare(other, one, column.key) : rows.compare(one, other, column.key)
  for (let row = 1; row < rows.count; row++) if (compare(row - 1, row) > 0) return rows.sorted(compare)
  return rows
}

/** Lets the continuation of each answer run before the next one is given, with yields if that takes long. */
export async function answerSequentially(answers: Iterable<() => void>): Promise<void> {
  const slice = openTimeSlice()
  for (const answer of answers) {
    answer()
    await new Promise<void>((resolve) => process.nextTick(resolve))
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

interface Request {
  readonly page: NamingPage
  readonly expected: Entry
  /** When it stops waiting for a connection, by `performance.now()`. */
  readonly end: number
  resolve(answer: NamingAnswer): void
  reject(error: unknown): void
}

export interface NamingAnswer {
  readonly entries: NamingEntries
  /** The value of the expected key at the same point in time. */
  readonly found: Bytes | undefined
}

/** Combines concurrent requests for pages into one statement, which shows one point in time without a transaction. */
export class GroupNamingReads {
  private readonly connections: Connections
  private readonly tables: Tables
  private readonly waiting: { readonly forward: Request[]; readonly reverse: Request[] } = { forward: [], reverse: [] }
  /** Directions alternate, so that neither starves. */
  private isReverseNext = false
  private readonly slots: StatementSlots
  private gathering: NodeJS.Immediate | undefined

  constructor(connections: Connections, tables: Tables) {
    this.connections = connections
    this.tables = tables
    this.slots = new StatementSlots(connections.address.connections / 2)
  }

  /** `expected`: all requests must expect the same key. Throws StoreUnavailable. */
  read(page: NamingPage, expected: Entry): Promise<NamingAnswer> {
    // Requests of one event loop turn share a statement.
    this.gathering ??= setImmediate(() => {
      this.gathering = undefined
      this.sendSome()
    })
    const requests = page.isReverse ? this.waiting.reverse : this.waiting.forward
    const end = performance.now() + this.connections.address.patienceMs
    return new Promise((resolve, reject) => requests.push({ page, expected, end, resolve, reject }))
  }

  private sendSome(): void {
    const { forward, reverse } = this.waiting
    while (
      this.slots.active === 0 ||
      (this.slots.active < concurrentStatements && forward.length + reverse.length >= pagesForAnother)
    ) {
      const isReverse = reverse.length > 0 && (this.isReverseNext || forward.length === 0)
      const requests = takeTogether(isReverse ? reverse : forward)
      if (requests.length === 0) break
      this.isReverseNext = !isReverse
      void this.send(requests, isReverse)
    }
    if (forward.length + reverse.length === 0) return
    this.slots.whileWaiting(() => {
      for (const requests of [forward, reverse]) this.expire(requests)
      this.sendSome()
    })
  }

  /** Requests are in the order of their time limits. */
  private expire(requests: Request[]): void {
    const now = performance.now()
    while (requests[0] !== undefined && requests[0].end <= now)
      requests.shift()?.reject(allInUse(this.connections.address))
  }

  private async send(requests: readonly Request[], isReverse: boolean): Promise<void> {
    let answers: (() => void)[]
    try {
      const { entries, keyValue } = await this.slots.run(() => this.readTogether(requests, isReverse))
      answers = requests.map((one, i) => () => one.resolve({ entries: entries[i] as NamingEntries, found: keyValue }))
    } catch (error) {
      answers = requests.map((one) => () => one.reject(error))
    }
    this.sendSome()
    await answerSequentially(answers)
  }

  private async readTogether(requests: readonly Request[], isReverse: boolean) {
    const { location, patienceMs } = this.connections.address
    const attempts = new Attempts(patienceMs)
    const pages = requests.map(({ page }) => page)
    for (;;) {
      let client: Awaited<ReturnType<Connections['reader']>> | undefined
      try {
        client = await this.connections.reader(false)
        const statement = readNaming(this.tables, pages, isReverse, requests[0]?.expected.key)
        const rows = await rowsInBytes(client, statement)
        client.release()
        return namingEntriesFrom(this.tables, pages.length, isReverse, rows)
      } catch (error) {
        client?.release(true)
        if (!(await attempts.another(failureOf(error)))) throw toStoreError(location, error)
      }
    }
  }
}

/** The page of a bounded range within one placement; undefined for other ranges, and for an empty one. */
export function namingPage(
  { keys }: Tables,
  { reverse = false, limit, ...range }: RangeRead & { readonly limit: number },
): NamingPage | undefined {
  const [segment, ...others] = keys.segmentsOf(range)
  if (segment === undefined || others.length > 0 || segment.to === undefined) return undefined
  if (segment.firstPlacement !== segment.lastPlacement) return undefined
  return { segment: { ...segment, to: segment.to }, isReverse: reverse, limit, keysOnly: false }
}
