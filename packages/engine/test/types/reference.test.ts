/** reference: definitions with and without an inverse, and OIDs as values. */
import { describe, expect, it } from 'vitest'
import { defineType } from '../../src/types/index.ts'
import {
  codecOf,
  defineContext,
  defined,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  keyOf,
  storedText,
  thrownBy,
} from './type-under-test.ts'

const reference = { logicalType: 'reference', referencedClass: 'Fleet.Vehicle' }

describe('definition', () => {
  it.each([
    [reference],
    [{ ...reference, inverseAttribute: '' }],
    [{ ...reference, inverseAttribute: null }],
    [{ logicalType: 'Reference', referencedClass: '1000000' }],
  ])('%j is unidirectional', (definition) => {
    expect(described(definition)).toEqual(reference)
    expect(defined(definition)).toMatchObject({ inverseAttribute: null })
  })

  it('shows its inverse by name', () => {
    const paired = { ...reference, inverseAttribute: 'owner' }
    expect(described(paired)).toEqual(paired)
    expect(defineType(paired, defineContext)).toMatchObject({ inverseAttribute: 7 })
  })

  it.each([
    [{ logicalType: 'reference' }, { type: 'InvalidDefinition', path: 'referencedClass', words: 'needed' }],
    [
      { ...reference, referencedClass: '' },
      { type: 'InvalidDefinition', path: 'referencedClass', words: 'needed' },
    ],
    [
      { ...reference, referencedClass: 1_000_000 },
      { type: 'MalformedValue', path: 'referencedClass' },
    ],
    [
      { ...reference, referencedClass: 'Fleet.Address' },
      { type: 'InvalidDefinition', path: 'referencedClass', words: 'Fleet.Address' },
    ],
    [
      { ...reference, inverseAttribute: 5 },
      { type: 'MalformedValue', path: 'inverseAttribute' },
    ],
    [
      { ...reference, storage: 'b64' },
      { type: 'InvalidDefinition', path: 'storage', words: 'type reference' },
    ],
    [
      { ...reference, class: 'Fleet.Address' },
      { type: 'InvalidDefinition', path: 'class' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))

  it('leaves unknown classes and attributes to who knows them', () => {
    expect(thrownBy(() => defineType({ ...reference, referencedClass: 'Nope' }, defineContext))).toMatchObject({
      type: 'UnknownClass',
    })
    expect(thrownBy(() => defineType({ ...reference, inverseAttribute: 'nope' }, defineContext))).toMatchObject({
      type: 'UnknownAttribute',
    })
  })
})

describe('values', () => {
  it.each([
    ['3-3-1-40', '"3-3-1-40"'],
    ['0-0-0-0', '"0-0-0-0"'],
    [null, '"0-0-0-0"'],
    ['65535-32767-65535-65535', '"65535-32767-65535-65535"'],
  ])('%j is read back as %s', (json, text) => {
    expect(storedText(reference, json)).toBe(text)
  })

  it.each([[''], ['nope'], ['3-3-1'], ['03-3-1-1'], ['3-32768-1-1']])('refuses %j', (json) => {
    expectValueRefused(reference, json, { type: 'ValueNotAllowed', words: 'not an OID' })
  })

  it.each([[5], [true], [[]], [{}], [0]])('refuses %j', (json) => {
    expectValueRefused(reference, json, { type: 'MalformedValue', words: 'not an OID' })
  })

  it('is the reference to nothing unless given', () => {
    expect(codecOf(reference)).toMatchObject({ defaultValue: '0-0-0-0', isNullable: false, fixedBytes: 8 })
  })

  it('has keys in the order of the numbers, not of the text', () => {
    const codec = codecOf(reference)
    expect(Buffer.compare(keyOf(codec, '3-3-1-9'), keyOf(codec, '3-3-1-10'))).toBe(-1)
  })
})
