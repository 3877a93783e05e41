/** The checks that name attributes whose stored values are converted: stored objects must satisfy them with the new values too (contract 10.5.14). */
import { isDeepStrictEqual } from 'node:util'
import { AshlarError } from '../errors.ts'
import { conversionFor } from '../types/conversion.ts'
import type { AttributeNumber, TypeSpec } from '../types/type-spec.ts'
import { buildCatalog } from './build-catalog.ts'
import type { Catalog } from './catalog.ts'
import type { Attribute, CatalogState, ClassDefinition } from './class-definition.ts'
import { attributesNamed, type SchemaExpression } from './expression.ts'
import { attributesUsed } from './expression-uses.ts'
import type { NewCheck } from './pending-checks.ts'
import { mapAttributes } from './pending-types.ts'
import type { Check } from './properties/checks.ts'
import type { Retype } from './retype-attribute.ts'

export interface RecheckedChecks {
  /** With the checks left unvalidated, unless they are validated by the change. */
  readonly state: CatalogState
  readonly retypes: readonly Retype[]
  /** To be validated for stored objects; without new checks, which are validated in any case. */
  readonly recheckedChecks: readonly NewCheck[]
}

/** `state`: after the change, with bound expressions. */
export function withRecheckedChecks(
  { state, retypes }: { readonly state: CatalogState; readonly retypes: readonly Retype[] },
  newChecks: readonly NewCheck[],
  isValidating: boolean,
): RecheckedChecks {
  const converted = new Set(retypes.filter(changesMeaning).map(({ becomes }) => becomes))
  if (converted.size === 0) return { state, retypes, recheckedChecks: [] }
  const used = usedIn(state)
  const isNew = (owner: ClassDefinition, { name }: Check): boolean =>
    newChecks.some((one) => one.owner === owner.number && one.name === name)
  const isRechecked = (owner: ClassDefinition, check: Check): boolean => {
    const isExisting = check.isValidated !== false && !isNew(owner, check)
    return isExisting && [...used(check.expression)].some((number) => converted.has(number))
  }
  const rechecked = checksIn(state).filter(({ owner, check }) => isRechecked(owner, check))
  if (rechecked.length === 0) return { state, retypes, recheckedChecks: [] }
  if (!isValidating) return { state: unvalidated(state, isRechecked), retypes, recheckedChecks: [] }
  const named = new Set(rechecked.flatMap(({ check }) => [...used(check.expression)]))
  return {
    state,
    retypes: retypes.map((retype) => {
      const isConsequence = retype.work.kind === 'recompute' && !retype.work.isRedefined
      return named.has(retype.becomes) && !isConsequence ? { ...retype, isNamed: true } : retype
    }),
    recheckedChecks: rechecked.map(({ owner, check: { name } }) => ({ owner: owner.number, name })),
  }
}

function unvalidated(
  state: CatalogState,
  isRechecked: (owner: ClassDefinition, check: Check) => boolean,
): CatalogState {
  const classes = state.classes.map((owner) => {
    const { properties } = owner
    if (owner.isDeleted || properties?.checks?.some((check) => isRechecked(owner, check)) !== true) return owner
    const checks = properties.checks.map((check) =>
      isRechecked(owner, check) ? { ...check, isValidated: false as const } : check,
    )
    return { ...owner, properties: { ...properties, checks } }
  })
  return { ...state, classes }
}

/** Whether expressions that name the attribute may have another value: with another type they may even if no value is lost: integers, for example, are divided differently than reals. */
export function changesMeaning({ work, from, to }: Retype): boolean {
  if (work.kind === 'recompute') return work.isRedefined
  return work.kind === 'convert' && !(work.conversion.isLossless && isSameInExpressions(from, to))
}

function isSameInExpressions(from: TypeSpec, to: TypeSpec): boolean {
  if (from.logicalType === 'list' && to.logicalType === 'list') return isSameInExpressions(from.element, to.element)
  return from.logicalType === to.logicalType && ['integer', 'string', 'character'].includes(from.logicalType)
}

