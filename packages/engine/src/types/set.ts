/** The type set: unique references in OID order. */
import { defineReferences, describeReferences } from './collection-definition.ts'
import { enumField } from './definition-fields.ts'
import { inOidOrder } from './key-order.ts'
import { listCodec, parseArray } from './list.ts'
import { type Codec, type LogicalType, ValueError } from './logical-type.ts'
import { noOid, type Oid } from './oid.ts'
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
  // The elements are sorted as a whole.
  const { parseStepwise: _, ...list } = listCodec(element as Codec, true) as ReturnType<typeof listCodec> &
    Codec<readonly Oid[]>
  return {
    ...list,
    parse: (json) => ordered(parseArray(json), (value) => element.parse(value)),
    accept: (input) => ordered(input as readonly unknown[], (value) => element.accept(value)),
    toJson: (elements) => elements,
  }
}

/** `take`: parses or accepts an element. */
function ordered(input: readonly unknown[], take: (value: unknown) => Oid): Oid[] {
  const oids: Oid[] = []
  try {
    for (const value of input) {
      const oid = take(value)
      if (oid === noOid) throw new ValueError('ValueNotAllowed', 'a set does not hold the reference to nothing')
      oids.push(oid)
    }
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(oids.length)
    throw error
  }
  const distinct: Oid[] = []
  for (const oid of inOidOrder(oids, (one) => one)) if (oid !== distinct.at(-1)) distinct.push(oid)
  return distinct
}
