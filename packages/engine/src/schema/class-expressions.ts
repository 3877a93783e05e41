/**
 * The expressions of a catalog's classes: binds them when they are defined, rebinds them when classes change, and deletes them
 * with the attributes and classes that they name.
 */
import { isDeepStrictEqual } from 'node:util'
import { AshlarError, type CommandPlace } from '../errors.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from '../types/type-spec.ts'
import { buildCatalog } from './build-catalog.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { Attribute, CatalogState, ClassDefinition } from './class-definition.ts'
import { commandError } from './command-error.ts'
import {
  attributesNamed,
  type BoundExpression,
  classesNamed,
  type ExpressionNames,
  expressionFields,
  expressionText,
  isDefaultExpression,
  isExpression,
  type SchemaExpression,
} from './expression.ts'
import type { Check } from './properties/checks.ts'
import type { PropertiesOfAttribute } from './properties/index.ts'
import { requireDatabaseRight } from './sequence-definition.ts'

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
}

/** May also match a text in quotes. */
const drawing = /\bNEXT\s*\(/i

type MapExpression = (expression: SchemaExpression, site: ExpressionSite) => SchemaExpression | undefined

/** Returns the definition itself if nothing changes; if `map` returns undefined, the check or field is removed. */
function mapExpressions(definition: ClassDefinition, map: MapExpression): ClassDefinition {
  const attributes = definition.attributes.map((attribute) => mapAttribute(attribute, map))
  const isSame = attributes.every((attribute, i) => attribute === definition.attributes[i])
  const { properties, pendingChecks, ...plain } = definition
  const checks = mapChecks(properties?.checks, map)
  const pending = mapChecks(pendingChecks, map)
  if (isSame && checks === properties?.checks && pending === pendingChecks) return definition
  const { checks: _, ...others } = properties ?? {}
  const changed = checks === undefined ? others : { ...properties, checks }
  return {
    ...plain,
    ...(Object.keys(changed).length === 0 ? {} : { properties: changed }),
    ...(pending === undefined ? {} : { pendingChecks: pending }),
    attributes,
  }
}

/** Returns the list itself if nothing changes; undefined if no check is left. */
function mapChecks<C extends Check>(checks: readonly C[] | undefined, map: MapExpression): readonly C[] | undefined {
  if (checks === undefined) return undefined
  const mapped = checks.flatMap((check) => {
    const expression = map(check.expression, { kind: 'checks', name: check.name, attribute: undefined })
    if (expression === undefined) return []
    return expression === check.expression ? check : { ...check, expression }
  })
  if (isSameList(mapped, checks)) return checks
  return mapped.length === 0 ? undefined : mapped
}

function isSameList(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, i) => one === others[i])
}

function mapAttribute(attribute: Attribute, map: MapExpression): Attribute {
  const { properties } = attribute
  if (properties === undefined) return attribute
  let own: PropertiesOfAttribute['own'] = properties.own
  for (const field of expressionFields) {
    const value = own[field]
    if (!isExpressionOf(attribute, field)) continue
    const mapped = map(value as SchemaExpression, { kind: field, name: attribute.name, attribute })
    if (mapped === value) continue
    const { [field]: _, ...others } = own
    own = mapped === undefined ? others : { ...own, [field]: mapped }
  }
  if (own === properties.own) return attribute
  const isEmpty = Object.keys(own).length === 0 && Object.keys(properties.element).length === 0
  const { properties: _, ...plain } = attribute
  return isEmpty ? plain : { ...attribute, properties: { ...properties, own } }
}

/** The expressions of a class, excluding inherited ones. */
function expressionsOf(definition: ClassDefinition): { expression: SchemaExpression; site: ExpressionSite }[] {
  const found: { expression: SchemaExpression; site: ExpressionSite }[] = []
  mapExpressions(definition, (expression, site) => {
    found.push({ expression, site })
    return expression
  })
  return found
}

function hasExpressions({ isDeleted, properties, pendingChecks, attributes }: ClassDefinition): boolean {
  if (isDeleted) return false
  if (properties?.checks !== undefined || pendingChecks !== undefined) return true
  return attributes.some((one) => expressionFields.some((field) => isExpressionOf(one, field)))
}

function isExpressionOf({ spec, properties }: Attribute, field: (typeof expressionFields)[number]): boolean {
  const value = properties?.own[field]
  return field === 'default' ? isDefaultExpression(value, spec) : isExpression(value)
}

export interface ExpressionChange {
  readonly binder: ExpressionBinder | undefined
  /** Fields and checks are deleted with an attribute or class that they name; otherwise the change is rejected. */
  readonly isCascading: boolean
  /** The place in the command that deletes the attribute. */
  readonly placeOf?: (attributeName: string) => CommandPlace
}

/**
 * Returns the state with new expressions bound and those affected by the change bound again with unchanged meaning. Throws
 * InvalidDefinition, Forbidden for sequences, and AttributeInUse for an expression that names a deleted attribute or class. Yields between classes.
 */
