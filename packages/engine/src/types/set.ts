/** set: references, each once, in OID order. */
import { sortInPieces } from '../store/sort-in-pieces.ts'
import { defineReferences, describeReferences } from './collection-definition.ts'
import { enumField } from './definition-fields.ts'
import { PieceCount } from './element-bytes.ts'
import { givenArray, listCodec } from './list.ts'
import { type Codec, type LogicalType, type Pieces, ValueError } from './logical-type.ts'
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

/** Stored like a list. */
function setCodec(element: Codec<Oid>): Codec<readonly Oid[]> {
  const list = listCodec(element as Codec, true) as ReturnType<typeof listCodec> & Codec<readonly Oid[]>
  return {
    ...list,
    parse(json) {
      return ordered(givenArray(json).map((value, position) => elementAt(position, () => element.parse(value))))
    },
    accept: (given) => {
      return ordered((given as readonly unknown[]).map((value, i) => elementAt(i, () => element.accept(value))))
    },
    toJson: (elements) => elements,
    inPieces: { ...list.inPieces, parse: (json) => parseInPieces(element, givenArray(json)) },
  }
}

function* parseInPieces(element: Codec<Oid>, given: readonly unknown[]): Pieces<Oid[]> {
  const elements: Oid[] = []
  const pieces = new PieceCount()
  for (const [position, value] of given.entries()) {
    elements.push(elementAt(position, () => element.parse(value)))
    if (pieces.isOverAt(0)) yield
  }
  const distinct: Oid[] = []
  for (const oid of yield* sortInPieces(elements, compareOids)) {
    if (oid !== distinct.at(-1)) distinct.push(oid)
    if (pieces.isOverAt(0)) yield
  }
  return distinct
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
