/** `v IN` long lists: true, false or null as in short ones, whatever the types, and each row without going through the list. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const schema = [
  `UPDATE SCHEMA { CREATE CLASS Row {i: Integer{Encoding: Signed, Storage: b64}, r: Real, t: String, at: DateTime,
     zoned: DateTime{Storage: DateTimeOffset}, to: Reference{Referenced: Row}} }`,
]

/** Equal ones in other clothes among them: integers and reals, instants with other offsets, integers beyond 2^53 and what a real makes of them. */
const pools: Readonly<Record<string, readonly unknown[]>> = {
  i: [0, 1, 2, 3, 1.5, 4, 5, 6, 7, '9007199254740993', '9223372036854775807', 9007199254740992, null],
  r: [0, 1, 2.5, 3, 4, 5, 6, 7, 8, 9007199254740992, 1e300, null],
  t: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'ä', '', null],
  at: Array.from({ length: 12 }, (_, day) => (day === 11 ? null : `2024-02-${10 + day}T00:00:00`)),
  zoned: Array.from({ length: 12 }, (_, at) => (at === 11 ? null : `2024-02-29T0${at % 6}:00:00+0${at % 6}:00`)),
}

queryTest('agree with short lists', schema, async (db) => {
  const text = (value: unknown): string =>
    value === null ? 'null' : typeof value === 'string' ? `'${value}'` : `${value}`
  const written = (name: string, value: unknown): string => {
    if (value === null || name === 'r' || name === 't') return text(value)
    if (name === 'i') return `${typeof value === 'number' ? Math.trunc(value) : value}`
    return `'${value}'`
  }
  const element = (name: string, value: unknown): string => (name === 'i' ? `${value}` : written(name, value))
  for (let nth = 0; nth < 13; nth++) {
    const values = Object.entries(pools).map(([name, pool]) => `${name}: ${written(name, pool[nth % pool.length])}`)
    await db.rows(`CREATE Row {${values.join(', ')}}`)
  }
  const lists = fc
    .constantFrom(...Object.keys(pools))
    .chain((name) => fc.tuple(fc.constant(name), fc.array(fc.constantFrom(...(pools[name] ?? [])), { minLength: 8 })))
  const agrees = fc.asyncProperty(lists, async ([name, list]) => {
    const parts = Array.from({ length: Math.ceil(list.length / 7) }, (_, at) => list.slice(at * 7, at * 7 + 7))
    const listed = (values: readonly unknown[]): string =>
      `LIST{${values.map((value) => element(name, value)).join(', ')}}`
    const short = parts.map((part) => `${name} IN ${listed(part)}`).join(' OR ')
    const rows = await db.rows(`FROM Row RETURN ${name} IN ${listed(list)} AS long, (${short}) AS short`)
    for (const { long, short: expected } of rows) expect(long).toEqual(expected)
  })
  await fc.assert(agrees, { numRuns: 60 })
})

queryTest('of references, and of what a statement gives', schema, async (db) => {
  for (let i = 0; i < 20; i++) await db.rows(`CREATE Row {i: ${i}, to: (LOOKUP Row WHERE i = 0)}`)
  expect(await db.rows('FROM Row WHERE to IN (FROM Row RETURN $$ID) RETURN COUNT() AS n')).toEqual([{ n: 19 }])
  expect(await db.rows('FROM Row WHERE i IN (FROM Row WHERE i > 9 RETURN i) RETURN COUNT() AS n')).toEqual([{ n: 10 }])
})
