/** Names of classes, attributes and indexes, and near names. */
import { describe, expect, it } from 'vitest'
import {
  checkAttributeName,
  checkClassName,
  checkIndexName,
  didYouMean,
  namespaceOf,
  similarNames,
  simpleNameOf,
} from '../../src/schema/names.ts'
import { expectFault } from './schema-under-test.ts'

describe('class names', () => {
  it.each(['A', '_a', 'a1', 'Fleet.Vehicle', 'a.b.c', 'constructor', 'a.namespace', 'namespace.a', 'x'.repeat(255)])(
    '%s is allowed',
    (name) => expect(() => checkClassName(name, [0, 'className'])).not.toThrow(),
  )

  it.each([
    '',
    '1a',
    'a-b',
    'a b',
    'ä',
    '.a',
    'a.',
    'a..b',
    'a::b',
    '__a',
    'a.__b',
    '__proto__',
    'namespace',
    'a\n',
    'x'.repeat(256),
  ])('%j is refused', (name) =>
    expectFault(() => checkClassName(name, [0, 'className']), 'InvalidName', '/0/className'),
  )
})

describe('attribute names', () => {
  it.each(['a', '_', 'A1', 'namespace', 'constructor', 'toString', 'x'.repeat(255)])('%s is allowed', (name) =>
    expect(() => checkAttributeName('A', name, ['p'])).not.toThrow(),
  )

  it.each(['', '1', 'a.b', 'a::b', '__a', '__class__', '__proto__', 'a ', 'x'.repeat(256)])('%j is refused', (name) =>
    expectFault(() => checkAttributeName('Fleet.A', name, ['p']), 'InvalidName', '/p', 'Fleet.A'),
  )
})

describe('index names', () => {
  it.each(['a', '_', 'a.b-c_1', '__a', 'x'.repeat(128)])('%s is allowed', (name) =>
    expect(() => checkIndexName(name)).not.toThrow(),
  )

  it.each(['', '1', '-a', '.a', 'a b', 'a/b', 'x'.repeat(129)])('%j is refused', (name) =>
    expectFault(() => checkIndexName(name), 'InvalidName', '/name'),
  )
})

it('the namespace is what stands before the last dot', () => {
  expect([namespaceOf('A'), namespaceOf('N.A'), namespaceOf('N.M.A')]).toEqual([null, 'N', 'N.M'])
  expect([simpleNameOf('A'), simpleNameOf('N.M.A')]).toEqual(['A', 'A'])
})

describe('near names', () => {
  const known = ['Fleet.Vehicle', 'Fleet.Van', 'Customer', 'Fleet.Customers', 'id']

  it.each([
    ['Fleet.Vehicel', ['Fleet.Vehicle']],
    ['fleet.vehicle', ['Fleet.Vehicle']],
    ['Vehicle', ['Fleet.Vehicle']],
    ['Other.Customer', ['Customer']],
    ['Custmoer', ['Customer']],
    ['xd', ['id']],
    ['Boat', []],
    ['', []],
    ['V'.repeat(100_000), []],
  ])('%s', (wanted, near) => expect(similarNames(wanted, known)).toEqual(near))

  it('nearest first, at most three', () => {
    const many = ['abcdefghxyz', 'abcdefghijx', 'abcdefghixy', 'abcdefghijkl', 'abcdefghijk']
    expect(similarNames('abcdefghijk', many)).toEqual(['abcdefghijk', 'abcdefghijx', 'abcdefghijkl'])
  })

  it('as a question, or nothing', () => {
    expect(didYouMean('Custmer', known)).toBe(' Did you mean Customer?')
    expect(didYouMean('Boat', known)).toBe('')
  })
})
