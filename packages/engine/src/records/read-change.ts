/** JSON to what it does to an attribute (contract 4.1.10, 4.3.1 to 4.3.4): a value, or a change of a part of one. */

import { truncateForMessage } from '../schema/command-error.ts'
import { atOnce } from '../store/time-slice.ts'
import { type Codec, type Pieces, ValueError } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import type { CollectionSpec, TypeSpec } from '../types/type-spec.ts'
import { mergeFields } from './apply-change.ts'
import type { AttributeChange, ValueChange } from './attribute-change.ts'
import type { AttributeFormat, ClassFormat } from './class-format.ts'
import { type CollectionForm, parseGiven, placedIn, readCollectionForm } from './collection-form.ts'

/** Throws ValueError; a null is stored where the type has one and otherwise means empty, all defaults or no object. */
export function readValueChange(attribute: AttributeFormat, json: unknown): ValueChange {
  return isReadAtOnce(attribute) ? readSingle(attribute, json) : atOnce(readValueChangeInPieces(attribute, json))
}

/** Whether no value of the attribute takes long to read: `readValueChange` is the quicker then. */
export function isReadAtOnce({ codec, embedded, attribute: { spec } }: AttributeFormat): boolean {
  return (
    embedded === undefined && (codec.inPieces === undefined || spec.logicalType === 'string') && !isCollection(spec)
  )
}

/** As `readValueChange`. */
export function* readValueChangeInPieces(attribute: AttributeFormat, json: unknown): Pieces<ValueChange> {
  const { codec, embedded } = attribute
  const { spec } = attribute.attribute
  if (embedded !== undefined) return yield* readEmbeddedChange(embedded, json)
  return isCollection(spec) ? yield* readCollectionChange(codec, spec, json) : readSingle(attribute, json)
}

function readSingle({ codec }: AttributeFormat, json: unknown): ValueChange {
  return { kind: 'set', value: json === null && codec.isNullable ? null : codec.parse(json) }
}

function isCollection(spec: TypeSpec): spec is CollectionSpec {
  return spec.logicalType === 'list' || spec.logicalType === 'set' || spec.logicalType === 'map'
}

/**
 * Null means all defaults, and `{"action":"override", …}` starts from the defaults; the parts that another object gives are
 * changed. Throws ValueError.
 */
export function* readEmbeddedChange(format: ClassFormat, json: unknown): Pieces<ValueChange> {
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
    if (!isOverride || name !== 'action') fields.push(yield* readField(format, name, value))
  }
  if (!isOverride) return { kind: 'merge', fields }
  return { kind: 'set', value: mergeFields(format.defaultValues().values, fields) }
}

function* readField(format: ClassFormat, name: string, json: unknown): Pieces<AttributeChange> {
  const attribute = format.attributeNamed(name)
  if (attribute === undefined) {
    throw new ValueError(
      'UnknownAttribute',
      `the embeddable class ${format.cls.name} has no attribute '${truncateForMessage(name)}'`,
    )
  }
  try {
    const isShort = isReadAtOnce(attribute)
    const change = isShort ? readSingle(attribute, json) : yield* readValueChangeInPieces(attribute, json)
    return { attribute, name, change }
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(name)
    throw error
  }
}

function* readCollectionChange(codec: Codec, spec: CollectionSpec, json: unknown): Pieces<ValueChange> {
  const form = readCollectionForm(spec, json)
  if (spec.logicalType === 'map' && form.action === 'remove') {
    return { kind: 'removeKeys', keys: parseGiven(form, (keys) => parseKeys(codec, keys as readonly unknown[])) }
  }
  const given = (yield* parseGivenInPieces(form, codec)) as readonly unknown[]
  if (form.action === 'override') return { kind: 'set', value: given }
  if (spec.logicalType === 'map') return { kind: 'putPairs', pairs: given as readonly MapPair[] }
  return { kind: form.action, elements: given }
}

function* parseGivenInPieces(form: CollectionForm, codec: Codec): Pieces<unknown> {
  try {
    return codec.inPieces === undefined ? codec.parse(form.given) : yield* codec.inPieces.parse(form.given)
  } catch (error) {
    throw placedIn(form, error)
  }
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
