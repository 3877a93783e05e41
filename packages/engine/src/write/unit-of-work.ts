/** One step of a change: the objects that it has read and changed, the preconditions of its commit, and its allocations. */
import { type AshlarError, assert } from '../errors.ts'
import { defaultEngineLimits, type EngineLimits } from '../limits.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import type { Violation } from '../records/constraints.ts'
import type { Containers } from '../records/container-registry.ts'
import { objectKey } from '../records/object-key.ts'
import { revisionPrefixOf } from '../records/record-format.ts'
import { type RecordFormats, recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Awaitable, Bytes } from '../store/store.ts'
import { inParts, inSlices } from '../store/time-slice.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type LinkStorage, linkStorageOf } from '../types/link-storage.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import type { ChangeGuard, Restriction } from './change-guard.ts'
import type { ChangeRecorder } from './change-set.ts'
import type { NumbersOfSequences, UnitExpressions } from './object-expressions.ts'
import { noSuchTarget, type ReferenceLocation, targetOfOtherClass } from './reference-error.ts'
import { type ObjectState, objectBatchSize, WorkingSet } from './working-set.ts'

/** A collection of an object whose links change. */
export interface ChangedLinks {
  readonly oid: Oid
  readonly attribute: AttributeFormat
  /** False if the collection changes only because of deletions of other objects. */
  isAltered: boolean
  /** See `UnitOfWork`. */
  position: number | undefined
}

/** Receives objects that violate, or may violate, constraints checked at the end of the transaction (`deferred-checks.ts`). */
export interface ViolationSink {
  /** `constraintKeys`: as `constraintKey` returns them. */
  note(state: ObjectState, constraintKeys: readonly string[]): void
}

export type DeletionLimits = Pick<EngineLimits, 'deletedObjectsMax' | 'changedObjectsMax'>

/** Objects to be deleted by a statement or operation, if their deletion may have further effects (contract 10.4). */
export interface PendingDeletions {
  add(state: ObjectState): void
  /** Throws DeleteRestricted, LimitExceeded. */
  carryOut(): Promise<void>
  /** The deletions and cleared references so far, for a dry run. */
  report(): Promise<object>
}

export class UnitOfWork {
  readonly transaction: Transaction
  /** The catalog of writers, which determines how records and links are stored. */
  readonly catalog: Catalog
  /** The catalog as readers see it. */
  readonly visibleCatalog: Catalog
  readonly objects: WorkingSet
  private readonly containers: Containers
  private readonly restriction: Restriction | undefined
  /** Objects that must exist. Deletions of the operation are written only at its end. */
  private required: Set<Oid> | undefined
  readonly session: StoreSession
  /** The last position of each list that `links/link-entries.ts` has read. Read once, since every assigned position is greater. */
  listEnds: Map<string, Bytes | undefined> | undefined
  /** Undefined if there is no listener. */
  readonly recorder: ChangeRecorder | undefined
  /** Evaluates defaults and checks. */
  readonly expressions: UnitExpressions
  /** For defaults of the objects; set before they are written. */
  numbers: NumbersOfSequences | undefined
  /** Undefined if the caller has unrestricted access. */
  readonly guard: ChangeGuard | undefined
  readonly limits: DeletionLimits
  /** Objects to be deleted with the effects of their deletion; created on demand. */
  deletions: PendingDeletions | undefined
  /** Set in a transaction of several steps or statements; otherwise all constraints are checked when the unit is written. */
  deferred: ViolationSink | undefined
  /** The position of the current command among several. */
  position: number | undefined
  /** Changed collections stored as links, by object and attribute; only those with constraints. */
  changedLinks: Map<string, ChangedLinks> | undefined
  /** What changes of links violate, until the other constraints of the object are checked. */
  linkViolations: Map<Oid, readonly Violation[]> | undefined
  /** Set while deleted objects are removed from their links, which may also change read-only attributes. */
  isDeleting = false
  /** The data was checked when first written, so constraints are not applied. */
  readonly isUnchecked: boolean = false

