/** Caches the catalog, reloads it when its version changes, and then also checks the storage format. */

import { catalogVersionKey } from '../bytes/key-space.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import { decodeClass, decodeCounters, decodeIndex, decodeSequence, decodeShape } from '../schema/catalog-codec.ts'
import type { CatalogCounters, Shape } from '../schema/class-definition.ts'
import { formatVersionKey } from '../storage/storage-format.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Awaitable, Bytes, KeyRange, Snapshot } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { catalogKey, catalogPartRange, countersKey } from './catalog-keys.ts'
import { SharedAttributes } from './shared-attributes.ts'

export type Catalogs = Pick<CatalogCache, 'latest' | 'at' | 'announce'>

export class CatalogCache {
  private current: Catalog | undefined
  /** Tests a version against that of the current catalog; created once per catalog. */
  private isCurrent: (version: Bytes) => boolean = () => false
  /** `Snapshot.sharedRead` of snapshots that are known to have the current catalog. */
  private sharedRead: object | undefined
  /** The load in progress, shared by all requests for the same version. */
  private loading: { readonly version: Bytes; readonly catalog: Promise<Catalog> } | undefined
  /** The catalog read before: snapshots of both may be open simultaneously, and alternate. */
  private previous: Catalog | undefined
  /** The catalog that this process committed last, or is about to commit. */
  private announced: Catalog | undefined
  private readonly attributes = new SharedAttributes()
  private readonly checkFormat: (stored: Bytes | undefined) => void

  /** `checkFormat` throws for unsupported format versions. A migration increments the catalog version too, which triggers the check. */
  constructor(checkFormat: (stored: Bytes | undefined) => void) {
    this.checkFormat = checkFormat
  }

  /** The last catalog read, which may be outdated. */
  get latest(): Catalog | undefined {
    return this.current
  }

  /**
   * Announces a catalog that this process is about to commit, so that it need not be loaded: loading thousands of classes takes seconds, during
   * which all requests would wait. If the commit fails, no snapshot ever has its version.
   */
  async announce(catalog: Catalog): Promise<void> {
    const slice = openTimeSlice()
    const currentShapes = new Set(this.current?.state.shapes)
    for (const shape of catalog.state.shapes) {
      if (!currentShapes.has(shape)) this.attributes.share(shape)
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    this.announced = catalog
  }

  /** The catalog as of the snapshot. The federated database must be initialized. */
  at(snapshot: Snapshot): Awaitable<Catalog> {
    const { current } = this
    if (current === undefined) return this.load(snapshot)
    const { sharedRead } = snapshot
    if (sharedRead !== undefined && sharedRead === this.sharedRead) return current
    const isCurrent = snapshot.view(catalogVersionKey, this.isCurrent)
    if (isCurrent instanceof Promise) return this.currentOr(isCurrent, current, snapshot)
    if (isCurrent !== true) return this.load(snapshot)
    this.sharedRead = sharedRead
    return current
  }

  private async currentOr(
    isCurrent: Promise<boolean | undefined>,
    current: Catalog,
    snapshot: Snapshot,
  ): Promise<Catalog> {
    return (await isCurrent) === true ? current : this.load(snapshot)
  }

  private async load(snapshot: Snapshot): Promise<Catalog> {
    const { values } = await snapshot.read([catalogVersionKey, countersKey, formatVersionKey])
    const [version, counters, format] = values
    this.checkFormat(format)
    if (version === undefined || counters === undefined)
      throw new ReadSkew('the catalog lacks its version or its counters')
    const { loading } = this
    const cached = [this.announced, this.previous].find((one) => {
      return one !== undefined && Buffer.compare(one.version, version) === 0
    })
    if (cached !== undefined) return this.keep(cached)
    if (loading !== undefined && Buffer.compare(loading.version, version) === 0) {
      // If that load fails, for example because its snapshot was lost, this snapshot may still succeed.
      const loaded = await loading.catalog.catch(() => undefined)
      if (loaded !== undefined) return loaded
    }
    const own = { version, catalog: this.readCatalog(snapshot, version, decodeCounters(counters)) }
    this.loading = own
    try {
      return this.keep(await own.catalog)
    } finally {
      if (this.loading === own) this.loading = undefined
    }
  }

  private keep(catalog: Catalog): Catalog {
    if (catalog === this.current) return catalog
    this.previous = this.current
    this.current = catalog
    this.sharedRead = undefined
    this.isCurrent = (version) => Buffer.compare(version, catalog.version) === 0
    return catalog
  }

  private async readCatalog(snapshot: Snapshot, version: Bytes, counters: CatalogCounters): Promise<Catalog> {
    return buildCatalog(
      {
        counters,
        classes: await readPart(snapshot, catalogPartRange('class'), decodeClass),
        shapes: await this.readShapes(snapshot, counters),
        indexes: await readPart(snapshot, catalogPartRange('index'), decodeIndex),
        sequences:
          counters.sequence === undefined ? [] : await readPart(snapshot, catalogPartRange('sequence'), decodeSequence),
      },
      version,
    )
  }

  /** Reads only unknown shapes: shapes are immutable and never removed. Shapes of a later version than the snapshot's are excluded by its counter. */
  private async readShapes(snapshot: Snapshot, { classOrShape }: CatalogCounters): Promise<readonly Shape[]> {
    const cachedShapes = (this.current?.state.shapes ?? []).filter(({ number }) => number < classOrShape)
    let last: number | undefined
    for (const { number } of cachedShapes) if (last === undefined || number > last) last = number
    const { from, to } = catalogPartRange('shape')
    const range = { from: last === undefined ? from : catalogKey('shape', last + 1), to }
    const added = await readPart(snapshot, range, (value) => this.attributes.share(decodeShape(value)))
    return added.length === 0 && cachedShapes.length === this.current?.state.shapes.length
      ? this.current.state.shapes
      : [...cachedShapes, ...added]
  }
}

async function readPart<T>(snapshot: Snapshot, range: KeyRange, decode: (value: Bytes) => T): Promise<T[]> {
  const decoded: T[] = []
  for await (const batch of snapshot.scan(range, (_key, value) => decode(value))) {
    for (const part of batch) decoded.push(part)
  }
  return decoded
}
