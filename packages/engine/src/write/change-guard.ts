/** The access checks that a unit of work makes for a caller with restricted rights (decision 0026). */
import type { RequestMemory } from '../budget/request-memory.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import type { ValueChange } from '../records/attribute-change.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { CatalogState, IndexDefinition } from '../schema/class-definition.ts'
import type { Awaitable, Snapshot, StoreCapabilities } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'
import type { ReferenceLocation } from './reference-error.ts'
import type { ObjectState, WorkingSet } from './working-set.ts'

/** The resources that a request reads with. */
export interface Reading {
  readonly signal: CancelSignal | undefined
  /** The memory account of the request. */
  readonly memory: RequestMemory
}

/** The restrictions that apply to the sender of a request. */
export interface Restriction {
  /** The catalog as the caller sees it; built synchronously unless `prepared` has built it. */
  catalogOf(catalog: Catalog): Catalog
  /** Builds that catalog, yielding to the event loop. */
  prepared(catalog: Catalog): Awaitable<unknown>
  /** Capabilities of the store that the caller reads from. */
  readonly capabilities: StoreCapabilities
  /** The caller's view of the transaction `below`, under `catalog`. */
  viewOf(below: Snapshot, catalog: Catalog, reading: Reading): Snapshot
  /** Throws Forbidden if the caller may not change the catalog to `next`. */
  checkSchema(catalog: Catalog, next: CatalogState): void
  /** `work`: a unit without changes, since rights to change an object are decided by its state before the unit. */
  guardOf(work: GuardedWork): ChangeGuard
}

/** The parts of a unit of work that its guard uses. */
export interface GuardedWork {
  readonly transaction: Transaction
  /** The catalog as readers see it. */
  readonly visibleCatalog: Catalog
  readonly objects: WorkingSet
}

/**
 * The commands of a guarded unit use the catalog as its caller sees it: classes, attributes, and values of embedded classes.
 * The unit itself works on the unrestricted store with the whole catalog.
 */
export interface ChangeGuard {
  /** The catalog as the caller sees it. */
  readonly catalog: Catalog
  readonly formats: RecordFormats
  /** Returns the class in the whole catalog. Throws Forbidden if the caller may not create objects of it. */
  creatable(cls: SchemaClass): SchemaClass
  /** The class of an object as the caller sees it. */
  formatOf(format: ClassFormat): ClassFormat
  /** Whether the object was visible before the unit. A hidden object takes no longer than a missing one, so that timing reveals nothing. */
  isSeen(oid: Oid): Awaitable<boolean>
  /** `state`: as read. Throws Forbidden, or ObjectNotFound for a hidden object. */
  admit(state: ObjectState, action: 'read' | 'update' | 'delete'): Awaitable<void>
  /**
   * Translates a change of an attribute to the whole catalog, preserving hidden parts; undefined if the value does not change.
   * `visibleAttribute`: the attribute as the caller sees it. Throws Forbidden, InvalidReference.
   */
  changeFor(
    state: ObjectState,
    attribute: AttributeFormat,
    visibleAttribute: AttributeFormat,
    change: ValueChange,
  ): Awaitable<ValueChange | undefined>
  /**
   * Checks a change that takes over the partner of another object, which changes that object too. `place`: the attribute that
   * is set. Throws Forbidden without naming the other object.
   */
  admitTaking(from: Oid, place: ReferenceLocation): Awaitable<void>
  /** The visible part of an attribute stored in the record, in the format that the caller sees. */
  seen(state: ObjectState, visibleAttribute: AttributeFormat): Awaitable<unknown>
  /** As the caller saw it before the unit. Throws ObjectNotFound. */
  representationOf(oid: Oid): Promise<Buffer>
  /** Whether the caller may learn which of the two objects already has the key. */
  mayTellHolder(index: IndexDefinition, changed: Oid, holder: Oid): Promise<boolean>
  /** The objects hidden from the caller; objects created by the unit are visible. */
  hiddenAmong(oids: readonly Oid[]): Awaitable<ReadonlySet<Oid>>
  /** Checks the final state of created and updated objects, after all writes. Throws Forbidden. */
  checkWritten(): Promise<void>
}
