/** Every type, from JSON in to JSON out, over HTTP. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
let classes = 0

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'types'] })
  fd = new FdUnderTest(server, 'types')
  await fd.define(
    classOf('Point', { x: 'integer', y: { logicalType: 'real' } }, embedded),
    classOf('Target', { n: 'integer' }),
  )
})
afterAll(() => server.remove())

/** A class with one attribute `a` of the type. */
async function classWith(type: Record<string, unknown>): Promise<string> {
  const name = `C${++classes}`
  await fd.define(classOf(name, { a: type }))
  return name
}

/** What is read back, as the text of the reply, for a value given as JSON text. */
async function textOf(className: string, json: string): Promise<string> {
  const raw = `{"class":"${className}","attributes":{"a":${json}}}`
  const made = await server.send('POST', fd.at('/v1/object'), { raw })
  expect(made.status, `${json}: ${made.text}`).toBe(201)
  const { text } = await server.get(fd.at(`/v1/object/${made.json.__identifier__}`))
  return text.slice(text.indexOf('"a":') + 4, -1)
}

async function shows(type: Record<string, unknown>, values: Record<string, string>): Promise<void> {
  const name = await classWith(type)
  for (const [given, read] of Object.entries(values)) expect(await textOf(name, given), given).toBe(read)
}

async function refuses(type: Record<string, unknown>, status: number, ...values: string[]): Promise<void> {
  const name = await classWith(type)
  for (const given of values) {
    const raw = `{"class":"${name}","attributes":{"a":${given}}}`
    const reply = await server.send('POST', fd.at('/v1/object'), { raw })
    expect(reply.status, `${given}: ${reply.text}`).toBe(status)
    expect(expectProblem(reply, status)).toContain(name)
  }
}

async function defaultOf(type: Record<string, unknown>): Promise<unknown> {
  return (await fd.read(await fd.create(await classWith(type)))).a
}

async function refusesDefinition(...types: Record<string, unknown>[]): Promise<void> {
  for (const type of types) {
    const reply = await fd.putSchema(classOf(`Refused${++classes}`, { a: type }))
    expect(reply.status, JSON.stringify(type)).toBe(422)
    expectProblem(reply, 422)
  }
}

describe('definitions', () => {
  rule('3.1.1', 'defaults of encoding and storage are written out', async () => {
    const name = await classWith({ logicalType: 'integer' })
    const attribute = async () => (await server.get(fd.at(`/v1/schema/${name}`))).json.attributes[0]
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
      const other = await classWith({ logicalType: type })
      const { json } = await server.get(fd.at(`/v1/schema/${other}`))
      expect(json.attributes[0]).toEqual({ attributeName: 'a', logicalType: type, ...described })
    }
  })

  rule(['3.1.2', '3.1.3'], 'wrong combinations, foreign fields and unknown types', async () => {
    await refusesDefinition(
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
    const reply = await fd.putSchema(classOf('Refused', { a: 'number' }))
    expect(expectProblem(reply, 422, 'InvalidDefinition')).toContain('integer')
  })

  rule('3.1.4', 'null is stored as null for every scalar type', async () => {
    const types = ['boolean', 'character', 'integer', 'real', 'string', 'guid', 'date', 'time', 'datetime', 'interval']
    for (const logicalType of types) await shows({ logicalType }, { null: 'null' })
    const oid = await fd.create(await classWith({ logicalType: 'integer' }), { a: 5 })
    await fd.update(oid, { a: null })
    expect((await fd.read(oid)).a).toBeNull()
  })

  rule('3.1.5', 'null empties collections and resets embedded objects', async () => {
    await shows(list('integer'), { null: '[]', '[1]': '[1]' })
    await shows({ logicalType: 'object', class: 'Point' }, { null: '{"x":0,"y":0}' })
    await shows(set(reference('Target')), { null: '[]' })
  })
})

