/** What in grants does not agree with a catalog, and so allows, hides or protects nothing. */
import type { SchemaClass } from '../schema/catalog.ts'
import { isRootClass } from '../schema/root-class.ts'
import type { Grant, RuledAction } from './access-policy.ts'
import type { CatalogAccess } from './catalog-access.ts'
import { coveringClass } from './class-access.ts'

export interface GrantProblem {
  /** Which of the grants, from 0. */
  readonly grant: number
  /** Of it: `on`, `hidden`, `readOnly`, `rules.read` and so on. */
  readonly field: string
  readonly message: string
}

/** Undefined where none of the grants is about any class of the catalog. */
export function grantProblems(access: CatalogAccess, grants: readonly Grant[]): GrantProblem[] | undefined {
  const classes = access.catalog.classes.filter((cls) => !isRootClass(cls))
  const about = grants.map((grant) => classes.filter((cls) => coveringClass(grant, cls) !== undefined))
  if (grants.length > 0 && about.every(({ length }) => length === 0)) return undefined
  return grants.flatMap((grant, position) => {
    const own = about[position] ?? []
    const tell = (field: string, message: string): GrantProblem => ({ grant: position, field, message })
    if (own.length === 0 && grant.on.kind !== 'all') return [tell('on', 'There is no such class or namespace.')]
    const attributes = (['hidden', 'readOnly'] as const).flatMap((field) =>
      missingIn(grant[field] ?? [], own).map((name) => tell(field, `None of its classes has an attribute '${name}'.`)),
    )
    const rules = Object.entries(grant.rules ?? {}).flatMap(([action, text]) =>
      ruleProblems(access, grant, text, own).map((message) => tell(`rules.${action as RuledAction}`, message)),
    )
    return [...attributes, ...rules]
  })
}

function missingIn(names: readonly string[], classes: readonly SchemaClass[]): string[] {
  const known = new Set(classes.flatMap(({ attributes }) => attributes.map(({ name }) => name)))
  return names.filter((name) => !known.has(name))
}

/** One for each class whose attributes the names mean. */
function ruleProblems(access: CatalogAccess, grant: Grant, text: string, classes: readonly SchemaClass[]): string[] {
  const meant = new Set(
    classes.filter(({ isReferenceable }) => isReferenceable).map((cls) => coveringClass(grant, cls)),
  )
  return [...meant].flatMap((cls) => {
    const problem = cls && access.rules.problem({ text, cls })
    return problem === undefined ? [] : [`Class ${problem.className}: ${problem.message}`]
  })
}
