/** The catalog of a snapshot: kept in memory, read again when its version has changed, and the format's version with it. */

import { catalogVersionKey } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import { decodeClass, decodeCounters, decodeIndex, decodeShape } from '../schema/catalog-codec.ts'
import { formatVersionKey } from '../store/storage-format.ts'
import type { Awaitable, Bytes, Snapshot } from '../store/store.ts'
import { type CatalogPart, catalogPartRange, countersKey } from './catalog-keys.ts'

export class CatalogCache {
  private current: Catalog | undefined
  private readonly checkFormat: (stored: Bytes | undefined) => void

  /**
   * `checkFormat` throws where the version of the storage format, as it is stored, is not the process's own. A migration raises the
   * version of the catalog, so that whoever asks for the catalog of a later snapshot comes by it.
   */
  constructor(checkFormat: (stored: Bytes | undefined) => void) {
    this.checkFormat = checkFormat
  }

  /** As it was last read; by now there may be another. */
  get latest(): Catalog | undefined {
    return this.current
  }

  /** The catalog as of exactly the snapshot's moment. The FD must have been initialized. */
  at(snapshot: Snapshot): Awaitable<Catalog> {
    const { current } = this
    if (current === undefined) return this.load(snapshot)
    const isCurrent = snapshot.view(catalogVersionKey, (version) => Buffer.compare(version, current.version) === 0)
    if (isCurrent instanceof Promise) return isCurrent.then((is) => (is === true ? current : this.load(snapshot)))
    return isCurrent === true ? current : this.load(snapshot)
  }

  private async load(snapshot: Snapshot): Promise<Catalog> {
    const { values } = await snapshot.read([catalogVersionKey, countersKey, formatVersionKey])
    const [version, counters, format] = values
    this.checkFormat(format)
    assert(version !== undefined && counters !== undefined, 'the federated database has a catalog')
    const catalog = buildCatalog(
      {
        counters: decodeCounters(counters),
        classes: await readPart(snapshot, 'class', decodeClass),
        shapes: await readPart(snapshot, 'shape', decodeShape),
        indexes: await readPart(snapshot, 'index', decodeIndex),
      },
      version,
    )
    this.current = catalog
    return catalog
  }
}

async function readPart<T>(snapshot: Snapshot, part: CatalogPart, decode: (value: Bytes) => T): Promise<T[]> {
  const decoded: T[] = []
  const range = catalogPartRange(part)
  for await (const batch of snapshot.scan(range, (_key, value) => decode(value))) decoded.push(...batch)
  return decoded
}
