/** reference: the OID of an object of the referenced class or a subclass; 0-0-0-0 refers to nothing. */
import { textOf, wrongField } from './definition-words.ts'
import {
  type Codec,
  type DefineContext,
  type KeyCodec,
  type LogicalType,
  shownValue,
  type TypeDefinition,
  ValueError,
} from './logical-type.ts'
import { noOid, type Oid, oidFromBytes, oidLength, parseOid, writeOid, writeOidJson } from './oid.ts'
import type { ReferenceSpec } from './type-spec.ts'

export const reference: LogicalType<ReferenceSpec> = {
  logicalType: 'reference',
  fields: ['referencedClass', 'inverseAttribute'],
  define: defineReference,
  describe(spec, context) {
    const described: Record<string, unknown> = {
      logicalType: 'reference',
      referencedClass: context.className(spec.referencedClass),
    }
    if (spec.inverseAttribute !== null) described.inverseAttribute = context.attributeName(spec.inverseAttribute)
    return described
  },
  codec: () => codec,
}

function defineReference(definition: TypeDefinition, context: DefineContext): ReferenceSpec {
  const name = textOf(definition, 'referencedClass')
  if (name === undefined) throw wrongField('referencedClass', 'InvalidDefinition', 'is needed for a reference')
  const referenced = context.resolveClass(name)
  if (!referenced.isReferenceable) {
    throw wrongField(
      'referencedClass',
      'InvalidDefinition',
      `names ${referenced.name}, which is embeddable, not referenceable`,
    )
  }
  const inverse = textOf(definition, 'inverseAttribute')
  return {
    logicalType: 'reference',
    referencedClass: referenced.number,
    inverseAttribute: inverse === undefined ? null : context.resolveAttribute(referenced.number, inverse),
  }
}

/** Of every reference, whatever it may refer to. */
export const referenceKey: KeyCodec<Oid> = {
  form: 'eightBytes',
  write(value, to) {
    to.fixed(noBytes)
    writeOid(value, to.to)
  },
}

const codec: Codec<Oid> = {
  fixedBytes: oidLength,
  isNullable: false,
  defaultValue: noOid,
  parse(json) {
    if (json === null) return noOid
    if (typeof json !== 'string') throw new ValueError('MalformedValue', `${shownValue(json)} is not an OID`)
    const oid = parseOid(json)
    if (oid !== undefined) return oid
    throw new ValueError('ValueNotAllowed', `${shownValue(json)} is not an OID such as 3-3-1-40`)
  },
  write: writeOid,
  read: (bytes, start) => oidFromBytes(bytes, start),
  writeJson: (bytes, start, _end, json) => writeOidJson(json, bytes, start),
  toJson: (value) => value,
  key: referenceKey,
}

const noBytes = Buffer.alloc(0)
