/** Converts JSON to a change of an attribute (contract 4.1.10, 4.3.1 to 4.3.4): a new value or a partial change. */

import { truncateForMessage } from '../errors.ts'
import { isCollection } from '../schema/properties/attribute-property.ts'
import { type Codec, type StepwiseWork, ValueError } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import type { CollectionSpec } from '../types/type-spec.ts'
import { mergeFields } from './apply-change.ts'
import type { AttributeChange, ValueChange } from './attribute-change.ts'
import type { AttributeFormat, ClassFormat } from './class-format.ts'
import { readCollectionForm } from './collection-form.ts'

/** Null is stored if the type is nullable; otherwise it means empty, all defaults or no object. Throws ValueError. */
export function* readValueChange(attribute: AttributeFormat, json: unknown): StepwiseWork<ValueChange> {
  return mayBeLong(attribute) ? yield* readLongChange(attribute, json) : readShortChange(attribute, json)
}

function mayBeLong({ attribute: { spec }, embedded }: AttributeFormat): boolean {
  return embedded !== undefined || isCollection(spec)
}

function readShortChange({ codec }: AttributeFormat, json: unknown): ValueChange {
  return { kind: 'set', value: json === null && codec.isNullable ? null : codec.parse(json) }
}

function readLongChange({ attribute, codec, embedded }: AttributeFormat, json: unknown): StepwiseWork<ValueChange> {
  if (embedded !== undefined) return readEmbeddedChange(embedded, json)
  return readCollectionChange(codec, attribute.spec as CollectionSpec, json)
}

/** Null means all defaults, and `{"action":"override", …}` starts from the defaults; other objects change the given parts. Throws ValueError. */
export function* readEmbeddedChange(format: ClassFormat, json: unknown): StepwiseWork<ValueChange> {
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
    if (isOverride && name === 'action') continue
    const attribute = fieldNamed(format, name)
    try {
      const change = mayBeLong(attribute) ? yield* readLongChange(attribute, value) : readShortChange(attribute, value)
      fields.push({ attribute, name, change })
    } catch (error) {
      if (error instanceof ValueError) error.path.unshift(name)
      throw error
    }
  }
  if (!isOverride) return { kind: 'merge', fields }
  return { kind: 'set', value: mergeFields(format, format.defaultValues().values, fields) }
}

function fieldNamed(format: ClassFormat, name: string): AttributeFormat {
  const attribute = format.attributeNamed(name)
  if (attribute !== undefined) return attribute
  throw new ValueError(
    'UnknownAttribute',
    `the embeddable class ${format.cls.name} has no attribute '${truncateForMessage(name)}'`,
  )
}

function* readCollectionChange(codec: Codec, spec: CollectionSpec, json: unknown): StepwiseWork<ValueChange> {
  const form = readCollectionForm(spec, json)
  try {
    if (spec.logicalType === 'map' && form.action === 'remove') {
      return { kind: 'removeKeys', keys: parseKeys(codec, form.input as readonly unknown[]) }
    }
    const { parseStepwise } = codec
    const parsed = parseStepwise === undefined ? codec.parse(form.input) : yield* parseStepwise(form.input)
    if (form.action === 'override') return { kind: 'set', value: parsed }
    if (spec.logicalType === 'map') return { kind: 'putPairs', pairs: parsed as readonly MapPair[] }
    return { kind: form.action, elements: parsed as readonly unknown[] }
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(...form.path)
    throw error
  }
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
