/** Converts JSON to a change of an attribute (contract 4.1.10, 4.3.1 to 4.3.4): a new value or a partial change. */

import { truncateForMessage } from '../errors.ts'
import { isCollection } from '../schema/properties/attribute-property.ts'
import { type Codec, ValueError } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import type { CollectionSpec } from '../types/type-spec.ts'
import { mergeFields } from './apply-change.ts'
import type { AttributeChange, ValueChange } from './attribute-change.ts'
import type { AttributeFormat, ClassFormat } from './class-format.ts'
import { parseElement, readCollectionForm } from './collection-form.ts'

/** Null is stored if the type is nullable; otherwise it means empty, all defaults or no object. Throws ValueError. */
export function readValueChange(attribute: AttributeFormat, json: unknown): ValueChange {
  const { codec, embedded } = attribute
  const { spec } = attribute.attribute
  if (embedded !== undefined) return readEmbeddedChange(embedded, json)
  if (isCollection(spec)) return readCollectionChange(codec, spec, json)
  return { kind: 'set', value: json === null && codec.isNullable ? null : codec.parse(json) }
}

/** Null means all defaults, and `{"action":"override", …}` starts from the defaults; other objects change the given parts. Throws ValueError. */
export function readEmbeddedChange(format: ClassFormat, json: unknown): ValueChange {
  if (json === null) return { kind: 'set', value: format.defaultValues().values }
  if (typeof json !== 'object' || Array.isArray(json)) {
    throw new ValueError('MalformedValue', `an embedded object of class ${format.cls.name} is a JSON object`)
  }
  const isOverride =
    Object.hasOwn(json, 'action') &&
    (json as { action: unknown }).action === 'override' &&
    format.cls.findAttribute('action') === undefined
  const fields: AttributeChange[] = []
  for (const [name, value] of Object.entries(json)) {
    if (!isOverride || name !== 'action') fields.push(readField(format, name, value))
  }
  if (!isOverride) return { kind: 'merge', fields }
  return { kind: 'set', value: mergeFields(format, format.defaultValues().values, fields) }
}

function readField(format: ClassFormat, name: string, json: unknown): AttributeChange {
  const attribute = format.attributeNamed(name)
  if (attribute === undefined) {
    throw new ValueError(
      'UnknownAttribute',
      `the embeddable class ${format.cls.name} has no attribute '${truncateForMessage(name)}'`,
    )
  }
  try {
    return { attribute, name, change: readValueChange(attribute, json) }
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(name)
    throw error
  }
}

function readCollectionChange(codec: Codec, spec: CollectionSpec, json: unknown): ValueChange {
  const form = readCollectionForm(spec, json)
  if (spec.logicalType === 'map' && form.action === 'remove') {
    return { kind: 'removeKeys', keys: parseElement(form, (keys) => parseKeys(codec, keys as readonly unknown[])) }
  }
  const parsed = parseElement(form, (json) => codec.parse(json)) as readonly unknown[]
  if (form.action === 'override') return { kind: 'set', value: parsed }
  if (spec.logicalType === 'map') return { kind: 'putPairs', pairs: parsed as readonly MapPair[] }
  return { kind: form.action, elements: parsed }
}

/** Parses keys as pairs without values, since a map codec does not parse keys alone. */
function parseKeys(codec: Codec, keys: readonly unknown[]): unknown[] {
  try {
    const pairs = codec.parse(keys.map((key) => ({ key, value: null }))) as MapPair[]
    return pairs.map(({ key }) => key)
  } catch (error) {
    if (error instanceof ValueError && error.path.at(-1) === 'key') error.path.pop()
    throw error
  }
}
