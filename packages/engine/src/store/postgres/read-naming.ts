/** Reads entries and the objects that they name in one statement: for index entries, one round trip instead of two. */

import type { KeyPlacement } from '../key-placement.ts'
import type { Bytes, Entry, NamingEntries, RangeRead } from '../store.ts'
import { openTimeSlice } from '../time-slice.ts'
import { byteaArray, int4Array } from './binary-array.ts'
import { type PreparedStatement, preparedStatement, RowsInBytes, rowsInBytes } from './binary-rows.ts'
import type { Connections } from './connections.ts'
import { GroupedStatements, type WaitingRequest } from './grouped-statements.ts'
import type { PlainPage } from './read-pages.ts'
import type { Tables } from './tables.ts'

/** Maximum number of pages in one statement, each of one placement, all in key order or all reversed. */
const pagesMax = 32
/** Maximum number of entries in one statement, unless a single page has more: the result is buffered. */
const entriesMax = 1_024
/** While statements run, requests gather for the next one; with this many, another is sent concurrently. */
const pagesForAnother = 16
const concurrentMax = 4

/** The first requests, as many as fit one statement, all in the same direction. */
export function firstNamingRequests<A extends { readonly page: NamingPage }>(waiting: readonly A[]): readonly A[] {
  let entries = 0
  const beyond = waiting.findIndex(({ page }, i) => {
    entries += page.limit
    return i === pagesMax || page.isReverse !== waiting[0]?.page.isReverse || (i > 0 && entries > entriesMax)
  })
  return beyond < 0 ? waiting : waiting.slice(0, beyond)
}

export type NamingPage = PlainPage & { readonly limit: number }

/** Pages of one direction. Returns rows of the page's position, from 1, key, value, and the named value; if `key` is given, its value is in row 0. */
export function readNaming({ schema, keys }: Tables, pages: readonly NamingPage[], key?: Bytes): PreparedStatement {
  const isReverse = pages[0]?.isReverse === true
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
  pages: readonly NamingPage[],
  rows: RowsInBytes,
): { readonly entries: NamingEntries[]; readonly keyValue: Bytes | undefined } {
  const isReverse = pages[0]?.isReverse === true
  const byPage = pages.map(() => new RowsInBytes())
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

export interface NamingAnswer {
  readonly entries: NamingEntries
  /** The value of the expected key at the same point in time. */
  readonly found: Bytes | undefined
}

interface NamingRequest extends WaitingRequest {
  readonly page: NamingPage
  readonly expected: Entry
  resolve(answer: NamingAnswer): void
}

/** Combines concurrent requests for pages into one statement, which shows one point in time without a transaction. */
export class GroupNamingReads {
  private readonly statements: GroupedStatements<NamingRequest>

  constructor(connections: Connections, tables: Tables) {
    this.statements = new GroupedStatements(connections, {
      first: firstNamingRequests,
      mayAdd: (active, waiting) => active < concurrentMax && waiting >= pagesForAnother,
      async read(client, requests) {
        const pages = requests.map(({ page }) => page)
        const rows = await rowsInBytes(client, readNaming(tables, pages, requests[0]?.expected.key))
        const { entries, keyValue } = namingEntriesFrom(tables, pages, rows)
        const answers = requests.map(({ resolve }, i) => {
          return () => resolve({ entries: entries[i] as NamingEntries, found: keyValue })
        })
        return () => answerSequentially(answers)
      },
    })
  }

  /** `expected`: all requests must expect the same key. Throws StoreUnavailable. */
  read(page: NamingPage, expected: Entry): Promise<NamingAnswer> {
    return new Promise((resolve, reject) => {
      this.statements.add({ page, expected, end: this.statements.endOfPatience(), resolve, reject })
    })
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
