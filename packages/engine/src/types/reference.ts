/** The type reference: the OID of an object of the referenced class or a subclass; 0-0-0-0 is the null reference. */
import { stringField, wrongField } from './definition-fields.ts'
import {
  type Codec,
  type DefineContext,
  formatForMessage,
  type KeyCodec,
  type LogicalType,
  ValueError,
} from './logical-type.ts'
import { noOid, type Oid, oidFromBytes, oidLength, parseOid, writeOid, writeOidJson } from './oid.ts'
import type { TypeDefinition } from './type-definition.ts'
import type { ReferenceSpec } from './type-spec.ts'

export const reference: LogicalType<ReferenceSpec> = {
  logicalType: 'reference',
  fields: ['referencedClass', 'inverseAttribute', 'edgeClass', 'edgeAttribute'],
  define: defineReference,
  describe(spec, context) {
    const { referencedClass, inverseAttribute, edgeClass, edgeAttribute } = spec
    return {
      logicalType: 'reference',
      referencedClass: context.className(referencedClass),
      ...(inverseAttribute === null ? {} : { inverseAttribute: context.attributeName(inverseAttribute) }),
      ...(edgeClass === undefined || edgeAttribute === undefined
        ? {}
        : {
            edgeClass: context.className(edgeClass),
            edgeAttribute: context.attributeNameIn(edgeClass, edgeAttribute),
          }),
    }
  },
  codec: () => codec,
}

function defineReference(definition: TypeDefinition, context: DefineContext): ReferenceSpec {
  const edge = edgeClassOf(definition)
  // A reference to edge objects determines the referenced class by the edge class.
  const field =
    stringField(definition, 'referencedClass') === undefined && edge !== undefined ? 'edgeClass' : 'referencedClass'
  const name = stringField(definition, field)
  if (name === undefined) throw wrongField('referencedClass', 'InvalidDefinition', 'is needed for a reference')
  const referenced = referenceable(name, field, context)
  const inverse = stringField(definition, 'inverseAttribute')
  return {
    logicalType: 'reference',
    referencedClass: referenced.number,
    inverseAttribute:
      inverse === undefined ? null : context.resolveAttribute(referenced.number, inverse, 'inverseAttribute'),
    ...(edge === undefined ? {} : defineEdge(edge, context)),
  }
}

interface EdgeNames {
  readonly edgeClass: string
  readonly edgeAttribute: string
}

function edgeClassOf(definition: TypeDefinition): EdgeNames | undefined {
  const edgeClass = stringField(definition, 'edgeClass')
  const edgeAttribute = stringField(definition, 'edgeAttribute')
  if (edgeClass !== undefined && edgeAttribute !== undefined) return { edgeClass, edgeAttribute }
  if (edgeClass !== undefined) throw wrongField('edgeAttribute', 'InvalidDefinition', 'is needed beside edgeClass')
  if (edgeAttribute !== undefined) throw wrongField('edgeClass', 'InvalidDefinition', 'is needed beside edgeAttribute')
  return undefined
}

/** Consistency of both fields with each other and the referenced class is checked once the whole batch is known. */
function defineEdge(
  { edgeClass, edgeAttribute }: EdgeNames,
  context: DefineContext,
): Required<Pick<ReferenceSpec, 'edgeClass' | 'edgeAttribute'>> {
  const { number } = referenceable(edgeClass, 'edgeClass', context)
  return { edgeClass: number, edgeAttribute: context.resolveAttribute(number, edgeAttribute, 'edgeAttribute') }
}

function referenceable(
  name: string,
  field: 'referencedClass' | 'edgeClass',
  context: DefineContext,
): ReturnType<DefineContext['resolveClass']> {
  const cls = context.resolveClass(name)
  if (cls.isReferenceable) return cls
  throw wrongField(field, 'InvalidDefinition', `names ${cls.name}, which is embeddable, not referenceable`)
}

/** The key codec of every reference. */
export const referenceKey: KeyCodec<Oid> = {
  form: 'eightBytes',
  write(value, to) {
    to.fixed(noBytes)
    writeOid(value, to.to)
  },
  read: (key, at) => oidFromBytes(key, at),
}

const codec: Codec<Oid> = {
  fixedBytes: oidLength,
  isNullable: false,
  defaultValue: noOid,
  parse(json) {
    if (json === null) return noOid
    if (typeof json !== 'string') throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an OID`)
    const oid = parseOid(json)
    if (oid !== undefined) return oid
    throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not an OID such as 3-3-1-40`)
  },
  accept: (input) => (input === null ? noOid : (input as Oid)),
  write: writeOid,
  read: (bytes, start) => oidFromBytes(bytes, start),
  writeJson: (bytes, start, _end, json) => writeOidJson(json, bytes, start),
  toJson: (value) => value,
  key: referenceKey,
}

const noBytes = Buffer.alloc(0)
