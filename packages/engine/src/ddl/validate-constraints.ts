/** Checks all stored objects against constraints that were added without validation, and marks these as validated (contract 10.5). */
import { isDeepStrictEqual } from 'node:util'
import type { CancelSignal } from '../cancel-signal.ts'
import type { Attribute, CatalogState } from '../schema/class-definition.ts'
import { mapAttributes } from '../schema/pending-types.ts'
import type { Snapshot } from '../store/store.ts'
import { awaitPendingCommits, withSnapshot } from '../store/with-snapshot.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import { countViolations } from './count-violations.ts'
import type { Violations } from './violations.ts'

export interface ValidateOptions {
  readonly signal?: CancelSignal
  /** Called with the number of objects read. */
  readonly onProgress?: (objects: number) => void
}

export interface ValidatedConstraints {
  /** The number of attributes whose constraints were not validated. */
  readonly attributes: number
  /** The number of objects read. */
  readonly objects: number
}

/**
 * Concurrent writes satisfy the constraints in any case. Attributes without violations are marked as validated even if others
 * fail. Throws ObjectsViolateConstraint, and the signal's reason.
 */
export async function validateConstraints(
  database: OpenDatabase,
  writer: CatalogWriter,
  { signal, onProgress }: ValidateOptions = {},
): Promise<ValidatedConstraints> {
  const { store, catalogs } = database
  let objects = 0
  const step = (seen: number): void => {
    signal?.throwIfAborted()
    objects = seen
    onProgress?.(seen)
  }
  await awaitPendingCommits(store)
  const count = async (snapshot: Snapshot): Promise<{ unvalidated: Unvalidated; violations: Violations }> => {
    const catalog = await catalogs.at(snapshot)
    const unvalidated = unvalidatedIn(catalog.state)
    const attributes = new Set(unvalidated.keys())
    return { unvalidated, violations: await countViolations(snapshot, catalog, attributes, { onProgress: step }) }
  }
  const { unvalidated, violations } = await withSnapshot(store, count, { isolation: 'readOnly', isLong: true })
  const satisfied = new Map([...unvalidated].filter(([number]) => !violations.isViolated(number)))
  if (satisfied.size > 0) {
    await writer.change(async ({ state }) => ({ state: withValidated(state, satisfied), result: undefined }))
  }
  violations.refuse()
  return { attributes: unvalidated.size, objects }
}

/** By attribute number. */
type Unvalidated = ReadonlyMap<AttributeNumber, Attribute>

function unvalidatedIn({ classes }: CatalogState): Unvalidated {
  const present = classes.filter(({ isDeleted }) => !isDeleted).flatMap(({ attributes }) => attributes)
  const unvalidated = present.filter(({ properties }) => properties?.isValidated === false)
  return new Map(unvalidated.map((attribute) => [attribute.number, attribute]))
}

/** Only for attributes that are unchanged since: others may have been constrained or retyped. */
function withValidated(state: CatalogState, validated: Unvalidated): CatalogState {
  const classes = mapAttributes(state.classes, (attribute) => {
    const { properties, spec } = attribute
    const seen = validated.get(attribute.number)
    if (seen === undefined || properties === undefined) return attribute
    if (!isDeepStrictEqual([properties, spec], [seen.properties, seen.spec])) return attribute
    const { isValidated: _, ...others } = properties
    return { ...attribute, properties: others }
  })
  return classes.every((cls, i) => cls === state.classes[i]) ? state : { ...state, classes }
}
