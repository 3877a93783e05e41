/** The registry of attribute properties: reads and shows definitions, derives constraints and the values of creations. */

import { assert } from '../../errors.ts'
import { formatForMessage, ValueError } from '../../types/logical-type.ts'
import type { TypeSpec } from '../../types/type-spec.ts'
import { isDefaultExpression, isExpression } from '../expression.ts'
import {
  type AttributeProperty,
  type Constraint,
  invalidProperty,
  isScalar,
  type PropertiesInput,
  type PropertyTarget,
  scalarCodec,
} from './attribute-property.ts'
import { exclusiveMaximum, exclusiveMinimum, maximum, minimum } from './bounds.ts'
import { allowedWithComputed, computed } from './computed.ts'
import { refuseContradictions, refuseTooFewElements } from './contradictions.ts'
import { defaultValue } from './default.ts'
import { onSourceDelete, onTargetDelete } from './deletions.ts'
import { enumeration } from './enumeration.ts'
import { maxItems, minItems, uniqueItems } from './items.ts'
import { maxLength, minLength } from './lengths.ts'
import { onUpdate } from './on-update.ts'
import { pattern } from './pattern.ts'
import { isReadOnly } from './read-only.ts'
import { isRequired } from './required.ts'
import { annotations, description, title } from './texts.ts'
import { isUnique } from './unique.ts'

export type { AttributeProperty, Constraint, PropertiesInput, PropertyForm } from './attribute-property.ts'
export { type ClassPropertyField, classPropertyDescriptions } from './class-properties.ts'

/** In the order of definitions. */
export const attributeProperties: readonly AttributeProperty[] = [
  isRequired,
  defaultValue,
  onUpdate,
  enumeration,
  minimum,
  maximum,
  exclusiveMinimum,
  exclusiveMaximum,
  minLength,
  maxLength,
  pattern,
  minItems,
  maxItems,
  uniqueItems,
  isUnique,
  isReadOnly,
  onTargetDelete,
  onSourceDelete,
  computed,
  title,
  description,
  annotations,
]

/** By field name. */
const propertiesByField: ReadonlyMap<string, AttributeProperty> = new Map(
  attributeProperties.map((property) => [property.field, property]),
)

/** The normal form of an attribute's properties in the catalog: JSON by field, in the order of definitions. */
export interface AttributeProperties {
  readonly isRequired?: true
  readonly default?: unknown
  readonly isUnique?: true
  readonly isReadOnly?: true
  readonly [field: string]: unknown
}

export interface PropertiesOfAttribute {
  readonly own: AttributeProperties
  /** Properties of the elements of a list, set or map. */
  readonly element: AttributeProperties
  /** Objects older than the constraints may violate them: only writes are checked. */
  readonly isValidated?: false
}

const none: AttributeProperties = {}

/**
 * `input`: fields of the attribute. `element`: fields of its `elementSpecification`. `present`: properties whose expressions may be among the input,
 * as stored. Returns undefined if none is given. Throws ValueError with the path in the definition.
 */
export function defineProperties(
  spec: TypeSpec,
  isEmbeddable: boolean,
  input: PropertiesInput,
  element: PropertiesInput,
  present: AttributeProperties = none,
): PropertiesOfAttribute | undefined {
  const target = targetOf(spec, isEmbeddable, false)
  const inner = elementTarget(spec, isEmbeddable)
  const own = defineAll(input, target, present)
  let elementProperties = none
  try {
    if (inner !== undefined) elementProperties = defineAll(element, inner, none)
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift('elementSpecification')
    throw error
  }
  if (inner !== undefined) refuseTooFewElements(own, elementProperties, inner, constraintsOf(elementProperties, inner))
  checkDefault(own, elementProperties, target, inner)
  const isEmpty = Object.keys(own).length === 0 && Object.keys(elementProperties).length === 0
  return isEmpty ? undefined : { own, element: elementProperties }
}