  constructor(
    transaction: Transaction,
    catalog: Catalog,
    containers: Containers,
    session: StoreSession,
    recorder: ChangeRecorder | undefined,
    expressions: UnitExpressions,
    restriction?: Restriction,
    limits: DeletionLimits = defaultEngineLimits,
  ) {
    this.limits = limits
    this.transaction = transaction
    this.catalog = catalog.writers === undefined ? catalog : catalog.writers()
    this.visibleCatalog = catalog
    this.objects = new WorkingSet(transaction, this.catalog)
    this.containers = containers
    this.session = session
    this.recorder = recorder
    this.expressions = expressions
    this.restriction = restriction
    this.guard = restriction === undefined ? undefined : restriction.guardOf(this)
  }

  /** Creates a unit for another step of the same change, or for a trial run in `transaction`, a rehearsal. */
  another(transaction = this.transaction): UnitOfWork {
    const { visibleCatalog, containers, session, recorder, expressions, restriction, limits } = this
    return new UnitOfWork(transaction, visibleCatalog, containers, session, recorder, expressions, restriction, limits)
  }

  /** Creates a unit for a trial run, which neither commits nor reports anything. */
  rehearsal(): UnitOfWork {
    const { transaction, visibleCatalog, containers, session, expressions, restriction, limits } = this
    const tried = transaction.rehearsal()
    return new UnitOfWork(tried, visibleCatalog, containers, session, undefined, expressions, restriction, limits)
  }

  /** The catalog that the names in commands refer to. */
  get commandCatalog(): Catalog {
    return this.guard === undefined ? this.visibleCatalog : this.guard.catalog
  }

  get commandFormats(): RecordFormats {
    return this.guard === undefined ? this.visibleFormats : this.guard.formats
  }

  private get visibleFormats(): RecordFormats {
    return this.isSameCatalog ? this.objects.formats : recordFormats(this.visibleCatalog)
  }

  /** Whether readers and writers use the same catalog. */
  private get isSameCatalog(): boolean {
    return this.catalog === this.visibleCatalog
  }

  /** The visible value of an attribute stored in the record; `attribute`: from `commandFormats`. */
  async seen(state: ObjectState, attribute: AttributeFormat): Promise<unknown> {
    if (this.guard !== undefined) return this.guard.seen(state, attribute)
    return state.values[this.storedAttribute(state, attribute).index]
  }

  /** Maps an attribute as seen by commands (`visibleAttribute`) to the attribute as stored. */
  storedAttribute({ format }: ObjectState, visibleAttribute: AttributeFormat): AttributeFormat {
    return this.isSameCatalog && this.guard === undefined
      ? visibleAttribute
      : format.attribute(visibleAttribute.attribute.number)
  }

  /** The class of an object as seen by commands. */
  commandFormatOf({ format }: ObjectState): ClassFormat {
    if (this.guard !== undefined) return this.guard.formatOf(format)
    return this.isSameCatalog ? format : this.visibleFormats.byNumber(format.cls.number)
  }

  /** The format in which the unit stores objects of a class. */
  formatOf(cls: SchemaClass): ClassFormat {
    return this.isSameCatalog ? this.objects.formats.of(cls) : this.objects.formats.byNumber(cls.number)
  }

  /** Allocates an OID, which further attempts of the transaction reuse. */
  allocate({ cls }: ClassFormat): Awaitable<Oid> {
    return this.transaction.allocate(cls.number, (number: ClassNumber) =>
      this.containers.allocate(number, this.transaction),
    )
  }

  /** The commit requires the object to exist, unless the operation itself creates it. */
  requireObject(oid: Oid): void {
    // Checked once per target, since many objects may refer to the same one.
    if (this.required?.has(oid) === true) return
    const state = this.objects.loaded(oid)
    if (state !== undefined && state.stored === undefined) return
    this.transaction.requirePresent(state?.key ?? objectKey(oid))
    this.required ??= new Set()
    this.required.add(oid)
  }

  /**
   * The commit requires the object to be absent, unless the operation itself deletes it. Used when an object was not found: an
   * error based on its absence is wrong if a concurrent commit has created it.
   */
  requireNoObject(oid: Oid): void {
    if (!this.objects.isDeleted(oid)) this.transaction.requireAbsent(objectKey(oid))
  }

