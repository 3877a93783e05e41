/** The type map: references by a text or reference key, in key order. */
import { defineReferences, describeReferences, refuseOtherFields } from './collection-definition.ts'
import { enumField, inField, wrongField } from './definition-fields.ts'
import type { Codec, DefineContext, LogicalType } from './logical-type.ts'
import { mapCodec } from './map-codec.ts'
import type { Oid } from './oid.ts'
import { reference } from './reference.ts'
import { string } from './string.ts'
import type { TypeDefinition } from './type-definition.ts'
import type { MapSpec, ReferenceSpec, StringSpec } from './type-spec.ts'

/** A key and its value; in memory, and in queries, where they have other types. */
export interface MapPair<Key = unknown, Value = unknown> {
  readonly key: Key
  readonly value: Value
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

/** Texts for NameToReferenceMap, otherwise references; without a keySpecification the name decides. */
function defineKey(definition: TypeDefinition, context: DefineContext): StringSpec | ReferenceSpec {
  const { keySpecification: nested, collectionTypeName: name } = definition
  const isByReference = byReference.some((word) => word.toLowerCase() === name?.toLowerCase())
  if (nested === undefined || nested === null) {
    if (isByReference) throw wrongField('keySpecification', 'InvalidDefinition', `is needed for ${name}`)
    return string.define({}, context)
  }
  return inField('keySpecification', () => {
    const type = [string, reference].find(({ logicalType }) => logicalType === nested.logicalType?.toLowerCase())
    if (type === undefined) throw wrongField('logicalType', 'InvalidDefinition', 'of a map key is string or reference')
    refuseOtherFields(nested, type)
    return type.define(nested, context) as StringSpec | ReferenceSpec
  })
}
