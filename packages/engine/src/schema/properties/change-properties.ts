/** Changes the properties of an existing attribute, directly or with its type (contract 10.5). */
import { isDeepStrictEqual } from 'node:util'
import { conversionFor } from '../../types/conversion.ts'
import { codecFor } from '../../types/index.ts'
import { formatForMessage } from '../../types/logical-type.ts'
import type { TypeSpec } from '../../types/type-spec.ts'
import { invalidProperty, plainJson } from './attribute-property.ts'
import {
  type AttributeProperties,
  attributeProperties,
  defineProperties,
  elementTarget,
  type PropertiesInput,
  type PropertiesOfAttribute,
  targetOf,
} from './index.ts'

/**
 * Merges the given properties into the present ones; null removes one, except for `default`. `spec`: the new type. Returns
 * undefined if none is left. Throws ValueError.
 */
export function changeProperties(
  spec: TypeSpec,
  isEmbeddable: boolean,
  present: PropertiesOfAttribute | undefined,
  input: PropertiesInput,
  element: PropertiesInput,
): PropertiesOfAttribute | undefined {
  const changed = defineProperties(
    spec,
    isEmbeddable,
    { ...present?.own, ...input },
    { ...present?.element, ...element },
    present?.own,
  )
  if (changed === undefined || present?.isValidated !== false || !hasConstraints(changed)) return changed
  return { ...changed, isValidated: false }
}

/**
 * Converts the properties to another type as stored values are converted, leaving out those given in the definition. Throws
 * ValueError if a value does not fit.
 */
export function convertProperties(
  from: TypeSpec,
  to: TypeSpec,
  properties: PropertiesOfAttribute | undefined,
  input: PropertiesInput,
  elementInput: PropertiesInput,
): PropertiesOfAttribute | undefined {
  if (properties === undefined || isDeepStrictEqual(from, to)) return properties
  const { own, element } = properties
  const elements =
    'element' in from && 'element' in to ? convertAll(from.element, to.element, element, elementInput) : element
  return { ...properties, own: convertAll(from, to, own, input), element: elements }
}

function convertAll(
  from: TypeSpec,
  to: TypeSpec,
  properties: AttributeProperties,
  input: PropertiesInput,
): AttributeProperties {
  const converted: Record<string, unknown> = { ...properties }
  for (const { field, mapValues } of attributeProperties) {
    if (properties[field] === undefined || mapValues === undefined) continue
    if (input[field] !== undefined) delete converted[field]
    else converted[field] = mapValues(properties[field], (value) => convertValue(field, value, from, to))
  }
  return converted
}

/** Converts JSON to JSON. */
function convertValue(field: string, json: unknown, from: TypeSpec, to: TypeSpec): unknown {
  const conversion = conversionFor(from, to)
  if (conversion !== undefined) {
    const context = { embedded: () => invalid(field, json) }
    const value = codecFor(from, context).parse(json)
    if (conversion.isExact(value)) return plainJson(codecFor(to, context).toJson(conversion.convert(value)))
  }
  return invalid(field, json)
}

function invalid(field: string, json: unknown): never {
  throw invalidProperty(
    field,
    `of ${formatForMessage(json)} does not fit the new type: give another value, or null to remove it`,
  )
}

/** Whether every value that satisfies the constraints of `before` also satisfies those of `after`, for the same type. */
export function isSurelyLooser(
  spec: TypeSpec,
  before: PropertiesOfAttribute | undefined,
  after: PropertiesOfAttribute | undefined,
): boolean {
  return attributeProperties.every(({ field, constraint, isLooser }) => {
    if (constraint === undefined) return true
    return (['own', 'element'] as const).every((part) => {
      const [one, other] = [before?.[part][field], after?.[part][field]]
      if (other === undefined || isDeepStrictEqual(one, other)) return true
      const target = part === 'own' ? targetOf(spec, false, false) : elementTarget(spec, false)
      return one !== undefined && target !== undefined && isLooser?.(one, other, target) === true
    })
  })
}

export function hasConstraints({ own, element }: PropertiesOfAttribute): boolean {
  return attributeProperties.some(({ field, constraint }) => {
    return constraint !== undefined && (own[field] !== undefined || element[field] !== undefined)
  })
}
