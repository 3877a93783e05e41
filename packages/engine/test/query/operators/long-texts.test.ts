/** Long texts are told apart by digests, wherever values are looked for: V8 has no hash of them, and would compare each with all others. */
import { expect, vi } from 'vitest'
import { queryTest } from '../query-database.ts'

const schema = 'UPDATE SCHEMA {CREATE CLASS T {n: Integer, s: String}}'
const long = 'x'.repeat(20_000)

queryTest('long texts are equal where their characters are', [schema], async (db) => {
  const texts = ['a', 'b', 'a', '\uffffz'].map((end) => `${long}${end}`)
  for (const [n, s] of [...texts, 'short', '\uffff'].entries()) await db.rows('CREATE T {n: $n, s: $s}', { n, s })
  const list = [...texts.slice(1), ...Array.from({ length: 9 }, (_, i) => `${i}`), '\uffff']
  const parameters = { list, texts }
  const statements = [
    ['FROM T RETURN DISTINCT LENGTH(s) AS l, s ORDER BY l, s', 5],
    ['FROM T GROUP BY s RETURN COUNT() AS c', 5],
    ['FROM T RETURN COUNT(DISTINCT s) AS c', 1],
    ['FROM T WHERE s IN $list RETURN n', 5],
    ['FROM T a, T b WHERE a.s = b.s RETURN a.n, b.n', 8],
    ['FROM T RETURN s UNION FROM T RETURN s', 5],
    ['FROM T t RETURN n, (FROM T u WHERE u.s = t.s RETURN COUNT() AS c) AS c', 6],
  ] as const
  const keys: unknown[] = []
  for (const [text, count] of statements) {
    const [setting, adding] = [vi.spyOn(Map.prototype, 'set'), vi.spyOn(Set.prototype, 'add')]
    const rows = await db.rows(text, parameters)
    keys.push(...setting.mock.calls.map(([key]) => key), ...adding.mock.calls.map(([key]) => key))
    vi.restoreAllMocks()
    expect([text, rows.length]).toEqual([text, count])
  }
  expect(await db.rows('FROM T RETURN COUNT(DISTINCT s) AS c')).toEqual([{ c: 5 }])
  expect(await db.rows('FROM T WHERE NOT s IN $list RETURN n', parameters)).toEqual([{ n: 4 }])
  const longest = Math.max(...keys.map((key) => (typeof key === 'string' ? key.length : 0)))
  expect(longest).toBeLessThan(16_384)
})
