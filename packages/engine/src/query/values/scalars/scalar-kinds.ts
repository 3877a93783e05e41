/** Table of all scalar kinds: the compiler requires an entry for each type of `types/type-spec.ts`. */
import type { Codec } from '../../../types/logical-type.ts'
import type { ScalarKind, ScalarType } from '../value-type.ts'
import { boolean } from './boolean.ts'
import { bytes } from './bytes.ts'
import { decimal } from './decimals.ts'
import { guid } from './guid.ts'
import { interval } from './interval.ts'
import { json } from './json.ts'
import { date, datetime, datetimeoffset, time } from './moments.ts'
import { codecOfReal, integer, real } from './numbers.ts'
import type { ScalarDefinition } from './scalar-kind.ts'
import { character, string } from './texts.ts'

/** In the order of messages. */
export const scalarKinds: { readonly [Kind in ScalarKind]: ScalarDefinition } = {
  boolean,
  character,
  integer,
  real,
  decimal,
  guid,
  string,
  date,
  time,
  datetime,
  datetimeoffset,
  interval,
  bytes,
  json,
}

/** The codec of the widest form of a scalar type. */
export function scalarCodec(type: ScalarType): Codec {
  return type.kind === 'real' ? codecOfReal(type) : scalarKinds[type.kind].codec
}
