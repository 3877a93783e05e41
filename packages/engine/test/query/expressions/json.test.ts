/** Values of type json in statements: JSON, paths, comparison by what they say, CAST, and what may be assigned. */
import { expect } from 'vitest'
import { withHiddenFraction } from '../../../src/types/hidden-fraction.ts'
import { rowTexts } from '../../row-texts.ts'
import { type QueryDatabase, queryTest } from '../query-database.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Doc {n: Integer, j: Json, more: List{Element: Json}, text: String, real: Real, day: Date, data: Bytes, single: Real{Storage: B32}}
}`
const docs = `
  CREATE Doc {n: 1, j: JSON('{"b": 1.50, "2": [10, {"x y": "z"}, null], "1": true}'), text: 'z'};
  CREATE Doc {n: 2, j: 'z', more: LIST{JSON('1'), JSON('{"a":1}')}, text: '{"a": 1}'};
  CREATE Doc {n: 3, j: 5, real: 1.5, day: 2024-02-29, data: BYTES('AA'), single: 0.1};
  CREATE Doc {n: 4}`

const numbers = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ n }) => n)

/** Of one column, as replies have it. */
async function texts(db: QueryDatabase, text: string, parameters = {}): Promise<string[]> {
  return rowTexts(await db.fd.query({ text, parameters }))
}

queryTest('values and paths', [], async (db) => {
  const all = `{"b": 1.50, "c d": [10, {"x": "y"}, null], "l": {"m": {"n": 7}}, "count": 3}`
  const json = `JSON('${all}')`
  await expectValues(db, {
    [`${json}.b`]: 1.5,
    [`${json}['c d']`]: [10, { x: 'y' }, null],
    [`${json}['c d'][0]`]: 10,
    [`${json}['c d'][-2].x`]: 'y',
    [`${json}['c d'][2]`]: null,
    [`${json}['c d'][3]`]: null,
    [`${json}['c d'][-4]`]: null,
    [`${json}.l.m.n`]: 7,
    [`${json}.l.m.n.o`]: null,
    [`${json}.l[0]`]: null,
    [`${json}.none`]: null,
    [`${json}.\`count\``]: 3,
    [`${json}['b'] = 1.5`]: true,
    [`${json}['b'] = '1.5'`]: false,
    [`${json}.b IN (1, 1.50)`]: true,
    [`${json}['c d'][1].x IN ('x', 'y')`]: true,
    [`${json}.none = 1`]: null,
    [`${json}.none IS NULL`]: true,
    "JSON('1') = 1": true,
    "JSON('1') = 1.0": true,
    "JSON('10e-1') = JSON('1.0')": true,
    "JSON('123456789012345678901234567890') = JSON('123456789012345678901234567891')": false,
    "JSON('-0') = 0": true,
    "JSON('true') = true": true,
    'JSON(\'"true"\') = true': false,
    'JSON(\'{"a":1,"b":[2]}\') = JSON(\'{"b":[2.0],"a":1}\')': true,
    "JSON('[1,2]') = JSON('[2,1]')": false,
    "JSON('[1,2]') != JSON('[2,1]')": true,
    "JSON('\"\\\\u0041\"') = 'A'": true,
    "JSON('null')": null,
    "JSON('1') = NULL": null,
    'CAST(JSON(\'"a"\') AS String)': 'a',
    'CAST(JSON(\'[ 1, "a"]\') AS String)': '[1,"a"]',
    "CAST(JSON('1.0') AS String)": '1.0',
    "CAST(JSON('2.9') AS Integer)": 2,
    'CAST(JSON(\'"7"\') AS Integer)': 7,
    'CAST(JSON(\'"x"\') AS Integer)': null,
    "CAST(JSON('true') AS Integer)": 1,
    "CAST(JSON('1.5') AS Real) + 1": 2.5,
    "CAST(JSON('123456789012345678901234567890.10') AS Decimal)": '123456789012345678901234567890.10',
    "CAST(JSON('0.1') AS Decimal) + CAST(JSON('2e-1') AS Decimal)": '0.3',
    "CAST(JSON('-1.239') AS Decimal{Precision: 3, Scale: 2})": '-1.23',
    "CAST(JSON('12.3') AS Decimal{Precision: 3, Scale: 2})": null,
    'CAST(JSON(\'"1.50"\') AS Decimal)': '1.50',
    'CAST(JSON(\'"1.50"\') AS Decimal{Scale: 1})': '1.5',
    'CAST(JSON(\'"1.239"\') AS Decimal{Scale: 2})': null,
    'CAST(JSON(\'"x"\') AS Decimal)': null,
    "CAST(JSON('true') AS Decimal)": null,
    "CAST(JSON('[1]') AS Decimal)": null,
    "CAST(JSON('{}') AS Decimal{Scale: 2})": null,
    "CAST(JSON('null') AS Decimal)": null,
    "CAST(JSON('1e400') AS Decimal)": null,
    "CAST(JSON('1e-400') AS Decimal)": null,
    "CAST(JSON('true') AS Boolean)": true,
    "CAST(JSON('[]') AS Boolean)": null,
    'CAST(JSON(\'"2024-02-29"\') AS Date)': '2024-02-29',
    "CAST(JSON('20240229') AS Date)": null,
    'CAST(\'{"a": [1]}\' AS Json)': { a: [1] },
    "CAST('x' AS Json)": null,
    'CAST(1.5 AS Json)': 1.5,
    'CAST(2024-02-29 AS Json)': '2024-02-29',
    'JSON(5)': 5,
  })
  await expectRefusals(db, {
    "JSON('x')": [6, /"x" is not JSON/],
    'JSON(\'{"a":1,"a":2}\')': [6, /the name "a" twice/],
    "JSON('1') < 2": [1, /< does not compare json with/],
    "JSON('1') + 1": [1, /\+ does not stand between json and an integer/],
    'UPPER(JSON(\'"a"\'))': [7, /UPPER takes a text, not json/],
    "JSON('[1]')[1.5]": [13, /json takes a name or an index/],
  })
})

