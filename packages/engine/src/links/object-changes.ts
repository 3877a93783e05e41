/** What an operation that changes objects and links works with. */
import { AshlarError } from '../errors.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import type { Containers } from '../records/containers.ts'
import { objectKey } from '../records/object-key.ts'
import { type ObjectState, WorkingSet } from '../records/working-set.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes } from '../store/store.ts'
import type { Session } from '../transaction/session.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import { linkKind, linkRange, positionOfKey } from './link-keys.ts'

/** Where a reference stands in the request, for messages. */
export interface ReferencePlace {
  readonly className: string
  readonly attributeName: string
}

export class ObjectChanges {
  readonly transaction: Transaction
  readonly catalog: Catalog
  readonly objects: WorkingSet
  private readonly containers: Containers
  private readonly session: Session
  /** The lists whose present end was read, and where it is: read once, since every position given is greater. */
  private readonly listEnds = new Map<string, Bytes | undefined>()

  constructor(transaction: Transaction, catalog: Catalog, containers: Containers, session: Session) {
    this.transaction = transaction
    this.catalog = catalog
    this.objects = new WorkingSet(transaction, catalog)
    this.containers = containers
    this.session = session
  }

  nextStamp(): Buffer {
    return this.session.nextStamp()
  }

  /** An object of that class; its OID is taken over by each further attempt of the transaction. */
  async create(format: ClassFormat): Promise<ObjectState> {
    const oid = await this.transaction.allocate(format.cls.number, () => this.containers.allocate(format.cls.number))
    return this.objects.create(oid, format)
  }

  /** Expects the object to exist when the operation commits, unless the operation itself makes it. */
  expectObject(oid: Oid): void {
    const state = this.objects.known(oid)
    if (state !== undefined && state.stored === undefined) return
    this.transaction.expectPresent(state?.key ?? objectKey(oid))
  }

  /**
   * The format of the object that a newly set reference names. It must exist and be of the referenced class or a
   * subclass (REST interface, section 4). Throws InvalidReference.
   */
  async checkReference(target: Oid, referencedClass: ClassNumber, place: ReferencePlace): Promise<ClassFormat> {
    const known = this.objects.known(target)
    const classNumber = known?.format.cls.number ?? (await this.containers.classOf(target, this.transaction.snapshot))
    const cls = classNumber === undefined ? undefined : this.catalog.classByNumber(classNumber)
    if (cls === undefined || target === noOid || this.objects.isDeleted(target)) throw noSuchObject(target, place)
    if (!cls.isOrInherits(referencedClass)) {
      const wanted = this.catalog.classByNumber(referencedClass)?.name
      throw new AshlarError(
        'InvalidReference',
        `Attribute ${place.attributeName} of class ${place.className} refers to objects of class ${wanted}, but ${target} is of class ${cls.name}.`,
      )
    }
    if (known === undefined && this.transaction.isCareful) {
      const { values } = await this.transaction.read([objectKey(target)])
      if (values[0] === undefined) throw noSuchObject(target, place)
    }
    // Also where it is loaded: it may be deleted between the reading and the commit.
    this.expectObject(target)
    return this.objects.formats.of(cls)
  }

  /** Reads where the given lists end, in one trip, so that `nextPosition` can be asked for them. */
  async readListEnds(lists: readonly { readonly owner: Oid; readonly attribute: AttributeNumber }[]): Promise<void> {
    const missing = lists.filter(({ owner, attribute }) => !this.listEnds.has(`${owner} ${attribute}`))
    if (missing.length === 0) return
    const ranges = missing.map(({ owner, attribute }) => {
      return { ...linkRange(owner, attribute, linkKind.position), reverse: true, limit: 1 }
    })
    const answer = await this.transaction.read([], ranges)
    for (const [index, { owner, attribute }] of missing.entries()) {
      const last = answer.ranges[index]?.[0]
      this.listEnds.set(`${owner} ${attribute}`, last === undefined ? undefined : positionOfKey(last.key))
    }
  }

  /** A position after all others of the list, whose end was read before. */
  nextPosition(owner: Oid, attribute: AttributeFormat): Buffer {
    return this.session.nextPosition(this.listEnds.get(`${owner} ${attribute.attribute.number}`), Date.now())
  }
}

export function noSuchObject(target: Oid, place: ReferencePlace): AshlarError {
  return new AshlarError(
    'InvalidReference',
    `Attribute ${place.attributeName} of class ${place.className} refers to ${target}, but there is no such object.`,
  )
}
