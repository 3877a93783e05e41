/** Texts that stand for dates, OIDs, numbers and the like, where such a value is meant: JSON parameters have no others. */
import { ValueError } from '../../types/logical-type.ts'
import { parseOid } from '../../types/oid.ts'
import { type FormattedKind, noTextFormats, plainText, type TextFormats } from './text-format.ts'
import { scalarCodec } from './value-json.ts'
import { aTypeName, type ValueType } from './value-type.ts'

/** True where a text that is known before the rows may stand for a value of the type. */
export function canBeText(type: ValueType): boolean {
  switch (type.kind) {
    case 'collection':
    case 'map':
    case 'record':
    case 'embedded':
    case 'edge':
    case 'null':
      return false
    default:
      return true
  }
}

/** Throws ValueError where the text is no such value. */
export function valueOfText(type: ValueType, text: string, formats: TextFormats = noTextFormats): unknown {
  switch (type.kind) {
    case 'string':
      return text
    case 'reference':
    case 'object': {
      const oid = parseOid(text)
      if (oid !== undefined) return oid
      throw new ValueError('ValueNotAllowed', `'${text.slice(0, 60)}' is not an OID such as 3-3-1-40`)
    }
    case 'boolean':
      if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
      throw new ValueError('ValueNotAllowed', `'${text.slice(0, 60)}' is neither true nor false`)
    case 'integer': {
      const value = scalarCodec({ kind: 'integer' }).parse(text.trim()) as bigint
      const isSafe = value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER
      return isSafe ? Number(value) : value
    }
    case 'date':
    case 'time':
    case 'datetime':
    case 'datetimeoffset': {
      const kind: FormattedKind = type.kind === 'datetimeoffset' ? 'datetime' : type.kind
      const format = formats[kind]
      return scalarCodec({ kind: type.kind }).parse(format === undefined ? text : plainText(kind, text, format))
    }
    case 'real':
    case 'character':
    case 'guid':
    case 'interval':
      return scalarCodec({ kind: type.kind }).parse(text)
    default:
      throw new ValueError('ValueNotAllowed', `a text cannot stand for ${aTypeName(type)}`)
  }
}
