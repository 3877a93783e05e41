/** Rebuilds referrer entries of collections stored as links; like index entries, the change log omits them. */
import { keySpace } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { referrerOfLink } from '../indexes/referrer-entries.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { attributeOfKey, kindOfKey, linkKind, ownerOfKey, targetOfKey } from '../records/link-keys.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import { type PartBounds, readPart } from '../store/read-range.ts'
import type { Bytes, KeyRange, Put, SnapshotOptions, Store } from '../store/store.ts'
import { onSnapshot } from '../store/with-snapshot.ts'
import { oidFromBytes } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { TargetWriter } from './target-writer.ts'

const partBounds: PartBounds = { entriesMax: 100_000, bytesMax: 16 * 2 ** 20 }

/** Works in parts, each written after its snapshot is released. */
export async function deriveReferrers(
  store: Store,
  catalog: Catalog,
  writer: TargetWriter,
  options: SnapshotOptions,
  signal: CancelSignal | undefined,
): Promise<void> {
  const attributes = attributesWithReferrers(catalog)
  if (attributes.size === 0) return
  const to = Buffer.of(keySpace.link + 1)
  let from: Buffer | undefined = Buffer.of(keySpace.link)
  while (from !== undefined) {
    const range: KeyRange = { from, to }
    const use = (key: Bytes, value: Bytes): Put | undefined => referrerOf(attributes, key, value)
    const part = await onSnapshot(store, (snapshot) => readPart(snapshot, range, use, partBounds), options)
    for (const put of part.results) {
      const due = writer.add(put)
      if (due !== undefined) await due
    }
    await writer.flush()
    signal?.throwIfAborted()
    from = part.isComplete || part.last === undefined ? undefined : Buffer.concat([part.last, Buffer.of(0)])
  }
}

function attributesWithReferrers(catalog: Catalog): ReadonlyMap<AttributeNumber, AttributeFormat> {
  const formats = recordFormats(catalog)
  const found = new Map<AttributeNumber, AttributeFormat>()
  for (const cls of catalog.classes) {
    for (const { number, referrers } of cls.definition.attributes) {
      if (referrers !== undefined) found.set(number, formats.of(cls).attribute(number))
    }
  }
  return found
}

function referrerOf(
  attributes: ReadonlyMap<AttributeNumber, AttributeFormat>,
  key: Bytes,
  value: Bytes,
): Put | undefined {
  const attribute = attributes.get(attributeOfKey(key))
  if (attribute?.linkStorage === undefined) return undefined
  const isSet = attribute.linkStorage === 'set'
  // A list with a to-many inverse also has entries that map a target to its position; they have no referrers.
  if (!isSet && kindOfKey(key) === linkKind.target) return undefined
  const entry = referrerOfLink(attribute, ownerOfKey(key), isSet ? targetOfKey(key) : oidFromBytes(value, 0), { key })
  return entry === undefined ? undefined : { kind: 'put', key: Buffer.from(entry.key), value: entry.value }
}