queryTest('compared with literals beyond a double', [schema], async (db) => {
  const [large, fraction] = ['18446744073709551616', '0.1000000000000000000001']
  const all = `{"a": ${large}, "b": -${large}, "c": 36893488147419103232.0, "d": ${fraction}, "e": 1e30}`
  await db.rows(`CREATE Doc {n: 1, text: '', real: 18446744073709551616, j: JSON('${all}')}`)
  await expectValuesOf(
    db,
    'Doc',
    {
      [`j.a = ${large}`]: true,
      [`j.a != ${large}`]: false,
      [`j.a = ${large}.0`]: true,
      [`${large} = j.a`]: true,
      'j.a = 18446744073709551617': false,
      'j.a = 18446744073709551615': false,
      'j.a = 1.8446744073709551616e19': true,
      [`j.b = -${large}`]: true,
      'j.c = 36893488147419103232.0': true,
      'j.c = 36893488147419103232': true,
      [`j.d = ${fraction}`]: true,
      'j.d = 0.1': false,
      'j.e = 1000000000000000000000000000000': true,
      'j.e = 1e30': true,
      [`j.a IN (${large}, 1)`]: true,
      [`j.a IN (1, ${large}.0)`]: true,
      [`j.a IN (n, ${large})`]: true,
      'j.a IN (18446744073709551617, 1.5)': false,
      [`j.a NOT IN (${large})`]: false,
      [`${large} IN LIST{j.a, j.b}`]: true,
      [`LIST{1, ${large}} ANY_EQUAL j.a`]: true,
      [`LIST{n, ${large}} ANY_EQUAL j.a`]: true,
      'j.d = $fraction': true,
      'j.d IN ($fraction)': true,
    },
    { fraction: withHiddenFraction(fraction) },
  )
})

