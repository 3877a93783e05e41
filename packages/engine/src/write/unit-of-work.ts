/** One step of a change: the objects it has read and changed, what its commit requires, and what is allocated for it. */
import { type AshlarError, assert } from '../errors.ts'
import { defaultEngineLimits, type EngineLimits } from '../limits.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
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
import type { UnitExpressions } from './object-expressions.ts'
import { noSuchTarget, type ReferenceLocation, targetOfOtherClass } from './reference-error.ts'
import { type ObjectState, objectsAtOnce, WorkingSet } from './working-set.ts'

/** A collection of an object whose links change. */
export interface ChangedLinks {
  readonly oid: Oid
  readonly attribute: AttributeFormat
  /** Not only by deletions of others. */
  isAltered: boolean
  /** See `UnitOfWork`. */
  position: number | undefined
}

/** Takes objects that break what is judged at the end of the transaction (`deferred-checks.ts`). */
export interface DeferredChecks {
  note(state: ObjectState): void
  noteChanged(state: ObjectState): void
}

export type DeletionLimits = Pick<EngineLimits, 'deletedObjectsMax' | 'changedObjectsMax'>

/** Objects that a statement or an operation deletes, where more may follow from that (contract 10.4). */
export interface PendingDeletions {
  add(state: ObjectState): void
  /** Throws DeleteRestricted, LimitExceeded. */
  carryOut(): Promise<void>
  /** What was deleted and cleared so far, as a dry run shows it. */
  report(): Promise<object>
}

