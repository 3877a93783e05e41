/** What a unit of work asks where its caller may not change everything (decision 0026). */
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

/** What a request reads by. */
export interface Reading {
  readonly signal: CancelSignal | undefined
  /** Of the request. */
  readonly memory: RequestMemory
}

/** What is kept from whoever sends a request. */
export interface Restriction {
  /** As the caller knows it; made in one piece where nobody has waited for it (`prepared`). */
  catalogOf(catalog: Catalog): Catalog
  /** Has that made, with turns for others in between. */
  prepared(catalog: Catalog): Awaitable<unknown>
  /** Of what the caller reads from. */
  readonly capabilities: StoreCapabilities
  /** What the caller sees of a transaction, which `below` is, under that catalog. */
  shown(below: Snapshot, catalog: Catalog, reading: Reading): Snapshot
  /** Throws Forbidden where the caller may not make `next` of the catalog. */
  checkSchema(catalog: Catalog, next: CatalogState): void
  /** Of a unit that has done nothing yet: rights to change an object are decided by the state before it. */
  guardOf(work: GuardedWork): ChangeGuard
}

/** Of a unit of work. */
export interface GuardedWork {
  readonly transaction: Transaction
  /** As readers know it. */
  readonly shownCatalog: Catalog
  readonly objects: WorkingSet
}

/**
 * The commands of a guarded unit are in terms of the catalog as its caller knows it: classes, attributes, and values of embedded classes. The unit itself works
 * on the unrestricted store, by the whole catalog.
 */
export interface ChangeGuard {
  /** As the caller knows it. */
  readonly catalog: Catalog
  readonly formats: RecordFormats
  /** The class in the whole catalog, of which an object is to be created. Throws Forbidden. */
  creatable(cls: SchemaClass): SchemaClass
  /** The class of an object as the caller knows it. */
  formatOf(format: ClassFormat): ClassFormat
  /** Before the unit. One that is hidden takes no longer than one that is missing. */
  isSeen(oid: Oid): Awaitable<boolean>
  /** Of an object as it was read. Throws ObjectNotFound for one that is hidden, Forbidden. */
  admit(state: ObjectState, action: 'read' | 'update' | 'delete'): Awaitable<void>
  /**
   * What a change of an attribute comes to in the whole catalog, with what is hidden in its place; undefined where the value stays as it is.
   * `known`: the attribute as the caller knows it. Throws Forbidden, InvalidReference.
   */
  changeFor(
    state: ObjectState,
    attribute: AttributeFormat,
    known: AttributeFormat,
    change: ValueChange,
  ): Awaitable<ValueChange | undefined>
  /**
   * Where an object takes what another is linked with: that one is changed by it. `place`: the attribute that is set. Throws Forbidden, which does not name the
   * other one.
   */
  admitTaking(from: Oid, place: ReferenceLocation): Awaitable<void>
  /** Of an attribute kept in the record, what the caller sees, under the format that it knows. */
  seen(state: ObjectState, known: AttributeFormat): Awaitable<unknown>
  /** As the caller reads it before the unit. Throws ObjectNotFound. */
  representationOf(oid: Oid): Promise<Buffer>
  /** Whether the caller may be told by which of two objects a key is held already. */
  mayTellHolder(index: IndexDefinition, changed: Oid, holder: Oid): Promise<boolean>
  /** Those that the caller does not see; objects that the unit itself makes it does. */
  hiddenAmong(oids: readonly Oid[]): Awaitable<ReadonlySet<Oid>>
  /** Once all is written: what was created and updated has to be allowed as it is then. Throws Forbidden. */
  checkWritten(): Promise<void>
}
