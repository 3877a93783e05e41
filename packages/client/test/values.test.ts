/** Integers beyond 2^53 and instants, in every call that carries values, both ways. */
import { describe, expect, it } from 'vitest'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import type { ClientOptions, LiveEvent } from '../src/index.ts'
import { JsonText, parseExactly, stringifyBody } from '../src/json.ts'

async function connect(options: Partial<ClientOptions>): Promise<AshlarClient> {
  const { app } = await openServer()
  const client = new AshlarClient({ baseUrl: await app.listen({ host: '127.0.0.1', port: 0 }), ...options })
  const attributes = [
    { attributeName: 'n', logicalType: 'integer', storage: 'b64' },
    { attributeName: 'at', logicalType: 'datetime', storage: 'datetimeoffset' },
    { attributeName: 'plain', logicalType: 'datetime' },
  ]
  await client.createClasses([{ className: 'A', isReferenceable: true, attributes }])
  return client
}

/** What each way of reading gives of the attributes `n`, `at` and `plain` of the only object. */
async function readings(client: AshlarClient, oid: string): Promise<Record<string, unknown>[]> {
  const text = 'FROM A RETURN n, at, plain'
  const rows: Record<string, unknown>[] = await client.query(text)
  for await (const row of client.queryStream(text)) rows.push(row)
  for await (const event of client.followQuery(text) as AsyncGenerator<LiveEvent, never>) {
    if (event.event === 'row') rows.push(event.row as Record<string, unknown>)
    if (event.event === 'position') break
  }
  const { changes } = await client.listChanges({ className: 'A' })
  rows.push(...changes.flatMap(({ after }) => (after === undefined ? [] : [after])))
  for await (const { after } of client.followChanges({ className: 'A' })) {
    if (after === undefined) continue
    rows.push(after)
    break
  }
  const [got] = await client.runTransaction([{ method: 'get', uri: `/v1/object/${oid}` }])
  const objects = [await client.readObject(oid), (await client.readObjectWithEtag(oid)).object, got?.result]
  rows.push(...(objects as Record<string, unknown>[]))
  return rows.map(({ n, at, plain }) => ({ n, at, plain }))
}

const big = 9_007_199_254_740_993n

describe('integers beyond 2^53', () => {
  it('are exact in every call with `bigint`, while others stay numbers', async () => {
    const client = await connect({ integers: 'bigint' })
    const { __identifier__: oid } = await client.createObject('A', { n: big })
    for (const { n } of await readings(client, oid)) expect(n).toBe(big)
    expect(await client.query('FROM A WHERE n = $n RETURN n', { n: big })).toEqual([{ n: big }])
    expect(await client.query('FROM A WHERE n = $n RETURN n', { n: big - 1n })).toEqual([])
    for await (const _ of client.loadObjects([{ class: 'A', attributes: { n: -big } }])) {
      // Only to be created.
    }
    await client.updateObject(oid, { n: 2n ** 53n - 1n })
    expect(await client.query('FROM A ORDER BY n RETURN n')).toEqual([{ n: -big }, { n: Number.MAX_SAFE_INTEGER }])
  })

  it('are rounded without it, and sent exactly all the same', async () => {
    const client = await connect({})
    const { __identifier__: oid } = await client.createObject('A', { n: big })
    expect((await client.readObject(oid)).n).toBe(9_007_199_254_740_992)
    expect(await client.query('FROM A WHERE n = $n RETURN COUNT() AS c', { n: big })).toEqual([{ c: 1 }])
  })

  it('are found among numbers and strings of any form', () => {
    const tricky = `{"9007199254740993":"9007199254740993","a":[9007199254740993,-9007199254740993,9007199254740991,
      0.12345678901234567,1.5e300,12345678901234567.5,12345678901234567e3,-1,"\\"9007199254740993","\\\\",${'9'.repeat(30)}],"b":"é\\u0022"}`
    const read = parseExactly(tricky)
    expect(read).toEqual({
      '9007199254740993': '9007199254740993',
      a: [
        big,
        -big,
        Number.MAX_SAFE_INTEGER,
        Number('0.12345678901234567'),
        1.5e300,
        Number('12345678901234567.5'),
        Number('12345678901234567e3'),
        -1,
        '"9007199254740993',
        '\\',
        BigInt('9'.repeat(30)),
      ],
      b: 'é"',
    })
    for (const broken of ['9007199254740993]', '"9007199254740993', '"9007199254740993\\"']) {
      expect(() => parseExactly(broken)).toThrow(SyntaxError)
    }
  })

  it('in large replies take no more than their length', () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => ({ n: big + BigInt(i), text: `\\${'"'.repeat(i % 9)}` }))
    expect(parseExactly(stringifyBody(rows))).toEqual(rows)
    const long = { text: '\\'.repeat(1_000_000), n: big }
    expect(parseExactly(stringifyBody(long))).toEqual(long)
  })
})

describe('instants', () => {
  const at = new Date('2026-07-01T12:00:00.125Z')

  it('are Dates in every call with `dates`, and date-times without a zone are not', async () => {
    const client = await connect({ dates: true })
    const { __identifier__: oid } = await client.createObject('A', { at, plain: at })
    const expected = { n: 0, at, plain: '2026-07-01T12:00:00.125' }
    for (const read of await readings(client, oid)) expect(read).toEqual(expected)
    expect(await client.query('FROM A WHERE at = $at RETURN COUNT() AS c', { at })).toEqual([{ c: 1 }])
    await client.updateObject(oid, { at: '2026-07-01T14:00:00+02:00' })
    expect((await client.readObject(oid)).at).toEqual(new Date('2026-07-01T12:00:00Z'))
    const [change] = (await client.listChanges({ className: 'A' })).changes.slice(-1)
    expect([change?.before?.at, typeof change?.at]).toEqual([at, 'string'])
    await client.updateObject(oid, { at: null })
    expect((await client.readObject(oid)).at).toBeNull()
  })

  it('are strings without it', async () => {
    const client = await connect({})
    const { __identifier__: oid } = await client.createObject('A', { at })
    expect((await client.readObject(oid)).at).toBe('2026-07-01T12:00:00.125Z')
  })

  it('that are invalid are not sent as null', async () => {
    const client = await connect({})
    const invalid = client.createObject('A', { at: new Date(Number.NaN) })
    await expect(invalid).rejects.toThrow(new RangeError("The value of 'at' is an invalid Date."))
  })

  it('are told by their form alone', async () => {
    const texts = ['2026-07-01', '2026-07-01T12:00:00', '12:00:00Z', 'at 2026-07-01T12:00:00Z', '2026-99-01T12:00:00Z']
    const fetch = async () => new Response(JSON.stringify([...texts, ['0001-01-01T00:00:00.5-23:59'], null]))
    const client = new AshlarClient({ baseUrl: 'http://x', dates: true, fetch })
    const instant = new Date('0001-01-01T00:00:00.500Z').getTime() + (23 * 60 + 59) * 60_000
    expect(await client.query('SHOW 1')).toEqual([...texts, [new Date(instant)], null])
  })
})

describe('JsonText', () => {
  it('is sent as it is, beside bigints and strings', () => {
    const body = { a: new JsonText('{"2": 1.50, "1": "$1"}'), b: [new JsonText('1.0'), big, 'x'] }
    expect(stringifyBody(body)).toBe(`{"a":{"2": 1.50, "1": "$1"},"b":[1.0,${big},"x"]}`)
    expect(JSON.stringify(body.a)).toBe('{"1":"$1","2":1.5}')
  })
})
