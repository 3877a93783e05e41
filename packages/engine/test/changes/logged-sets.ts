/** The change sets that a store has logged, read as any consumer reads them. */
import { CatalogCache } from '../../src/catalog/catalog-cache.ts'
import { ChangeDecoder, type LinkChange, type RecordChange } from '../../src/changes/decode-change.ts'
import type { LogPosition } from '../../src/changes/log-position.ts'
import { logParts } from '../../src/changes/read-log.ts'
import { epochOf } from '../../src/changes/switch-change-log.ts'
import type { AttributeFormat, ClassFormat } from '../../src/records/class-format.ts'
import { ContainerRegistry } from '../../src/records/container-registry.ts'
import { decodeRecord } from '../../src/records/record-format.ts'
import type { Bytes, Store } from '../../src/store/store.ts'
import { withSnapshot } from '../../src/store/with-snapshot.ts'
import type { Oid } from '../../src/types/oid.ts'

export interface AttributeValue {
  readonly attribute: AttributeFormat
  readonly value: unknown
}

export interface ChangedAttribute {
  readonly attribute: AttributeFormat
  readonly before: unknown
  readonly after: unknown
}

interface OfObject {
  readonly oid: Oid
  readonly format: ClassFormat
}

export type ObjectChange =
  | (OfObject & { readonly kind: 'created'; readonly values: readonly AttributeValue[] })
  /** None of its own attributes where only links of it have changed. */
  | (OfObject & { readonly kind: 'changed'; readonly attributes: readonly ChangedAttribute[] })
  | (OfObject & { readonly kind: 'deleted'; readonly values: readonly AttributeValue[] })

export interface LoggedSet {
  readonly position: LogPosition
  readonly objects: ObjectChange[]
  readonly links: LinkChange[]
  readonly classes: string[]
  readonly indexes: string[]
}

/** Each commit's, in order. */
export async function loggedSets(store: Store, after = 0): Promise<LoggedSet[]> {
  const lastNumber = (await store.settledNumbers?.())?.settled ?? Number.MAX_SAFE_INTEGER
  const containers = new ContainerRegistry(store, 1)
  return withSnapshot(store, async (snapshot) => {
    const catalog = await new CatalogCache(() => undefined).at(snapshot)
    const decoder = new ChangeDecoder(catalog, async (oid) => containers.classOf(oid, snapshot))
    const sets = new Map<number, LoggedSet>()
    const from = { epoch: epochOf(catalog), number: after, within: undefined }
    for await (const part of logParts(snapshot, from, lastNumber)) {
      const { epoch, number } = part
      const set = sets.get(number) ?? {
        position: { epoch, number, within: undefined },
        objects: [],
        links: [],
        classes: [],
        indexes: [],
      }
      sets.set(number, set)
      for (const change of part.changes()) {
        const decoded = await decoder.decode(change)
        if (decoded?.of === 'object') set.objects.push(objectChange(decoded))
        else if (decoded?.of === 'link') set.links.push(decoded.change)
        for (const { class: cls, index } of decoded?.of === 'catalog' ? decoded.changes : []) {
          if (cls !== undefined) set.classes.push(cls.name)
          if (index !== undefined) set.indexes.push(index.name)
        }
      }
    }
    return [...sets.values()]
  })
}

function objectChange({ oid, format, before, after, changed }: RecordChange): ObjectChange {
  const valuesIn = (record: Bytes): readonly unknown[] => decodeRecord(format, record).values
  if (before !== undefined && after !== undefined) {
    const [old, now] = [valuesIn(before), valuesIn(after)]
    const attributes = changed.map((attribute) => {
      return { attribute, before: old[attribute.index], after: now[attribute.index] }
    })
    return { kind: 'changed', oid, format, attributes }
  }
  const held = valuesIn((after ?? before) as Bytes)
  const kept = format.attributes.filter(({ linkStorage }) => linkStorage === undefined)
  const values = kept.map((attribute): AttributeValue => ({ attribute, value: held[attribute.index] }))
  return { kind: before === undefined ? 'created' : 'deleted', oid, format, values }
}
