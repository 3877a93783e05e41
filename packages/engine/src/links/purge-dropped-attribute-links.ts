/** Deletes the link entries of deleted attributes in batches; the catalog lists these attributes until then. */
import { prefixEnd } from '../bytes/key-space.ts'
import { catalogKey, catalogPartRange, numberOfCatalogKey } from '../catalog/catalog-keys.ts'
import { type Container, listContainers } from '../records/container-registry.ts'
import { attributeOfKey, containerLinksRange } from '../records/link-keys.ts'
import type { Bytes, Change, Store } from '../store/store.ts'
import { awaitPendingCommits, withSnapshot } from '../store/with-snapshot.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'

const batchEntries = 2_000

interface DroppedLinkAttribute {
  readonly attribute: AttributeNumber
  /** Classes whose objects have had the attribute. */
  readonly classes: ReadonlySet<ClassNumber>
}

/** Processes the whole list. After a crash, a new run resumes where the last one stopped. */
export async function purgeDroppedAttributeLinks(store: Store): Promise<void> {
  const dropped = await listDroppedAttributes(store)
  if (dropped.length === 0) return
  // Writers that still use the old catalog must finish first, or they could add entries after the purge.
  await awaitPendingCommits(store)
  const containers = await withSnapshot(store, (snapshot) => listContainers(snapshot, allClasses(dropped)))
  for (const { attribute, classes } of dropped) {
    for (const container of containers) if (classes.has(container.classNumber)) await clear(store, attribute, container)
    await store.commit({
      changes: [{ kind: 'delete', key: catalogKey('droppedLinkAttributes', attribute) }],
      preconditions: [],
    })
  }
}

async function listDroppedAttributes(store: Store): Promise<DroppedLinkAttribute[]> {
  const read = (key: Bytes, value: Bytes): DroppedLinkAttribute => ({
    attribute: numberOfCatalogKey(key) as AttributeNumber,
    classes: new Set(JSON.parse(Buffer.from(value).toString()) as ClassNumber[]),
  })
  return withSnapshot(store, async (snapshot) => {
    const dropped: DroppedLinkAttribute[] = []
    for await (const batch of snapshot.scan(catalogPartRange('droppedLinkAttributes'), read)) dropped.push(...batch)
    return dropped
  })
}

function allClasses(dropped: readonly DroppedLinkAttribute[]): Set<ClassNumber> {
  return new Set(dropped.flatMap(({ classes }) => [...classes]))
}

async function clear(store: Store, attribute: AttributeNumber, { database, container }: Container): Promise<void> {
  const { from, to } = containerLinksRange(database, container)
  const copy = (key: Bytes): Buffer => Buffer.from(key)
  for (let next: Buffer | undefined = from; next !== undefined; ) {
    const range = { from: next, to }
    const keys: Buffer[] = await withSnapshot(store, async (snapshot) => {
      const part: Buffer[] = []
      for await (const batch of snapshot.scan(range, copy, { keysOnly: true, limit: batchEntries })) part.push(...batch)
      return part
    })
    const changes = keys
      .filter((key) => attributeOfKey(key) === attribute)
      .map((key): Change => ({ kind: 'delete', key }))
    if (changes.length > 0) await store.commit({ changes, preconditions: [] })
    const last: Buffer | undefined = keys.at(-1)
    next = keys.length < batchEntries || last === undefined ? undefined : prefixEnd(last)
  }
}
