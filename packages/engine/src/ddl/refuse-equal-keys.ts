/** Checks whether a unique index would remain unique after a change of types, without building it and in bounded memory. */
import { createHash } from 'node:crypto'
import { countedEqualKeys, namedOidsMax } from '../indexes/equal-keys.ts'
import { type IndexKeyFormat, makeIndexKey } from '../indexes/index-key.ts'
import { indexFormatsOf, uniqueViolationError } from '../indexes/maintain.ts'
import { comparedKeysMax } from '../limits.ts'
import type { ClassFormat } from '../records/class-format.ts'
import type { Container } from '../records/container-registry.ts'
import { recordFormats } from '../records/record-formats.ts'
import { countObjects, type ScannedObject, scanObjects } from '../records/scan-objects.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition, IndexNumber } from '../schema/class-definition.ts'
import type { Snapshot } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'

/**
 * `changing`: a catalog that marks the attributes as changing and contains the replacement of the present index. Compares
 * digests of keys; for many objects in several passes, each over a part of the digests. Throws UniqueViolation with the number of
 * objects whose keys others have.
 */
export async function refuseEqualKeys(
  snapshot: Snapshot,
  changing: Catalog,
  number: IndexNumber,
  newContainers: readonly Container[],
  keysMax = comparedKeysMax,
): Promise<void> {
  const index = changing.indexByNumber(number)
  if (index?.isUnique !== true) return
  const classes = coveredClasses(changing, index)
  const passes = Math.max(1, Math.ceil((await countObjects(snapshot, classes, newContainers)) / keysMax))
  const equal = new Set<string>()
  let [objects, first]: [number, Digested | undefined] = [0, undefined]
  for (let pass = 0; pass < passes; pass++) {
    const isShared = new Map<string, boolean>()
    for await (const digested of digests(snapshot, changing, index, newContainers)) {
      const { digest } = digested
      if (digest.readUInt32BE(0) % passes !== pass) continue
      const text = digest.toString('latin1')
      const before = isShared.get(text)
      isShared.set(text, before !== undefined)
      if (before === undefined) continue
      objects += before ? 1 : 2
      first ??= digested
      if (equal.size < namedOidsMax) equal.add(text)
    }
  }
  if (first === undefined) return
  const { object, keyFormat, digest } = first
  const { holder, oids } = await objectsWith(snapshot, changing, index, newContainers, equal, digest)
  const error = uniqueViolationError(keyFormat, object.format.cls.name, object.values, holder ?? object.oid)
  throw countedEqualKeys(error, changing, index, objects, oids)
}

interface Digested {
  readonly object: ScannedObject
  readonly keyFormat: IndexKeyFormat
  readonly digest: Buffer
}

/** Digests of the keys that must be unique. */
async function* digests(
  snapshot: Snapshot,
  changing: Catalog,
  index: IndexDefinition,
  newContainers: readonly Container[],
): AsyncGenerator<Digested> {
  const classes = coveredClasses(changing, index)
  for await (const batch of scanObjects(snapshot, recordFormats(changing), classes, newContainers)) {
    for (const object of batch) {
      const keyFormat = keyFormatOf(object.format, index)
      if (keyFormat === undefined) continue
      const { key, isUniqueKey } = makeIndexKey(keyFormat, object.values, object.oid)
      if (!isUniqueKey) continue
      yield { object, keyFormat, digest: createHash('sha256').update(key).digest().subarray(0, digestBytes) }
    }
  }
}

/** Long enough to make collisions of digests negligible. */
const digestBytes = 16

/** Returns the first objects with one of the digests, and the first one with `digest`. */
async function objectsWith(
  snapshot: Snapshot,
  changing: Catalog,
  index: IndexDefinition,
  newContainers: readonly Container[],
  equal: ReadonlySet<string>,
  digest: Buffer,
): Promise<{ readonly holder: Oid | undefined; readonly oids: readonly Oid[] }> {
  const oids: Oid[] = []
  let holder: Oid | undefined
  for await (const one of digests(snapshot, changing, index, newContainers)) {
    if (!equal.has(one.digest.toString('latin1'))) continue
    if (one.digest.equals(digest)) holder ??= one.object.oid
    if (oids.length < namedOidsMax) oids.push(one.object.oid)
    if (holder !== undefined && oids.length === namedOidsMax) break
  }
  return { holder, oids }
}

function keyFormatOf(format: ClassFormat, { number }: IndexDefinition): IndexKeyFormat | undefined {
  return indexFormatsOf(format).all.find(({ index }) => index.number === number)
}

function coveredClasses(catalog: Catalog, { indexedClass }: IndexDefinition): Set<ClassNumber> {
  const subclasses = catalog.classByNumber(indexedClass)?.subclasses ?? []
  return new Set([indexedClass, ...subclasses.map(({ number }) => number)])
}
