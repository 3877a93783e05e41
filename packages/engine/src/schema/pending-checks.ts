/** New checks of existing classes while stored objects are held against them: writers enforce them, readers do not see them. */
import { isDeepStrictEqual } from 'node:util'
import { assert } from '../errors.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { CatalogState, ClassDefinition, PendingCheck } from './class-definition.ts'
import { attributesNamed, classesNamed } from './expression.ts'
import { usedClasses } from './expression-uses.ts'
import type { ClassDraft } from './schema-builder.ts'

/** A check of an existing class that stored objects may violate. */
export interface NewCheck {
  readonly owner: ClassNumber
  readonly name: string
}

/** The pending parts that an online change, about to complete, has added to the catalog. */
export interface PreparedParts {
  readonly attributes: ReadonlySet<AttributeNumber>
  readonly checks: readonly NewCheck[]
}

export function newChecksOf({ number, existing, newChecks }: ClassDraft): NewCheck[] {
  return existing === undefined ? [] : newChecks.map((name) => ({ owner: number, name }))
}

/** The checks as `next` binds them, added to `state` as pending. `session`: of the process that makes the change. */
export function withPendingChecks(
  state: CatalogState,
  checks: readonly NewCheck[],
  next: CatalogState,
  session: number,
): CatalogState {
  return mapOwners(state, checks, (definition, names) => {
    const bound = next.classes.find(({ number }) => number === definition.number)?.properties?.checks ?? []
    const added = bound.filter(({ name }) => names.has(name)).map((check): PendingCheck => ({ ...check, session }))
    return [...(definition.pendingChecks ?? []), ...added]
  })
}

/** Undoes `withPendingChecks`. */
export function withoutPendingChecks(state: CatalogState, checks: readonly NewCheck[]): CatalogState {
  return mapOwners(state, checks, ({ pendingChecks = [] }, names) =>
    pendingChecks.filter(({ name }) => !names.has(name)),
  )
}

function mapOwners(
  state: CatalogState,
  checks: readonly NewCheck[],
  map: (definition: ClassDefinition, names: ReadonlySet<string>) => readonly PendingCheck[],
): CatalogState {
  if (checks.length === 0) return state
  const classes = state.classes.map((definition) => {
    const own = checks.filter(({ owner }) => owner === definition.number)
    if (own.length === 0) return definition
    const { pendingChecks: _, ...others } = definition
    const pendingChecks = map(definition, new Set(own.map(({ name }) => name)))
    return pendingChecks.length === 0 ? others : { ...others, pendingChecks }
  })
  return { ...state, classes }
}

/** All pending checks, with the store sessions that validate them. */
export function pendingChecksIn({ classes }: CatalogState): (NewCheck & Pick<PendingCheck, 'session'>)[] {
  return classes.flatMap(({ number, pendingChecks = [] }) => {
    return pendingChecks.map(({ name, session }) => ({ owner: number, name, session }))
  })
}

/** `session`: of the process that adds the check. */
export function isCheckPending({ classes }: CatalogState, { owner, name }: NewCheck, session: number): boolean {
  const definition = classes.find(({ number }) => number === owner)
  return definition?.pendingChecks?.some((check) => check.name === name && check.session === session) === true
}

/**
 * Whether the new check of `after` means the same before the change, so that writers can enforce it meanwhile: all that it names
 * is there, and the attributes of the classes in which its names may resolve have the names and types that they will have.
 */
export function canBePending(before: Catalog, after: Catalog, { owner, name }: NewCheck): boolean {
  const cls = after.classByNumber(owner) as SchemaClass
  const check = cls.definition.properties?.checks?.find((one) => one.name === name)
  assert(check !== undefined, 'a new check is in the catalog that it is planned for')
  const { expression } = check
  const isListed =
    attributesNamed(expression).every((number) => before.attribute(number) !== undefined) &&
    classesNamed(expression).every(
      (number) => number === before.root.number || before.classByNumber(number) !== undefined,
    )
  return (
    isListed &&
    usedClasses(cls, expression, after).every((one) => keepsAttributes(before.classByNumber(one.number), one))
  )
}

/** `was`: undefined for a new class, of which a check of what there is names nothing. */
function keepsAttributes(was: SchemaClass | undefined, is: SchemaClass): boolean {
  if (was === undefined) return true
  const after = new Map(is.definition.attributes.map((attribute) => [attribute.number, attribute]))
  const isUnchanged = was.definition.attributes.every(({ number, name, spec, properties }) => {
    const next = after.get(number)
    return isDeepStrictEqual(
      [name, spec, properties?.own.computed],
      [next?.name, next?.spec, next?.properties?.own.computed],
    )
  })
  return isUnchanged && was.isReferenceable === is.isReferenceable
}
