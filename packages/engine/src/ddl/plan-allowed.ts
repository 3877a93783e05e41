/** A change of the schema by a caller from whom something may be kept: what it does not know of is unknown to its commands. */
import { AshlarError, type ErrorType } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import type { Restriction } from '../write/change-guard.ts'

/** Names are taken, also by what the caller does not see: that cannot be kept from whoever asks for one. */
const namesTaken: ReadonlySet<ErrorType> = new Set(['ClassExists', 'IndexExists'])

/**
 * What `plan` makes of the catalog, which is `next`. For a restricted caller it is planned on what that knows first, so that it fails alike for what is hidden and for what is not there, and is
 * allowed before anything else is looked at. Throws Forbidden, and what `plan` throws.
 */
export function planAllowed<P>(
  restriction: Restriction | undefined,
  catalog: Catalog,
  plan: (catalog: Catalog) => P,
  next: (planned: P) => CatalogState,
): P {
  if (restriction === undefined) return plan(catalog)
  const known = restriction.catalogOf(catalog)
  known.checkChange?.(next(plan(known)))
  try {
    return plan(catalog)
  } catch (error) {
    if (!(error instanceof AshlarError) || error.kind === 'fault' || namesTaken.has(error.type)) throw error
    throw new AshlarError('Forbidden', 'The change concerns classes that the caller may not define.')
  }
}
