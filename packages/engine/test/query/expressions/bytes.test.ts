/** Bytes in statements: BYTES, LENGTH, order, and where base64 stands for them. */
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { expectRefusals, expectValues } from './expect-expressions.ts'

const schema = 'UPDATE SCHEMA { CREATE CLASS Blob {n: Integer, data: Bytes, more: List{Element: Bytes}, text: String} }'
const blobs = `
  CREATE Blob {n: 1, data: BYTES('AA=='), more: LIST{BYTES('AQ==')}};
  CREATE Blob {n: 2, data: '_w', text: '_w'};
  CREATE Blob {n: 3, data: BYTES('AAE='), more: LIST{BYTES('AQ=='), BYTES('')}, text: 'no base64'};
  CREATE Blob {n: 4};
  CREATE Blob {n: 5, data: null}`

const numbers = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ n }) => n)

queryTest('values', [], async (db) => {
  await expectValues(
    db,
    {
      "BYTES('-_8')": '+/8=',
      'BYTES($text)': 'AAE=',
      "BYTES('')": '',
      'BYTES(null)': null,
      "LENGTH(BYTES('AP8='))": 2,
      "LENGTH(BYTES(''))": 0,
      "BYTES('AA') = 'AA=='": true,
      "BYTES('AA') = $text": false,
      "BYTES('fw==') < BYTES('gA==')": true,
      "BYTES('AA==') < BYTES('AAA=')": true,
      "BYTES('AA==') IN ('AQ', 'AA')": true,
      "CAST('-_8' AS Bytes)": '+/8=',
      "CAST('no base64' AS Bytes)": null,
      "CAST(BYTES('-_8') AS String)": '+/8=',
      "COALESCE(NULL, BYTES('AA'))": 'AA==',
    },
    { text: 'AAE' },
  )
  await expectRefusals(db, {
    "BYTES('x')": [7, /'?"?x"?'? is not base64/],
    'BYTES(5)': [7, /BYTES takes a text that is the same for all rows, not an integer: CAST/],
    "BYTES('AA') + BYTES('AA')": [1, /\+/],
    "UPPER(BYTES('AA'))": [7, /UPPER takes a text, not bytes/],
    "BYTES('AA') LIKE 'A%'": [1, /LIKE/],
  })
})

queryTest('of attributes', [schema, blobs], async (db) => {
  expect(await db.rows('FROM Blob ORDER BY n RETURN data, LENGTH(data) AS length, text')).toEqual([
    { data: 'AA==', length: 1, text: '' },
    { data: '/w==', length: 1, text: '_w' },
    { data: 'AAE=', length: 2, text: 'no base64' },
    { data: '', length: 0, text: '' },
    { data: null, length: null, text: '' },
  ])
  expect(numbers(await db.rows('FROM Blob ORDER BY data RETURN n'))).toEqual([4, 1, 3, 2, 5])
  expect(numbers(await db.rows("FROM Blob WHERE data >= 'AAA=' ORDER BY n RETURN n"))).toEqual([2, 3])
  expect(numbers(await db.rows("FROM Blob WHERE more ANY_EQUAL 'AQ' ORDER BY n RETURN n"))).toEqual([1, 3])
  expect(numbers(await db.rows('FROM Blob WHERE data = CAST(text AS Bytes) ORDER BY n RETURN n'))).toEqual([2, 4])
  expect(await db.rows('FROM Blob RETURN MIN(data) AS least, MAX(data) AS most, COUNT(data) AS count')).toEqual([
    { least: '', most: '/w==', count: 4 },
  ])
  await db.rows("CREATE Blob {n: 6, data: 'AA'}")
  expect(await db.rows('FROM Blob GROUP BY data HAVING COUNT() > 1 RETURN data, COUNT() AS count')).toEqual([
    { data: 'AA==', count: 2 },
  ])
  expect(await db.rows('FROM Blob ORDER BY data RETURN DISTINCT data')).toHaveLength(5)
  expect(numbers(await db.rows('FROM Blob a, Blob b WHERE a.data = b.data AND a.n < b.n RETURN a.n AS n'))).toEqual([1])
  await db.rows("UPDATE Blob WHERE n = 1 SET data TO '__8'; UPDATE Blob WHERE n = 2 CLEAR data")
  expect(await db.rows('FROM Blob WHERE n < 3 ORDER BY n RETURN data')).toEqual([{ data: '//8=' }, { data: '' }])
  await expectRefusals(db, { text: [1, /'data' is bytes, not a string/] }, 'UPDATE Blob SET data TO ')
})

queryTest('an index stores their beginnings', [schema], async (db) => {
  const long = (last: string): string => `${'A'.repeat(40)}${last}`
  for (const [n, data] of [long('AAAA'), long('AAAB'), '_w', ''].entries()) {
    await db.rows('CREATE Blob {n: $n, data: $data}', { n, data })
  }
  await db.rows('CREATE UNIQUE INDEX byData ON Blob (data)')
  const found = async (condition: string, data: string): Promise<unknown[]> => {
    const text = `FROM Blob WHERE ${condition} ORDER BY n RETURN n`
    expect(JSON.stringify(await db.analyze(text, { data })), condition).toContain('byData')
    return numbers(await db.rows(text, { data }))
  }
  expect(await found('data = $data', long('AAAB'))).toEqual([1])
  expect(await found('data > $data', long('AAAA'))).toEqual([1, 2])
  expect(await found('data <= $data', long('AAAA'))).toEqual([0, 3])
  expect(await found("data IN ($data, 'AA')", '/w==')).toEqual([2])
  expect((await db.failure('CREATE Blob {data: $data}', { data: long('AAAA') })).type).toBe('UniqueViolation')
})

queryTest(
  'a class called Bytes goes first in CAST',
  ['UPDATE SCHEMA { CREATE CLASS Bytes {a: Integer} CREATE CLASS Holder {r: Reference{Referenced: Bytes}} }'],
  async (db) => {
    await db.rows('CREATE Holder {r: CREATE Bytes {a: 7}}')
    expect(await db.rows('FROM Holder RETURN CAST(r AS Bytes).a AS a')).toEqual([{ a: 7 }])
  },
)