describe('scalars', () => {
  rule('3.2.1', 'boolean', async () => {
    await shows({ logicalType: 'boolean' }, { true: 'true', '"true"': 'true', '"false"': 'false' })
    await refuses({ logicalType: 'boolean' }, 400, '1', '""', '"yes"', '0', '[]', '{}')
    expect(await defaultOf({ logicalType: 'boolean' })).toBe(false)
  })

  rule('3.2.2', 'character', async () => {
    await shows(
      { logicalType: 'character' },
      { '"x"': '"x"', '"\\u0000"': '"\\u0000"', '"😀"': '"😀"', '"\\""': '"\\""' },
    )
    await refuses({ logicalType: 'character', storage: 'b8' }, 422, '"ab"', '""', '"Ā"', '"\\ud800"')
    await refuses({ logicalType: 'character', storage: 'b16' }, 422, '"😀"')
    await refuses({ logicalType: 'character' }, 400, '5', 'true')
    expect(await defaultOf({ logicalType: 'character' })).toBeNull()
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
      await shows(type, { [min]: min, [max]: max, [`"${max}"`]: max })
      await refuses(type, 422, String(BigInt(max) + 1n), String(BigInt(min) - 1n), '1.5')
    }
    await refuses({ logicalType: 'integer' }, 400, '""', '"x"', '"1.5"', 'true', '[]')
    expect(await defaultOf({ logicalType: 'integer' })).toBe(0)
  })

  rule('3.2.4', 'integers beyond 2^53 are exact', async () => {
    const type = { logicalType: 'integer', storage: 'b64' }
    await shows(type, { '9007199254740993': '9007199254740993', '"-9007199254740993"': '-9007199254740993' })
  })

  rule('3.2.5', 'real', async () => {
    await shows(
      { logicalType: 'real', storage: 'b32' },
      { '9.99': '9.99', '0.1': '0.1', '"2.5e-3"': '0.0025', '16777217': '16777216' },
    )
    await shows(
      { logicalType: 'real' },
      { '0.1': '0.1', '1e300': '1e+300', '3': '3', '0.30000000000000004': '0.30000000000000004' },
    )
    await refuses({ logicalType: 'real', storage: 'b32' }, 422, '1e39')
    await refuses({ logicalType: 'real' }, 422, '1e999')
    await refuses({ logicalType: 'real' }, 400, '"NaN"', '"Infinity"', '""', 'false')
    expect(await defaultOf({ logicalType: 'real' })).toBe(0)
  })

  rule(['3.2.6', '3.2.7'], 'string', async () => {
    const odd = '"\\u0000\\n\\"\\\\ é 漢 😀 \\u2028"'
    for (const encoding of ['utf8', 'utf16', 'utf32']) {
      const name = await classWith({ logicalType: 'string', encoding })
      expect(JSON.parse(await textOf(name, odd))).toBe(JSON.parse(odd))
    }
    await shows({ logicalType: 'string', encoding: 'byte' }, { '"ÿ"': '"ÿ"' })
    await refuses({ logicalType: 'string', encoding: 'byte' }, 422, '"Ā"')
    await refuses({ logicalType: 'string' }, 422, '"\\ud800"', '"a\\udc00"')
    await refuses({ logicalType: 'string' }, 400, '5', 'true', '{}', '[]')
    expect(await defaultOf({ logicalType: 'string' })).toBe('')
  })

  rule('3.2.8', 'fixedLength counts code points', async () => {
    const fixed = { logicalType: 'string', storage: 'fixed', fixedLength: 3 }
    await shows(fixed, { '"😀😀😀"': '"😀😀😀"', '"a"': '"a"' })
    await refuses(fixed, 422, '"abcd"')
    await shows({ logicalType: 'string', storage: 'optimized', fixedLength: '3' }, { '"ab"': '"ab"' })
    await refusesDefinition(
      { logicalType: 'string', storage: 'fixed' },
      { logicalType: 'string', storage: 'fixed', fixedLength: 0 },
      { logicalType: 'string', storage: 'variable', fixedLength: 3 },
    )
  })

  rule('3.2.9', 'guid', async () => {
    const guid = '"0a1B2c3d-0000-4000-8000-ABCDEFabcdef"'
    await shows({ logicalType: 'guid' }, { [guid]: guid.toLowerCase() })
    await refuses({ logicalType: 'guid' }, 422, '"x"', '""')
    expect(await defaultOf({ logicalType: 'guid' })).toBeNull()
  })

  rule('3.2.10', 'date', async () => {
    await shows(
      { logicalType: 'date' },
      {
        '"2024-02-29"': '"2024-02-29"',
        '"2024/02/29"': '"2024-02-29"',
        '"0001-01-01"': '"0001-01-01"',
        '"9999-12-31"': '"9999-12-31"',
        '"1900-03-01"': '"1900-03-01"',
      },
    )
    await refuses({ logicalType: 'date' }, 422, '"2023-02-29"', '"2024-13-01"', '"0000-01-01"', '"x"', '"1900-02-29"')
    await refuses({ logicalType: 'date' }, 400, '5', '{}')
    expect(await defaultOf({ logicalType: 'date' })).toBeNull()
  })

  rule('3.2.11', 'time', async () => {
    await shows(
      { logicalType: 'time' },
      {
        '"08:05:09.25"': '"08:05:09.25"',
        '"23:59:59.99999"': '"23:59:59.9999"',
        '"08:05"': '"08:05:00"',
        '"00:00:00"': '"00:00:00"',
      },
    )
    await refuses({ logicalType: 'time' }, 422, '"24:00:00"', '"08:60:00"', '"08:00:60"', '"x"')
  })

  rule('3.2.12', 'datetime', async () => {
    await shows(
      { logicalType: 'datetime' },
      {
        '"2024-02-29T08:05:09.25"': '"2024-02-29T08:05:09.25"',
        '"2024-02-29 08:05:09.25"': '"2024-02-29T08:05:09.25"',
        '"9999-12-31T23:59:59.9999"': '"9999-12-31T23:59:59.9999"',
      },
    )
    await refuses(
      { logicalType: 'datetime' },
      422,
      '"2024-02-29T08:05:09Z"',
      '"2024-02-29T08:05:09+01:00"',
      '"2024-02-30T08:00:00"',
    )
  })

  rule('3.2.13', 'datetimeoffset', async () => {
    await shows(
      { logicalType: 'datetime', storage: 'datetimeoffset' },
      {
        '"2024-02-29T08:05:09.25"': '"2024-02-29T08:05:09.25Z"',
        '"2024-02-29T08:05:09Z"': '"2024-02-29T08:05:09Z"',
        '"2024-02-29T08:05:09+05:30"': '"2024-02-29T08:05:09+05:30"',
        '"2024-02-29 08:05:09-11:00"': '"2024-02-29T08:05:09-11:00"',
      },
    )
    await refuses({ logicalType: 'datetime', storage: 'datetimeoffset' }, 422, '"2024-02-29T08:05:09+15:00"')
    const name = await classWith({ logicalType: 'datetime', storage: 'datetimeoffset' })
    await fd.index(`${name}Unique`, name, true, 'a')
    await fd.create(name, { a: '2024-01-01T12:00:00+02:00' })
    expectProblem(await fd.postObject(name, { a: '2024-01-01T10:00:00Z' }), 409, 'UniqueViolation')
  })

  rule('3.2.14', 'interval', async () => {
    await shows(
      { logicalType: 'interval' },
      {
        '"P2DT30M"': '"P2DT30M"',
        '"PT36H"': '"P1DT12H"',
        '"-PT0.5S"': '"-PT0.5S"',
        '"PT0S"': '"PT0S"',
        '"P1W"': '"P7D"',
        '{"days":2,"minutes":30}': '"P2DT30M"',
        '{"milliseconds":1500}': '"PT1.5S"',
      },
    )
    await refuses({ logicalType: 'interval' }, 422, '"P5000001D"', '"x"', '"P"', '"P1Y"')
    await refuses({ logicalType: 'interval' }, 400, '5', '{"fortnights":1}')
    expect(await defaultOf({ logicalType: 'interval' })).toBeNull()
  })
})

