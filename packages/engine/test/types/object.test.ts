/** object: definitions; the values are those of the codec of the embedded class. */
import { describe, expect, it } from 'vitest'
import { codecOf, described, expectDefinitionRefused, storedText } from './type-under-test.ts'

const object = { logicalType: 'object', class: 'Fleet.Address' }

describe('object', () => {
  it.each([[object], [{ logicalType: 'OBJECT', class: '1000001' }]])('%j', (definition) => {
    expect(described(definition)).toEqual(object)
  })

  it.each([
    [{ logicalType: 'object' }, { type: 'InvalidDefinition', path: 'class', words: 'needed' }],
    [
      { ...object, class: '' },
      { type: 'InvalidDefinition', path: 'class', words: 'needed' },
    ],
    [
      { ...object, class: 5 },
      { type: 'MalformedValue', path: 'class' },
    ],
    [
      { ...object, class: 'Fleet.Vehicle' },
      { type: 'InvalidDefinition', path: 'class', words: 'Fleet.Vehicle' },
    ],
    [
      { ...object, referencedClass: 'Fleet.Vehicle' },
      { type: 'InvalidDefinition', path: 'referencedClass' },
    ],
    [
      { ...object, storage: 'variable' },
      { type: 'InvalidDefinition', path: 'storage', words: 'type object' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))

  it('has the values of its class, and is no key', () => {
    const text = '{"street":"Main \\"St\\"","number":5}'
    expect(storedText(object, JSON.parse(text))).toBe(text)
    expect(codecOf(object).key).toBeUndefined()
  })
})
