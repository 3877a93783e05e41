/** The element type of a list, as the list needs it. */
import type { Codec, CodecContext, DefineContext, DescribeContext } from './logical-type.ts'
import type { NestedField, TypeDefinition } from './type-definition.ts'
import type { ElementSpec } from './type-spec.ts'

export interface ElementType {
  define(definition: TypeDefinition, field: NestedField, context: DefineContext): ElementSpec
  describe(spec: ElementSpec, context: DescribeContext): TypeDefinition
  codec(spec: ElementSpec, context: CodecContext): Codec
}
