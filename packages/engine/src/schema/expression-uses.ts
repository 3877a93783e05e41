/** Where the expressions of classes stand, how they are bound, and what they depend on (contract 10.6). */
import type { AttributeNumber, ClassNumber, TypeSpec } from '../types/type-spec.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { Attribute } from './class-definition.ts'
import {
  attributesNamed,
  type BoundExpression,
  type ExpressionNames,
  type expressionFields,
  isExpression,
  type SchemaExpression,
} from './expression.ts'

/** The location of an expression in a class. */
export interface ExpressionSite {
  readonly kind: 'checks' | (typeof expressionFields)[number]
  /** The name of the attribute or check. */
  readonly name: string
  /** Undefined for a check. */
  readonly attribute: Attribute | undefined
}

/** Resolves names; implemented in a layer above the schema, which has no access to DO. */
export interface ExpressionBinder {
  /** `cls`: a class of `catalog`. Throws AshlarError for faults in the text. */
  bind(text: string, site: ExpressionSite, cls: SchemaClass, catalog: Catalog, isStored: boolean): BoundExpression
  /** Whether a check of the class is false for an object with the defaults of its attributes. */
  isFalseForDefaults(check: SchemaExpression, site: ExpressionSite, cls: SchemaClass, catalog: Catalog): boolean
}

/** The attributes that the expression depends on, directly or through computed attributes. */
export function attributesUsed(
  expression: SchemaExpression,
  attributeOf: (number: AttributeNumber) => { readonly properties?: Attribute['properties'] | undefined } | undefined,
): ReadonlySet<AttributeNumber> {
  const used = new Set<AttributeNumber>()
  const open = [...attributesNamed(expression)]
  for (let number = open.pop(); number !== undefined; number = open.pop()) {
    const named = attributeOf(number)
    if (named === undefined || used.has(number)) continue
    used.add(number)
    const computed = named.properties?.own.computed
    if (isExpression(computed)) open.push(...attributesNamed(computed))
  }
  return used
}

/** Whether the class has own or inherited checks. */
export function hasChecks({ definition, superClass }: SchemaClass): boolean {
  const { properties, pendingChecks } = definition
  const hasOwn = properties?.checks !== undefined || pendingChecks !== undefined
  return hasOwn || (superClass !== null && hasChecks(superClass))
}

/** The attributes on which checks of the class depend, inherited checks and those that are being validated included. */
export function attributesOfChecks(cls: SchemaClass, catalog: Catalog): ReadonlySet<AttributeNumber> {
  const used = new Set<AttributeNumber>()
  for (let at: SchemaClass | null = cls; at !== null; at = at.superClass) {
    const { properties, pendingChecks = [] } = at.definition
    for (const { expression } of [...(properties?.checks ?? []), ...pendingChecks]) {
      for (const number of attributesUsed(expression, (one) => catalog.attribute(one))) used.add(number)
    }
  }
  return used
}

/** The classes in which its attribute names may resolve. */
export function usedClasses(cls: SchemaClass, expression: SchemaExpression, catalog: Catalog): readonly SchemaClass[] {
  const used = new Set([cls])
  for (const one of used) {
    if (one.superClass !== null) used.add(one.superClass)
    for (const { spec } of one.attributes) {
      for (const number of classesIn(spec, expression.isFollowing === true)) {
        const other = catalog.classByNumber(number)
        if (other !== undefined) used.add(other)
      }
    }
  }
  return [...used]
}

function classesIn(spec: TypeSpec, withReferences: boolean): readonly ClassNumber[] {
  switch (spec.logicalType) {
    case 'object':
      return [spec.class]
    case 'reference':
      return withReferences ? [spec.referencedClass] : []
    case 'list':
    case 'set':
      return classesIn(spec.element, withReferences)
    case 'map':
      return [...classesIn(spec.key, withReferences), ...classesIn(spec.element, withReferences)]
    default:
      return []
  }
}

/** The subject of messages about expressions. */
export function describeSite(className: string, { kind, name }: ExpressionSite): string {
  return kind === 'checks' ? `Class ${className}, check ${name}` : `Class ${className}, attribute ${name}, ${kind}`
}

export function namesIn(catalog: Catalog): ExpressionNames {
  return {
    attribute: (number) => catalog.attribute(number)?.name,
    className: (number) => catalog.classByNumber(number)?.name,
  }
}
