/** Checks all stored objects against constraints and checks that were added without validation, and marks these as validated (contract 10.5). */
import { isDeepStrictEqual } from 'node:util'
import type { CancelSignal } from '../cancel-signal.ts'
import type { Attribute, CatalogState, ClassDefinition } from '../schema/class-definition.ts'
import type { NewCheck } from '../schema/pending-checks.ts'
import { mapAttributes } from '../schema/pending-types.ts'
import type { Check } from '../schema/properties/checks.ts'
import { keepsMeaning } from '../schema/rechecked-checks.ts'
import type { Snapshot } from '../store/store.ts'
import { awaitPendingCommits, withSnapshot } from '../store/with-snapshot.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import { countViolations } from './count-violations.ts'
import type { Violations } from './violations.ts'

export interface ValidateOptions {
  readonly signal?: CancelSignal
  /** Called with the number of objects read, of how many. */
  readonly onProgress?: (objects: number, total: number) => void
}

export interface ValidatedConstraints {
  /** What is validated from now on, in words; undefined if nothing was left to validate. */
  readonly validated: string | undefined
  /** The number of objects read. */
  readonly objects: number
}

/**
 * Concurrent writes satisfy the constraints in any case. Attributes and checks without violations are marked as validated even
 * if others fail. Throws ObjectsViolateConstraint, and the signal's reason.
 */
export async function validateConstraints(
  database: OpenDatabase,
  writer: CatalogWriter,
  { signal, onProgress }: ValidateOptions = {},
): Promise<ValidatedConstraints> {
  const { store, catalogs, expressions } = database
  let objects = 0
  const step = (seen: number, total: number): void => {
    signal?.throwIfAborted()
    objects = seen
    onProgress?.(seen, total)
  }
  await awaitPendingCommits(store)
  const count = async (snapshot: Snapshot): Promise<Counted> => {
    const catalog = await catalogs.at(snapshot)
    const unvalidated = unvalidatedIn(catalog.state)
    const { attributes, checks } = unvalidated
    const constraints = { attributes: new Set(attributes.keys()), checks }
    const options = { expressions, onProgress: step }
    const violations = await countViolations(snapshot, catalog, constraints, options)
    return { seen: catalog.state, unvalidated, violations }
  }
  const { seen, unvalidated, violations } = await withSnapshot(store, count, { isolation: 'readOnly', isLong: true })
  const satisfied = {
    attributes: new Map([...unvalidated.attributes].filter(([number]) => !violations.isViolated(number))),
    checks: unvalidated.checks.filter((check) => !violations.isCheckViolated(check)),
  }
  let validated: string | undefined
  if (satisfied.attributes.size > 0 || satisfied.checks.length > 0) {
    validated = await writer.change(async ({ state }) => {
      const next = withValidated(seen, state, satisfied)
      const left = new Set(namesOfUnvalidated(next))
      return { state: next, result: listed(namesOfUnvalidated(state).filter((name) => !left.has(name))) }
    })
  }
  violations.refuse(validated === undefined ? 'not validated.' : `not validated. Validated: ${validated}.`)
  return { validated, objects }
}

function namesOfUnvalidated({ classes }: CatalogState): string[] {
  return classes.flatMap(({ name: className, isDeleted, attributes, properties }) => {
    if (isDeleted) return []
    const unvalidatedAttributes = attributes.filter((one) => one.properties?.isValidated === false)
    const checks = properties?.checks?.filter(({ isValidated }) => isValidated === false) ?? []
    return [
      ...unvalidatedAttributes.map(({ name }) => `attribute ${name} of class ${className}`),
      ...checks.map(({ name }) => `check ${name} of class ${className}`),
    ]
  })
}

const namesMax = 100

/** Undefined for none. */
function listed(names: readonly string[]): string | undefined {
  const more = names.length > namesMax ? ` and ${names.length - namesMax} more` : ''
  return names.length === 0 ? undefined : `${names.slice(0, namesMax).join(', ')}${more}`
}

interface Counted {
  /** The catalog that defined the constraints. */
  readonly seen: CatalogState
  readonly unvalidated: Unvalidated
  readonly violations: Violations
}

interface Unvalidated {
  readonly attributes: ReadonlyMap<AttributeNumber, Attribute>
  readonly checks: readonly (NewCheck & Pick<Check, 'expression'>)[]
}

function unvalidatedIn({ classes }: CatalogState): Unvalidated {
  const present = classes.filter(({ isDeleted }) => !isDeleted)
  const attributes = present
    .flatMap((cls) => cls.attributes)
    .filter(({ properties }) => properties?.isValidated === false)
  const checks = present.flatMap(({ number, properties }) => {
    const unvalidated = properties?.checks?.filter(({ isValidated }) => isValidated === false) ?? []
    return unvalidated.map(({ name, expression }) => ({ owner: number, name, expression }))
  })
  return { attributes: new Map(attributes.map((attribute) => [attribute.number, attribute])), checks }
}

/** Only for attributes and checks that are unchanged since: others may have been constrained or retyped. `seen`: the state then. */
function withValidated(seen: CatalogState, state: CatalogState, { attributes, checks }: Unvalidated): CatalogState {
  const withAttributes = mapAttributes(state.classes, (attribute) => {
    const { properties, spec } = attribute
    const before = attributes.get(attribute.number)
    if (before === undefined || properties === undefined) return attribute
    if (!isDeepStrictEqual([properties, spec], [before.properties, before.spec])) return attribute
    const { isValidated: _, ...others } = properties
    return { ...attribute, properties: others }
  })
  const unchanged = checks.filter(({ expression }) => keepsMeaning(expression, seen, state))
  const classes = withAttributes.map((cls) => withValidatedChecks(cls, unchanged))
  return classes.every((cls, i) => cls === state.classes[i]) ? state : { ...state, classes }
}

function withValidatedChecks(definition: ClassDefinition, checks: Unvalidated['checks']): ClassDefinition {
  const own = checks.filter(({ owner }) => owner === definition.number)
  const { properties } = definition
  if (own.length === 0 || properties?.checks === undefined) return definition
  const settled = properties.checks.map((check) => {
    const isSame = own.some(
      ({ name, expression }) => name === check.name && isDeepStrictEqual(expression, check.expression),
    )
    if (!isSame) return check
    const { isValidated: _, ...others } = check
    return others
  })
  return { ...definition, properties: { ...properties, checks: settled } }
}
