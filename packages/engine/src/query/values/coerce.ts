/** Coercion of texts to dates, OIDs, numbers and the like where such a value is expected, since JSON parameters have no such types. */
import { ValueError } from '../../types/logical-type.ts'
import { parseOid } from '../../types/oid.ts'
import { scalarKinds } from './scalars/scalar-kinds.ts'
import { noTextFormats, type TextFormats } from './text-format.ts'
import { aTypeName, isReference, isScalarType, type ValueType } from './value-type.ts'

/** Whether a text that is known before the rows are read may denote a value of the type. */
export function canBeText(type: ValueType): boolean {
  return isScalarType(type) || isReference(type)
}

/** Throws ValueError if the text does not denote a value of the type. */
export function valueOfText(type: ValueType, text: string, formats: TextFormats = noTextFormats): unknown {
  if (isScalarType(type)) return scalarKinds[type.kind].fromText(text, formats)
  if (!isReference(type)) throw new ValueError('ValueNotAllowed', `a text cannot stand for ${aTypeName(type)}`)
  const oid = parseOid(text)
  if (oid !== undefined) return oid
  throw new ValueError('ValueNotAllowed', `'${text.slice(0, 60)}' is not an OID such as 3-3-1-40`)
}
