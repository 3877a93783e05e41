/** Table of all scalar kinds: the compiler requires an entry for each type of `types/type-spec.ts`. */
import type { Codec } from '../../../types/logical-type.ts'
import type { ScalarKind, ScalarType } from '../value-type.ts'
import { booleanScalar } from './boolean.ts'
import { bytesScalar } from './bytes.ts'
import { decimalScalar } from './decimals.ts'
import { guidScalar } from './guid.ts'
import { intervalScalar } from './interval.ts'
import { jsonScalar } from './json.ts'
import { dateScalar, datetimeoffsetScalar, datetimeScalar, timeScalar } from './moments.ts'
import { codecOfReal, integerScalar, realScalar } from './numbers.ts'
import type { ScalarDefinition } from './scalar-kind.ts'
import { characterScalar, stringScalar } from './texts.ts'

/** In the order of messages. */
export const scalarKinds: { readonly [Kind in ScalarKind]: ScalarDefinition } = {
  boolean: booleanScalar,
  character: characterScalar,
  integer: integerScalar,
  real: realScalar,
  decimal: decimalScalar,
  guid: guidScalar,
  string: stringScalar,
  date: dateScalar,
  time: timeScalar,
  datetime: datetimeScalar,
  datetimeoffset: datetimeoffsetScalar,
  interval: intervalScalar,
  bytes: bytesScalar,
  json: jsonScalar,
}

/** The codec of the widest form of a scalar type. */
export function widestCodec(type: ScalarType): Codec {
  return type.kind === 'real' ? codecOfReal(type) : scalarKinds[type.kind].codec
}
