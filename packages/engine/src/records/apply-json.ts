/** The new value of an attribute kept in the record, from its present one and what a request says. */
import { shownText } from '../schema/request-body.ts'
import { type Codec, ValueError } from '../types/logical-type.ts'
import type { CollectionSpec } from '../types/type-spec.ts'
import type { AttributeFormat, ClassFormat } from './class-format.ts'
import { type MapPair, parseGiven, readCollectionChange } from './collection-change.ts'
import { encodeValue } from './same-value.ts'

/** Throws ValueError; a null is stored where the type has one and otherwise means empty, all defaults or no object. */
export function applyJson(format: AttributeFormat, current: unknown, json: unknown): unknown {
  const { codec, attribute, embedded } = format
  const { spec } = attribute
  if (embedded !== undefined) return mergeEmbedded(embedded, current as readonly unknown[], json)
  if (spec.logicalType === 'list' || spec.logicalType === 'set' || spec.logicalType === 'map') {
    return applyCollection(codec, spec, current as readonly unknown[], json)
  }
  return json === null && codec.isNullable ? null : codec.parse(json)
}

/**
 * The embedded object `base` with the parts that `json` gives changed (REST interface, section 4, Update): null means
 * all defaults, `{"action":"override", …}` starts from the defaults. Throws ValueError.
 */
export function mergeEmbedded(format: ClassFormat, base: readonly unknown[], json: unknown): readonly unknown[] {
  if (json === null) return format.defaultValues().values
  if (typeof json !== 'object' || Array.isArray(json)) {
    throw new ValueError('MalformedValue', `an embedded object of class ${format.cls.name} is a JSON object`)
  }
  const isOverride =
    Object.hasOwn(json, 'action') &&
    (json as { action: unknown }).action === 'override' &&
    format.cls.findAttribute('action') === undefined
  const values = isOverride ? format.defaultValues().values : [...base]
  for (const [name, value] of Object.entries(json)) {
    if (isOverride && name === 'action') continue
    const attribute = format.cls.findAttribute(name)
    if (attribute === undefined) {
      throw new ValueError(
        'UnknownAttribute',
        `the embeddable class ${format.cls.name} has no attribute '${shownText(name)}'`,
      )
    }
    const target = format.attribute(attribute.number)
    try {
      values[target.index] = applyJson(target, values[target.index], value)
    } catch (error) {
      if (error instanceof ValueError) error.path.unshift(name)
      throw error
    }
  }
  return values
}

function applyCollection(codec: Codec, spec: CollectionSpec, current: readonly unknown[], json: unknown): unknown {
  const change = readCollectionChange(spec, json)
  if (spec.logicalType === 'map' && change.action === 'remove') {
    const removed = new Set(parseGiven(change, (keys) => parseAsKeys(codec, keys as unknown[])))
    return (current as MapPair[]).filter(({ key }) => !removed.has(key))
  }
  const given = parseGiven(change, (json) => codec.parse(json)) as readonly unknown[]
  if (change.action === 'override') return given
  switch (spec.logicalType) {
    case 'list':
      if (change.action === 'add') return [...current, ...given]
      return withoutElements(codec, current, given)
    case 'set': {
      if (change.action === 'add') return mergedSet(codec, [...current, ...given])
      const removed = new Set(given)
      return current.filter((element) => !removed.has(element))
    }
    case 'map':
      return mergedMap(codec, current as MapPair[], given as MapPair[])
  }
}

/** Elements are the same where their list would be stored the same, and 0 is -0: each is encoded once. */
function withoutElements(codec: Codec, current: readonly unknown[], removed: readonly unknown[]): readonly unknown[] {
  const formOf = (element: unknown): string => encodeValue(codec, [element === 0 ? 0 : element]).toString('latin1')
  const forms = new Set(removed.map(formOf))
  return current.filter((element) => !forms.has(formOf(element)))
}

/** A set keeps its elements once, in OID order: its codec sees to both. */
function mergedSet(codec: Codec, elements: readonly unknown[]): unknown {
  return codec.parse(elements)
}

function mergedMap(codec: Codec, current: readonly MapPair[], given: readonly MapPair[]): unknown {
  return codec.parse([...current, ...given])
}

/** Parses keys by way of pairs without a value, since keys alone are not a map. */
function parseAsKeys(codec: Codec, keys: readonly unknown[]): unknown[] {
  const pairs = codec.parse(keys.map((key) => ({ key, value: null }))) as MapPair[]
  return pairs.map(({ key }) => key)
}
