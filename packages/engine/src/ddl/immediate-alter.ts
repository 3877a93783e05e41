/** The immediate change of a class: the catalog alone changes. */
import type { ImmediateAlter } from '../schema/alter-plan.ts'
import type { CatalogState } from '../schema/class-definition.ts'

/** What a write session provides for the change. */
interface CatalogSession {
  /** Also purges, after the commit, what the change leaves behind. */
  putAltered(state: CatalogState): Promise<void>
}

export async function alterImmediately(session: CatalogSession, { next }: ImmediateAlter): Promise<void> {
  await session.putAltered(next)
}
