/** What is generated is current, and follows from the schemas alone. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Schema, Type } from '../../packages/server/src/wire/json-schema.ts'
import { errorTypes, wireTypes } from '../client-types.ts'
import { checkGenerated, staleFiles, withTable } from '../generated-files.ts'
import { readProjectFiles } from '../project-files.ts'

const root = join(import.meta.dirname, '../..')

describe('generated files', () => {
  it('are those that `npm run generate` would write', () => {
    expect([...staleFiles(readProjectFiles(root)).keys()]).toEqual([])
  })

  it('are found where somebody changed one by hand, or deleted it', () => {
    const files = new Map(readProjectFiles(root))
    files.set('packages/client/src/wire.ts', `${files.get('packages/client/src/wire.ts')}// mine\n`)
    files.delete('packages/client/src/error-types.ts')
    expect(checkGenerated(files).findings.map(({ file }) => file)).toEqual([
      'packages/client/src/wire.ts',
      'packages/client/src/error-types.ts',
    ])
  })

  it('keep the text around a table', () => {
    const text = 'a\n<!-- generated: x -->\nold\n<!-- end of generated -->\nb\n'
    const table = withTable(text, 'x', [
      ['one', 'two'],
      ['1', ''],
    ])
    expect(table).toBe(
      'a\n<!-- generated: x -->\n\n| one | two |\n|---|---|\n| 1 | |\n\n<!-- end of generated -->\nb\n',
    )
    expect(() => withTable(text, 'y', [])).toThrow('no place for the generated y')
  })
})

describe('the types of the client', () => {
  function typesOf(schemas: Readonly<Record<string, Schema>>): string {
    return wireTypes('/** x */\n', schemas, {}).replace('/** x */\n\n', '')
  }

  it('are interfaces with what may be missing, lists, and what is said of each', () => {
    const A = Type.Object(
      {
        n: Type.Integer({ description: 'How many.' }),
        list: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Null()]))),
        any: Type.Unknown(),
      },
      { description: 'An A.' },
    )
    expect(typesOf({ A })).toBe(
      '/** An A. */\nexport interface A {\n  /** How many. */\n  readonly n: number\n  readonly list?: readonly (string | null)[]\n  readonly any: unknown\n}\n',
    )
  })

  it('name each other, where they are optional, described or within themselves as well', () => {
    const Word = Type.Union([Type.Literal('a'), Type.Literal('b')], { description: 'A word.' })
    const Tree: Schema = Type.Object({
      word: Word,
      other: Type.Optional(Type.Described(Word, 'Another.')),
      below: Type.Array(Type.Deferred(() => Tree)),
      words: Type.Record(Word),
    })
    expect(typesOf({ Word, Tree })).toBe(
      "export interface Tree {\n  readonly word: Word\n  /** Another. */\n  readonly other?: Word\n  readonly below: readonly Tree[]\n  readonly words: Readonly<Record<string, Word>>\n}\n\n/** A word. */\nexport type Word = 'a' | 'b'\n",
    )
  })

  it('leave out what is taken from older clients alone', () => {
    const A = Type.Object({
      is: Type.Union([Type.Boolean(), Type.Literal('true', { deprecated: true })]),
      old: Type.Optional(Type.String({ deprecated: true })),
    })
    expect(typesOf({ A })).toBe('export interface A {\n  readonly is: boolean\n}\n')
  })

  it('are not made of a schema that the generator does not understand', () => {
    expect(() => typesOf({ A: { type: ['string', 'null'] } })).toThrow('no type is known')
  })

  it('have the statuses of error types', () => {
    expect(errorTypes('', { Busy: { status: 503, title: 'Too much', isRepeatable: true } })).toContain(
      '  /** Too much. */\n  Busy: { status: 503, isRepeatable: true },\n',
    )
  })
})