queryTest('of attributes', [schema, docs], async (db) => {
  expect(await texts(db, 'FROM Doc ORDER BY n RETURN j')).toEqual([
    '{"j":{"b":1.50,"2":[10,{"x y":"z"},null],"1":true}}',
    '{"j":"z"}',
    '{"j":5}',
    '{"j":null}',
  ])
  expect(await texts(db, "FROM Doc WHERE n = 1 RETURN j.b, j['2'][1] AS x")).toEqual(['{"j.b":1.50,"x":{"x y":"z"}}'])
  const found = async (condition: string, parameters = {}): Promise<unknown[]> =>
    numbers(await db.rows(`FROM Doc WHERE ${condition} ORDER BY n RETURN n`, parameters))
  expect(await found("j = 'z'")).toEqual([2])
  expect(await found('j = $p', { p: 5 })).toEqual([3])
  expect(await found('j = $p', { p: { 1: true, 2: [10.0, { 'x y': 'z' }, null], b: 1.5 } })).toEqual([1])
  expect(await found("j IN (5, 'z')")).toEqual([2, 3])
  expect(await found('j IN $p', { p: ['z', 'y'] })).toEqual([2])
  expect(await found("j['2'][1]['x y'] = text")).toEqual([1])
  expect(await found("text = j['2'][1]['x y']")).toEqual([1])
  expect(await found('more ANY_EQUAL JSON(\'{"a": 1.0}\')')).toEqual([2])
  expect(await found('1 IN more')).toEqual([2])
  expect(await found('more[1].a = 1')).toEqual([2])
  expect(await found('CAST(text AS Json).a = 1')).toEqual([2])
  expect(await found('j IS NULL')).toEqual([4])
  expect(await found("CAST(j AS String) LIKE '%b%'")).toEqual([1])
  expect(await found('CAST(j AS Integer) > 4')).toEqual([3])
  expect(await db.rows('FROM Doc WHERE n = 2 RETURN more.a AS all')).toEqual([{ all: [null, 1] }])
  expect(await db.rows('FROM Doc RETURN COUNT(j) AS count')).toEqual([{ count: 3 }])
  expect(await db.rows('FROM Doc a, Doc b WHERE a.j = b.j AND a.n < b.n RETURN a.n')).toEqual([])
  await expectRefusals(
    db,
    {
      'ORDER BY j RETURN n': [10, /json/],
      'GROUP BY j RETURN COUNT()': [10, /json/],
      'RETURN DISTINCT j': [17, /json/],
      'RETURN MAX(j)': [8, /json/],
      'RETURN COUNT(DISTINCT j)': [23, /json/],
    },
    'FROM Doc',
  )
})

queryTest('assigned', [schema, docs], async (db) => {
  const set = async (value: string, parameters = {}): Promise<unknown> => {
    await db.rows(`UPDATE Doc WHERE n = 3 SET j TO ${value}`, parameters)
    const [text = ''] = await texts(db, 'FROM Doc WHERE n = 3 RETURN j')
    return text.slice('{"j":'.length, -1)
  }
  expect(await set('text')).toBe('""')
  expect(await set('real')).toBe('1.5')
  expect(await set('single')).toBe('0.1')
  expect(await set('n > 2')).toBe('true')
  expect(await set('day')).toBe('"2024-02-29"')
  expect(await set('data')).toBe('"AA=="')
  expect(await set('$$ID')).toMatch(/^"\d+-\d+-\d+-\d+"$/)
  expect(await set('18446744073709551615')).toBe('18446744073709551615')
  expect(await set('-1.50')).toBe('-1.50')
  expect(await set('36893488147419103232')).toBe('36893488147419103232')
  expect(await set('$p', { p: { a: [1, 2] } })).toBe('{"a":[1,2]}')
  expect(await set('$p', { p: [1, 2] })).toBe('[1,2]')
  expect(await set('$p', { p: 'a' })).toBe('"a"')
  expect(await set('JSON($p)', { p: '[1.0]' })).toBe('[1.0]')
  expect(await set('JSON($p)', { p: { a: 1 } })).toBe('{"a":1}')
  expect(await set("(FROM Doc WHERE n = 1 RETURN j)[0]['2'][0]")).toBe('10')
  expect(await set("CASE WHEN n = 3 THEN JSON('1.0') END")).toBe('1.0')
  expect(await set('NULL')).toBe('null')
  await set('1')
  await db.rows('UPDATE Doc WHERE n = 3 CLEAR j')
  expect(await db.rows('FROM Doc WHERE n = 3 RETURN j')).toEqual([{ j: null }])
  await db.rows("UPDATE Doc WHERE n = 2 ADD JSON('[2]') TO more")
  expect(await texts(db, 'FROM Doc WHERE n = 2 RETURN more')).toEqual(['{"more":[1,{"a":1},[2]]}'])
  await expectRefusals(
    db,
    {
      'SET j TO LIST{1, 2}': [10, /'j' is json, not a list of integer/],
      'SET j.b TO 1': [5, /json/],
      "SET j TO JSON('{')": [15, /is not JSON/],
    },
    'UPDATE Doc ',
  )
})
