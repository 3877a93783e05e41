/**
 * Builds the links of references that are given an inverse, in batches and concurrently with writers. As soon as the pairing is
 * in the catalog, every writer maintains both sides of its links, so each older object is visited once.
 */
import { setImmediate as nextIteration } from 'node:timers/promises'
import { catalogVersionKey } from '../bytes/key-space.ts'
import { AshlarError } from '../errors.ts'
import { upgradeBatchBytes } from '../limits.ts'
import { readListEnds } from '../links/link-entries.ts'
import { pairReference } from '../links/pair-reference.ts'
import { inverseIn } from '../links/relationships.ts'
import { keyAfter, oidOfObjectKey } from '../records/object-key.ts'
import { requireAsFound } from '../records/require-objects.ts'
import { presentRanges } from '../records/scan-objects.ts'
import { concurrentAlter } from '../schema/alter-plan.ts'
import type { Attribute } from '../schema/class-definition.ts'
import type { Pairing } from '../schema/pairing.ts'
import { type RangePart, readPart } from '../store/read-range.ts'
import type { KeyRange, Snapshot } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import { awaitPendingCommits, withSnapshot } from '../store/with-snapshot.ts'
import { anySize } from '../transaction/commit-size.ts'
import { linkStorageOf } from '../types/link-storage.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { flushObjects } from '../write/flush.ts'
import { unitExpressions } from '../write/object-expressions.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { transactWithCatalog } from '../write/transact-with-catalog.ts'
import { UnitOfWork } from '../write/unit-of-work.ts'

/** Throws AttributeInUse if the pairing is no longer in the catalog. */
export async function buildPairings(database: OpenDatabase, pairings: readonly Pairing[]): Promise<void> {
  const { store, limits } = database
  await awaitPendingCommits(store)
  const bounds = { entriesMax: limits.indexBuildBatchObjects, bytesMax: upgradeBatchBytes }
  for (const pairing of pairings) {
    for (const { from, to } of await withSnapshot(store, (snapshot) => rangesOf(database, snapshot, pairing))) {
      let next: Buffer | undefined = from
      while (next !== undefined) {
        const range: KeyRange = { from: next, to }
        const part: RangePart<Oid> = await withSnapshot(store, (snapshot) => {
          return readPart(snapshot, range, oidOfObjectKey, bounds)
        })
        await pairAll(database, pairing, part.results)
        const last = part.results.at(-1)
        next = last === undefined || part.isComplete ? undefined : keyAfter(last)
        await nextIteration()
      }
    }
  }
}

async function rangesOf(
  { catalogs }: OpenDatabase,
  snapshot: Snapshot,
  { owner }: Pairing,
): ReturnType<typeof presentRanges> {
  const subclasses = (await catalogs.at(snapshot)).classByNumber(owner)?.subclasses ?? []
  return presentRanges(snapshot, new Set<ClassNumber>([owner, ...subclasses.map(({ number }) => number)]))
}

/** After conflicts with writers, retries object by object, so that a conflict repeats only one. */
async function pairAll(database: OpenDatabase, pairing: Pairing, oids: readonly Oid[]): Promise<void> {
  try {
    await pairBatch(database, pairing, oids)
  } catch (error) {
    if (!(error instanceof AshlarError && error.type === 'TransactionContention')) throw error
    for (const oid of oids) await pairBatch(database, pairing, [oid])
  }
}

function pairBatch(database: OpenDatabase, pairing: Pairing, oids: readonly Oid[]): Promise<void> {
  const { containers, session } = database
  return transactWithCatalog(
    database,
    async (transaction, catalog, recorder) => {
      const { name, becoming } = catalog.attribute(pairing.attribute) ?? {}
      if (becoming === undefined) throw concurrentAlter(`Attribute ${name}`)
      transaction.requireRevision(catalogVersionKey, catalog.version)
      const unit = new UnitOfWork(transaction, catalog, containers, session, recorder, unitExpressions(database))
      await pairObjects(unit, pairing, oids)
      await flushObjects(unit)
    },
    { size: anySize },
  )
}

/** `oids`: objects with the reference, some of which may have been deleted. */
export async function pairObjects(
  unit: UnitOfWork,
  { attribute, inverse }: Pairing,
  oids: readonly Oid[],
): Promise<void> {
  await unit.objects.loadAll(oids)
  const states = oids.flatMap((oid) => {
    const state = unit.objects.loaded(oid)
    const format = state?.format.find(attribute)
    return state === undefined || format === undefined ? [] : [{ state, format }]
  })
  const targets = new Set(states.map(({ state, format }) => state.values[format.index] as Oid))
  targets.delete(noOid)
  const found = await requireAsFound(unit.transaction, targets)
  await prepareTargets(unit, inverse, [...found])
  await inSlices(states, ({ state, format }) => pairReference(unit, state, format, (target) => found.has(target)))
}

/** Reads the data for changing the inverses in few round trips. */
async function prepareTargets(unit: UnitOfWork, inverse: Attribute, targets: readonly Oid[]): Promise<void> {
  const form = linkStorageOf(inverse.spec)
  if (form === undefined) return unit.objects.loadAll(targets)
  if (form !== 'list') return
  const formats = await unit.formatsOf(targets)
  await readListEnds(
    unit,
    [...formats].map(([oid, format]) => ({ oid, attribute: inverseIn(format, inverse.number, oid) })),
  )
}
