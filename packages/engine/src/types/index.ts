/** The registry of logical types, from which the words of the interface are derived. */
import { boolean } from './boolean.ts'
import { bytes } from './bytes.ts'
import { character } from './character.ts'
import { refuseOtherFields } from './collection-definition.ts'
import { date } from './date.ts'
import { datetime } from './datetime.ts'
import { decimal } from './decimal.ts'
import { inField, wrongField } from './definition-fields.ts'
import type { ElementType } from './element-type.ts'
import { guid } from './guid.ts'
import { integer } from './integer.ts'
import { interval } from './interval.ts'
import { json } from './json.ts'
import { listTypeOf } from './list.ts'
import {
  type Codec,
  type CodecContext,
  type DefineContext,
  type DescribeContext,
  formatForMessage,
  type LogicalType,
} from './logical-type.ts'
import { map } from './map.ts'
import { object } from './object.ts'
import { real } from './real.ts'
import { reference } from './reference.ts'
import { set } from './set.ts'
import { string } from './string.ts'
import { time } from './time.ts'
import { withoutAliases } from './type-aliases.ts'
import type { TypeDefinition } from './type-definition.ts'
import type { LogicalTypeName, TypeSpec } from './type-spec.ts'

const elementType: ElementType = {
  define(definition, field, context) {
    const nested = definition[field]
    if (nested === undefined || nested === null) throw wrongField(field, 'InvalidDefinition', 'is needed')
    return inField(field, () => {
      const spec = defineType(nested, context)
      if (spec.logicalType !== 'list' && spec.logicalType !== 'set' && spec.logicalType !== 'map') return spec
      throw wrongField('logicalType', 'InvalidDefinition', 'of an element is no collection')
    })
  },
  describe: (spec, context) => describeType(spec, context),
  codec: (spec, context) => codecFor(spec, context),
}

type SpecNamed<Name extends LogicalTypeName> = Extract<TypeSpec, { readonly logicalType: Name }>

/** In the order of the documentation. The compiler requires each type of `type-spec.ts`. */
const byName: { readonly [Name in LogicalTypeName]: LogicalType<SpecNamed<Name>> } = {
  boolean,
  character,
  integer,
  real,
  decimal,
  string,
  guid,
  date,
  time,
  datetime,
  interval,
  bytes,
  json,
  reference,
  object,
  list: listTypeOf(elementType),
  set,
  map,
}

export { typeAliases } from './type-aliases.ts'

export const logicalTypes: readonly Pick<LogicalType, 'logicalType' | 'fields'>[] = Object.values(byName)

/** The normal form of a definition. Throws ValueError. */
export function defineType(input: TypeDefinition, context: DefineContext): TypeSpec {
  const definition = withoutAliases(input)
  const word = definition.logicalType
  if (word === undefined) throw wrongField('logicalType', 'MalformedValue', 'is needed')
  const name = word.toLowerCase()
  if (!Object.hasOwn(byName, name)) {
    const names = Object.keys(byName).join(', ')
    throw wrongField('logicalType', 'InvalidDefinition', `is one of ${names}; not ${formatForMessage(word)}`)
  }
  const type = typeNamed(name as LogicalTypeName)
  refuseOtherFields(definition, type)
  return type.define(definition, context)
}

/** The definition as in schema reads; `defineType` maps it to the same normal form. */
export function describeType(spec: TypeSpec, context: DescribeContext): TypeDefinition {
  return typeNamed(spec.logicalType).describe(spec, context)
}

export function codecFor(spec: TypeSpec, context: CodecContext): Codec {
  return typeNamed(spec.logicalType).codec(spec, context)
}

function typeNamed(name: LogicalTypeName): LogicalType {
  return byName[name] as LogicalType
}
