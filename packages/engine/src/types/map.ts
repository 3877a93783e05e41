/** map: references by the text or the reference that is their key, in key order. */
import { readUint32 } from '../bytes/read-number.ts'
import { defineReferences, describeReferences, refuseOtherFields } from './collection-definition.ts'
import { enumField, within, wrongField } from './definition-fields.ts'
import { writeElement } from './element-bytes.ts'
import { type Codec, type DefineContext, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import { compareOids, noOid, type Oid } from './oid.ts'
import { reference } from './reference.ts'
import { string } from './string.ts'
import type { TypeDefinition } from './type-definition.ts'
import type { MapSpec, ReferenceSpec, StringSpec } from './type-spec.ts'

export interface MapPair {
  readonly key: string
  readonly value: Oid
}

const byReference = ['HashMapOfReferences', 'TreeMapOfReferences'] as const

export const map: LogicalType<MapSpec> = {
  logicalType: 'map',
  fields: ['collectionTypeName', 'keySpecification', 'elementSpecification'],
  define(definition, context) {
    const key = defineKey(definition, context)
    const names = key.logicalType === 'string' ? (['NameToReferenceMap'] as const) : byReference
    const fallback = key.logicalType === 'string' ? 'NameToReferenceMap' : 'TreeMapOfReferences'
    const element = defineReferences(definition, 'elementSpecification', context)
    for (const [field, spec] of [
      ['keySpecification', key],
      ['elementSpecification', element],
    ] as const) {
      if (spec.logicalType === 'reference' && spec.inverseAttribute !== null) {
        throw wrongField(field, 'InvalidDefinition', 'of a map has no inverseAttribute')
      }
    }
    if (key.logicalType === 'reference' && key.edgeClass !== undefined) {
      throw wrongField('keySpecification', 'InvalidDefinition', 'has no edgeClass: a key is no edge')
    }
    return {
      logicalType: 'map',
      collectionTypeName: enumField<MapSpec['collectionTypeName']>(definition, 'collectionTypeName', names, fallback),
      key,
      element,
    }
  },
  describe: ({ collectionTypeName, key, element }, context) => ({
    logicalType: 'map',
    collectionTypeName,
    keySpecification: key.logicalType === 'string' ? string.describe(key, context) : reference.describe(key, context),
    elementSpecification: describeReferences(element, context),
  }),
  codec(spec, context) {
    const isText = spec.key.logicalType === 'string'
    const key = isText
      ? string.codec(spec.key as StringSpec, context)
      : reference.codec(spec.key as ReferenceSpec, context)
    return mapCodec(key as Codec<string>, reference.codec(spec.element, context) as Codec<Oid>, isText)
  },
}

/** Texts for NameToReferenceMap, references for the others; without a keySpecification the name decides. */
function defineKey(definition: TypeDefinition, context: DefineContext): StringSpec | ReferenceSpec {
  const { keySpecification: nested, collectionTypeName: name } = definition
  const isByReference = byReference.some((word) => word.toLowerCase() === name?.toLowerCase())
  if (nested === undefined || nested === null) {
    if (isByReference) throw wrongField('keySpecification', 'InvalidDefinition', `is needed for ${name}`)
    return string.define({}, context)
  }
  return within('keySpecification', () => {
    const type = [string, reference].find(({ logicalType }) => logicalType === nested.logicalType?.toLowerCase())
    if (type === undefined) throw wrongField('logicalType', 'InvalidDefinition', 'of a map key is string or reference')
    refuseOtherFields(nested, type)
    return type.define(nested, context) as StringSpec | ReferenceSpec
  })
}

function mapCodec(key: Codec<string>, value: Codec<Oid>, isText: boolean): Codec<readonly MapPair[]> {
  const compare = isText ? compareTexts : (one: string, other: string) => compareOids(one as Oid, other as Oid)
  const read = (bytes: Uint8Array, start: number, end: number): MapPair[] => {
    const pairs: MapPair[] = []
    for (let at = start; at < end; ) {
      const keyStart = key.fixedBytes === undefined ? at + 4 : at
      const keyEnd = keyStart + (key.fixedBytes ?? readUint32(bytes, at))
      at = keyEnd + (value.fixedBytes as number)
      pairs.push({ key: key.read(bytes, keyStart, keyEnd), value: value.read(bytes, keyEnd, at) })
    }
    return pairs
  }
  const ordered = (byKey: ReadonlyMap<string, Oid>): MapPair[] => {
    const pairs = [...byKey].map(([key, value]) => ({ key, value }))
    return pairs.sort((one, other) => compare(one.key, other.key))
  }
  return {
    fixedBytes: undefined,
    isNullable: false,
    defaultValue: [],
    parse(json) {
      const byKey = new Map<string, Oid>()
      for (const { given, path, read } of pairsOf(json)) {
        const parsedKey = at([...path, ...(read ? [] : ['key'])], () => keyOf(key, given.key, key.parse))
        byKey.set(
          parsedKey,
          at([...path, ...(read ? [] : ['value'])], () => value.parse(given.value)),
        )
      }
      return ordered(byKey)
    },
    accept(given) {
      const byKey = new Map<string, Oid>()
      for (const [position, pair] of (given as readonly { key: unknown; value: unknown }[]).entries()) {
        const accepted = at([position, 'key'], () => keyOf(key, pair.key, key.accept))
        byKey.set(
          accepted,
          at([position, 'value'], () => value.accept(pair.value)),
        )
      }
      return ordered(byKey)
    },
    write(pairs, to) {
      for (const pair of pairs) {
        writeElement(key as Codec, pair.key, to)
        value.write(pair.value, to)
      }
    },
    read,
    writeJson(bytes, start, end, json) {
      json.ascii('{')
      for (const [position, pair] of read(bytes, start, end).entries()) {
        if (position > 0) json.ascii(',')
        json.string(pair.key)
        json.ascii(`:"${pair.value}"`)
      }
      json.ascii('}')
    },
    toJson: (pairs) => Object.fromEntries(pairs.map(({ key, value }) => [key, value])),
  }
}

interface GivenPair {
  readonly given: { readonly key: unknown; readonly value: unknown }
  readonly path: readonly (string | number)[]
  /** True for the form that a map is read in: the key is the path. */
  readonly read: boolean
}

function pairsOf(json: unknown): GivenPair[] {
  if (json === null) return []
  if (!Array.isArray(json)) {
    if (typeof json !== 'object')
      throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an object of keys and OIDs`)
    return Object.entries(json).map(([key, value]) => ({ given: { key, value }, path: [key], read: true }))
  }
  return json.map((pair: unknown, position) => {
    const isPair =
      typeof pair === 'object' && pair !== null && Object.hasOwn(pair, 'key') && Object.hasOwn(pair, 'value')
    if (!isPair) throw pairError('MalformedValue', `${formatForMessage(pair)} is not {"key":…,"value":…}`, [position])
    for (const name of Object.keys(pair)) {
      if (name === 'key' || name === 'value' || name === 'exists') continue
      throw pairError('UnknownField', `a pair has key and value, not ${formatForMessage(name)}`, [position, name])
    }
    return { given: pair as { key: unknown; value: unknown }, path: [position], read: false }
  })
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
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
