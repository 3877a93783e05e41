/**
 * The expressions of a catalog's classes: binds them when they are defined, rebinds them when classes change, and deletes them
 * with the attributes and classes that they name.
 */
import { isDeepStrictEqual } from 'node:util'
import { AshlarError, type CommandPlace } from '../errors.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import { buildCatalog } from './build-catalog.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import { refuseBrokenDefaults } from './check-defaults.ts'
import { refuseChainedValues } from './check-value-order.ts'
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
import { describeSite, type ExpressionBinder, type ExpressionSite, namesIn, usedClasses } from './expression-uses.ts'
import type { Check } from './properties/checks.ts'
import type { PropertiesOfAttribute } from './properties/index.ts'
import { requireDatabaseRight } from './sequence-definition.ts'

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
 * InvalidDefinition, Forbidden for sequences, and AttributeInUse for an expression that names a deleted attribute or class. Yields between expressions.
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
  const added = new Map<SchemaExpression, CommandPlace>()
  for (const definition of remaining.classes) {
    const cls = catalog.classByNumber(definition.number)
    if (cls === undefined || !hasExpressions(definition)) {
      classes.push(definition)
      continue
    }
    const results: SchemaExpression[] = []
    for (const { expression, site } of expressionsOf(definition)) {
      yield
      const isSettled = !mayChange(expression) && usedClasses(cls, expression, catalog).every(isUnchanged)
      // Before an error could reveal whether the sequence exists.
      if ('text' in expression && drawing.test(expression.text)) requireDatabaseRight(before, 'define')
      const result = isSettled ? expression : bound(expression, site, cls, catalog, names, binder)
      if ('text' in expression) added.set(result, expression.place)
      results.push(result)
    }
    // The expressions come in the same order.
    let at = 0
    classes.push(mapExpressions(definition, () => results[at++]))
  }
  refuseCircles(classes, added)
  refuseChainedValues(classes, added)
  const next = { ...remaining, classes }
  refuseBrokenDefaults(before, next, added, binder)
  return next
}

interface ComputedUse {
  readonly name: string
  readonly what: string
  readonly numbers: readonly AttributeNumber[]
  /** Undefined if the expression is not part of the change. */
  readonly place: CommandPlace | undefined
}

/** `added`: the places of new expressions. Throws InvalidDefinition for computed attributes that depend on themselves. */
function refuseCircles(classes: readonly ClassDefinition[], added: ReadonlyMap<SchemaExpression, CommandPlace>): void {
  const named = new Map<AttributeNumber, ComputedUse>()
  for (const definition of classes) {
    if (definition.isDeleted) continue
    for (const { expression, site } of expressionsOf(definition)) {
      if (site.kind !== 'computed' || site.attribute === undefined) continue
      const what = describeSite(definition.name, site)
      const [{ name }, place] = [site, added.get(expression)]
      named.set(site.attribute.number, { name, what, numbers: attributesNamed(expression), place })
    }
  }
  const done = new Set<AttributeNumber>()
  const open = new Set<AttributeNumber>()
  const follow = (number: AttributeNumber): void => {
    const found = named.get(number)
    if (found === undefined || done.has(number)) return
    if (open.has(number))
      throw circleError([...open].slice([...open].indexOf(number)).flatMap((one) => named.get(one) ?? []))
    if (open.size >= computedDepthMax) {
      const message = `${found.what}: it is computed by more than ${computedDepthMax} steps.`
      throw commandError('InvalidDefinition', message, found.place ?? [])
    }
    open.add(number)
    for (const next of found.numbers) follow(next)
    open.delete(number)
    done.add(number)
  }
  for (const number of named.keys()) follow(number)
}

/** `circle`: each names the next one, and the last one the first. The error is at an expression that is part of the change. */
function circleError(circle: readonly ComputedUse[]): AshlarError {
  const at = Math.max(
    0,
    circle.findIndex(({ place }) => place !== undefined),
  )
  const [first, ...others] = [...circle.slice(at), ...circle.slice(0, at)]
  const way = others.length === 0 ? '' : `, by way of ${others.map(({ name }) => name).join(', ')}`
  return commandError('InvalidDefinition', `${first?.what}: it is computed from itself${way}.`, first?.place ?? [])
}

/** The maximum nesting of computed attributes. */
const computedDepthMax = 50

/** Whether the expression is new or names classes, since the meaning of a simple class name depends on all of them. */
function mayChange(expression: SchemaExpression): boolean {
  return 'text' in expression || classesNamed(expression).length > 0
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
