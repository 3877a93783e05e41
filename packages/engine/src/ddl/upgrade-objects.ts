/**
 * Rewrites objects that are stored in an earlier shape of their class, or embed such (REST interface, section 5). They
 * are read right without it; afterwards they are read without a conversion. Goes on where it was stopped.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { soleKey } from '../bytes/key-layout.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import { listContainers } from '../records/containers.ts'
import { containerExtent, objectKey, oidOfObjectKey } from '../records/object-key.ts'
import {
  decodeRecord,
  encodeRecord,
  recordHeaderBytes,
  revisionPrefixOf,
  shapeNumberOf,
} from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { countObjects } from '../records/scan-objects.ts'
import type { Catalog } from '../schema/catalog.ts'
import { readBeginning } from '../store/read-range.ts'
import type { Change, Entry, Expectation } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import type { Oid } from '../types/oid.ts'
import type { CatalogWriter } from './catalog-writer.ts'

export interface UpgradeProgress {
  readonly objectsDone: number
  readonly objectsTotal: number
  readonly objectsRewritten: number
}

export interface UpgradeOptions {
  /** Stops where it is. */
  readonly signal?: AbortSignal
  /** Objects looked at in a second, at most; without it half of the time is left to others. */
  readonly objectsPerSecondMax?: number
  readonly onProgress?: (progress: UpgradeProgress) => void
}

/** Where a pass has come to, for the schema as it was: with another one it begins again. */
const positionKey = soleKey('upgradePosition')

interface Position extends UpgradeProgress {
  /** Of the catalog, in hexadecimal. */
  readonly version: string
  readonly last?: Oid
}

const batchObjects = 500

/** Throws the signal's reason. */
export async function upgradeObjects(writer: CatalogWriter, options: UpgradeOptions): Promise<UpgradeProgress> {
  let position = await beginning(writer)
  options.onProgress?.(position)
  for (;;) {
    options.signal?.throwIfAborted()
    const startedAt = performance.now()
    const next = await upgradeBatch(writer, position)
    if (next === undefined) break
    if (next === 'again') continue
    const objects = next.objectsDone - position.objectsDone
    position = next
    options.onProgress?.(position)
    await pause(pauseMs(objects, performance.now() - startedAt, options.objectsPerSecondMax), options.signal)
  }
  await writer.store.commit({ changes: [{ kind: 'delete', key: positionKey }], expectations: [] })
  const { objectsDone, objectsRewritten } = position
  return { objectsDone, objectsRewritten, objectsTotal: objectsDone }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

function pauseMs(objects: number, tookMs: number, perSecondMax: number | undefined): number {
  return perSecondMax === undefined ? tookMs : Math.max(0, (objects / perSecondMax) * 1_000 - tookMs)
}

async function beginning({ store, catalogs }: CatalogWriter): Promise<Position> {
  return withSnapshot(
    store,
    async (snapshot) => {
      const catalog = await catalogs.at(snapshot)
      const version = Buffer.from(catalog.version).toString('hex')
      const [stored] = (await snapshot.read([positionKey])).values
      const position = stored === undefined ? undefined : (JSON.parse(Buffer.from(stored).toString()) as Position)
      if (position?.version === version) return position
      const objectsTotal = await countObjects(snapshot, referenceable(catalog))
      return { version, objectsDone: 0, objectsTotal, objectsRewritten: 0 }
    },
    { isLong: true },
  )
}

function referenceable({ classes }: Catalog): Set<Catalog['classes'][number]['number']> {
  return new Set(classes.filter(({ isReferenceable }) => isReferenceable).map(({ number }) => number))
}

/** Undefined at the end; `again` where a writer was there between. */
async function upgradeBatch(writer: CatalogWriter, position: Position): Promise<Position | 'again' | undefined> {
  const { store, catalogs, session } = writer
  return withSnapshot(store, async (snapshot) => {
    const catalog = await catalogs.at(snapshot)
    const entries: Entry[] = []
    for (const { database, container } of await listContainers(snapshot, referenceable(catalog))) {
      const { from, to } = containerExtent(database, container)
      const after = position.last === undefined ? from : Buffer.concat([objectKey(position.last), Buffer.from([0])])
      if (Buffer.compare(after, to) >= 0) continue
      const start = Buffer.compare(after, from) > 0 ? after : from
      const beginning = await readBeginning(snapshot, { from: start, to }, batchObjects - entries.length)
      entries.push(...beginning.entries)
      if (!beginning.isWhole || entries.length >= batchObjects) break
    }
    const lastEntry = entries.at(-1)
    if (lastEntry === undefined) return undefined
    const stamp = session.nextStamp()
    const rewritten = entries.flatMap((entry) => rewrite(catalog, entry, stamp) ?? [])
    const next: Position = {
      ...position,
      objectsDone: position.objectsDone + entries.length,
      objectsTotal: Math.max(position.objectsTotal, position.objectsDone + entries.length),
      objectsRewritten: position.objectsRewritten + rewritten.length,
      last: oidOfObjectKey(lastEntry.key),
    }
    const noted: Change = { kind: 'put', key: positionKey, value: Buffer.from(JSON.stringify(next)) }
    const expectations: Expectation[] = rewritten.map(({ before }) => {
      return { kind: 'revision', key: before.key, prefix: revisionPrefixOf(before.value) }
    })
    // A writer under a later schema may have made a shape that this one does not know.
    expectations.push({ kind: 'revision', key: catalogVersionKey, prefix: catalog.version })
    const puts = rewritten.map(({ before, record }): Change => ({ kind: 'put', key: before.key, value: record }))
    const outcome = await store.commit({ changes: [...puts, noted], expectations })
    return outcome.isCommitted ? next : 'again'
  })
}

/** Undefined where the record has its present form already: whatever it embeds, the bytes tell. */
function rewrite(
  catalog: Catalog,
  before: Entry,
  stamp: Buffer,
): { readonly before: Entry; readonly record: Buffer } | undefined {
  const format = recordFormats(catalog).ofShape(shapeNumberOf(before.value))
  const record = encodeRecord(format, stamp, decodeRecord(format, before.value))
  const isSameShape = shapeNumberOf(before.value) === format.cls.shape.number
  const isSame =
    isSameShape && Buffer.compare(record.subarray(recordHeaderBytes), before.value.subarray(recordHeaderBytes)) === 0
  return isSame ? undefined : { before, record }
}
