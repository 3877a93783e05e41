/** `<>`, IS NULL, BETWEEN, IN (…) and EXISTS of a path. */
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

queryTest('predicates that are words', [], async (db) => {
  const values: Readonly<Record<string, unknown>> = {
    '1 <> 2': true,
    'null <> 2': null,
    'null IS NULL': true,
    '1 IS NULL': false,
    '1 IS NOT NULL': true,
    '2 BETWEEN 1 AND 3': true,
    '2 NOT BETWEEN 1 AND 3': false,
    '2 BETWEEN 3 AND 1': false,
    '2 BETWEEN null AND 1': false,
    '2 BETWEEN null AND 3': null,
    "2024-02-29 BETWEEN '2024-01-01' AND '2024-12-31'": true,
    '1 IN (1, 2)': true,
    '3 IN (1, 2)': false,
    '3 NOT IN (1, 2)': true,
    'null IN (1, 2)': null,
    '3 IN (1, null)': null,
    'null IN (1, null)': null,
    '1 NOT IN (1, null)': false,
    '3 NOT IN (1, null)': null,
    'NOT 3 IN (1, null)': null,
    '3 NOT IN ($null, 1)': null,
    '3 NOT IN $nulls': null,
    '5 NOT IN $nulls': false,
    '3 IN (FROM ooObj WHERE false RETURN 1)': false,
    '1 IN (1, null)': true,
    '3 NOT IN (null)': null,
    '3 IN (null)': null,
    '1 IN (1)': true,
    '1 IN (LIST{1, 2})': true,
    '3 IN LIST{1, null}': null,
    '3 NOT IN LIST{1, null}': null,
    '1 NOT IN LIST{1, null}': false,
    'null IN $list': null,
    'null IN $none': false,
    'null NOT IN $none': true,
    '1 IN ($list)': true,
    '1 IN ($one)': true,
    "'b' IN ($list, 'b')": 'refused',
    '2.0 IN (1, 2)': true,
    '1 NOT IN $list': false,
    'RAND() BETWEEN 0 AND 1': true,
    'EXISTS(null)': false,
    'EXISTS(LIST{})': false,
    'EXISTS(LIST{null})': true,
    'EXISTS(0-0-0-0)': false,
    'NOT EXISTS(1)': false,
  }
  for (const [text, value] of Object.entries(values)) {
    const parameters = { list: [1, 5], none: [], one: 1, null: null, nulls: [5, null] }
    if (value === 'refused') await db.failure(`SHOW ${text}`, parameters)
    else expect({ text, value: await db.value(text, parameters) }).toEqual({ text, value })
  }
})

queryTest(
  'IN of a statement asks its rows as it asks the elements of a collection',
  [
    'UPDATE SCHEMA { CREATE CLASS T {n: Integer, m: Real} }',
    'CREATE T {n: 1, m: 2}; CREATE T {n: 2, m: null}; CREATE T {n: null, m: 7}',
  ],
  async (db) => {
    const found = async (where: string): Promise<unknown[]> => {
      return (await db.rows(`FROM T WHERE ${where} ORDER BY n RETURN n`)).map(({ n }) => n)
    }
    for (const index of ['', 'CREATE INDEX byN ON T (n)']) {
      if (index !== '') await db.rows(index)
      expect(await found('n IN (FROM T RETURN m)')).toEqual([2])
      expect(await found('n NOT IN (FROM T RETURN m)')).toEqual([])
      expect(await found('n NOT IN (FROM T WHERE m > 0 RETURN m)')).toEqual([1])
      expect(await found('n NOT IN (FROM T WHERE m > 9 RETURN m)')).toEqual([1, 2, null])
    }
  },
)

