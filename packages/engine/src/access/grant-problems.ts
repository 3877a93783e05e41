/** Finds parts of grants that do not match a catalog, and therefore allow, hide or protect nothing. */
import type { SchemaClass } from '../schema/catalog.ts'
import { isRootClass } from '../schema/root-class.ts'
import type { Grant } from './access-policy.ts'
import type { CatalogAccess } from './catalog-access.ts'
import { coveringClass } from './class-access.ts'

export interface GrantProblem {
  /** Zero-based position of the grant. */
  readonly grant: number
  /** `on`, `shown`, `hidden`, `readOnly`, `rules.read` and so on. */
  readonly field: string
  readonly message: string
}

const classesPerYield = 256
const problemsMax = 100

/** The first problems; undefined where no grant applies to any class of the catalog. Yields between steps. */
export function* grantProblems(
  access: CatalogAccess,
  grants: readonly Grant[],
): Generator<undefined, GrantProblem[] | undefined> {
  const problems: GrantProblem[] = []
  let isAboutAny = grants.length === 0
  for (const [position, grant] of grants.entries()) {
    const classes = yield* classesOf(access, grant)
    isAboutAny ||= classes.length > 0
    if (problems.length >= problemsMax) continue
    for (const [field, message] of yield* problemsOf(access, grant, classes)) {
      problems.push({ grant: position, field, message })
    }
  }
  return isAboutAny ? problems.slice(0, problemsMax) : undefined
}

function* classesOf({ catalog }: CatalogAccess, grant: Grant): Generator<undefined, SchemaClass[]> {
  const found: SchemaClass[] = []
  let checked = 0
  for (const cls of catalog.classes) {
    if (++checked % classesPerYield === 0) yield
    if (!isRootClass(cls) && coveringClass(grant, cls) !== undefined) found.push(cls)
  }
  return found
}

type FieldProblem = readonly [field: string, message: string]

function* problemsOf(
  access: CatalogAccess,
  grant: Grant,
  classes: readonly SchemaClass[],
): Generator<undefined, readonly FieldProblem[]> {
  if (classes.length === 0) return grant.on.kind === 'all' ? [] : [['on', 'There is no such class or namespace.']]
  const problems: FieldProblem[] = []
  for (const field of ['shown', 'hidden', 'readOnly'] as const) {
    for (const name of missingIn(grant[field] ?? [], classes)) {
      problems.push([field, `None of its classes has an attribute '${name}'.`])
    }
  }
  for (const [action, text] of Object.entries(grant.rules ?? {})) {
    for (const message of yield* ruleProblems(access, grant, text, classes)) problems.push([`rules.${action}`, message])
  }
  return problems
}

function missingIn(names: readonly string[], classes: readonly SchemaClass[]): string[] {
  if (names.length === 0) return []
  const existing = new Set(classes.flatMap(({ attributes }) => attributes.map(({ name }) => name)))
  return names.filter((name) => !existing.has(name))
}

/** At most one per class that rule names refer to, up to `problemsMax`. */
function* ruleProblems(
  access: CatalogAccess,
  grant: Grant,
  text: string,
  classes: readonly SchemaClass[],
): Generator<undefined, string[]> {
  const found: string[] = []
  const checked = new Set<SchemaClass>()
  for (const each of classes) {
    const cls = each.isReferenceable ? coveringClass(grant, each) : undefined
    if (cls === undefined || checked.has(cls)) continue
    checked.add(cls)
    const problem = access.rules.problem({ text, cls })
    if (problem !== undefined) found.push(`Class ${problem.className}: ${problem.message}`)
    if (found.length >= problemsMax) break
    yield
  }
  return found
}
