/** Compares grants with a store that is not being served. */

import { CatalogCache } from '../catalog/catalog-cache.ts'
import { defaultEngineLimits } from '../limits.ts'
import { openStore } from '../storage/open-store.ts'
import { runYielding } from '../store/time-slice.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { checkFormat } from '../verify/check-store.ts'
import type { Grant } from './access-policy.ts'
import { CatalogAccess } from './catalog-access.ts'
import { type GrantProblem, grantProblems } from './grant-problems.ts'

/** Like `FederatedDatabase.grantProblems`. Read-only. Throws an `Error` for the operator where the store cannot be opened. */
export async function grantProblemsIn(address: string, grants: readonly Grant[]): Promise<GrantProblem[] | undefined> {
  const store = await openStore(address, { isReadOnly: true })
  try {
    const catalogs = new CatalogCache(checkFormat)
    const catalog = await withSnapshot(store, (snapshot) => catalogs.at(snapshot))
    const access = new CatalogAccess(catalog, grants, defaultEngineLimits.statementTokensMax)
    return await runYielding(grantProblems(access, grants))
  } finally {
    await store.close()
  }
}
