/**
 * Rewrites objects stored in an earlier shape of their class, or that embed such objects (contract 5.3.11). Reads are correct
 * without it but need a conversion. Resumes after an interruption.
 */

import { soleKey } from '../bytes/key-layout.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import { type CancelSignal, delay } from '../cancel-signal.ts'
import { upgradeBatchBytes } from '../limits.ts'
import { listContainers } from '../records/container-registry.ts'
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
import { readPart } from '../store/read-range.ts'
import type { Bytes, Change, Commit, Precondition } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import type { Oid } from '../types/oid.ts'
import type { OpenDatabase } from '../write/open-database.ts'

export interface UpgradeProgress {
  readonly objectsDone: number
  readonly objectsTotal: number
  readonly objectsRewritten: number
}

export interface UpgradeOptions {
  /** Interrupts the upgrade, which can be resumed. */
  readonly signal?: CancelSignal
  /** The maximum rate of objects read; by default half of the time is left to other requests. */
  readonly objectsPerSecondMax?: number
  readonly onProgress?: (progress: UpgradeProgress) => void
}

/** The position of a pass, valid for one version of the schema; with another, the pass starts again. */
const positionKey = soleKey('upgradePosition')

interface Position extends UpgradeProgress {
  /** The version of the catalog, in hexadecimal. */
  readonly version: string
  readonly last?: Oid
}

const batchObjects = 500

/** Throws the signal's reason. */
export async function upgradeObjects(database: OpenDatabase, options: UpgradeOptions): Promise<UpgradeProgress> {
  let position = await beginning(database)
  options.onProgress?.(position)
  for (;;) {
    options.signal?.throwIfAborted()
    const startedAt = performance.now()
    const next = await upgradeBatch(database, position)
    if (next === undefined) break
    if (next === 'again') continue
    const objects = next.objectsDone - position.objectsDone
    position = next
    options.onProgress?.(position)
    await delay(pauseMs(objects, performance.now() - startedAt, options.objectsPerSecondMax), options.signal)
  }
  await database.store.commit({ changes: [{ kind: 'delete', key: positionKey }], preconditions: [] })
  const { objectsDone, objectsRewritten } = position
  return { objectsDone, objectsRewritten, objectsTotal: objectsDone }
}

function pauseMs(objects: number, tookMs: number, perSecondMax: number | undefined): number {
  return perSecondMax === undefined ? tookMs : Math.max(0, (objects / perSecondMax) * 1_000 - tookMs)
}

async function beginning({ store, catalogs }: OpenDatabase): Promise<Position> {
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

/** Undefined at the end; `again` after a conflict with a writer. */
async function upgradeBatch(database: OpenDatabase, position: Position): Promise<Position | 'again' | undefined> {
  const batch = await readBatch(database, position)
  if (batch === undefined) return undefined
  return (await database.store.commit(batch.commit)).isCommitted ? batch.next : 'again'
}

/** Undefined at the end. */
async function readBatch(
  { store, catalogs, session }: OpenDatabase,
  position: Position,
): Promise<{ readonly commit: Commit; readonly next: Position } | undefined> {
  return withSnapshot(store, async (snapshot) => {
    const catalog = await catalogs.at(snapshot)
    const written = catalog.writers?.() ?? catalog
    const commitId = session.nextCommitId()
    const rewritten: Rewritten[] = []
    let [entries, bytes] = [0, 0]
    let lastKey: Buffer | undefined
    for (const { database, container } of await listContainers(snapshot, referenceable(catalog))) {
      const { from, to } = containerExtent(database, container)
      const after = position.last === undefined ? from : Buffer.concat([objectKey(position.last), Buffer.from([0])])
      if (Buffer.compare(after, to) >= 0) continue
      const start = Buffer.compare(after, from) > 0 ? after : from
      const use = (key: Bytes, record: Bytes): Rewritten | undefined => rewrite(written, key, record, commitId)
      const bounds = { entriesMax: batchObjects - entries, bytesMax: upgradeBatchBytes - bytes }
      const part = await readPart(snapshot, { from: start, to }, use, bounds)
      for (const one of part.results) rewritten.push(one)
      entries += part.entries
      bytes += part.bytes
      lastKey = part.last ?? lastKey
      if (!part.isComplete || entries >= batchObjects || bytes >= upgradeBatchBytes) break
    }
    if (lastKey === undefined) return undefined
    const next: Position = {
      ...position,
      objectsDone: position.objectsDone + entries,
      objectsTotal: Math.max(position.objectsTotal, position.objectsDone + entries),
      objectsRewritten: position.objectsRewritten + rewritten.length,
      last: oidOfObjectKey(lastKey),
    }
    const noted: Change = { kind: 'put', key: positionKey, value: Buffer.from(JSON.stringify(next)) }
    const preconditions: Precondition[] = rewritten.map(({ key, revision }) => {
      return { kind: 'revision', key, prefix: revision }
    })
    // A writer under a later schema may have created a shape unknown to this one.
    preconditions.push({ kind: 'revision', key: catalogVersionKey, prefix: catalog.version })
    const puts = rewritten.map(({ key, record }): Change => ({ kind: 'put', key, value: record }))
    return { commit: { changes: [...puts, noted], preconditions }, next }
  })
}

interface Rewritten {
  readonly key: Buffer
  /** The revision before the rewrite. */
  readonly revision: Buffer
  readonly record: Buffer
}

/** Undefined if the record is already in its present form, including embedded objects; decided by comparing bytes. */
function rewrite(catalog: Catalog, key: Bytes, before: Bytes, commitId: Buffer): Rewritten | undefined {
  const format = recordFormats(catalog).forShape(shapeNumberOf(before))
  const record = encodeRecord(format, commitId, decodeRecord(format, before))
  const isSameShape = shapeNumberOf(before) === format.cls.shape.number
  const isSame =
    isSameShape && Buffer.compare(record.subarray(recordHeaderBytes), before.subarray(recordHeaderBytes)) === 0
  return isSame ? undefined : { key: Buffer.from(key), revision: Buffer.from(revisionPrefixOf(before)), record }
}
