/** What `ashlar schema pull` writes is read as the same schema, whatever its expressions, defaults and texts contain. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseExactly } from '../../../client/src/json.ts'
import { runs } from '../../../engine/test/bytes/property-runs.ts'
import { differencesOf } from '../../src/schema/schema-differences.ts'
import { readSchemaSource, writeSchemaFiles } from '../../src/schema/schema-files.ts'
import { planOf } from '../../src/schema/schema-plan.ts'
import { isSameSchema, type SchemaState, schemaState } from '../../src/schema/schema-state.ts'
import { schemaFiles } from '../../src/schema/schema-text.ts'
import { quotingOf, schemaOfSource } from '../../src/schema/scratch-schema.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ashlar-schema-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

type Json = Record<string, unknown>

/** Between the words of an expression, before the first and behind the last one. */
const gaps = fc.oneof(
  { arbitrary: fc.constant(' '), weight: 3 },
  fc.constantFrom(
    '\n',
    ' \n\n\t',
    " // to the end, of the line) } ; '\n",
    '// "\n // two\n',
    '/**/',
    " /* of, several)\n\n  lines } ; ' `  \n*/ ",
    ' /* // */ ',
  ),
)
const lastGaps = fc.oneof(gaps, fc.constantFrom(' // the last', "// it's )", ' // /* '))

function spread(words: readonly string[]): fc.Arbitrary<string> {
  const between = fc.array(gaps, { minLength: words.length, maxLength: words.length })
  return fc.tuple(between, lastGaps).map(([before, behind]) => {
    return `${words.map((word, at) => `${before[at]}${word}`).join('')}${behind}`
  })
}

const texts = fc.constantFrom(
  "'a // b'",
  '"/* it\'s, ) */"',
  "'// \\' }'",
  "'two\nlines  \n\n'",
  "';'",
  "'\\\\'",
  "'ünï 😀'",
)
const integers: fc.Arbitrary<string> = fc
  .constantFrom<readonly string[]>(
    ['n', '+', '1'],
    ['(', '(', 'n', ')', '*', '(', '2', '-', 'n', ')', ')'],
    ['`n`', '-', '0x1F'],
    ['LENGTH', '(', 's', ')'],
  )
  .chain(spread)
const strings = fc.oneof(
  texts.chain((text) => spread(['(', text, ')'])),
  texts.chain((text) => spread([text])),
  spread(['s']),
)
const booleans = fc.oneof(
  texts.chain((text) => spread(['s', '!=', text])),
  spread(['n', 'IN', 'LIST', '{', '1', ',', '2', '}']),
  spread(['(', 'n', '>', '-', '5', ')', 'AND', 'NOT', '(', 's', '=', "'//'", ')']),
)
const expressions = fc.oneof(
  integers.map((expression) => ({ type: { logicalType: 'integer' }, expression })),
  strings.map((expression) => ({ type: { logicalType: 'string' }, expression })),
  booleans.map((expression) => ({ type: { logicalType: 'boolean' }, expression })),
)
const byExpression = fc
  .tuple(expressions, fc.constantFrom('default', 'onUpdate', 'computed', 'isStored'))
  .map(([{ type, expression }, field]): Json => {
    if (field === 'isStored') return { ...type, computed: { expression, isStored: true } }
    return { ...type, [field]: { expression } }
  })

