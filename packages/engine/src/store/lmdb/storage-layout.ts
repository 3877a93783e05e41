/** The layouts of entries in an environment: with checksums, or without them as in stores of earlier versions. */
import type { Environment, RootDatabase } from './lmdb-js.ts'

const entriesName = 'entries.v2'
const plainEntriesName = 'entries'
/** LMDB includes the zero that terminates the name. */
const plainEntriesKey = Buffer.from(`${plainEntriesName}\0`)
/** An earlier version finds it in place of its database, and fails to open that instead of creating a new one. */
const marker = Buffer.from('The entries of this store have checksums; a newer version of Ashlar opens it.')

/** Keys in the list of databases. */
export const entriesKeys = { plain: plainEntriesKey, checked: Buffer.from(`${entriesName}\0`), marker } as const

/** `plain`: values without checksums; read-only. */
export type StorageLayout = 'checked' | 'plain'

export interface LaidOut {
  readonly environment: Environment
  readonly layout: StorageLayout
}

/** Ranges yield borrowed values instead of copies, from the buffer of `getBinaryFast`. */
const borrowing = { encode: (value: Uint8Array) => value, decode: (value: Buffer) => value }
// Closing this database closes the environment.
const options = { keyEncoding: 'binary', encoding: 'binary', encoder: borrowing, isRoot: true }

/**
 * Opens the entries for reading and writing, and creates them if needed, in one transaction with the marker: so a marker without entries is damage,
 * which throws instead of creating an empty store. Throws if the layout is plain.
 */
export function openEntries(root: RootDatabase, location: string): LaidOut {
  const environment = root.transactionSync(() => {
    const layout = layoutOf(root)
    if (layout === 'plain') throw new Error(plainRefusal(location))
    if (layout === undefined) root.putSync(plainEntriesKey, marker)
    return opened(root, entriesName, { create: layout === undefined })
  })
  return { environment, layout: 'checked' }
}

/** Opens entries of either layout without writing. Throws if there are none. */
export function openEntriesToRead(root: RootDatabase): LaidOut {
  const layout = layoutOf(root)
  if (layout === undefined) throw new Error('it is not a store of Ashlar, or an empty one')
  const name = layout === 'plain' ? plainEntriesName : entriesName
  return { environment: opened(root, name, { create: false }), layout }
}

/** Undefined if there are no entries yet. */
function layoutOf(root: RootDatabase): StorageLayout | undefined {
  const found = root.getBinaryFast(plainEntriesKey)
  if (found === undefined) return undefined
  return Buffer.compare(found.subarray(0, found.length), marker) === 0 ? 'checked' : 'plain'
}

function opened(root: RootDatabase, name: string, more: object): Environment {
  const environment = root.openDB(name, { ...options, ...more })
  if (environment === undefined)
    throw new Error(`its list of databases is damaged: it has no database ${name}; restore a backup of the store`)
  return Object.assign(environment, { list: root })
}

function plainRefusal(location: string): string {
  return (
    `it was written by an earlier version, without checksums; ` +
    `bring it over with: ashlar copy lmdb:${location} lmdb:<new directory>`
  )
}
