/** The values of maps: pairs of a key and a reference, each key once and in order; the key after its length where keys differ in that. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { JsonWriter } from '../bytes/json-writer.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { sortInPieces } from '../store/sort-in-pieces.ts'
import { atOnce } from '../store/time-slice.ts'
import { elementsOfPiece, PieceCount, writeElement } from './element-bytes.ts'
import {
  type Codec,
  type CodecInPieces,
  formatForMessage,
  longValueBytes,
  type Pieces,
  ValueError,
} from './logical-type.ts'
import { compareOids, noOid, type Oid } from './oid.ts'

interface StoredPair {
  readonly key: string
  readonly value: Oid
}

/** `isText`: keys are texts, else references. */
export function mapCodec(key: Codec<string>, value: Codec<Oid>, isText: boolean): Codec<readonly StoredPair[]> {
  const inPieces = new MapInPieces(
    key,
    value,
    isText ? compareTexts : (one, other) => compareOids(one as Oid, other as Oid),
  )
  return {
    fixedBytes: undefined,
    isNullable: false,
    defaultValue: [],
    parse: (json) => atOnce(inPieces.parse(json)),
    accept: (given) => atOnce(inPieces.accept(given as readonly UncheckedPair[])),
    write: (pairs, to) => atOnce(inPieces.write(pairs, to)),
    read: (bytes, start, end) => atOnce(inPieces.read(bytes, start, end)),
    writeJson: (bytes, start, end, json) => atOnce(inPieces.writeJson(bytes, start, end, json)),
    toJson: (pairs) => Object.fromEntries(pairs.map(({ key, value }) => [key, value])),
    inPieces,
  }
}

function keyLength({ key }: StoredPair): number {
  return key.length
}

interface UncheckedPair {
  readonly key: unknown
  readonly value: unknown
}

class MapInPieces implements CodecInPieces<readonly StoredPair[]> {
  private readonly key: Codec<string>
  private readonly value: Codec<Oid>
  private readonly compareKeys: (one: string, other: string) => number

  constructor(key: Codec<string>, value: Codec<Oid>, compareKeys: (one: string, other: string) => number) {
    this.key = key
    this.value = value
    this.compareKeys = compareKeys
  }

  isLong(pairs: readonly StoredPair[]): boolean {
    return pairs.length > elementsOfPiece || pairs.some(({ key }) => key.length > longValueBytes)
  }

  *parse(json: unknown): Pieces<readonly StoredPair[]> {
    const { key, value } = this
    const pairs: StoredPair[] = []
    const pieces = new PieceCount()
    for (const { given, path, read } of givenPairs(json)) {
      const parsedKey = at([...path, ...(read ? [] : ['key'])], () => keyOf(key, given.key, key.parse))
      const parsedValue = at([...path, ...(read ? [] : ['value'])], () => value.parse(given.value))
      pairs.push({ key: parsedKey, value: parsedValue })
      if (pieces.isOverAt(0)) yield
    }
    return yield* this.ordered(pairs)
  }

  /** As `Codec.accept`. */
  *accept(given: readonly UncheckedPair[]): Pieces<readonly StoredPair[]> {
    const { key, value } = this
    const pairs: StoredPair[] = []
    const pieces = new PieceCount()
    for (const [position, pair] of given.entries()) {
      const accepted = at([position, 'key'], () => keyOf(key, pair.key, key.accept))
      pairs.push({ key: accepted, value: at([position, 'value'], () => value.accept(pair.value)) })
      if (pieces.isOverAt(0)) yield
    }
    return yield* this.ordered(pairs)
  }

  *write(pairs: readonly StoredPair[], to: ByteWriter): Pieces<void> {
    const pieces = new PieceCount(to.length)
    for (const { key, value } of pairs) {
      writeElement(this.key as Codec, key, to)
      this.value.write(value, to)
      if (pieces.isOverAt(to.length)) yield
    }
  }

