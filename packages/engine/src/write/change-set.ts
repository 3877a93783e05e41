/** What a commit has changed, in terms of objects, links and classes: what a change feed, an audit log or a counter hangs on. */
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { isSameValue } from '../records/same-value.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { ObjectState } from './working-set.ts'

/** An attribute kept in the record; values as its codec keeps them. */
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

/**
 * An element of a collection that is kept as links. Links of a deleted object are not told: they go with it. `added` may put again, and
 * `removed` may take away, what is so already.
 */
export interface LinkChange {
  readonly kind: 'added' | 'removed'
  readonly owner: Oid
  readonly attribute: AttributeNumber
  /** Undefined for a key that is removed from a map. */
  readonly target: Oid | undefined
  /** Where the element of a list stands, in the order of its bytes. */
  readonly position: Bytes | undefined
  /** Of a map, as the codec of its keys keeps it. */
  readonly key: unknown
}

export interface SchemaChange {
  /** Of the catalog that is in force from here on. */
  readonly version: Bytes
  readonly before: CatalogState
  readonly after: CatalogState
}

/** Objects in the order in which they were changed, and so links; where both are of one object, the object comes first. */
export interface ChangeSet {
  readonly objects: readonly ObjectChange[]
  readonly links: readonly LinkChange[]
  readonly schema: SchemaChange | undefined
}

/** Called after each commit of this process that has changed something, once, in the order in which the store acknowledges them. */
export type ChangeListener = (changes: ChangeSet) => void

/** Collects the changes of one attempt. There is none where nobody listens. */
export class ChangeRecorder implements ChangeSet {
  readonly objects: ObjectChange[] = []
  readonly links: LinkChange[] = []
  schema: SchemaChange | undefined

  get isEmpty(): boolean {
    return this.objects.length === 0 && this.links.length === 0 && this.schema === undefined
  }

  /** `state`: as it is written. */
  object(state: ObjectState): void {
    const { oid, format, before, values, isDeleted } = state
    if (isDeleted) {
      if (before !== undefined) this.objects.push({ kind: 'deleted', oid, format, values: valuesOf(format, before) })
      return
    }
    if (before === undefined) this.objects.push({ kind: 'created', oid, format, values: valuesOf(format, values) })
    else this.objects.push({ kind: 'changed', oid, format, attributes: changedOf(state, before) })
  }

  link(change: LinkChange): void {
    this.links.push(change)
  }

  /** Several changes of one transaction are one. */
  catalog(before: CatalogState, after: CatalogState, version: Bytes): void {
    this.schema = { before: this.schema?.before ?? before, after, version }
  }
}

function valuesOf({ attributes }: ClassFormat, values: readonly unknown[]): AttributeValue[] {
  const kept = attributes.filter(({ linkStorage }) => linkStorage === undefined)
  return kept.map((attribute) => ({ attribute, value: values[attribute.index] }))
}

function changedOf({ format, changed, values }: ObjectState, before: readonly unknown[]): ChangedAttribute[] {
  const attributes: ChangedAttribute[] = []
  for (const index of changed ?? []) {
    const attribute = format.attributes[index] as AttributeFormat
    if (isSameValue(attribute.codec, before[index], values[index])) continue
    attributes.push({ attribute, before: before[index], after: values[index] })
  }
  return attributes
}