queryTest(
  'NOT IN has one meaning in every form: null where the value is not found and one of the values is null',
  [
    'UPDATE SCHEMA { CREATE CLASS T {k: Integer, n: Integer, a: Integer, c: List{Element: Integer}} }',
    'FOR EACH k IN LIST{0, 1, 2, 3, 4, 5, 6, 7} => (CREATE T {k: $k, n: $k % 3, a: 2, c: LIST{2, 7}})',
    'UPDATE T WHERE k % 4 = 3 SET n TO null; UPDATE T WHERE k % 2 = 1 SET a TO null',
  ],
  async (db) => {
    const others = [10, 11, 12, 13, 14, 15, 16, 17]
    const parameters = { short: [2, null], long: [2, null, ...others], full: [2, ...others] }
    /** What is equal to x, and whether all of the values are known. */
    const forms: readonly (readonly [list: string, hasNull: boolean])[] = [
      ['(2, 3)', false],
      ['(2, null)', true],
      [`(${[2, ...others].join(', ')})`, false],
      [`(${[2, 'null', ...others].join(', ')})`, true],
      ['LIST{2, null}', true],
      ['$short', true],
      ['$long', true],
      ['$full', false],
      ['($long)', true],
      ['(FROM T WHERE k < 4 RETURN a)', true],
      ['(FROM T WHERE k = 4 RETURN a)', false],
      ['c', false],
    ]
    const found = async (where: string): Promise<unknown[]> => {
      return (await db.rows(`FROM T WHERE ${where} ORDER BY k RETURN k`, parameters)).map(({ k }) => k)
    }
    for (const index of ['', 'CREATE INDEX byN ON T (n)', 'CREATE INDEX byAN ON T (a, n)']) {
      if (index !== '') await db.rows(index)
      for (const [list, hasNull] of forms) {
        const isIn = (n: unknown): boolean | null => (n === null ? null : n === 2 ? true : hasNull ? null : false)
        const rows = await db.rows(
          `FROM T ORDER BY k RETURN k, n, n IN ${list} AS i, n NOT IN ${list} AS o`,
          parameters,
        )
        const wanted = rows.map(({ k, n }) => ({ k, n, i: isIn(n), o: isIn(n) === null ? null : !isIn(n) }))
        expect({ list, rows }).toEqual({ list, rows: wanted })
        const keys = (value: boolean): unknown[] => wanted.filter(({ i }) => i === value).map(({ k }) => k)
        expect({ list, found: await found(`n IN ${list}`) }).toEqual({ list, found: keys(true) })
        for (const where of [`n NOT IN ${list}`, `NOT n IN ${list}`, `NOT (n IN ${list} AND k >= 0)`]) {
          expect({ where, found: await found(where) }).toEqual({ where, found: keys(false) })
        }
      }
      // An attribute among the values, as when the comparisons are written one by one.
      expect(await found('n NOT IN (1, a)')).toEqual(await found('NOT (n = 1 OR n = a)'))
      expect(await found('n NOT IN (1, a) OR n IN (1, a) OR n IS NULL OR a IS NULL')).toEqual(upTo8)
    }
  },
)

const upTo8 = [0, 1, 2, 3, 4, 5, 6, 7]

queryTest('EXISTS of paths', shop, async (db) => {
  await db.rows(`CREATE Client {name: 'E', orders: LIST{CREATE Order {number: 901}}}; CREATE Client {name: 'F'}`)
  const names = async (where: string): Promise<unknown[]> => {
    return (await db.rows(`FROM Client WHERE name IN ('E', 'F') AND ${where} RETURN name`)).map(({ name }) => name)
  }
  expect(await names('EXISTS(orders)')).toEqual(['E'])
  expect(await names('NOT EXISTS(orders)')).toEqual(['F'])
  expect(await names('EXISTS(orders[number > 1000])')).toEqual([])
  expect(await names('EXISTS(orders[0].client)')).toEqual(['E'])
})

queryTest(
  'the same paths of access as the forms with symbols',
  ['UPDATE SCHEMA { CREATE CLASS T {n: Integer} }; CREATE INDEX byN ON T (n)'],
  async (db) => {
    await db.rows('FOR EACH i IN $all => (CREATE T {n: $i})', { all: Array.from({ length: 400 }, (_, i) => i) })
    const touched = async (where: string): Promise<number> => {
      let plan = await db.analyze(`FROM T WHERE ${where} RETURN n`)
      while (plan.inputs?.[0] !== undefined) plan = plan.inputs[0]
      return plan.examined
    }
    expect(await touched('n BETWEEN 5 AND 9')).toBe(5)
    expect(await touched('n IN (3, 7, 1000)')).toBe(2)
    expect(await touched('n IN (4)')).toBe(1)
    expect(await touched('n IS NULL')).toBe(0)
  },
)
