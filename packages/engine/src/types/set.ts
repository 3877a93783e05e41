/** set: references, each once, in OID order. */
import { defineReferences, describeReferences } from './collection-definition.ts'
import { enumField } from './definition-fields.ts'
import { eachElement, writeElements } from './element-bytes.ts'
import { writeArrayJson } from './list.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import { compareOids, noOid, type Oid } from './oid.ts'
import { reference } from './reference.ts'
import type { SetSpec } from './type-spec.ts'

export const set: LogicalType<SetSpec> = {
  logicalType: 'set',
  fields: ['collectionTypeName', 'elementSpecification'],
  define(definition, context) {
    const names = ['TreeSetOfReferences', 'HashSetOfReferences'] as const
    return {
      logicalType: 'set',
      collectionTypeName: enumField(definition, 'collectionTypeName', names, 'TreeSetOfReferences'),
      element: defineReferences(definition, 'elementSpecification', context),
    }
  },
  describe: ({ collectionTypeName, element }, context) => ({
    logicalType: 'set',
    collectionTypeName,
    elementSpecification: describeReferences(element, context),
  }),
  codec: (spec, context) => setCodec(reference.codec(spec.element, context) as Codec<Oid>),
}

function setCodec(element: Codec<Oid>): Codec<readonly Oid[]> {
  return {
    fixedBytes: undefined,
    isNullable: false,
    defaultValue: [],
    parse(json) {
      if (json === null) return []
      if (!Array.isArray(json)) throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an array`)
      return ordered(json.map((value, position) => elementAt(position, () => element.parse(value))))
    },
    accept: (given) => {
      return ordered((given as readonly unknown[]).map((value, i) => elementAt(i, () => element.accept(value))))
    },
    write: (elements, to) => writeElements(element as Codec, elements, to),
    read(bytes, start, end) {
      const elements: Oid[] = []
      eachElement(element as Codec, bytes, start, end, (from, to) => elements.push(element.read(bytes, from, to)))
      return elements
    },
    writeJson: (bytes, start, end, json) => writeArrayJson(element as Codec, bytes, start, end, json),
    toJson: (elements) => elements,
  }
}

function ordered(elements: readonly Oid[]): Oid[] {
  return [...new Set(elements)].sort(compareOids)
}

function elementAt(position: number, take: () => Oid): Oid {
  try {
    const oid = take()
    if (oid === noOid) throw new ValueError('ValueNotAllowed', 'a set does not hold the reference to nothing')
    return oid
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(position)
    throw error
  }
}