/**
 * Throws AttributeInUse if a check is being added that names an attribute whose type this change converts, or this change adds
 * or validates a check that names an attribute whose type is being converted: neither would be checked with the values of the other.
 * `next`: after this change, with bound expressions.
 */
export function refuseConcurrentChecks(
  catalog: Catalog,
  next: CatalogState,
  retypes: readonly Retype[],
  checks: readonly NewCheck[],
): void {
  const converted = new Set(retypes.filter(changesMeaning).map(({ attribute }) => attribute))
  if (converted.size === 0 && checks.length === 0) return
  const used = usedIn(next)
  const isConverting = (number: AttributeNumber): boolean => {
    const attribute = catalog.attribute(number)
    return attribute !== undefined && specAfter(attribute) !== undefined
  }
  for (const { number, name, isDeleted, pendingChecks = [], properties } of next.classes) {
    if (isDeleted) continue
    const pending = pendingChecks.find(({ expression }) => [...used(expression)].some((one) => converted.has(one)))
    const own = (properties?.checks ?? []).filter((check) => {
      return checks.some((one) => one.owner === number && one.name === check.name)
    })
    const changing = own.find(({ expression }) => [...used(expression)].some(isConverting))
    const check = pending ?? changing
    if (check === undefined) continue
    const message = `Check ${check.name} of class ${name} names an attribute that is being changed by another request, or is being added by one.`
    throw new AshlarError('AttributeInUse', message)
  }
}

/** Whether the attributes that the expression names have the same types in both states, and these are not being changed. */
export function keepsMeaning(expression: SchemaExpression, seen: CatalogState, state: CatalogState): boolean {
  const [before, after] = [attributesIn(seen), attributesIn(state)]
  // One that is gone is named, and not used.
  const used = [...attributesNamed(expression), ...attributesUsed(expression, (number) => after.get(number))]
  return used.every((number) => {
    const attribute = after.get(number)
    const isChanging = attribute === undefined || specAfter(attribute) !== undefined
    return !isChanging && isDeepStrictEqual(attribute.spec, before.get(number)?.spec)
  })
}

function attributesIn({ classes }: CatalogState): Map<AttributeNumber, Attribute> {
  const present = classes.filter(({ isDeleted }) => !isDeleted)
  return new Map(present.flatMap((cls) => cls.attributes.map((attribute) => [attribute.number, attribute])))
}

/** The attributes that the expression depends on in that state. */
function usedIn(state: CatalogState): (expression: SchemaExpression) => ReadonlySet<AttributeNumber> {
  const attributes = attributesIn(state)
  return (expression) => attributesUsed(expression, (number) => attributes.get(number))
}

function checksIn({ classes }: CatalogState): { readonly owner: ClassDefinition; readonly check: Check }[] {
  const present = classes.filter(({ isDeleted }) => !isDeleted)
  return present.flatMap((owner) => (owner.properties?.checks ?? []).map((check) => ({ owner, check })))
}

/** The type to which stored values are being converted. */
function specAfter({ spec, becoming }: Pick<Attribute, 'spec' | 'becoming'>): TypeSpec | undefined {
  if (becoming === undefined || becoming.keepsType === true) return undefined
  return conversionFor(spec, becoming.spec) === undefined ? undefined : becoming.spec
}

const convertedCatalogs = new WeakMap<Catalog, Catalog>()

/** The catalog with the types to which values are being converted, for expressions over the values to come. The catalog itself if there are none. */
export function withConvertedTypes(catalog: Catalog): Catalog {
  let converted = convertedCatalogs.get(catalog)
  if (converted === undefined) {
    const { state, version } = catalog
    const classes = mapAttributes(state.classes, (attribute) => {
      const spec = specAfter(attribute)
      if (spec === undefined) return attribute
      const { becoming: _, ...settled } = attribute
      return { ...settled, spec }
    })
    const isSame = classes.every((cls, i) => cls === state.classes[i])
    converted = isSame ? catalog : buildCatalog({ ...state, classes }, version)
    convertedCatalogs.set(catalog, converted)
  }
  return converted
}
