/** Groups and aggregates of rows that are lent: what is kept of them stays what it was, and each row is taken once. */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const count = 300
const nameOf = (i: number): string => `${String.fromCharCode(97 + ((i * 7) % 26))}-${i}`
const sizeOf = (i: number): number => (i % 3 === 0 ? 0 : i % 5 === 0 ? -0 : ((i * 37) % 101) / 4)

const things = Array.from({ length: count }, (_, i) => ({
  name: nameOf(i),
  size: sizeOf(i),
  kind: i % 7,
  text: `${'long '.repeat(i === 40 ? 60_000 : 3)}${i % 4}`,
}))

describe('rows that are lent', () => {
  queryTest('texts and rows that are kept of them stay', [], async (db) => {
    await db.fd.defineClasses(
      [
        {
          className: 'Thing',
          isReferenceable: true,
          attributes: [
            { attributeName: 'name', logicalType: 'string' },
            { attributeName: 'size', logicalType: 'real' },
            { attributeName: 'kind', logicalType: 'integer' },
            { attributeName: 'text', logicalType: 'string' },
          ],
        },
      ],
      'create',
    )
    await db.fd.createObjects(things.map((attributes) => ({ class: 'Thing', attributes })))
    const names = things.map(({ name }) => name)
    const sorted = [...names].sort()
    expect(await db.rows('FROM Thing RETURN MIN(name) AS first, MAX(name) AS last, COLLECT(name) AS names')).toEqual([
      { first: sorted[0], last: sorted.at(-1), names },
    ])
    const kinds = await db.rows(
      'FROM Thing WHERE size >= 1 GROUP BY kind ORDER BY kind RETURN kind, COUNT() AS n, SUM(size) AS sum, MAX(name) AS last',
    )
    const expected = Array.from({ length: 7 }, (_, kind) => {
      const of = things.filter((thing) => thing.kind === kind && thing.size >= 1)
      const last = of
        .map(({ name }) => name)
        .sort()
        .at(-1)
      return { kind, n: of.length, sum: of.reduce((sum, { size }) => sum + size, 0), last }
    })
    expect(kinds).toEqual(expected)
    // One text takes so long that others have their turn amid the row.
    expect(
      await db.rows("FROM Thing WHERE text =~ '^(long )+1$' GROUP BY text ORDER BY text RETURN text, COUNT() AS n"),
    ).toEqual([{ text: 'long long long 1', n: things.filter(({ text }) => text.endsWith('1')).length }])
    const texts = await db.rows(
      'FROM Thing GROUP BY text ORDER BY COUNT(), text RETURN LENGTH(text) AS length, COUNT() AS n',
    )
    expect(texts.map(({ n }) => n)).toEqual([1, 74, 75, 75, 75])
    expect(texts[0]).toEqual({ length: 300_001, n: 1 })
    expect(await db.rows('FROM Thing GROUP BY size HAVING size = 0 RETURN size, COUNT() AS n')).toEqual([
      { size: 0, n: things.filter(({ size }) => size === 0).length },
    ])
  })
})
