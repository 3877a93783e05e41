/** JSON to what it does to an attribute (contract 4.1.10, 4.3.1 to 4.3.4): a value, or a change of a part of one. */

import { truncateForMessage } from '../schema/command-error.ts'
import { type Codec, ValueError } from '../types/logical-type.ts'
import type { CollectionSpec } from '../types/type-spec.ts'
import { mergeFields } from './apply-change.ts'
import type { AttributeChange, MapPair, ValueChange } from './attribute-change.ts'
import type { AttributeFormat, ClassFormat } from './class-format.ts'
import { parseGiven, readCollectionForm } from './collection-form.ts'

/** Throws ValueError; a null is stored where the type has one and otherwise means empty, all defaults or no object. */
export function readValueChange({ codec, attribute, embedded }: AttributeFormat, json: unknown): ValueChange {
  const { spec } = attribute
  if (embedded !== undefined) return readEmbeddedChange(embedded, json)
  if (spec.logicalType === 'list' || spec.logicalType === 'set' || spec.logicalType === 'map') {
    return readCollectionChange(codec, spec, json)
  }
  return { kind: 'set', value: json === null && codec.isNullable ? null : codec.parse(json) }
}

/**
 * Null means all defaults, and `{"action":"override", …}` starts from the defaults; the parts that another object gives are
 * changed. Throws ValueError.
 */
export function readEmbeddedChange(format: ClassFormat, json: unknown): ValueChange {
  if (json === null) return { kind: 'set', value: format.defaultValues().values }
  if (typeof json !== 'object' || Array.isArray(json)) {
    throw new ValueError('MalformedValue', `an embedded object of class ${format.cls.name} is a JSON object`)
  }
  const isOverride =
    Object.hasOwn(json, 'action') &&
    (json as { action: unknown }).action === 'override' &&
    format.cls.findAttribute('action') === undefined
  const given = Object.entries(json).filter(([name]) => !isOverride || name !== 'action')
  const fields = given.map(([name, value]) => readField(format, name, value))
  if (!isOverride) return { kind: 'merge', fields }
  return { kind: 'set', value: mergeFields(format.defaultValues().values, fields) }
}

function readField(format: ClassFormat, name: string, json: unknown): AttributeChange {
  const found = format.cls.findAttribute(name)
  if (found === undefined) {
    throw new ValueError(
      'UnknownAttribute',
      `the embeddable class ${format.cls.name} has no attribute '${truncateForMessage(name)}'`,
    )
  }
  const attribute = format.attribute(found.number)
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
    return { kind: 'removeKeys', keys: parseGiven(form, (keys) => parseKeys(codec, keys as readonly unknown[])) }
  }
  const given = parseGiven(form, (value) => codec.parse(value)) as readonly unknown[]
  if (form.action === 'override') return { kind: 'set', value: given }
  if (spec.logicalType === 'map') return { kind: 'putPairs', pairs: given as readonly MapPair[] }
  return { kind: form.action, elements: given }
}

/** By way of pairs without a value, since keys alone are not a map. */
function parseKeys(codec: Codec, keys: readonly unknown[]): unknown[] {
  try {
    const pairs = codec.parse(keys.map((key) => ({ key, value: null }))) as MapPair[]
    return pairs.map(({ key }) => key)
  } catch (error) {
    if (error instanceof ValueError && error.path.at(-1) === 'key') error.path.pop()
    throw error
  }
}
