/** Decimals in expressions: exact beside integers, literals and parameters, and reals beside reals (DO, section 4; contract 3.2.21). */
import { describe, expect } from 'vitest'
import { withHiddenFraction } from '../../../src/types/hidden-fraction.ts'
import { rowTexts } from '../../row-texts.ts'
import { queryTest } from '../query-database.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const goods = `UPDATE SCHEMA {
  CREATE CLASS Shop.Price EMBEDDABLE { net: Decimal{Precision: 10, Scale: 2} }
  CREATE CLASS Shop.Good {
    name: String, price: Decimal{Precision: 10, Scale: 2}, tax: Decimal{Precision: 5, Scale: 4}, number: Decimal,
    count: Integer, weight: Real, list: List{Element: Decimal{Precision: 6, Scale: 3}}, inner: Object{Class: Shop.Price}
  }
}`
const three = `
  CREATE Shop.Good { name: 'a', price: 12.50, tax: 0.19, number: 12345678901234567890123456789012345678, count: 2, weight: 0.5,
    list: LIST{1.5, 2.125, 3}, inner: Shop.Price{net: 1} };
  CREATE Shop.Good { name: 'b', price: -3.1, tax: 0.07, number: -5, count: 3, weight: 0.1, inner: Shop.Price{net: '7.70'} };
  CREATE Shop.Good { name: 'c', price: 100, tax: null, number: 0, count: 0, weight: 2.0 }`
const digits = '0.12345678901234567890123'
const parameters = {
  text: '12.50',
  number: 12.5,
  exact: withHiddenFraction(digits),
  some: [1, withHiddenFraction(digits)],
}

describe('decimals', () => {
  queryTest('in arithmetic', [goods, three], async (db) => {
    await expectValuesOf(
      db,
      "Good WHERE name = 'a'",
      {
        'price + 1': '13.50',
        'price - count': '10.50',
        'price * tax': '2.375000',
        'price * 1.10': '13.7500',
        '1.1e1 * price': '137.50',
        "price + '0.125'": '12.625',
        'price * $text': '156.2500',
        'price * $number': '156.250',
        'price + $exact': '12.62345678901234567890123',
        [`price + ${digits}`]: '12.62345678901234567890123',
        'price + (0.1 + 0.2)': '12.80',
        'price * -(1 + 0.19)': '-14.8750',
        'price / 3': '4.1666666666666666666666666666666666667',
        'price / 2.5': '5',
        'price / 0': null,
        'price % 5': '2.50',
        'price % 0.00': null,
        '-price': '-12.50',
        'price * weight': 6.25,
        'price + SQRT(4.0)': 14.5,
        'weight + $exact': 0.5 + Number(digits),
        'number * number': '152415787532388367504953515625666819427831123554031397676527968299765279684',
        'SUM(list)': '6.625',
        'AVG(list)': '2.2083333333333333333333333333333333333',
        'COLLECT(list)': ['1.500', '2.125', '3.000'],
        'inner.net * 2': '2.00',
        'price * tax * null': null,
      },
      parameters,
    )
    const before = "FROM Good WHERE name = 'a' RETURN "
    const refused = {
      'number * number * number': [1, /beyond what a decimal holds/],
      "price + 'x'": [9, /"x" is not a number/],
      [`price + 1${'0'.repeat(80)}`]: [9, /has more than 76 digits/],
      'price & 1': [1, /does not stand between a decimal and an integer/],
      '~price': [2, /does not stand before a decimal/],
    } as const
    await expectRefusals(db, refused, before)
  })

  queryTest('in comparisons', [goods, three], async (db) => {
    const found = async (predicate: string): Promise<string> => {
      const rows = await db.rows(`FROM Good WHERE ${predicate} ORDER BY name RETURN name`, parameters)
      return rows.map(({ name }) => name).join('')
    }
    const wanted = {
      'price = 12.5': 'a',
      "price = '12.500'": 'a',
      'price = $text': 'a',
      '$number = price': 'a',
      'price > $exact': 'ac',
      'price < 12.50000000000000000001': 'ab',
      'price >= 100': 'c',
      'price != 100': 'ab',
      'price BETWEEN -3.1 AND 12.5': 'ab',
      'price IN (12.5, 100, 7)': 'ac',
      'price IN LIST{1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 12.50}': 'ac',
      'price NOT IN $some': 'abc',
      '1.5 IN list': 'a',
      'list ANY_EQUAL 2.125': 'a',
      'price > 1.1 + 2.2': 'ac',
      'price = weight * 25': 'a',
      'price > count': 'ac',
      'count > price': 'b',
      'inner.net = 7.7': 'b',
      'number = 12345678901234567890123456789012345678': 'a',
      'number = 12345678901234567890123456789012345679': '',
      'tax IS NULL': 'c',
    }
    const all: Record<string, string> = {}
    for (const predicate of Object.keys(wanted)) all[predicate] = await found(predicate)
    expect(all).toEqual(wanted)
    await db.rows('CREATE INDEX byPrice ON Good (price)')
    for (const predicate of Object.keys(wanted)) all[predicate] = await found(predicate)
    expect(all).toEqual(wanted)
  })

  queryTest('in functions, branches and rows', [goods, three], async (db) => {
    await expectValuesOf(db, "Good WHERE name = 'b'", {
      'ABS(price)': '3.10',
      'SIGN(price)': '-1',
      'ROUND(price)': '-3',
      'ROUND(price, 1)': '-3.1',
      'ROUND(price, 3)': '-3.100',
      'ROUND(price, -1)': '0',
      'FLOOR(price)': '-4',
      'CEILING(price)': '-3',
      'TRUNCATE(price)': '-3',
      'SQRT(ABS(price) + 0.9)': 2,
      "CONCAT('=', price)": '=-3.10',
      'COALESCE(tax, 0.5)': '0.0700',
      'COALESCE(tax, weight)': 0.07,
      'CASE WHEN count > 2 THEN price ELSE 0.25 END': '-3.10',
      'CASE WHEN count > 9 THEN price ELSE 0.25 END': '0.25',
      'LIST{price, 1.10, count}': ['-3.10', '1.10', '3'],
      inner: { net: '7.70' },
    })
    expect(
      await db.rows('FROM Good RETURN SUM(price) AS s, AVG(tax) AS a, MIN(price) AS l, MEDIAN(price) AS m'),
    ).toEqual([{ s: '109.40', a: '0.13', l: '-3.10', m: 12.5 }])
    expect(await db.rows('FROM Good RETURN DISTINCT price * 0 AS zero')).toEqual([{ zero: '0.00' }])
    expect(await db.rows('FROM Good GROUP BY number * 0 + count / 2 RETURN COUNT() AS n ORDER BY n')).toEqual([
      { n: 1 },
      { n: 2 },
    ])
    expect(await db.rows('FROM Good RETURN name, SUM(price) OVER (ORDER BY name) AS s')).toEqual([
      { name: 'a', s: '12.50' },
      { name: 'b', s: '9.40' },
      { name: 'c', s: '109.40' },
    ])
    expect(await db.rows('FROM Good a, Good b WHERE a.number = b.count RETURN a.name AS a, b.name AS b')).toEqual([
      { a: 'c', b: 'c' },
    ])
  })

  queryTest('in CAST', [goods, three], async (db) => {
    await expectValues(db, {
      "CAST('12.340' AS Decimal)": '12.340',
      "CAST(' +.5 ' AS Decimal)": '0.5',
      "CAST('x' AS Decimal)": null,
      'CAST(1e300 AS Decimal)': null,
      'CAST(0.1 + 0.2 AS Decimal)': '0.30000000000000004',
      "CAST('12.345' AS Decimal{Precision: 5, Scale: 2})": null,
      "CAST('12.3' AS Decimal{Precision: 5, Scale: 2})": '12.30',
      'CAST(12.349 AS Decimal{Precision: 5, Scale: 2})': '12.34',
      'CAST(-12.349 AS decimal{scale: 1})': '-12.3',
      'CAST(1000 AS Decimal{Precision: 3})': null,
      "CAST(CAST('-12.9' AS Decimal) AS Integer)": -12,
      "CAST(CAST('-12.9' AS Decimal) AS Real)": -12.9,
      "CAST(CAST('-12.90' AS Decimal) AS String)": '-12.90',
      'CAST(null AS Decimal)': null,
    })
    await expectRefusals(db, {
      'CAST(1 AS Decimal{Precision: 39})': [11, /precision must be an integer from 1 to 38, not 39/],
      'CAST(1 AS Decimal{Scale: Large})': [11, /scale is a number/],
      'CAST(1 AS Decimal{Storage: B8})': [11, /a Decimal has no setting 'Storage'; it has Precision, Scale/],
      'CAST(true AS Decimal)': [1, /a boolean cannot be cast to decimal/],
    })
  })

  queryTest('leave parameters that stand beside none as they were given', [], async (db) => {
    const { chunks } = await db.fd.query({
      text: 'SHOW PARAMETERS',
      parameters: { exact: withHiddenFraction(digits) },
      indexUri: String,
    })
    expect((await rowTexts({ chunks })).join()).toBe(`{"name":"exact","value":${digits}}`)
    await expectValues(db, { '$exact + 1': 1 + Number(digits), '$exact * 1.0 = $exact': true }, parameters)
  })

  queryTest('are stored exactly, or refused', [goods, three], async (db) => {
    const refused = async (text: string): Promise<string> => (await db.failure(text, parameters)).message
    expect(await refused('UPDATE Good SET price TO price * 1.19')).toContain('more than 2 digits behind the point')
    expect(await refused("UPDATE Good WHERE name = 'a' SET count TO price")).toContain('12.50 is not an integer')
    expect(await refused('CREATE Good {price: $exact}')).toContain(digits)
    expect(await refused('CREATE Good {price: 123456789}')).toContain('more than 8 digits before the point')
    const set = "UPDATE Good WHERE name = 'a' SET price TO ROUND(price * 1.19, 2), count TO price * 2, weight TO price"
    expect(await db.rows(`${set} RETURN price, count, weight`)).toEqual([{ price: '14.88', count: 25, weight: 12.5 }])
    const add = "UPDATE Good WHERE name = 'b' ADD {price, 0.5} TO list SET inner.net TO 0.1 + 0.2"
    expect(await db.rows(`${add} RETURN list, inner`)).toEqual([{ list: ['-3.100', '0.500'], inner: { net: '0.30' } }])
    expect(await db.rows("UPDATE Good WHERE name = 'b' CLEAR price RETURN price")).toEqual([{ price: '0.00' }])
  })
})
