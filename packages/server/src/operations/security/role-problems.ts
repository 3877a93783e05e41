/** What in the grants of a role does not agree with the classes that there are: it allows or hides nothing, which whoever makes the role is told. */
import type { Grant as AccessGrant, FederatedDatabase } from '@ashlar/engine'
import { roleProblemsMax } from '../../limits.ts'
import type { Static } from '../../wire/json-schema.ts'
import type { RoleProblem } from '../../wire/wire-schemas.ts'

/** Nothing of a federated database in which no grant is about anything: the role is not for it. */
export async function roleProblems(
  fds: readonly FederatedDatabase[],
  grants: readonly AccessGrant[],
): Promise<Static<typeof RoleProblem>[]> {
  const problems: Static<typeof RoleProblem>[] = []
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
