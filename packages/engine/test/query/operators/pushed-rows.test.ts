/** Groups and aggregates of rows that are pushed in borrowed memory: what is kept of them stays what it was, and each row is taken once. */
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

describe('rows that are pushed', () => {
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

describe('rows that are pushed, and lead to other objects', () => {
  const places = 700
  const schema = `UPDATE SCHEMA {
    CREATE CLASS Place {name: String, size: Integer, near: Reference{Referenced: Place}}
    CREATE CLASS Person {n: Integer, home: Reference{Referenced: Place}, work: Reference{Referenced: Place}}
  }`

  queryTest('are grouped and sorted by what these have, be they few or as many as the rows', [schema], async (db) => {
    const named = Array.from({ length: places }, (_, i) => ({ name: `place ${i % 90}`, size: i % 11 }))
    const oids = await db.fd.createObjects(named.map((attributes) => ({ class: 'Place', attributes })))
    const people = Array.from({ length: 2_100 }, (_, n) => ({
      n,
      home: n % 50 === 0 ? '0-0-0-0' : (oids[(n * 31) % places] as string),
      work: oids[n % 4] as string,
    }))
    await db.fd.createObjects(people.map((attributes) => ({ class: 'Person', attributes })))
    // References that lead to objects that are not there any more.
    await db.rows('DELETE Place WHERE size = 3')
    const placeOf = new Map<string, { readonly name: string; readonly size: number }>()
    for (const [i, place] of named.entries()) if (place.size !== 3) placeOf.set(oids[i] as string, place)
    const homeOf = (n: number): string | null => placeOf.get(people[n]?.home as string)?.name ?? null
    const byHome = new Map<string | null, number>()
    for (const { n } of people) byHome.set(homeOf(n), (byHome.get(homeOf(n)) ?? 0) + 1)
    const grouped = await db.rows('FROM Person GROUP BY home.name RETURN home.name AS name, COUNT() AS n')
    expect(new Map(grouped.map(({ name, n }) => [name, n]))).toEqual(byHome)
    const expected = [0, 1, 2].map((i) => {
      const of = people.filter(({ n }) => n % 4 === i)
      const sizes = of.map(({ home }) => placeOf.get(home)?.size).filter((size) => size !== undefined)
      return { name: `place ${i}`, n: of.length, sum: sizes.reduce((sum, size) => sum + size, 0) }
    })
    const byWork = 'FROM Person WHERE work.size < 3 GROUP BY work.name ORDER BY work.name'
    expect(await db.rows(`${byWork} RETURN work.name AS name, COUNT() AS n, SUM(home.size) AS sum`)).toEqual(expected)
    const ordered = await db.rows('FROM Person WHERE n >= 100 ORDER BY home.size DESC, home.name, n TAKE 300 RETURN n')
    // Null is the greatest of all.
    const sizeOf = (n: number): number => placeOf.get(people[n]?.home as string)?.size ?? 100
    const textOf = (n: number): string => homeOf(n) ?? '~'
    const inOrder = people
      .map(({ n }) => n)
      .filter((n) => n >= 100)
      .sort((one, other) => {
        const byName = textOf(one) < textOf(other) ? -1 : textOf(one) > textOf(other) ? 1 : 0
        return sizeOf(other) - sizeOf(one) || byName || one - other
      })
    expect(ordered.map(({ n }) => n)).toEqual(inOrder.slice(0, 300))
  })
})