describe('references, embedded objects and collections', () => {
  rule('3.3.1', 'reference', async () => {
    const target = await fd.create('Target')
    await shows(reference('Target'), { null: '"0-0-0-0"', [`"${target}"`]: `"${target}"`, '"0-0-0-0"': '"0-0-0-0"' })
    await refuses(reference('Target'), 422, '"3-3-1-60000"', '"nope"', '"03-3-1-1"')
    await refuses(reference('Target'), 400, '5', '{}')
  })

  rule('3.3.2', 'embedded object', async () => {
    const type = { logicalType: 'object', class: 'Point' }
    await shows(type, { '{"x":3}': '{"x":3,"y":0}', '{}': '{"x":0,"y":0}' })
    await refuses(type, 422, '{"z":1}', '{"x":99999999999}')
    await refuses(type, 400, '5', '[]', '{"x":"many"}')
  })

  rule('3.3.3', 'list', async () => {
    await shows(list('integer'), { '[3,1,3]': '[3,1,3]', '[]': '[]' })
    await shows(list({ logicalType: 'object', class: 'Point' }), {
      '[{"x":1},{"y":2.5}]': '[{"x":1,"y":0},{"x":0,"y":2.5}]',
    })
    await shows(list('string'), { '["b","","ä"]': '["b","","ä"]' })
    await refusesDefinition(list(list('integer')))
    await refuses(list('integer'), 400, '["x"]', '5', '"[]"')
  })

  rule('3.3.4', 'kinds of list', async () => {
    const target = await fd.create('Target')
    await shows(list(reference('Target'), 'TreeListOfReferences'), {
      [`["${target}","${target}"]`]: `["${target}","${target}"]`,
    })
    await shows(list('real', 'segmentedarray'), { '[1.5]': '[1.5]' })
    await refusesDefinition(list('integer', 'TreeListOfReferences'), list('integer', 'TreeSetOfReferences'))
  })

  rule('3.3.5', 'set', async () => {
    const [one, two] = [await fd.create('Target'), await fd.create('Target')]
    for (const kind of ['TreeSetOfReferences', 'HashSetOfReferences']) {
      await shows(set(reference('Target'), kind), { [`["${two}","${one}","${two}"]`]: `["${one}","${two}"]` })
    }
    await refusesDefinition(set({ logicalType: 'integer' }))
  })

  rule('3.3.6', 'map', async () => {
    const target = await fd.create('Target')
    const byName = { logicalType: 'map', elementSpecification: reference('Target') }
    await shows(byName, {
      [`{"b":"${target}","a":"${target}","":"${target}"}`]: `{"":"${target}","a":"${target}","b":"${target}"}`,
      [`{"pairs":[{"key":"__proto__","value":"${target}"}]}`]: `{"__proto__":"${target}"}`,
      null: '{}',
    })
    for (const collectionTypeName of ['HashMapOfReferences', 'TreeMapOfReferences']) {
      const byReference = { ...byName, collectionTypeName, keySpecification: reference('Target') }
      await shows(byReference, { [`{"${target}":"${target}"}`]: `{"${target}":"${target}"}` })
    }
    await refuses(byName, 422, '{"a":"3-3-1-60000"}')
    await refusesDefinition({
      ...byName,
      collectionTypeName: 'HashMapOfReferences',
      keySpecification: { logicalType: 'string' },
    })
  })

  rule('3.3.7', 'null elements', async () => {
    await shows(list(reference('Target')), { '[null]': '["0-0-0-0"]' })
    await refuses(set(reference('Target')), 422, '[null]', '["0-0-0-0"]')
  })
})