  /** Attributes later errors in the object to the current command, which changes it indirectly. */
  blame(state: ObjectState): void {
    if (this.position !== undefined) state.position = this.position
  }

  /** The commit requires the object to be as read, even if the operation does not change it. */
  requireUnchanged({ key, stored }: ObjectState): void {
    if (stored !== undefined) this.transaction.requireRevision(key, revisionPrefixOf(stored))
  }

  /** How a collection is stored as links; undefined if its values are in records. */
  linkStorageOf(attribute: AttributeNumber): LinkStorage | undefined {
    const found = this.catalog.attribute(attribute)
    assert(found !== undefined, 'the inverse of an attribute is in the catalog')
    return linkStorageOf(found.spec)
  }

  /**
   * The formats of objects whose link entries will change, without reading their records. The commit requires objects with a
   * format to exist and the others to be absent.
   */
  async formatsOf(oids: readonly Oid[]): Promise<ReadonlyMap<Oid, ClassFormat>> {
    const formats = new Map<Oid, ClassFormat>()
    const unknown: Oid[] = []
    await inSlices(oids, (oid) => {
      const loaded = this.objects.loaded(oid)
      if (loaded !== undefined) formats.set(oid, loaded.format)
      else if (!this.objects.isDeleted(oid)) unknown.push(oid)
    })
    const absent = await this.findAbsent(unknown)
    await inSlices(unknown, async (oid) => {
      const cls = absent.has(oid) ? undefined : await this.classOf(oid)
      if (cls === undefined) this.requireNoObject(oid)
      else formats.set(oid, this.objects.formats.of(cls))
    })
    await inSlices(formats.keys(), (oid) => this.requireObject(oid))
    return formats
  }

  /** The first attempt only requires the objects to exist; a retry reads them. */
  private async findAbsent(oids: readonly Oid[]): Promise<Set<Oid>> {
    const absent = new Set<Oid>()
    if (!this.transaction.isRetry) return absent
    await inParts(oids, objectBatchSize, async (part) => {
      const { values } = await this.transaction.read(part.map(objectKey))
      for (const [i, oid] of part.entries()) if (values[i] === undefined) absent.add(oid)
    })
    return absent
  }

  /** The class of an object by its container, whether or not the object exists. Undefined if there is no such container. */
  classOf(oid: Oid): Awaitable<SchemaClass | undefined> {
    const number = this.containers.classOf(oid, this.transaction.snapshot)
    return number instanceof Promise ? number.then((found) => this.classByNumber(found)) : this.classByNumber(number)
  }

  private classByNumber(number: ClassNumber | undefined): SchemaClass | undefined {
    return number === undefined ? undefined : this.catalog.classByNumber(number)
  }

  /**
   * The format of the target of a new reference, which must exist and be of the referenced class or a subclass (contract
   * 4.4.1). Throws InvalidReference.
   */
  async checkReference(target: Oid, referencedClass: ClassNumber, place: ReferenceLocation): Promise<ClassFormat> {
    const loaded = this.objects.loaded(target)
    const cls = loaded === undefined ? await this.classOf(target) : loaded.format.cls
    if (cls === undefined || target === noOid || this.objects.isDeleted(target)) throw this.noSuchObject(target, place)
    if (!cls.isOrInherits(referencedClass)) {
      throw targetOfOtherClass(target, cls.name, this.commandCatalog.classByNumber(referencedClass)?.name, place)
    }
    if (loaded === undefined && this.transaction.isRetry) {
      if ((await this.transaction.readOne(objectKey(target))) === undefined) throw this.noSuchObject(target, place)
    }
    // Also if it is loaded: it may be deleted between the read and the commit.
    this.requireObject(target)
    return this.objects.formats.of(cls)
  }

  /** Returns InvalidReference for a target that was not found. */
  noSuchObject(target: Oid, place: ReferenceLocation): AshlarError {
    this.requireNoObject(target)
    return noSuchTarget(target, place)
  }
}
