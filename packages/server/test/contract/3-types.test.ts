/** Definitions and scalar types, from JSON in to JSON out, over HTTP. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { startTypesUnderTest, type TypesUnderTest } from './types-under-test.ts'

let types: TypesUnderTest
beforeAll(async () => {
  types = await startTypesUnderTest()
})
afterAll(() => types.server.remove())

describe('definitions', () => {
  rule('3.1.1', 'defaults of encoding and storage are written out', async () => {
    const name = await types.classWith({ logicalType: 'integer' })
    const attribute = async () => (await types.server.get(types.fd.at(`/v1/schema/${name}`))).json.attributes[0]
    expect(await attribute()).toEqual({
      attributeName: 'a',
      logicalType: 'integer',
      encoding: 'signed',
      storage: 'b32',
    })
    for (const [type, described] of [
      ['boolean', { encoding: 'binary', storage: 'byte' }],
      ['real', { encoding: 'ieee', storage: 'b64' }],
      ['string', { encoding: 'utf8', storage: 'variable' }],
      ['date', { encoding: 'objy' }],
      ['datetime', { encoding: 'objy', storage: 'datetime' }],
    ] as const) {
      const other = await types.classWith({ logicalType: type })
      const { json } = await types.server.get(types.fd.at(`/v1/schema/${other}`))
      expect(json.attributes[0]).toEqual({ attributeName: 'a', logicalType: type, ...described })
    }
  })

  rule(['3.1.2', '3.1.3'], 'wrong combinations, foreign fields and unknown types', async () => {
    await types.refusesDefinition(
      { logicalType: 'integer', storage: 'b7' },
      { logicalType: 'integer', encoding: 'utf8' },
      { logicalType: 'integer', fixedLength: 3 },
      { logicalType: 'boolean', referencedClass: 'Target' },
      { logicalType: 'reference' },
      { logicalType: 'object' },
      { logicalType: 'list' },
      { logicalType: 'set', elementSpecification: { logicalType: 'integer' } },
      { logicalType: 'map', elementSpecification: { logicalType: 'integer' } },
      { logicalType: 'real', storage: 'b16' },
      { logicalType: 'datetime', storage: 'variable' },
      { logicalType: 'string', encoding: 'latin1' },
    )
    const reply = await types.fd.putSchema(classOf('Refused', { a: 'number' }))
    expect(expectProblem(reply, 422, 'InvalidDefinition')).toContain('integer')
  })

  rule('3.1.7', 'words of the original for types', async () => {
    const shown = async (definition: Record<string, unknown>): Promise<Record<string, unknown>> => {
      const name = await types.classWith(definition)
      return (await types.server.get(types.fd.at(`/v1/schema/${name}`))).json.attributes[0]
    }
    const real = { attributeName: 'a', logicalType: 'real', encoding: 'ieee' }
    expect(await shown({ logicalType: 'Float' })).toEqual({ ...real, storage: 'b32' })
    expect(await shown({ logicalType: 'float', encoding: 'IEEE', storage: 'b64' })).toEqual({ ...real, storage: 'b64' })
    expect(await shown({ ...list('float'), collectionTypeName: 'SegmentedArray' })).toMatchObject({
      elementSpecification: { logicalType: 'real', storage: 'b32' },
    })
    const toTarget = { elementSpecification: reference('Target') }
    expect(await shown({ logicalType: 'map', collectionTypeName: 'OOMAP', ...toTarget })).toMatchObject({
      collectionTypeName: 'NameToReferenceMap',
    })
    await types.refusesDefinition({ logicalType: 'list', collectionTypeName: 'ooMap', ...toTarget })
  })

  rule('3.1.8', 'instant is a datetime with an offset', async () => {
    const instant = { logicalType: 'datetime', encoding: 'objy', storage: 'datetimeoffset' }
    for (const definition of [{ logicalType: 'Instant' }, { logicalType: 'instant', storage: 'DATETIMEOFFSET' }]) {
      const name = await types.classWith(definition)
      const { json } = await types.server.get(types.fd.at(`/v1/schema/${name}`))
      expect(json.attributes[0]).toEqual({ attributeName: 'a', ...instant })
    }
    await types.shows({ logicalType: 'instant' }, { '"2026-07-01T14:00:00+02:00"': '"2026-07-01T14:00:00+02:00"' })
    await types.refusesDefinition({ logicalType: 'instant', storage: 'datetime' })
    const document = (await types.server.get('/openapi.json')).text
    expect(document).toContain('instant for a datetime with the storage datetimeoffset')
    const text = 'UPDATE SCHEMA { CREATE CLASS OfInstants {a: Instant} }; SHOW CLASS OfInstants'
    const shown = await types.server.post(types.fd.at('/v1/query'), { query: text })
    expect(shown.json[0].attributes[0]).toEqual({ attributeName: 'a', ...instant })
  })

  rule(['3.1.6', '3.3.8'], 'an omitted default is the same as a given one', async () => {
    for (const [brief, full] of [
      [{ logicalType: 'boolean' }, { encoding: 'BINARY', storage: 'byte' }],
      [{ logicalType: 'integer' }, { encoding: 'signed', storage: 'b32' }],
      [{ logicalType: 'real' }, { encoding: 'ieee', storage: 'B64' }],
      [{ logicalType: 'string' }, { encoding: 'utf8', storage: 'variable' }],
      [{ logicalType: 'datetime' }, { encoding: 'objy', storage: 'datetime' }],
      [reference('Target'), { inverseAttribute: '' }],
      [list('integer'), { storage: 'variable' }],
      [list({ logicalType: 'integer' }), { elementSpecification: { logicalType: 'integer', encoding: 'signed' } }],
    ] as const) {
      const given: Record<string, unknown> = { ...brief, ...full }
      for (const [first, second] of [
        [brief, given],
        [given, brief],
      ] as const) {
        const name = await types.classWith(first)
        const { shapeNumber } = (await types.server.get(types.fd.at(`/v1/schema/${name}`))).json
        await types.fd.define(classOf(name, { a: second }))
        expect((await types.server.get(types.fd.at(`/v1/schema/${name}`))).json.shapeNumber).toBe(shapeNumber)
      }
    }
  })

  rule('3.1.4', 'null is stored as null for every scalar type', async () => {
    const scalars = [
      'boolean',
      'character',
      'integer',
      'real',
      'string',
      'guid',
      'date',
      'time',
      'datetime',
      'interval',
      'bytes',
    ]
    for (const logicalType of scalars) await types.shows({ logicalType }, { null: 'null' })
    const oid = await types.fd.create(await types.classWith({ logicalType: 'integer' }), { a: 5 })
    await types.fd.update(oid, { a: null })
    expect((await types.fd.read(oid)).a).toBeNull()
  })

  rule('3.1.5', 'null empties collections and resets embedded objects', async () => {
    await types.shows(list('integer'), { null: '[]', '[1]': '[1]' })
    await types.shows({ logicalType: 'object', class: 'Point' }, { null: '{"x":0,"y":0}' })
    await types.shows(set(reference('Target')), { null: '[]' })
  })
})

describe('scalars', () => {
  rule('3.2.1', 'boolean', async () => {
    await types.shows({ logicalType: 'boolean' }, { true: 'true', '"true"': 'true', '"false"': 'false' })
    await types.refuses({ logicalType: 'boolean' }, 400, '1', '""', '"yes"', '0', '[]', '{}')
    expect(await types.defaultOf({ logicalType: 'boolean' })).toBe(false)
  })

  rule('3.2.2', 'character', async () => {
    await types.shows(
      { logicalType: 'character' },
      { '"x"': '"x"', '"\\u0000"': '"\\u0000"', '"😀"': '"😀"', '"\\""': '"\\""' },
    )
    await types.refuses({ logicalType: 'character', storage: 'b8' }, 422, '"ab"', '""', '"Ā"', '"\\ud800"')
    await types.refuses({ logicalType: 'character', storage: 'b16' }, 422, '"😀"')
    await types.refuses({ logicalType: 'character' }, 400, '5', 'true')
    expect(await types.defaultOf({ logicalType: 'character' })).toBeNull()
  })

  rule('3.2.3', 'integer widths', async () => {
    for (const [encoding, storage, min, max] of [
      ['signed', 'b8', '-128', '127'],
      ['unsigned', 'b8', '0', '255'],
      ['signed', 'b16', '-32768', '32767'],
      ['unsigned', 'b16', '0', '65535'],
      ['signed', 'b32', '-2147483648', '2147483647'],
      ['unsigned', 'b32', '0', '4294967295'],
      ['signed', 'b64', '-9223372036854775808', '9223372036854775807'],
      ['unsigned', 'b64', '0', '18446744073709551615'],
    ] as const) {
      const type = { logicalType: 'integer', encoding, storage }
      await types.shows(type, { [min]: min, [max]: max, [`"${max}"`]: max })
      await types.refuses(type, 422, String(BigInt(max) + 1n), String(BigInt(min) - 1n), '1.5')
    }
    await types.refuses({ logicalType: 'integer' }, 400, '""', '"x"', '"1.5"', 'true', '[]')
    expect(await types.defaultOf({ logicalType: 'integer' })).toBe(0)
    // Fractions that a double does not hold are fractions all the same.
    const tiny = ['1e-400', '-1e-400', '1.00000000000000000001', '0.99999999999999999999', `0.${'0'.repeat(400)}1`]
    for (const storage of ['b32', 'b64']) {
      const type = { logicalType: 'integer', storage }
      await types.refuses(type, 422, ...tiny)
      await types.shows(type, { '1.50e1': '15', '0e-400': '0', '-2.00000000000000000000': '-2', '1000e-3': '1' })
    }
    await types.shows({ logicalType: 'real' }, { '1e-400': '0', '1.00000000000000000001': '1' })
    await types.refuses({ logicalType: 'string' }, 400, '1e-400')
    await types.refuses({ logicalType: 'boolean' }, 400, '1e-400')
    await types.refuses(list('integer'), 422, '[1,1e-400]')
    await types.refuses(list('integer'), 400, '1e-400')
  })

  rule('3.2.4', 'integers beyond 2^53 are exact', async () => {
    const type = { logicalType: 'integer', storage: 'b64' }
    await types.shows(type, { '9007199254740993': '9007199254740993', '"-9007199254740993"': '-9007199254740993' })
    await types.shows(list(type), {
      '[9007199254740993,"1",9007199254740995]': '[9007199254740993,1,9007199254740995]',
    })
    const oid = await types.fd.create(await types.classWith(type))
    await types.server.send('PUT', types.fd.at(`/v1/object/${oid}`), { raw: '{"attributes":{"a":-9007199254740995}}' })
    expect((await types.server.get(types.fd.at(`/v1/object/${oid}`))).text).toContain('"a":-9007199254740995}')
    await types.refuses(type, 422, '9223372036854775808', '"99999999999999999999999"')
  })

  rule('3.2.5', 'real', async () => {
    await types.shows(
      { logicalType: 'real', storage: 'b32' },
      { '9.99': '9.99', '0.1': '0.1', '"2.5e-3"': '0.0025', '16777217': '16777216' },
    )
    await types.shows(
      { logicalType: 'real' },
      { '0.1': '0.1', '1e300': '1e+300', '3': '3', '0.30000000000000004': '0.30000000000000004', '-0': '-0' },
    )
    await types.refuses({ logicalType: 'real', storage: 'b32' }, 422, '1e39')
    await types.refuses({ logicalType: 'real' }, 422, '1e999')
    await types.refuses({ logicalType: 'real' }, 400, '"NaN"', '"Infinity"', '""', 'false')
    expect(await types.defaultOf({ logicalType: 'real' })).toBe(0)
  })

  rule(['3.2.6', '3.2.7'], 'string', async () => {
    const odd = '"\\u0000\\n\\"\\\\ é 漢 😀 \\u2028"'
    for (const encoding of ['utf8', 'utf16', 'utf32']) {
      const name = await types.classWith({ logicalType: 'string', encoding })
      expect(JSON.parse(await types.textOf(name, odd))).toBe(JSON.parse(odd))
    }
    await types.shows({ logicalType: 'string', encoding: 'byte' }, { '"ÿ"': '"ÿ"' })
    await types.refuses({ logicalType: 'string', encoding: 'byte' }, 422, '"Ā"')
    await types.refuses({ logicalType: 'string' }, 422, '"\\ud800"', '"a\\udc00"')
    await types.refuses({ logicalType: 'string' }, 400, '5', 'true', '{}', '[]')
    expect(await types.defaultOf({ logicalType: 'string' })).toBe('')
  })

  rule('3.2.8', 'fixedLength counts code points', async () => {
    const fixed = { logicalType: 'string', storage: 'fixed', fixedLength: 3 }
    await types.shows(fixed, { '"😀😀😀"': '"😀😀😀"', '"a"': '"a"' })
    await types.refuses(fixed, 422, '"abcd"')
    await types.shows({ logicalType: 'string', storage: 'optimized', fixedLength: '3' }, { '"ab"': '"ab"' })
    await types.refusesDefinition(
      { logicalType: 'string', storage: 'fixed' },
      { logicalType: 'string', storage: 'fixed', fixedLength: 0 },
      { logicalType: 'string', storage: 'variable', fixedLength: 3 },
    )
  })

  rule('3.2.9', 'guid', async () => {
    const guid = '"0a1B2c3d-0000-4000-8000-ABCDEFabcdef"'
    await types.shows({ logicalType: 'guid' }, { [guid]: guid.toLowerCase() })
    await types.refuses({ logicalType: 'guid' }, 422, '"x"', '""')
    expect(await types.defaultOf({ logicalType: 'guid' })).toBeNull()
  })

  rule('3.2.10', 'date', async () => {
    await types.shows(
      { logicalType: 'date' },
      {
        '"2024-02-29"': '"2024-02-29"',
        '"2024/02/29"': '"2024-02-29"',
        '"0001-01-01"': '"0001-01-01"',
        '"9999-12-31"': '"9999-12-31"',
        '"1900-03-01"': '"1900-03-01"',
      },
    )
    await types.refuses(
      { logicalType: 'date' },
      422,
      '"2023-02-29"',
      '"2024-13-01"',
      '"0000-01-01"',
      '"x"',
      '"1900-02-29"',
    )
    await types.refuses({ logicalType: 'date' }, 400, '5', '{}')
    expect(await types.defaultOf({ logicalType: 'date' })).toBeNull()
  })

  rule('3.2.11', 'time', async () => {
    await types.shows(
      { logicalType: 'time' },
      {
        '"08:05:09.25"': '"08:05:09.25"',
        '"23:59:59.99999"': '"23:59:59.9999"',
        '"08:05"': '"08:05:00"',
        '"00:00:00"': '"00:00:00"',
      },
    )
    await types.refuses({ logicalType: 'time' }, 422, '"24:00:00"', '"08:60:00"', '"08:00:60"', '"x"')
    expect(await types.defaultOf({ logicalType: 'time' })).toBeNull()
  })

  rule('3.2.12', 'datetime', async () => {
    await types.shows(
      { logicalType: 'datetime' },
      {
        '"2024-02-29T08:05:09.25"': '"2024-02-29T08:05:09.25"',
        '"2024-02-29 08:05:09.25"': '"2024-02-29T08:05:09.25"',
        '"9999-12-31T23:59:59.9999"': '"9999-12-31T23:59:59.9999"',
        '"2024-02-29T08:05:09.12349"': '"2024-02-29T08:05:09.1234"',
        '"2024-02-29T08:05:00"': '"2024-02-29T08:05:00"',
      },
    )
    expect(await types.defaultOf({ logicalType: 'datetime' })).toBeNull()
    await types.refuses({ logicalType: 'datetime' }, 400, '5', 'true', '{}')
    await types.refuses({ logicalType: 'datetime' }, 422, '"2024-02-30T08:00:00"', '"2024-02-29T08:05:09+0100"')
  })

  rule('3.2.17', 'an offset is applied and dropped where none is meant', async () => {
    await types.shows(
      { logicalType: 'datetime' },
      {
        '"2024-02-29T08:05:09Z"': '"2024-02-29T08:05:09"',
        '"2024-02-29 08:05:09 Z"': '"2024-02-29T08:05:09"',
        '"2024-02-29T08:05:09+05:30"': '"2024-02-29T02:35:09"',
        '"2024-02-29 08:05:09 -11:00"': '"2024-02-29T19:05:09"',
      },
    )
    const beyond = ['"0001-01-01T00:00:00+00:01"', '"9999-12-31T23:59:59-00:01"']
    await types.refuses({ logicalType: 'datetime' }, 422, ...beyond)
    const name = await types.classWith({ logicalType: 'datetime' })
    await types.fd.index(`${name}Unique`, name, true, 'a')
    await types.fd.create(name, { a: '2024-01-01T12:00:00+02:00' })
    expectProblem(await types.fd.postObject(name, { a: '2024-01-01 10:00:00 Z' }), 409, 'UniqueViolation')
  })

  rule('3.2.13', 'datetimeoffset', async () => {
    await types.shows(
      { logicalType: 'datetime', storage: 'datetimeoffset' },
      {
        '"2024-02-29T08:05:09.25"': '"2024-02-29T08:05:09.25Z"',
        '"2024-02-29T08:05:09Z"': '"2024-02-29T08:05:09Z"',
        '"2024-02-29T08:05:09+05:30"': '"2024-02-29T08:05:09+05:30"',
        '"2024-02-29 08:05:09-11:00"': '"2024-02-29T08:05:09-11:00"',
        '"2024-02-29 08:05:09 -11:00"': '"2024-02-29T08:05:09-11:00"',
      },
    )
    await types.refuses({ logicalType: 'datetime', storage: 'datetimeoffset' }, 422, '"2024-02-29T08:05:09+15:00"')
  })

  rule('3.2.15', 'the same instant is the same datetimeoffset', async () => {
    const name = await types.classWith({ logicalType: 'datetime', storage: 'datetimeoffset' })
    await types.fd.index(`${name}Unique`, name, true, 'a')
    await types.fd.create(name, { a: '2024-01-01T12:00:00+02:00' })
    expectProblem(await types.fd.postObject(name, { a: '2024-01-01T10:00:00Z' }), 409, 'UniqueViolation')
  })

  rule('3.2.14', 'interval', async () => {
    await types.shows(
      { logicalType: 'interval' },
      {
        '"P2DT30M"': '"P2DT30M"',
        '"PT36H"': '"P1DT12H"',
        '"-PT0.5S"': '"-PT0.5S"',
        '"PT0S"': '"PT0S"',
        '"P1W"': '"P7D"',
        '"P5000000D"': '"P5000000D"',
        '{"days":-5000000}': '"-P5000000D"',
        '{"days":"1","hours":-12,"seconds":0.5}': '"PT12H0.5S"',
        '{"days":2,"minutes":30}': '"P2DT30M"',
        '{"milliseconds":1500}': '"PT1.5S"',
      },
    )
    await types.refuses({ logicalType: 'interval' }, 422, '"P5000001D"', '"x"', '"P"', '"P1Y"')
    await types.refuses({ logicalType: 'interval' }, 400, '5', '{"fortnights":1}')
    expect(await types.defaultOf({ logicalType: 'interval' })).toBeNull()
  })

  rule('3.2.18', 'bytes', async () => {
    await types.shows(
      { logicalType: 'bytes' },
      {
        '""': '""',
        '"AP8="': '"AP8="',
        '"AP8"': '"AP8="',
        '"-_8="': '"+/8="',
        '"+_8"': '"+/8="',
        '"\\u0041A=="': '"AA=="',
        null: 'null',
      },
    )
    await types.shows(list('bytes'), { '["AA","/w=="]': '["AA==","/w=="]', null: '[]' })
    await types.refuses(
      { logicalType: 'bytes' },
      422,
      '"A"',
      '"AA="',
      '"AB=="',
      '"A A="',
      '"AA==AA=="',
      '"é"',
      '"AP8=\\n"',
    )
    await types.refuses({ logicalType: 'bytes' }, 400, '5', 'true', '[65]', '{}')
    await types.refusesDefinition({ logicalType: 'bytes', encoding: 'byte' }, { logicalType: 'bytes', fixedLength: 3 })
    expect(await types.defaultOf({ logicalType: 'bytes' })).toBe('')
  })
})