  *read(bytes: Uint8Array, start: number, end: number): Pieces<readonly StoredPair[]> {
    const pairs: StoredPair[] = []
    const pieces = new PieceCount(start)
    for (let from = start; from < end; ) {
      from = this.readPair(bytes, from, pairs)
      if (pieces.isOverAt(from)) yield
    }
    return pairs
  }

  *writeJson(bytes: Uint8Array, start: number, end: number, json: JsonWriter): Pieces<void> {
    const pieces = new PieceCount(start)
    const read: StoredPair[] = []
    json.ascii('{')
    for (let from = start; from < end; ) {
      if (from > start) json.ascii(',')
      from = this.readPair(bytes, from, read)
      const { key, value } = read.pop() as StoredPair
      json.string(key)
      json.ascii(`:"${value}"`)
      if (pieces.isOverAt(from)) yield
    }
    json.ascii('}')
  }

  /** Returns where the next pair begins. */
  private readPair(bytes: Uint8Array, start: number, into: StoredPair[]): number {
    const { key, value } = this
    const keyStart = key.fixedBytes === undefined ? start + 4 : start
    const keyEnd = keyStart + (key.fixedBytes ?? readUint32(bytes, start))
    const end = keyEnd + (value.fixedBytes as number)
    into.push({ key: key.read(bytes, keyStart, keyEnd), value: value.read(bytes, keyEnd, end) })
    return end
  }

  /** Of several pairs with one key the last. */
  private *ordered(given: readonly StoredPair[]): Pieces<readonly StoredPair[]> {
    const sorted = yield* sortInPieces(given, (one, other) => this.compareKeys(one.key, other.key), keyLength)
    const pairs: StoredPair[] = []
    const pieces = new PieceCount()
    for (const pair of sorted) {
      if (pair.key === pairs.at(-1)?.key) pairs.pop()
      pairs.push(pair)
      if (pieces.isOverAt(0)) yield
    }
    return pairs
  }
}

interface GivenPair {
  readonly given: UncheckedPair
  readonly path: readonly (string | number)[]
  /** True for the form that a map is read in: the key is the path. */
  readonly read: boolean
}

/** One after the other, as they are asked for. Throws ValueError. */
function* givenPairs(json: unknown): Generator<GivenPair> {
  if (json === null) return
  if (Array.isArray(json)) {
    for (const [position, pair] of json.entries()) yield givenPair(pair, position)
    return
  }
  if (typeof json !== 'object')
    throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an object of keys and OIDs`)
  // Takes a third of the time of a list of very many names.
  for (const key in json) {
    yield { given: { key, value: (json as { readonly [key: string]: unknown })[key] }, path: [key], read: true }
  }
}

function givenPair(pair: unknown, position: number): GivenPair {
  const isPair = typeof pair === 'object' && pair !== null && Object.hasOwn(pair, 'key') && Object.hasOwn(pair, 'value')
  if (!isPair) throw pairError('MalformedValue', `${formatForMessage(pair)} is not {"key":…,"value":…}`, [position])
  for (const name of Object.keys(pair)) {
    if (name === 'key' || name === 'value' || name === 'exists') continue
    throw pairError('UnknownField', `a pair has key and value, not ${formatForMessage(name)}`, [position, name])
  }
  return { given: pair as UncheckedPair, path: [position], read: false }
}

function pairError(type: ValueError['type'], words: string, path: (string | number)[]): ValueError {
  const error = new ValueError(type, words)
  error.path = path
  return error
}

/** `take`: how the codec takes it. */
function keyOf(codec: Codec<string>, given: unknown, take: (given: unknown) => string): string {
  if (given === null) throw new ValueError('MalformedValue', 'null is not a key')
  const key = take.call(codec, given)
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

/** By code point, which is the order of the UTF-8 bytes. */
function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length)
  for (let i = 0; i < length; i++) {
    const difference = rankOf(one.charCodeAt(i)) - rankOf(other.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return one.length - other.length
}

/** Of a unit of UTF-16: surrogates, which stand for code points beyond the others, come after these. */
function rankOf(unit: number): number {
  return (unit & 0xf800) === 0xd800 ? unit + 0x1_0000 : unit
}