function defineAll(input: PropertiesInput, target: PropertyTarget, present: AttributeProperties): AttributeProperties {
  for (const field of Object.keys(input)) {
    const property = propertiesByField.get(field)
    assert(property !== undefined, `${field} is an attribute property`)
    if (input[field] !== null && !property.appliesTo(target)) {
      throw invalidProperty(field, `is allowed only for ${property.types}, not for ${describeTarget(target)}`)
    }
  }
  const defined: Record<string, unknown> = {}
  for (const { field, define } of attributeProperties) {
    const value = input[field]
    if (value === undefined || (value === null && field !== 'default')) continue
    const isStored = value === present[field] && isExpression(value)
    const stored = isStored ? value : define(value, target)
    if (stored !== undefined) defined[field] = stored
  }
  const other = Object.keys(defined).find((field) => !allowedWithComputed.includes(field))
  if (defined.computed !== undefined && other !== undefined) {
    throw invalidProperty(other, 'is not allowed together with computed')
  }
  if (defined.onUpdate !== undefined && defined.isReadOnly === true) {
    throw invalidProperty('onUpdate', 'is not allowed together with isReadOnly: it changes the attribute later')
  }
  if (defined.default === null && defined.isRequired === true) delete defined.default
  refuseContradictions(defined, target, constraintsOf(defined, target))
  return defined
}

function describeTarget({ spec: { logicalType }, isElement, isEmbeddable }: PropertyTarget): string {
  const what = isElement ? `elements of type ${logicalType}` : `an attribute of type ${logicalType}`
  return isEmbeddable ? `${what} of an embeddable class` : what
}

/** A default must satisfy the constraints of the same definition. Throws ValueError. */
function checkDefault(
  own: AttributeProperties,
  element: AttributeProperties,
  target: PropertyTarget,
  inner: PropertyTarget | undefined,
): void {
  const { default: stored } = own
  if (stored === undefined || stored === null || isDefaultExpression(stored, target.spec) || target.codec === undefined)
    return
  const value = target.codec.parse(stored)
  const broken =
    constraintsOf(own, target).find((one) => !one.isSatisfied(value)) ??
    (inner !== undefined && Array.isArray(value)
      ? constraintsOf(element, inner).find((one) => value.some((part) => part !== null && !one.isSatisfied(part)))
      : undefined)
  if (broken === undefined) return
  throw invalidProperty('default', `is ${formatForMessage(stored)}, but the attribute ${broken.requirement}`)
}

/** The constraints of an attribute and of its elements. */
export function compileConstraints(
  spec: TypeSpec,
  { own, element }: PropertiesOfAttribute,
): { readonly own: readonly Constraint[]; readonly element: readonly Constraint[] } {
  const inner = elementTarget(spec, false)
  return {
    own: constraintsOf(own, targetOf(spec, false, false)),
    element: inner === undefined ? [] : constraintsOf(element, inner),
  }
}

interface CompiledConstraints {
  readonly spec: TypeSpec
  readonly constraints: readonly Constraint[]
}

/** Definitions, initial values and writes use the same ones, with their compiled patterns. */
const compiled = new WeakMap<AttributeProperties, CompiledConstraints>()

function constraintsOf(properties: AttributeProperties, target: PropertyTarget): readonly Constraint[] {
  const { spec } = target
  const known = compiled.get(properties)
  if (known?.spec === spec) return known.constraints
  const constraints = attributeProperties.flatMap(({ field, constraint }) => {
    const stored = properties[field]
    return stored === undefined || constraint === undefined ? [] : [constraint(stored, target)]
  })
  compiled.set(properties, { spec, constraints })
  return constraints
}

/**
 * The JSON value of an attribute that a creation leaves out (contract 10.1): its default, unless that is an expression;
 * otherwise null for a scalar that is required or unique, or whose constraints reject the default of its type; otherwise
 * undefined, for the default of the type.
 */
export function creationDefault(spec: TypeSpec, properties: PropertiesOfAttribute | undefined): unknown {
  if (properties === undefined) return undefined
  const { own } = properties
  if (own.default !== undefined && !isDefaultExpression(own.default, spec)) return own.default
  if (!isScalar(spec)) return undefined
  if (own.isRequired === true || own.isUnique === true) return null
  const target = targetOf(spec, false, false)
  const typeDefault = target.codec?.defaultValue
  if (typeDefault === null || typeDefault === undefined) return undefined
  return constraintsOf(own, target).every((one) => one.isSatisfied(typeDefault)) ? undefined : null
}

export function targetOf(spec: TypeSpec, isEmbeddable: boolean, isElement: boolean): PropertyTarget {
  return { spec, codec: scalarCodec(spec), isElement, isEmbeddable }
}

export function elementTarget(spec: TypeSpec, isEmbeddable: boolean): PropertyTarget | undefined {
  return 'element' in spec ? targetOf(spec.element, isEmbeddable, true) : undefined
}
