/** What a request body may not give to an attribute, an expression may not either: refused with the same type, and nothing changed. */
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, read, toOne, withFd } from '../engine/open-fd.ts'

const byte = { logicalType: 'integer', storage: 'b8' }
const classes = [
  classOf('Place', { zip: byte, name: 'string' }, { isReferenceable: false }),
  classOf('Other', {}),
  classOf('Thing', {
    small: byte,
    short: { logicalType: 'string', storage: 'fixed', fixedLength: 3 },
    latin: { logicalType: 'string', encoding: 'byte' },
    sign: { logicalType: 'character', storage: 'b8' },
    single: { logicalType: 'real', storage: 'b32' },
    double: 'real',
    day: 'date',
    span: 'interval',
    numbers: { logicalType: 'list', elementSpecification: byte },
    home: { logicalType: 'object', class: 'Place' },
    homes: { logicalType: 'list', elementSpecification: { logicalType: 'object', class: 'Place' } },
    other: toOne('Other'),
    others: { logicalType: 'set', elementSpecification: toOne('Other') },
    byName: { logicalType: 'map', elementSpecification: toOne('Other') },
    // Values that an expression reads, so that they are not known before.
    big: { logicalType: 'integer', storage: 'b64' },
    text: 'string',
    number: 'real',
  }),
]

/** By attribute: as a body gives it, as an expression does, and what both are refused with. */
const refused: readonly [
  attribute: string,
  json: unknown,
  expression: string,
  type: string,
  place: readonly unknown[],
][] = [
  ['small', 200, 'big', 'ValueNotAllowed', []],
  ['small', 1.5, 'number', 'ValueNotAllowed', []],
  ['short', 'long', 'text', 'ValueNotAllowed', []],
  ['latin', '€', "text + '€'", 'ValueNotAllowed', []],
  ['sign', '€', "'€'", 'ValueNotAllowed', []],
  ['sign', 'ab', 'text', 'ValueNotAllowed', []],
  ['single', 1e300, 'number * 1e300', 'ValueNotAllowed', []],
  ['numbers', [1, 200], 'LIST{1, big}', 'ValueNotAllowed', [1]],
  ['numbers', [1, null], 'LIST{1, null}', 'MalformedValue', [1]],
  ['home', { zip: 200 }, 'Place{zip: big}', 'ValueNotAllowed', ['zip']],
  ['homes', [{}, { zip: 200 }], 'LIST{Place{}, Place{zip: big}}', 'ValueNotAllowed', [1, 'zip']],
  ['other', '3-3-1-9', "'3-3-1-9'", 'InvalidReference', []],
  ['other', 'self', "'self'", 'InvalidReference', []],
  ['others', ['0-0-0-0'], "LIST{'0-0-0-0'}", 'ValueNotAllowed', [0]],
  ['others', ['self'], "LIST{'self'}", 'InvalidReference', []],
]

async function errorOf(act: Promise<unknown>): Promise<AshlarError> {
  try {
    await act
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

async function update(fd: FederatedDatabase, text: string): Promise<void> {
  const { chunks } = await fd.query({ text, dialect: 'ashlar' })
  for await (const _ of chunks);
}

it('a value that a body may not give is refused of an expression with the same type', () =>
  withFd(classes, async (fd) => {
    const oid = await fd.createObject('Thing', { big: 200, text: 'long', number: 1.5 })
    const before = await read(fd, oid)
    for (const [attribute, json, expression, type, path] of refused) {
      const given = JSON.parse(JSON.stringify(json).replaceAll('self', oid)) as unknown
      const bodyError = await errorOf(fd.updateObject(oid, { [attribute]: given }))
      expect([attribute, bodyError.type, bodyError.errors]).toMatchObject([
        attribute,
        type,
        [{ place: ['attributes', attribute, ...path] }],
      ])
      const text = `UPDATE Thing SET ${attribute} TO ${expression.replaceAll('self', oid)}`
      const textError = await errorOf(update(fd, text))
      expect([text, textError.type, textError.errors]).toMatchObject([text, type, [{ place: ['query'] }]])
      expect(textError.extensions).toMatchObject({ line: 1 })
    }
    expect(await read(fd, oid)).toEqual(before)
  }))

it('a value keeps what it is on its way from one attribute to another', () =>
  withFd(classes, async (fd) => {
    const oid = await fd.createObject('Thing', {
      single: 0.1,
      big: 3,
      day: '2024-02-29',
      span: 'P1DT0.0001S',
      number: 2,
      homes: [{ zip: 1, name: 'a' }, { zip: 2 }],
      numbers: [1, 2, 1],
    })
    await update(
      fd,
      `UPDATE Thing SET double TO single, small TO number, day TO day + span, span TO span * 2, home TO homes[0],
       homes[1].zip TO big + 1, numbers[0] TO big`,
    )
    expect(await read(fd, oid)).toMatchObject({
      double: 0.1,
      small: 2,
      day: '2024-03-01',
      span: 'P2DT0.0002S',
      home: { zip: 1, name: 'a' },
      homes: [
        { zip: 1, name: 'a' },
        { zip: 4, name: '' },
      ],
      numbers: [3, 2, 1],
    })
  }))
