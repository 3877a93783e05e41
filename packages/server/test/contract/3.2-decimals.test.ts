/** Decimals, from JSON in to JSON out, as keys, in queries and in changes of type, over HTTP. */
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, list } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import type { Loose } from './server-under-test.ts'
import { startTypesUnderTest, type TypesUnderTest } from './types-under-test.ts'

const decimal = (precision: number, scale: number) => ({ logicalType: 'decimal', precision, scale })
const price = decimal(10, 2)

let types: TypesUnderTest
beforeAll(async () => {
  types = await startTypesUnderTest()
})
afterAll(() => types.server.remove())

async function query(text: string, parameters: Loose = {}): Promise<Loose[]> {
  const { status, json, text: reply } = await types.server.post(types.fd.at('/v1/query'), { query: text, parameters })
  expect(status, reply).toBe(200)
  return json
}

async function refusal(text: string): Promise<string> {
  const reply = await types.server.post(types.fd.at('/v1/query'), { query: text })
  return expectProblem(reply, 422)
}

/** A class with objects that have these decimals. */
async function classOfPrices(name: string, prices: readonly (string | number)[], more = {}): Promise<void> {
  await types.fd.define(classOf(name, { name: 'string', price, count: 'integer', weight: 'real', ...more }))
  for (const [i, one] of prices.entries()) {
    await types.fd.create(name, { name: String(i), price: one, count: i, weight: i / 2 })
  }
}

rule('3.2.20', 'definitions', async () => {
  for (const [given, shown] of [
    [{}, decimal(38, 0)],
    [{ precision: 5 }, decimal(5, 0)],
    [{ scale: '3' }, decimal(38, 3)],
    [{ precision: 38, scale: 38 }, decimal(38, 38)],
  ] as const) {
    const name = await types.classWith({ logicalType: 'Decimal', ...given })
    const { json } = await types.server.get(types.fd.at(`/v1/schema/${name}`))
    expect(json.attributes[0]).toEqual({ attributeName: 'a', ...shown })
  }
  await types.refusesDefinition(decimal(0, 0), decimal(39, 0), decimal(5, 6), decimal(5, -1), {
    logicalType: 'decimal',
    storage: 'b64',
  })
  await types.refusesDefinition({ logicalType: 'real', precision: 5 })
})

rule('3.2.20', 'values', async () => {
  await types.shows(price, {
    '"12.5"': '"12.50"',
    '12.5': '"12.50"',
    '-0': '"0.00"',
    '-0.01': '"-0.01"',
    '1.25e1': '"12.50"',
    '12.50000000000000000000000000': '"12.50"',
    '"12.50000000000000000000000000"': '"12.50"',
    '99999999.99': '"99999999.99"',
    null: 'null',
  })
  const digits = '12345678901234567890.123456789012345678'
  await types.shows(decimal(38, 18), { [digits]: `"${digits}"`, [`"-${digits}"`]: `"-${digits}"` })
  await types.shows(decimal(38, 0), {
    '99999999999999999999999999999999999999': '"99999999999999999999999999999999999999"',
    '12345678901234567.0': '"12345678901234567"',
    '1.2345678901234567891e19': '"12345678901234567891"',
    '1e25': '"10000000000000000000000000"',
  })
  await types.refuses(price, 422, '0.125', '"0.125"', '100000000', '1e300', '1e-400', '12.5000000000000000000000001')
  await types.refuses(decimal(38, 0), 422, '100000000000000000000000000000000000000', '1e38', '0.5', '1e400')
  await types.refuses(price, 400, '""', '"x"', '"1,5"', '"NaN"', 'true', '[]', '{}')
  expect(await types.defaultOf(price)).toBe('0.00')
  await types.shows(list(price), { '[1,"2.5",3.25]': '["1.00","2.50","3.25"]' })
  await types.refuses(list(price), 422, '[0.125]')
  await types.fd.define(classOf('Money', { amount: price }, { isReferenceable: false }))
  await types.shows({ logicalType: 'object', class: 'Money' }, { '{"amount":1.5}': '{"amount":"1.50"}' })
})

rule('3.2.20', 'keys are in the order of the values', async () => {
  const inOrder = [
    '-99999999.99',
    '-100',
    '-12.5',
    '-12.49',
    '-0.01',
    '0',
    '0.01',
    '0.1',
    '1',
    '9.99',
    '10',
    '99999999',
  ]
  await classOfPrices('Keyed', [...inOrder].reverse())
  await types.fd.index('byPrice', 'Keyed', true, 'price')
  const shown = inOrder.map((one) => ({ price: Number(one).toFixed(2) }))
  expect(await query('FROM Keyed ORDER BY price RETURN price')).toEqual(shown)
  expect(
    await query('FROM Keyed WHERE price > -100 AND price <= $p RETURN price ORDER BY price', { p: '0.1' }),
  ).toEqual(shown.slice(2, 8))
  for (const predicate of ['price = 1', 'price = 1.00', "price = '1.0'", 'price = $n', 'price IN (1, 7.5)']) {
    const [plan] = await query(`EXPLAIN ANALYZE FROM Keyed WHERE ${predicate} RETURN name`, { n: 1 })
    expect(JSON.stringify(plan), predicate).toContain('byPrice')
    expect(await query(`FROM Keyed WHERE ${predicate} RETURN price`, { n: 1 })).toEqual([{ price: '1.00' }])
  }
  expectProblem(await types.fd.postObject('Keyed', { price: '10.0' }), 409, 'UniqueViolation')
})

