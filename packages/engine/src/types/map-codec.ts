/** The codec of maps: pairs of a key and a reference, with unique keys in order; keys of variable length are length-prefixed. */
import { readUint32 } from '../bytes/read-number.ts'
import { writeElement } from './element-bytes.ts'
import { inOidOrder, inTextOrder, sortedTexts } from './key-order.ts'
import { type Codec, formatForMessage, ValueError } from './logical-type.ts'
import { noOid, type Oid } from './oid.ts'

interface StoredPair {
  readonly key: string
  readonly value: Oid
}

interface UncheckedPair {
  readonly key: unknown
  readonly value: unknown
}

/** `isText`: keys are texts, otherwise references. */
export function mapCodec(key: Codec<string>, value: Codec<Oid>, isText: boolean): Codec<readonly StoredPair[]> {
  const inKeyOrder = (pairs: readonly StoredPair[]): readonly StoredPair[] => {
    return lastOfEachKey(isText ? inTextOrder(pairs, ({ key }) => key) : inOidOrder(pairs, (pair) => pair.key as Oid))
  }
  return {
    fixedBytes: undefined,
    isNullable: false,
    defaultValue: [],
    parse(json) {
      if (json === null) return []
      if (Array.isArray(json)) return inKeyOrder(pairsOf(json.map(parsePair), key, value, 'parse'))
      if (typeof json !== 'object')
        throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an object of keys and OIDs`)
      const input = json as { readonly [key: string]: unknown }
      return isText
        ? parseNamed(input, sortedTexts(Object.keys(input)), key, value)
        : inKeyOrder(parseNamed(input, Object.keys(input), key, value))
    },
    accept: (input) => inKeyOrder(pairsOf(input as readonly UncheckedPair[], key, value, 'accept')),
    write(pairs, to) {
      for (const pair of pairs) {
        writeElement(key as Codec, pair.key, to)
        value.write(pair.value, to)
      }
    },
    read(bytes, start, end) {
      const pairs: StoredPair[] = []
      eachPair(key, value, bytes, start, end, (keyStart, keyEnd, valueEnd) => {
        pairs.push({ key: key.read(bytes, keyStart, keyEnd), value: value.read(bytes, keyEnd, valueEnd) })
      })
      return pairs
    },
    writeJson(bytes, start, end, json) {
      let isFirst = true
      json.ascii('{')
      eachPair(key, value, bytes, start, end, (keyStart, keyEnd, valueEnd) => {
        if (!isFirst) json.ascii(',')
        isFirst = false
        key.writeJson(bytes, keyStart, keyEnd, json)
        json.ascii(':')
        value.writeJson(bytes, keyEnd, valueEnd, json)
      })
      json.ascii('}')
    },
    toJson: (pairs) => Object.fromEntries(pairs.map((pair) => [pair.key, pair.value])),
  }
}

/** Calls `use` with the offsets of each pair's key, its value, and the end of its value. */
function eachPair(
  key: Codec<string>,
  value: Codec<Oid>,
  bytes: Uint8Array,
  start: number,
  end: number,
  use: (keyStart: number, keyEnd: number, valueEnd: number) => void,
): void {
  for (let from = start; from < end; ) {
    const keyStart = key.fixedBytes === undefined ? from + 4 : from
    const keyEnd = keyStart + (key.fixedBytes ?? readUint32(bytes, from))
    from = keyEnd + (value.fixedBytes as number)
    use(keyStart, keyEnd, from)
  }
}

/** The last of several adjacent pairs with the same key. */
function lastOfEachKey(pairs: readonly StoredPair[]): readonly StoredPair[] {
  return pairs.filter((pair, i) => pair.key !== pairs[i + 1]?.key)
}

/** Parses the read representation of a map. Throws ValueError. */
function parseNamed(
  input: { readonly [key: string]: unknown },
  names: readonly string[],
  key: Codec<string>,
  value: Codec<Oid>,
): StoredPair[] {
  const pairs: StoredPair[] = []
  try {
    for (const name of names) pairs.push({ key: keyOf(key, name, key.parse), value: value.parse(input[name]) })
    return pairs
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(names[pairs.length] as string)
    throw error
  }
}

/** `take`: parses or accepts keys and values. */
function pairsOf(
  input: readonly UncheckedPair[],
  key: Codec<string>,
  value: Codec<Oid>,
  take: 'parse' | 'accept',
): StoredPair[] {
  return input.map((pair, position) => ({
    key: at([position, 'key'], () => keyOf(key, pair.key, key[take])),
    value: at([position, 'value'], () => value[take](pair.value)),
  }))
}

function parsePair(pair: unknown, position: number): UncheckedPair {
  const isPair = typeof pair === 'object' && pair !== null && Object.hasOwn(pair, 'key') && Object.hasOwn(pair, 'value')
  if (!isPair) throw pairError('MalformedValue', `${formatForMessage(pair)} is not {"key":…,"value":…}`, [position])
  for (const name of Object.keys(pair)) {
    if (name === 'key' || name === 'value' || name === 'exists') continue
    throw pairError('UnknownField', `a pair has key and value, not ${formatForMessage(name)}`, [position, name])
  }
  return pair as UncheckedPair
}

function pairError(type: ValueError['type'], words: string, path: (string | number)[]): ValueError {
  const error = new ValueError(type, words)
  error.path = path
  return error
}

/** `take`: parses or accepts the key. */
function keyOf(codec: Codec<string>, input: unknown, take: (input: unknown) => string): string {
  if (input === null) throw new ValueError('MalformedValue', 'null is not a key')
  const key = take.call(codec, input)
  if (key === noOid && codec.fixedBytes !== undefined) {
    throw new ValueError('ValueNotAllowed', 'the reference to nothing is not a key')
  }
  return key
}

function at<T>(path: readonly (string | number)[], parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(...path)
    throw error
  }
}
