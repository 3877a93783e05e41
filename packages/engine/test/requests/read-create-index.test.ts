/** The strict reading of what asks for an index. */
import { expect, it } from 'vitest'
import { asCreateIndex, readCreateIndex } from '../../src/requests/read-create-index.ts'
import { commandError } from '../../src/schema/command-error.ts'
import { expectFault } from '../schema/schema-under-test.ts'

const keys = [{ attributeName: 'a' }]
const base = { name: 'i', indexedClass: 'A', isUnique: true, keyAttributes: keys }
const withLength = (maxStoredStringLength: unknown) => ({
  ...base,
  keyAttributes: [{ attributeName: 'a', properties: { maxStoredStringLength } }],
})

it('is read with either spelling of the keys, or both if they agree', () => {
  const { keyAttributes, ...rest } = base
  const read = { name: 'i', indexedClass: 'A', isUnique: true }
  for (const body of [base, { ...rest, keyedAttributes: keys }, { ...base, keyedAttributes: [...keys] }]) {
    expect(readCreateIndex(body)).toEqual({ ...read, keyAttributes: [{ attributeName: 'a' }] })
  }
})

it.each([
  [true, true],
  ['true', true],
  [false, false],
  ['false', false],
])('isUnique %j', (given, isUnique) => {
  expect(readCreateIndex({ ...base, isUnique: given }).isUnique).toBe(isUnique)
})

it.each([
  [1, 1],
  ['1', 1],
  [1024, 1024],
  ['1024', 1024],
])('maxStoredStringLength %j', (given, length) => {
  expect(readCreateIndex(withLength(given)).keyAttributes[0]?.maxStoredStringLength).toBe(length)
})

it.each([
  ['an array', [], 'MalformedRequest', ''],
  ['null', null, 'MalformedRequest', ''],
  ['no name', { ...base, name: undefined }, 'MalformedRequest', '/name'],
  ['a number for a name', { ...base, name: 5 }, 'MalformedRequest', '/name'],
  ['no class', { ...base, indexedClass: undefined }, 'MalformedRequest', '/indexedClass'],
  ['a number for a class', { ...base, indexedClass: 1_000_000 }, 'MalformedRequest', '/indexedClass'],
  ['no isUnique', { ...base, isUnique: undefined }, 'MalformedRequest', '/isUnique'],
  ['yes for isUnique', { ...base, isUnique: 'yes' }, 'MalformedRequest', '/isUnique'],
  ['null for isUnique', { ...base, isUnique: null }, 'MalformedRequest', '/isUnique'],
  ['no keys', { ...base, keyAttributes: undefined }, 'MalformedRequest', '/keyAttributes'],
  ['empty keys', { ...base, keyAttributes: [] }, 'MalformedRequest', '/keyAttributes'],
  ['an object for keys', { ...base, keyAttributes: {} }, 'MalformedRequest', '/keyAttributes'],
  ['a text for a key', { ...base, keyAttributes: ['a'] }, 'MalformedRequest', '/keyAttributes/0'],
  ['a key without name', { ...base, keyAttributes: [{}] }, 'MalformedRequest', '/keyAttributes/0/attributeName'],
  [
    'both spellings, different',
    { ...base, keyedAttributes: [{ attributeName: 'b' }] },
    'MalformedRequest',
    '/keyedAttributes',
  ],
  ['an unknown field', { ...base, unique: true }, 'UnknownField', '/unique'],
  [
    'an unknown field of a key',
    { ...base, keyAttributes: [{ attributeName: 'a', x: 1 }] },
    'UnknownField',
    '/keyAttributes/0/x',
  ],
  [
    'null for properties',
    { ...base, keyAttributes: [{ attributeName: 'a', properties: null }] },
    'MalformedRequest',
    '/keyAttributes/0/properties',
  ],
  [
    'a text for properties',
    { ...base, keyAttributes: [{ attributeName: 'a', properties: 'x' }] },
    'MalformedRequest',
    '/keyAttributes/0/properties',
  ],
  [
    'an unknown property',
    { ...base, keyAttributes: [{ attributeName: 'a', properties: { x: 1 } }] },
    'UnknownField',
    '/keyAttributes/0/properties/x',
  ],
] as const)('refused: %s', (_words, body, type, pointer) => expectFault(() => readCreateIndex(body), type, pointer))

it.each([
  [0, 'ValueNotAllowed'],
  [1025, 'ValueNotAllowed'],
  [-1, 'ValueNotAllowed'],
  [1.5, 'ValueNotAllowed'],
  ['0', 'ValueNotAllowed'],
  ['-3', 'ValueNotAllowed'],
  ['9'.repeat(40), 'ValueNotAllowed'],
  [2n ** 64n, 'ValueNotAllowed'],
  ['long', 'MalformedValue'],
  [null, 'MalformedValue'],
  ['', 'MalformedValue'],
  [true, 'MalformedValue'],
  [[24], 'MalformedValue'],
] as const)('maxStoredStringLength %s: %s', (given, type) => {
  expectFault(() => readCreateIndex(withLength(given)), type, '/keyAttributes/0/properties/maxStoredStringLength')
})

it.each([
  ['keyAttributes', base],
  ['keyedAttributes', { ...base, keyAttributes: undefined, keyedAttributes: keys }],
])('what is wrong with a key is told by the name that the body has for them: %s', async (field, body) => {
  const refused = asCreateIndex(body, () =>
    Promise.reject(commandError('UnknownAttribute', 'none', ['keyAttributes', 0])),
  )
  await expect(refused).rejects.toMatchObject({ type: 'UnknownAttribute', errors: [{ place: [field, 0] }] })
  const other = asCreateIndex(body, () => Promise.reject(commandError('IndexExists', 'there', ['name'])))
  await expect(other).rejects.toMatchObject({ errors: [{ place: ['name'] }] })
})
