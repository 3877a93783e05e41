/** Finds inconsistencies between roles and the schema, to warn the author: such grants allow or hide nothing. */
import type { Grant as AccessGrant, FederatedDatabase } from '@ashlar/engine'
import { roleProblemsMax } from '../limits.ts'
import { readGrant } from './roles.ts'

export interface RoleProblem {
  /** Null: no served federated database has the named item. */
  readonly fdAlias: string | null
  /** From 1. */
  readonly grant: number
  readonly field: string
  readonly message: string
}

/** A federated database, as far as grants are checked. */
export type GrantChecking = Pick<FederatedDatabase, 'alias' | 'grantProblems'>

/** Returns no problems for federated databases that no grant concerns. */
export async function roleProblems(
  fds: readonly GrantChecking[],
  grants: readonly AccessGrant[],
): Promise<RoleProblem[]> {
  const problems: RoleProblem[] = []
  let isForAny = false
  for (const fd of fds) {
    const found = await fd.grantProblems(grants)
    if (found === undefined) continue
    isForAny = true
    for (const { grant, ...rest } of found) problems.push({ fdAlias: fd.alias, grant: grant + 1, ...rest })
  }
  if (!isForAny) {
    const message = 'No federated database that is served has it.'
    for (const [at, { on }] of grants.entries()) {
      if (on.kind !== 'all') problems.push({ fdAlias: null, grant: at + 1, field: 'on', message })
    }
  }
  return problems.slice(0, roleProblemsMax)
}

/** Finds roles for federated databases that are not served, which may be added later or be misspelt. `roles`: as written. */
export function aliasProblems(roles: readonly string[] | null, served: readonly string[]): string[] {
  return (roles ?? []).flatMap((text) => {
    const unserved = (readGrant(text).aliases ?? []).filter((alias) => !served.includes(alias))
    return unserved.map((alias) => `${text}: no federated database '${alias}' is served, so it grants nothing there.`)
  })
}
