/** Turns the change log of a store on and off. The setting is part of the catalog, so that all processes log from the same commit on. */
import type { CatalogWriter } from '../ddl/catalog-writer.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { StoreCapabilities } from '../store/store.ts'

/** `auto`: on if the store supports it; absent: unchanged, off in a new store. */
export type ChangeLogSetting = 'on' | 'off' | 'auto'

export function epochOf({ state }: Catalog): number {
  return state.counters.changeLog ?? 0
}

/** A lower bound of the epoch of a log that is turned on later. */
export function nextEpochAtLeast({ state }: Catalog): number {
  return (state.counters.lastChangeLog ?? 0) + 1
}

/**
 * Whether the log must be on. Throws an `Error` for the operator if the store does not support it, but it is requested or on: it is not turned off
 * implicitly, since clients may rely on it.
 */
export function isLogRequired(
  setting: ChangeLogSetting | undefined,
  epoch: number,
  { canAppend, location, isDistributed }: StoreCapabilities,
): boolean {
  if (canAppend) return setting === undefined ? epoch > 0 : setting !== 'off'
  if (setting === 'on' || (setting !== 'off' && epoch > 0)) {
    const why = isDistributed
      ? 'its table is distributed, and commits on several nodes have no common order'
      : 'the function that commits is of an earlier version, or this user may not use its sequence; the owner of its tables has to open the store first'
    throw new Error(`The store ${location} cannot have a change log: ${why}. Turn it off with changeLog=off.`)
  }
  return false
}

export function switchChangeLog(writer: CatalogWriter, isOn: boolean, now: number): Promise<void> {
  return writer.change(async (catalog) => {
    const { state } = catalog
    const epoch = epochOf(catalog)
    if (epoch > 0 === isOn) return { state, result: undefined }
    const next = Math.max(nextEpochAtLeast(catalog), Math.floor(now / 1_000))
    const counters = isOn
      ? { ...state.counters, changeLog: next, lastChangeLog: next }
      : { ...state.counters, changeLog: 0 }
    return { state: { ...state, counters }, result: undefined }
  })
}
