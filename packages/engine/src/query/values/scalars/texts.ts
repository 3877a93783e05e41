/** Strings and characters in queries: ordered by code point, concatenated by `+`. */
import { stringType } from '../value-type.ts'
import { apart, type ByKind, type Compare, codecOf, type ScalarDefinition } from './scalar-kind.ts'

const textDefinition = {
  ...apart,
  isLong: true,
  commonWith: (own, other) => (isText(own.kind) && isText(other.kind) ? stringType : undefined),
  compareWith: { string: compareTexts, character: compareTexts } as ByKind<Compare>,
  toText: (value) => value as string,
  toJson: (value) => value,
  writeJson: (json, value) => json.string(value as string),
  arithmetic(operator, one, other) {
    const areTexts = isText(one.kind) && isText(other.kind)
    return operator === 'plus' && areTexts ? { type: stringType, calculate: concatenated } : undefined
  },
} satisfies Partial<ScalarDefinition>

const stringCodec = codecOf({ logicalType: 'string', encoding: 'utf8', storage: 'variable' })

export const stringScalar: ScalarDefinition = {
  ...textDefinition,
  codec: stringCodec,
  words: ['string'],
  fromText: (text) => text,
  writeKey: (value, writer) => stringCodec.key.write(value, writer),
}

const characterCodec = codecOf({ logicalType: 'character', storage: 'b32' })

export const characterScalar: ScalarDefinition = {
  ...textDefinition,
  codec: characterCodec,
  words: ['character'],
  fromText: (text) => characterCodec.parse(text),
  writeKey: (value, writer) => characterCodec.key.write(value, writer),
}

function isText(kind: string): boolean {
  return kind === 'string' || kind === 'character'
}

function concatenated(one: string, other: string): string {
  return one + other
}

const surrogateFirst = 0xd800
const surrogateLast = 0xdfff

/** By code point, which differs from UTF-16 order for surrogate pairs. */
function compareTexts(first: unknown, second: unknown): number {
  const [one, other] = [first as string, second as string]
  if (one === other) return 0
  const length = Math.min(one.length, other.length)
  for (let i = length > shortCharacters ? equalCharacters(one, other, length) : 0; i < length; i++) {
    const [a, b] = [one.charCodeAt(i), other.charCodeAt(i)]
    if (a === b) continue
    const isPair = a >= surrogateFirst && a <= surrogateLast
    const isOtherPair = b >= surrogateFirst && b <= surrogateLast
    if (isPair === isOtherPair) return a - b
    return isPair ? 1 : -1
  }
  return one.length - other.length
}

const shortCharacters = 256
const comparedPerStep = 8_192

/** A length of an equal prefix: comparing slices is faster than comparing characters in a loop. */
function equalCharacters(one: string, other: string, length: number): number {
  let at = 0
  while (at < length && one.slice(at, at + comparedPerStep) === other.slice(at, at + comparedPerStep))
    at += comparedPerStep
  return Math.min(at, length)
}
