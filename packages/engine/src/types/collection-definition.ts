/** Shared parts of the definitions of list, set and map. */
import { inField, wrongField } from './definition-fields.ts'
import type { DefineContext, DescribeContext, LogicalType } from './logical-type.ts'
import { reference } from './reference.ts'
import type { NestedField, TypeDefinition, TypeField } from './type-definition.ts'
import type { ReferenceSpec } from './type-spec.ts'

/** Rejects fields that do not belong to the type; `logicalType` always does. */
export function refuseOtherFields(definition: TypeDefinition, type: Pick<LogicalType, 'logicalType' | 'fields'>): void {
  for (const field of Object.keys(definition) as TypeField[]) {
    if (field === 'logicalType' || type.fields.includes(field)) continue
    throw wrongField(field, 'InvalidDefinition', `does not belong to the type ${type.logicalType}`)
  }
}

/** Defines the elements of a set or the values of a map, which are references. */
export function defineReferences(
  definition: TypeDefinition,
  field: NestedField,
  context: DefineContext,
): ReferenceSpec {
  const nested = definition[field]
  if (nested === undefined || nested === null) throw wrongField(field, 'InvalidDefinition', 'is needed')
  return inField(field, () => {
    const word = nested.logicalType
    if (word?.toLowerCase() === 'reference') {
      refuseOtherFields(nested, reference)
      return reference.define(nested, context)
    }
    throw wrongField('logicalType', 'InvalidDefinition', 'has to be reference: sets and maps hold references')
  })
}

export function describeReferences(spec: ReferenceSpec, context: DescribeContext): TypeDefinition {
  return reference.describe(spec, context)
}