rule('3.2.21', 'beside other numbers', async () => {
  await classOfPrices('Sold', ['12.50', '-3.1', 100])
  const [row] = await query(
    "FROM Sold WHERE name = '1' RETURN price * 1.10 AS a, price + count AS b, price * weight AS c, price - $t AS d, price / 3 AS e, price % 2 AS f",
    { t: '0.125' },
  )
  expect(row).toEqual({
    a: '-3.4100',
    b: '-2.10',
    c: -1.55,
    d: '-3.225',
    e: '-1.0333333333333333333333333333333333333',
    f: '-1.10',
  })
  expect(await query('FROM Sold RETURN SUM(price) AS s, AVG(price) AS a, MIN(price) AS l, MAX(price) AS m')).toEqual([
    { s: '109.40', a: '36.466666666666666666666666666666666667', l: '-3.10', m: '100.00' },
  ])
  expect(
    await query(
      "FROM Sold WHERE name = '1' RETURN ABS(price) AS a, SIGN(price) AS b, ROUND(price) AS c, FLOOR(price) AS d, CEILING(price) AS e, TRUNCATE(price) AS f",
    ),
  ).toEqual([{ a: '3.10', b: '-1', c: '-3', d: '-4', e: '-3', f: '-3' }])
  const large = '9'.repeat(38)
  expect(await refusal(`SHOW CAST('${large}' AS Decimal) * ${large} * 10`)).toContain('decimal')
  const raw = `{"query":"FROM Sold WHERE price + $p = 12.50000000000000000001 RETURN name","parameters":{"p":0.00000000000000000001}}`
  expect((await types.server.send('POST', types.fd.at('/v1/query'), { raw })).json).toEqual([{ name: '0' }])
})

rule('3.2.22', 'nothing is rounded', async () => {
  await classOfPrices('Kept', ['12.50'])
  expect(await refusal('UPDATE Kept SET price TO price * 1.19')).toContain('price')
  expect(await refusal('UPDATE Kept SET count TO price')).toContain('integer')
  expect(await query('UPDATE Kept SET price TO ROUND(price * 1.19, 2) RETURN price')).toEqual([{ price: '14.88' }])
})

rule('3.2.23', 'CAST and changes of type', async () => {
  const cast =
    "SHOW LIST{CAST(12.349 AS Decimal{Precision: 5, Scale: 2}), CAST('12.3' AS Decimal{Scale: 2}), CAST('12.349' AS Decimal{Scale: 2}), CAST(1000 AS Decimal{Precision: 3})}"
  expect(await query(cast)).toEqual([['12.34', '12.30', null, null]])
  expect(await query("SHOW CAST('12.349' AS Decimal)")).toEqual(['12.349'])
  await classOfPrices('Changing', ['12.50', '-0.25'])
  await types.fd.index('byChanging', 'Changing', true, 'price')
  const change = async (type: object, loss = ''): Promise<Loose> => {
    const body = { attributesToChange: [{ attributeName: 'price', ...type }] }
    return types.server.put(types.fd.at(`/v1/schema/Changing`) + loss, body)
  }
  const shown = async (): Promise<unknown[]> =>
    (await query('FROM Changing ORDER BY price RETURN price')).map((one) => one.price)
  expect((await change(decimal(12, 4))).status).toBe(201)
  expect(await shown()).toEqual(['-0.2500', '12.5000'])
  expectProblem((await change(decimal(12, 1))) as never, 409, 'ValuesWouldBeLost')
  expect((await change(decimal(12, 1), '&allowLoss=true')).status).toBe(201)
  expect(await shown()).toEqual(['-0.2', '12.5'])
  expect((await change({ logicalType: 'real' })).status).toBe(201)
  expect(await shown()).toEqual([-0.2, 12.5])
  expect((await change(price)).status).toBe(201)
  expect(await shown()).toEqual(['-0.20', '12.50'])
  expect((await change({ logicalType: 'string' })).status).toBe(201)
  expect(await shown()).toEqual(['-0.20', '12.50'])
  expect((await change(price)).status).toBe(201)
  expect((await change({ logicalType: 'integer' }, '&allowLoss=true')).status).toBe(201)
  expect(await shown()).toEqual([0, 12])
  expect((await change(price)).status).toBe(201)
  expect(await query('FROM Changing WHERE price = 12 RETURN price')).toEqual([{ price: '12.00' }])
})

rule('3.2.20', 'in bulk loads, transactions and exports', async () => {
  await types.fd.define(classOf('Loaded', { name: 'string', amount: decimal(38, 18) }))
  await types.fd.index('byLoaded', 'Loaded', true, 'amount')
  const digits = '12345678901234567890.123456789012345678'
  const lines = [digits, '"2.50"', '2.5'].map((amount, i) => {
    return `{"class":"Loaded","attributes":{"name":"${i}","amount":${amount}}}`
  })
  const headers = { 'content-type': 'application/x-ndjson' }
  const loaded = await types.server.send('POST', types.fd.at('/v1/object'), { raw: lines.join('\n'), headers })
  expect(loaded.text).toContain('UniqueViolation')
  const step = `{"method":"post","uri":"/v1/object","body":${lines[0]?.replace('"0"', '"4"').replace(digits, `-${digits}`)}}`
  const batch = await types.server.send('POST', types.fd.at('/v1/transaction'), { raw: `[${step}]` })
  expect([200, 201], batch.text).toContain(batch.status)
  const exported = await types.server.get(`${types.fd.at('/v1/export')}&class=Loaded&format=csv&columns=name,amount`)
  expect(exported.text).toBe(`name,amount\n0,${digits}\n1,2.500000000000000000\n4,-${digits}\n`)
})