const plainTexts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    "it's",
    '\\',
    '// no',
    '/* no */',
    'two\n\nlines  \n',
    '\r\n',
    '\t',
    '`',
    '{}',
    '\0',
    '\\n',
    'toString',
    '__proto__',
  ),
)
const jsons = fc.oneof(
  fc.json({ maxDepth: 2 }).map((text): unknown => JSON.parse(text)),
  fc.constantFrom<unknown>(
    { x: 1 },
    { expression: 'n' },
    [1, { x: 1 }],
    [],
    {},
    [[]],
    1e20,
    { big: 1e20 },
    1.5e300,
    "it's",
    null,
  ),
)
const numbers = fc.constantFrom(
  0,
  1,
  -1,
  1.5,
  -2.25,
  1e21,
  -1e-7,
  5e-324,
  1.7976931348623157e308,
  123456789012345680000,
)
const scalars = fc.constantFrom<readonly [Json, readonly unknown[]]>(
  [{ logicalType: 'boolean' }, [true, false, null]],
  [{ logicalType: 'character' }, ['a', "'", '\\', '\n', '😀', null]],
  [{ logicalType: 'integer' }, [0, -5, 2_147_483_647, null]],
  [{ logicalType: 'integer', storage: 'b64' }, ['9223372036854775807', '-9223372036854775808', 9_007_199_254_740_991]],
  [{ logicalType: 'integer', encoding: 'unsigned', storage: 'b64' }, ['18446744073709551615', 1]],
  [{ logicalType: 'decimal', precision: 38, scale: 4 }, ['0.0001', '-9999999999999999999999999999999999.9999', 2]],
  [{ logicalType: 'bytes' }, ['', 'AAEC', '//8=']],
  [{ logicalType: 'guid' }, ['123e4567-e89b-12d3-a456-426614174000']],
  [{ logicalType: 'date' }, ['2026-02-28', '0001-01-01']],
  [{ logicalType: 'time' }, ['12:30:00', '00:00:00.5']],
  [{ logicalType: 'datetime' }, ['2026-02-28T12:30:00']],
  [{ logicalType: 'datetime', storage: 'datetimeoffset' }, ['2026-02-28T12:30:00+02:00']],
  [{ logicalType: 'interval' }, ['P1DT2H3M4S', '-PT1S']],
)
const byValue = fc.oneof(
  scalars.chain(([type, values]) => fc.constantFrom(...values).map((value): Json => ({ ...type, default: value }))),
  numbers.map((value): Json => ({ logicalType: 'real', default: value })),
  plainTexts.map((value): Json => ({ logicalType: 'string', default: value })),
  jsons.map((value): Json => ({ logicalType: 'json', default: value })),
  fc
    .array(
      jsons.filter((value) => value !== null),
      { maxLength: 3 },
    )
    .map((value) => listWith({ logicalType: 'json' }, value)),
  fc.array(plainTexts, { maxLength: 3 }).map((value) => listWith({ logicalType: 'string' }, value)),
  fc.array(numbers, { maxLength: 3 }).map((value) => listWith({ logicalType: 'real' }, value)),
  scalars.chain(([type, values]) =>
    fc.subarray([...values].filter((value) => value !== null)).map((value) => listWith(type, value)),
  ),
)

function listWith(elementSpecification: Json, value: readonly unknown[]): Json {
  return { logicalType: 'list', elementSpecification, default: value }
}

const noted = fc
  .tuple(fc.oneof(byExpression, byValue), fc.option(plainTexts, { nil: undefined }))
  .map(([definition, title]): Json => {
    return title === undefined ? definition : { ...definition, title, annotations: { [title]: title } }
  })
const names = fc.constantFrom('a', 'order', 'CHECK', 'select', 'message', 'default', 'required')
const attributes = fc.uniqueArray(fc.tuple(names, noted), { minLength: 1, maxLength: 4, selector: ([name]) => name })
const checks = fc.uniqueArray(
  fc.record({ name: names, expression: booleans, message: plainTexts }, { requiredKeys: ['name', 'expression'] }),
  { maxLength: 3, selector: ({ name }) => name },
)
const classes = fc.record({ attributes, checks }).map(({ attributes: own, checks: some }): Json[] => {
  const known = [
    { attributeName: 'n', logicalType: 'integer' },
    { attributeName: 's', logicalType: 'string' },
  ]
  const all = [...known, ...own.map(([attributeName, definition]) => ({ attributeName, ...definition }))]
  const embeddable = all.map((one: Json) => {
    const { onUpdate, ...others } = one
    return onUpdate === undefined ? one : { ...others, default: onUpdate }
  })
  const plain = { isReferenceable: true, superClass: null }
  const parts = {
    parts: { logicalType: 'list', elementSpecification: { logicalType: 'object', class: 'N.Part' } },
    part: { logicalType: 'object', class: 'N.Part' },
    others: {
      logicalType: 'map',
      keySpecification: { logicalType: 'string' },
      elementSpecification: { logicalType: 'reference', referencedClass: 'Whole' },
    },
  }
  const holding = Object.entries(parts).map(([attributeName, definition]) => ({ attributeName, ...definition }))
  return [
    { ...plain, className: 'N.Part', isReferenceable: false, attributes: embeddable, checks: some },
    { ...plain, className: 'Whole', attributes: [...all, ...holding], checks: some },
  ]
})

