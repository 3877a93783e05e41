/** Statements that read entries in key order: one page of a segment, or pages of several segments at once. */
import type { Segment } from '../key-placement.ts'
import type { Bytes } from '../store.ts'
import { byteaArray, int4Array } from './binary-array.ts'
import { type PreparedStatement, preparedStatement } from './binary-rows.ts'

export interface Page {
  readonly segment: Segment
  readonly isReverse: boolean
  readonly limit: number | undefined
  /** Limit of the total size of values, excluding the last; undefined if they are known to be short. */
  readonly bytesMax?: number | undefined
  /** Limit for each value; null is returned instead of a longer one. This check costs half of adding up sizes. */
  readonly valueBytesMax?: number | undefined
  readonly keysOnly: boolean
}

/** A page with one placement, and a lower and an upper bound. */
export interface PlainPage extends Page {
  readonly segment: Segment & { readonly to: Bytes }
}

/** Other pages need separate statements. */
export function isPlain(page: Page): page is PlainPage {
  const { segment, isReverse, keysOnly, bytesMax, valueBytesMax } = page
  if (bytesMax !== undefined || valueBytesMax !== undefined) return false
  return segment.firstPlacement === segment.lastPlacement && segment.to !== undefined && !isReverse && !keysOnly
}

/** Returns rows of key and, unless `keysOnly`, value. `table`: the one with the rows of the page, with its schema. */
export function readPage(table: string, page: Page): PreparedStatement {
  const { segment, isReverse, limit, keysOnly, bytesMax, valueBytesMax } = page
  const { firstPlacement, lastPlacement, from, to } = segment
  const isOne = firstPlacement === lastPlacement
  const placement = isOne ? 'placement = $1 AND $1 = $2' : '(placement, key) >= ($1, $3) AND placement <= $2'
  const direction = isReverse ? 'DESC' : 'ASC'
  const order = `ORDER BY placement ${direction}, key ${direction}`
  // If the order contained the placement, PostgreSQL would sort rows that are already sorted.
  const pageOrder = isOne ? `ORDER BY key ${direction}` : order
  const isMeasured = bytesMax !== undefined
  const isGuarded = valueBytesMax !== undefined
  const guarded = 'CASE WHEN octet_length(value) <= $5 THEN value END'
  const columns = isMeasured ? 'placement, key, value' : keysOnly ? 'key' : isGuarded ? `key, ${guarded}` : 'key, value'
  const rows = `SELECT ${columns} FROM ${table}
      WHERE ${placement} AND key >= $3${to === undefined ? '' : ` AND key < $${isMeasured || isGuarded ? 6 : 5}`}
      ${order} LIMIT $4`
  // The length is known without reading the value, which may be stored out of line.
  const measured = `SELECT key, value FROM (
      SELECT placement, key, value, sum(octet_length(value)) OVER (${pageOrder} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM (${rows}) AS read
    ) AS summed WHERE before IS NULL OR before < $5 ${pageOrder}`
  const kinds = `${isOne ? ' of one' : ''}${to === undefined ? ' to the end' : ''}${keysOnly ? ' keys' : ''}`
  // Without the schema, which is fixed per connection, since names are limited to 63 characters.
  const name = `page in ${table.slice(table.indexOf('.') + 1)}${kinds}${isMeasured ? ' measured' : isGuarded ? ' guarded' : ''} ${direction}`
  return preparedStatement(name, isMeasured ? measured : rows, [
    firstPlacement,
    lastPlacement,
    from,
    limit ?? null,
    ...(isMeasured ? [bytesMax] : isGuarded ? [valueBytesMax] : []),
    ...(to === undefined ? [] : [to]),
  ])
}

const noLimit = 2_147_483_647

/** Returns rows of the page's position, from 1, key and value. */
export function readPages(schema: string, pages: readonly PlainPage[]): PreparedStatement {
  const text = `SELECT w.i::int4, e.key, e.value FROM unnest($1::int4[], $2::bytea[], $3::bytea[], $4::int4[]) WITH ORDINALITY AS w(p, f, t, l, i)
      CROSS JOIN LATERAL (
        SELECT key, value FROM ${schema}.kv WHERE placement = w.p AND key >= w.f AND key < w.t ORDER BY key LIMIT w.l
      ) AS e ORDER BY w.i, e.key`
  return preparedStatement('pages', text, [
    int4Array(pages.map(({ segment }) => segment.firstPlacement)),
    byteaArray(pages.map(({ segment }) => segment.from)),
    byteaArray(pages.map(({ segment }) => segment.to)),
    int4Array(pages.map(({ limit }) => limit ?? noLimit)),
  ])
}
