/** What in grants does not agree with a catalog, and so allows, hides or protects nothing. */
import type { SchemaClass } from '../schema/catalog.ts'
import { isRootClass } from '../schema/root-class.ts'
import type { Grant } from './access-policy.ts'
import type { CatalogAccess } from './catalog-access.ts'
import { coveringClass } from './class-access.ts'

export interface GrantProblem {
  /** Which of the grants, from 0. */
  readonly grant: number
  /** Of it: `on`, `shown`, `hidden`, `readOnly`, `rules.read` and so on. */
  readonly field: string
  readonly message: string
}

const classesAtOnce = 256
const problemsMax = 100

/** The first of them; undefined where none of the grants is about any class of the catalog. Yields where others may have their turn. */
export function* grantProblems(
  access: CatalogAccess,
  grants: readonly Grant[],
): Generator<undefined, GrantProblem[] | undefined> {
  const problems: GrantProblem[] = []
  let isAboutAny = grants.length === 0
  for (const [position, grant] of grants.entries()) {
    const own = yield* classesOf(access, grant)
    isAboutAny ||= own.length > 0
    if (problems.length >= problemsMax) continue
    for (const [field, message] of yield* problemsOf(access, grant, own)) {
      problems.push({ grant: position, field, message })
    }
  }
  return isAboutAny ? problems.slice(0, problemsMax) : undefined
}

function* classesOf({ catalog }: CatalogAccess, grant: Grant): Generator<undefined, SchemaClass[]> {
  const found: SchemaClass[] = []
  let looked = 0
  for (const cls of catalog.classes) {
    if (++looked % classesAtOnce === 0) yield
    if (!isRootClass(cls) && coveringClass(grant, cls) !== undefined) found.push(cls)
  }
  return found
}

type Told = readonly [field: string, message: string]

function* problemsOf(
  access: CatalogAccess,
  grant: Grant,
  own: readonly SchemaClass[],
): Generator<undefined, readonly Told[]> {
  if (own.length === 0) return grant.on.kind === 'all' ? [] : [['on', 'There is no such class or namespace.']]
  const told: Told[] = []
  for (const field of ['shown', 'hidden', 'readOnly'] as const) {
    for (const name of missingIn(grant[field] ?? [], own)) {
      told.push([field, `None of its classes has an attribute '${name}'.`])
    }
  }
  for (const [action, text] of Object.entries(grant.rules ?? {})) {
    for (const message of yield* ruleProblems(access, grant, text, own)) told.push([`rules.${action}`, message])
  }
  return told
}

function missingIn(names: readonly string[], classes: readonly SchemaClass[]): string[] {
  if (names.length === 0) return []
  const known = new Set(classes.flatMap(({ attributes }) => attributes.map(({ name }) => name)))
  return names.filter((name) => !known.has(name))
}

/** One for each class whose attributes the names mean, up to so many as are told. */
function* ruleProblems(
  access: CatalogAccess,
  grant: Grant,
  text: string,
  classes: readonly SchemaClass[],
): Generator<undefined, string[]> {
  const found: string[] = []
  const looked = new Set<SchemaClass>()
  for (const each of classes) {
    const cls = each.isReferenceable ? coveringClass(grant, each) : undefined
    if (cls === undefined || looked.has(cls)) continue
    looked.add(cls)
    const problem = access.rules.problem({ text, cls })
    if (problem !== undefined) found.push(`Class ${problem.className}: ${problem.message}`)
    if (found.length >= problemsMax) break
    yield
  }
  return found
}