describe('a pulled schema', () => {
  it('is read as the schema that it was written from', async () => {
    const property = fc.asyncProperty(classes, async (descriptions) => {
      const defined = await schemaAfter((fd) => fd.defineClasses(descriptions, 'create'))
      await expectSameFromFiles(defined)
    })
    await fc.assert(property, runs(200))
  })
})

it('differs from one with another check, as `schema check` and `schema diff` say', async () => {
  const withCheck = (expression: string) =>
    schemaOfSource({
      text: `UPDATE SCHEMA { CREATE CLASS C { n: Integer, CHECK a: n != 7, CHECK b: ${expression}\n } }`,
      placeOf: () => ({ place: 'here', line: '' }),
    })
  const [one, other] = [await withCheck('n > 1'), await withCheck('n > /* one */ 1 // or more')]
  expect(isSameSchema(one, other)).toBe(false)
  const lines = ['  CREATE CLASS C {', '-   CHECK b: n > 1', '+   CHECK b: n > /* one */ 1 // or more', '+ ']
  expect(differencesOf(one, other)).toEqual(lines)
  const reordered = {
    ...one,
    classes: one.classes.map((cls) => {
      return { ...cls, properties: { checks: [...(cls.properties.checks as readonly unknown[])].reverse() } }
    }),
  }
  expect(isSameSchema(one, reordered)).toBe(true)
  expect(differencesOf(one, reordered)).toEqual([])
})

it('is changed to one with other checks by a step that DO can execute', async () => {
  const textWith = (members: string) => `UPDATE SCHEMA { CREATE CLASS C ${members} }`
  const schemaWith = (members: string, more = '') =>
    schemaOfSource({ text: `${textWith(members)}; ${more}`, placeOf: () => ({ place: 'here', line: '' }) })
  const from = '{ n: Integer, CHECK a: n != 7, CHECK b: n > 1, CHECK c: n < 9 }'
  const to = "WITH {Title: 'T'} { n: Integer, CHECK c: n < 9, CHECK b: n > 2 // two\n, CHECK d: n != 8 MESSAGE 'no' }"
  const [before, after] = [await schemaWith(from), await schemaWith(to)]
  const { steps } = planOf(before, after, { schema: before, classes: [], attributes: [], done: [] })
  expect(steps.map(({ text }) => text)).toEqual([
    "ALTER CLASS C {DROP CHECK a, DROP CHECK b, ADD CHECK b: n > 2 // two\n, ADD CHECK d: n != 8 MESSAGE 'no', SET {Title: 'T'}}",
  ])
  const altered = await schemaWith(from, `UPDATE SCHEMA { ${steps[0]?.text} }`)
  expect(differencesOf(altered, after)).toEqual([])
})

it('that no text creates is refused with the line at fault', async () => {
  const attributes = [{ attributeName: 'a b', logicalType: 'integer' }]
  const cls = { className: 'C', isReferenceable: true, superClass: null, attributes, properties: {} }
  await expect(quotingOf({ classes: [cls], indexes: [], sequences: [] })).rejects.toMatchObject({
    message: expect.stringContaining('This schema cannot be written in DO'),
    details: ['    `a b`: Integer'],
  })
})

async function expectSameFromFiles(schema: SchemaState): Promise<void> {
  const files = schemaFiles(schema, await quotingOf(schema))
  writeSchemaFiles(folder, files, true)
  const read = await schemaOfSource(readSchemaSource(folder))
  expect(differencesOf(schema, read)).toEqual([])
  expect(isSameSchema(schema, read)).toBe(true)
  expect(planOf(schema, read, { schema, classes: [], attributes: [], done: [] }).steps).toEqual([])
  expect(schemaFiles(read, await quotingOf(read))).toEqual(files)
}

/** As a server shows it, and the client of commands reads it. */
async function schemaAfter(change: (fd: FederatedDatabase) => Promise<unknown>): Promise<SchemaState> {
  const fd = await FederatedDatabase.open({ alias: 'schema', store: await openStore('memory:') })
  try {
    await change(fd)
    return schemaState(parseExactly(JSON.stringify(await fd.listClasses())) as never, [], [])
  } finally {
    await fd.close()
  }
}
