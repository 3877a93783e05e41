/** Counts the stored objects that stand in the way of a unique index, for UniqueViolation (contract 10.5.11). */
import { AshlarError } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition, IndexNumber } from '../schema/class-definition.ts'
import type { Oid } from '../types/oid.ts'

/** OIDs that an error names for each constraint that stored objects violate. */
export const namedOidsMax = 10

interface EqualKeysViolation {
  readonly className: string
  readonly attributeName: string
  readonly constraint: 'isUnique'
  readonly objects: number
  readonly oids: readonly Oid[]
}

/** A UniqueViolation that counts objects with equal keys. */
export interface EqualKeys extends AshlarError {
  readonly extensions: { readonly violations: readonly EqualKeysViolation[] }
}

/**
 * Adds the number of objects with equal keys to an error about two of them. `oids`: the first of them. Only the index of an
 * attribute is a constraint, which the error then names.
 */
export function countedEqualKeys(
  error: AshlarError,
  catalog: Catalog,
  { attribute, indexedClass }: IndexDefinition,
  objects: number,
  oids: readonly Oid[],
): AshlarError {
  const message = `${error.message} ${objects} objects have values that others have.`
  const className = catalog.classByNumber(indexedClass)?.name
  const attributeName = attribute === undefined ? undefined : catalog.attribute(attribute)?.name
  if (className === undefined || attributeName === undefined) return new AshlarError(error.type, message)
  const violation: EqualKeysViolation = { className, attributeName, constraint: 'isUnique', objects, oids }
  return new AshlarError(error.type, message, [], { violations: [violation] })
}

/** Calls `check` for each index. Returns its errors that name a constraint, to be thrown together with those of others. */
export async function equalKeysOf(
  indexes: readonly IndexNumber[],
  check: (index: IndexNumber) => Promise<void>,
): Promise<readonly EqualKeys[]> {
  const found: EqualKeys[] = []
  for (const index of indexes) {
    try {
      await check(index)
    } catch (error) {
      if (!namesConstraint(error)) throw error
      found.push(error)
    }
  }
  return found
}

function namesConstraint(error: unknown): error is EqualKeys {
  return error instanceof AshlarError && error.type === 'UniqueViolation' && 'violations' in error.extensions
}