export class UnitOfWork {
  readonly transaction: Transaction
  /** By which it keeps records and links: that of writers. */
  readonly catalog: Catalog
  /** As readers know it. */
  readonly shownCatalog: Catalog
  readonly objects: WorkingSet
  private readonly containers: Containers
  private readonly restriction: Restriction | undefined
  /** Objects that are required to exist: what the operation deletes is not written before its end. */
  private required: Set<Oid> | undefined
  readonly session: StoreSession
  /** The last position of each list that `links/link-entries.ts` has read: once, since every position given is greater. */
  listEnds: Map<string, Bytes | undefined> | undefined
  /** Undefined where nobody listens. */
  readonly recorder: ChangeRecorder | undefined
  /** What evaluates defaults and checks. */
  readonly expressions: UnitExpressions
  /** Undefined where the caller may change everything. */
  readonly guard: ChangeGuard | undefined
  readonly limits: DeletionLimits
  /** Objects to be deleted with what follows from that; made where something may. */
  deletions: PendingDeletions | undefined
  /** Of a transaction of several steps or statements; without it, all is judged when the unit is written. */
  deferred: DeferredChecks | undefined
  /** Of several commands, each of which sees what those before it did, that are written together. */
  isOfLines = false
  /** Of the command under way among several. */
  position: number | undefined
  /** Collections kept as links whose elements change, by object and attribute; of attributes with constraints. */
  changedLinks: Map<string, ChangedLinks> | undefined
  /** While objects are taken out of their links since they are deleted: also what is read-only elsewhere loses them. */
  isDeleting = false
  /** What it writes was written elsewhere, and is not held against constraints. */
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
    this.shownCatalog = catalog
    this.objects = new WorkingSet(transaction, this.catalog)
    this.containers = containers
    this.session = session
    this.recorder = recorder
    this.expressions = expressions
    this.restriction = restriction
    this.guard = restriction === undefined ? undefined : restriction.guardOf(this)
  }

  /** Another step of the same change, or one that only tries what `transaction`, a rehearsal, would do. */
  another(transaction = this.transaction): UnitOfWork {
    const { shownCatalog, containers, session, recorder, expressions, restriction, limits } = this
    return new UnitOfWork(transaction, shownCatalog, containers, session, recorder, expressions, restriction, limits)
  }

  /** One that does what this one would, of which nothing is committed or told. */
  rehearsal(): UnitOfWork {
    const { transaction, shownCatalog, containers, session, expressions, restriction, limits } = this
    const tried = transaction.rehearsal()
    return new UnitOfWork(tried, shownCatalog, containers, session, undefined, expressions, restriction, limits)
  }

  /** The catalog that commands are in terms of. */
  get commandCatalog(): Catalog {
    return this.guard === undefined ? this.shownCatalog : this.guard.catalog
  }

  get commandFormats(): RecordFormats {
    return this.guard === undefined ? this.shownFormats : this.guard.formats
  }

  private get shownFormats(): RecordFormats {
    return this.isWhole ? this.objects.formats : recordFormats(this.shownCatalog)
  }

  /** Whether readers know all that writers keep. */
  private get isWhole(): boolean {
    return this.catalog === this.shownCatalog
  }

  /** What the caller sees of an attribute that is kept in the record; `attribute`: of `commandFormats`. */
  async seen(state: ObjectState, attribute: AttributeFormat): Promise<unknown> {
    if (this.guard !== undefined) return this.guard.seen(state, attribute)
    return state.values[this.kept(state, attribute).index]
  }

  /** An attribute of an object as the unit keeps it; `known`: as commands know it. */
  kept({ format }: ObjectState, known: AttributeFormat): AttributeFormat {
    return this.isWhole && this.guard === undefined ? known : format.attribute(known.attribute.number)
  }

  /** The class of an object, as commands know it. */
  commandFormatOf({ format }: ObjectState): ClassFormat {
    if (this.guard !== undefined) return this.guard.formatOf(format)
    return this.isWhole ? format : this.shownFormats.byNumber(format.cls.number)
  }

  /** How the unit keeps objects of a class. */
  formatOf(cls: SchemaClass): ClassFormat {
    return this.isWhole ? this.objects.formats.of(cls) : this.objects.formats.byNumber(cls.number)
  }

  /** An OID for an object of that class; it is taken over by each further attempt of the transaction. */
  allocate({ cls }: ClassFormat): Awaitable<Oid> {
    return this.transaction.allocate(cls.number, (number: ClassNumber) =>
      this.containers.allocate(number, this.transaction),
    )
  }

  /** Requires the object to exist when the operation commits, unless the operation itself makes it. */
  requireObject(oid: Oid): void {
    // Of many objects that refer to one, only the first has to ask.
    if (this.required?.has(oid) === true) return
    const state = this.objects.known(oid)
    if (state !== undefined && state.stored === undefined) return
    this.transaction.requirePresent(state?.key ?? objectKey(oid))
    this.required ??= new Set()
    this.required.add(oid)
  }

  /**
   * Requires that there is no such object when the operation commits, as it was found; unless the operation itself deletes it.
   * For an object that was looked for in vain: what was concluded from its absence is wrong where it was only not seen.
   */
  requireNoObject(oid: Oid): void {
    if (!this.objects.isDeleted(oid)) this.transaction.requireAbsent(objectKey(oid))
  }

  /** An object is changed by a command that is about another: errors that are found when it is written tell of the command. */
  blame(state: ObjectState): void {
    if (this.position !== undefined) state.position = this.position
  }

  /** Requires an object to be as it was read when the operation commits, also where the operation does not change it. */
  requireUnchanged({ key, stored }: ObjectState): void {
    if (stored !== undefined) this.transaction.requireRevision(key, revisionPrefixOf(stored))
  }

  /** How the attribute is kept where it is a collection kept as links; undefined where its values are in records. */
  linkStorageOf(attribute: AttributeNumber): LinkStorage | undefined {
    const found = this.catalog.attribute(attribute)
    assert(found !== undefined, 'the inverse of an attribute is in the catalog')
    return linkStorageOf(found.spec)
  }

  /**
   * The formats of objects whose link entries are about to change, without their records: each is required to be there at
   * the commit. Those that do not exist have none, and are required not to.
   */
  async formatsOf(oids: readonly Oid[]): Promise<ReadonlyMap<Oid, ClassFormat>> {
    const formats = new Map<Oid, ClassFormat>()
    const unknown: Oid[] = []
    await inSlices(oids, (oid) => {
      const known = this.objects.known(oid)
      if (known !== undefined) formats.set(oid, known.format)
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

  /** A first attempt only requires that they are there; a retry looks. */
  private async findAbsent(oids: readonly Oid[]): Promise<Set<Oid>> {
    const absent = new Set<Oid>()
    if (!this.transaction.isRetry) return absent
    await inParts(oids, objectsAtOnce, async (part) => {
      const { values } = await this.transaction.read(part.map(objectKey))
      for (const [i, oid] of part.entries()) if (values[i] === undefined) absent.add(oid)
    })
    return absent
  }

  /** The class of an object, told by its container, whether the object exists or not. Undefined where there is no such container. */
  classOf(oid: Oid): Awaitable<SchemaClass | undefined> {
    const number = this.containers.classOf(oid, this.transaction.snapshot)
    return number instanceof Promise ? number.then((found) => this.classByNumber(found)) : this.classByNumber(number)
  }

  private classByNumber(number: ClassNumber | undefined): SchemaClass | undefined {
    return number === undefined ? undefined : this.catalog.classByNumber(number)
  }

  /**
   * The format of the object that a newly set reference names. It must exist and be of the referenced class or a
   * subclass (contract 4.4.1). Throws InvalidReference.
   */
  async checkReference(target: Oid, referencedClass: ClassNumber, place: ReferenceLocation): Promise<ClassFormat> {
    const known = this.objects.known(target)
    const cls = known === undefined ? await this.classOf(target) : known.format.cls
    if (cls === undefined || target === noOid || this.objects.isDeleted(target)) throw this.noSuchObject(target, place)
    if (!cls.isOrInherits(referencedClass)) {
      throw targetOfOtherClass(target, cls.name, this.commandCatalog.classByNumber(referencedClass)?.name, place)
    }
    if (known === undefined && this.transaction.isRetry) {
      if ((await this.transaction.readOne(objectKey(target))) === undefined) throw this.noSuchObject(target, place)
    }
    // Also where it is loaded: it may be deleted between the reading and the commit.
    this.requireObject(target)
    return this.objects.formats.of(cls)
  }

  /** InvalidReference, for a reference to an object that was looked for in vain. */
  noSuchObject(target: Oid, place: ReferenceLocation): AshlarError {
    this.requireNoObject(target)
    return noSuchTarget(target, place)
  }
}
