/** What a random value of a type is, and how random definitions are made. */
import fc from 'fast-check'
import type { JsonObject } from '../../src/requests/json-fields.ts'
import type { LogicalTypeName } from '../../src/types/type-spec.ts'

export interface Sample {
  readonly json: unknown
  /** JSON text as replies show it. */
  readonly text: string
  /** What the order of values follows; undefined for types that are no keys. */
  readonly rank?: number | bigint | string
}

export interface TypeSamples {
  readonly definition: fc.Arbitrary<JsonObject>
  values(definition: JsonObject): fc.Arbitrary<Sample>
}

/** A word in some mixture of cases. */
export function word(...words: string[]): fc.Arbitrary<string> {
  return fc.tuple(fc.constantFrom(...words), fc.nat(255)).map(([text, mask]) => {
    return Array.from(text, (letter, at) => ((mask >> (at % 8)) & 1 ? letter.toUpperCase() : letter)).join('')
  })
}

/** A definition of the type with some of its optional fields. */
export function definitionOf(
  logicalType: LogicalTypeName,
  optional: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<JsonObject> {
  return fc.record({ logicalType: word(logicalType), ...optional }, { requiredKeys: ['logicalType'] })
}

export function lower(definition: JsonObject, field: string, fallback: string): string {
  return String(definition[field] ?? fallback).toLowerCase()
}

/** Texts compare by code point. */
export function textRank(text: string): string {
  return Array.from(text, (character) => (character.codePointAt(0) as number).toString(16).padStart(6, '0')).join('')
}
