/** ORDER BY a random column: drawn once a row, the returned one is what is ordered by. */
import { expect } from 'vitest'
import { queryTest, type Row } from '../query-database.ts'

const schema = 'UPDATE SCHEMA {CREATE CLASS Card {n: Integer, next: Reference{Referenced: Card}}}'
const cards = Array.from({ length: 20 }, (_, i) => `CREATE Card {n: ${i % 7}}`).join('; ')

queryTest('it is ordered by as it is returned', [schema, cards], async (db) => {
  const texts: readonly (readonly [string, number])[] = [
    ['FROM Card RETURN RAND() AS r ORDER BY r', 20],
    ['FROM Card ORDER BY r RETURN n, RAND() AS r', 20],
    ['FROM Card ORDER BY r DESC TAKE 5 RETURN 1 - RAND() AS r, n', 5],
    ['FROM Card GROUP BY n ORDER BY r SKIP 1 RETURN n, RAND() AS r', 6],
    ['SELECT DISTINCT RAND() AS r FROM Card ORDER BY r', 20],
    ['MATCH (c:Card) ORDER BY r RETURN c, RAND() AS r', 20],
  ]
  for (const [text, count] of texts) {
    const drawn = (await db.rows(text)).map(({ r }) => r as number)
    const sorted = drawn.toSorted((one, other) => (text.includes('DESC') ? other - one : one - other))
    expect({ text, drawn }).toEqual({ text, drawn: sorted })
    expect(drawn).toHaveLength(count)
  }
})

queryTest('with others that are returned, and without them a sentence', [schema, cards], async (db) => {
  const rows = await db.rows('FROM Card ORDER BY n, r RETURN n, RAND() AS r')
  const inOrder = (one: Row, other: Row): number =>
    (one.n as number) - (other.n as number) || (one.r as number) - (other.r as number)
  expect(rows).toEqual(rows.toSorted(inOrder))
  expect(new Set((await db.rows('FROM Card ORDER BY RAND() RETURN n')).map(({ n }) => n)).size).toBe(7)
  for (const text of ['FROM Card ORDER BY n, r RETURN RAND() AS r', 'FROM Card RETURN *, RAND() AS r ORDER BY r']) {
    expect((await db.failure(text)).message).toMatch(
      /beside a random column, all that is ordered by has to be returned/,
    )
  }
})