export function* withBoundExpressions(
  before: Catalog,
  state: CatalogState,
  { binder, isCascading, placeOf = () => [] }: ExpressionChange,
): Generator<undefined, CatalogState> {
  if (binder === undefined || state === before.state || !state.classes.some(hasExpressions)) return state
  const remaining = withoutUses(before, state, isCascading, placeOf)
  const catalog = buildCatalog(remaining, before.version)
  const names = namesIn(catalog)
  const unchanged = new Set(before.state.classes)
  const isUnchanged = (one: SchemaClass): boolean => unchanged.has(one.definition)
  const classes: ClassDefinition[] = []
  for (const definition of remaining.classes) {
    const cls = catalog.classByNumber(definition.number)
    if (cls === undefined || !hasExpressions(definition)) {
      classes.push(definition)
      continue
    }
    yield
    classes.push(
      mapExpressions(definition, (expression, site) => {
        const isSettled = !mayChange(expression) && usedClasses(cls, expression, catalog).every(isUnchanged)
        if (isSettled) return expression
        // Before an error could reveal whether the sequence exists.
        if ('text' in expression && drawing.test(expression.text)) requireDatabaseRight(before, 'define')
        return bound(expression, site, cls, catalog, names, binder)
      }),
    )
  }
  refuseCircles(classes)
  return { ...remaining, classes }
}

/** Throws InvalidDefinition for computed attributes that depend on themselves. */
function refuseCircles(classes: readonly ClassDefinition[]): void {
  const named = new Map<AttributeNumber, { readonly what: string; readonly numbers: readonly AttributeNumber[] }>()
  for (const definition of classes) {
    if (definition.isDeleted) continue
    for (const { expression, site } of expressionsOf(definition)) {
      if (site.kind !== 'computed' || site.attribute === undefined) continue
      const what = describeSite(definition.name, site)
      named.set(site.attribute.number, { what, numbers: attributesNamed(expression) })
    }
  }
  const done = new Set<AttributeNumber>()
  const open = new Set<AttributeNumber>()
  const follow = (number: AttributeNumber): void => {
    const found = named.get(number)
    if (found === undefined || done.has(number)) return
    if (open.has(number)) throw commandError('InvalidDefinition', `${found.what}: it is computed from itself.`, [])
    if (open.size >= computedDepthMax) {
      throw commandError(
        'InvalidDefinition',
        `${found.what}: it is computed by more than ${computedDepthMax} steps.`,
        [],
      )
    }
    open.add(number)
    for (const next of found.numbers) follow(next)
    open.delete(number)
    done.add(number)
  }
  for (const number of named.keys()) follow(number)
}

/** The maximum nesting of computed attributes. */
const computedDepthMax = 50

/** Whether the expression is new or names classes, since the meaning of a simple class name depends on all of them. */
function mayChange(expression: SchemaExpression): boolean {
  return 'text' in expression || classesNamed(expression).length > 0
}

/** The attributes that the expression depends on: those that it names, and those that its computed attributes name. */
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

function bound(
  expression: SchemaExpression,
  site: ExpressionSite,
  cls: SchemaClass,
  catalog: Catalog,
  names: ExpressionNames,
  binder: ExpressionBinder,
): SchemaExpression {
  const what = describeSite(cls.name, site)
  const isNew = 'text' in expression
  const place = isNew ? expression.place : []
  const above = site.kind === 'checks' ? superClassWithCheck(cls, site.name) : undefined
  if (above !== undefined) {
    throw commandError('InvalidDefinition', `${what}: its superclass ${above.name} has a check of that name.`, place)
  }
  let result: BoundExpression
  try {
    result = binder.bind(expressionText(expression, names), site, cls, catalog, expression.isStored === true)
  } catch (error) {
    if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
    const words = isNew ? error.message : `the expression would not fit any more: ${error.message}`
    throw commandError('InvalidDefinition', `${what}: ${words}`, place)
  }
  if (isNew) return result
  const isSame =
    isDeepStrictEqual(namedIn(result), namedIn(expression)) && result.isFollowing === expression.isFollowing
  if (!isSame) {
    throw commandError('InvalidDefinition', `${what}: names in the expression would mean something else.`, place)
  }
  return expression
}

function superClassWithCheck(cls: SchemaClass, name: string): SchemaClass | undefined {
  for (let above = cls.superClass; above !== null; above = above.superClass) {
    if (above.definition.properties?.checks?.some((check) => check.name === name) === true) return above
  }
  return undefined
}

function namedIn(expression: SchemaExpression): unknown {
  return [attributesNamed(expression), classesNamed(expression)]
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

/** Throws AttributeInUse. */
function withoutUses(
  before: Catalog,
  state: CatalogState,
  isCascading: boolean,
  placeOf: (attributeName: string) => CommandPlace,
): CatalogState {
  const present = state.classes.filter(({ isDeleted }) => !isDeleted)
  const classes = new Set(present.map(({ number }) => number))
  const attributes = new Set(present.flatMap((one) => one.attributes.map(({ number }) => number)))
  const isGone = (expression: SchemaExpression): AttributeNumber | ClassNumber | undefined => {
    return (
      attributesNamed(expression).find((number) => !attributes.has(number)) ??
      classesNamed(expression).find((number) => number !== before.root.number && !classes.has(number))
    )
  }
  const remaining = state.classes.map((definition) => {
    if (definition.isDeleted) return definition
    return mapExpressions(definition, (expression, site) => {
      const gone = isGone(expression)
      if (gone === undefined) return expression
      if (isCascading && site.kind !== 'computed') return undefined
      // Not every change of the schema has the option cascade.
      const advice =
        site.kind === 'computed'
          ? 'delete that attribute first'
          : 'remove it first, or together with the attribute by the option cascade'
      const name = before.attribute(gone as AttributeNumber)?.name ?? 'a class'
      const what = describeSite(definition.name, site)
      const message = `${what}: the expression names ${name}; ${advice}.`
      throw commandError('AttributeInUse', message, placeOf(name))
    })
  })
  return isSameList(remaining, state.classes) ? state : { ...state, classes: remaining }
}
