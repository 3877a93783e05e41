/** Manages containers: the class of each, and the pages from which new OIDs are allocated. */
import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import { assert, withoutEffect } from '../errors.ts'
import { containerMax, databaseMax, firstContainer, firstDatabase, pageMax, slotMax } from '../limits.ts'
import type { Awaitable, Bytes, Change, Precondition, Snapshot, Store } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { containerNumberOf, type Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { containerKey, nextContainerKey } from './object-key.ts'

export interface Container {
  readonly database: number
  readonly container: number
  readonly classNumber: ClassNumber
}

interface ContainerRow extends Container {
  /** The next page to lease; beyond `pageMax` when the container is full. */
  readonly nextPage: number
  /** The stripe of processes that lease its pages; 0 for all processes. */
  readonly stripe: number
  readonly stored: Bytes
}

interface OpenPage {
  readonly prefix: string
  nextSlot: number
}

const allContainers = { from: Buffer.from([keySpace.container, 0]), to: prefixEnd(Buffer.from([keySpace.container])) }

/**
 * Containers of the given classes in OID order, as of the snapshot, and those of `added`, since a transaction may have objects
 * in containers younger than its snapshot.
 */
export async function listContainers(
  snapshot: Snapshot,
  classes: ReadonlySet<ClassNumber>,
  added: readonly Container[] = [],
): Promise<Container[]> {
  const rows: Container[] = []
  for await (const batch of snapshot.scan(allContainers, decodeRow)) {
    for (const row of batch) if (classes.has(row.classNumber)) rows.push(row)
  }
  const isNew = ({ database, container, classNumber }: Container): boolean => {
    return classes.has(classNumber) && !rows.some((row) => row.database === database && row.container === container)
  }
  const newer = added.filter(isNew)
  if (newer.length === 0) return rows
  return [...rows, ...newer].sort((one, other) => one.database - other.database || one.container - other.container)
}

/** For stores with several nodes: the number of open containers per class, each for some of the processes. */
const stripes = 16
/** The number of stripes to which each process writes, so that even the objects of one process are spread over nodes. */
const stripesOfProcess = 4
/** Related objects are placed together up to this number. */
const objectsTogetherMax = 1_000

/** Allocates OIDs and determines their classes. */
export type Containers = Pick<ContainerRegistry, 'allocate' | 'cached' | 'classOf'>

/**
 * Allocates OIDs: one small commit leases a page, whose slots are then allocated from memory, so that creations do not contend.
 * Slots that a process leaves unused are lost: OIDs are never reused.
 */
export class ContainerRegistry {
  private readonly store: Store
  /** The stripes to which this process writes. */
  private readonly stripes: readonly number[]
  private nextStripe = 0
  private readonly assignments = new WeakMap<object, { stripe: number; left: number }>()
  /** By class and stripe. */
  private readonly pages = new Map<number, OpenPage>()
  private readonly leases = new Map<number, Promise<OpenPage>>()
  /** The class of a container never changes, so entries stay valid. */
  private readonly classes = new Map<number, ClassNumber>()

  /** `sessionNumber`: processes with different numbers write to different nodes, if the store has several. */
  constructor(store: Store, sessionNumber: number) {
    this.store = store
    this.stripes = store.capabilities.isDistributed ? stripesOf(sessionNumber) : [0]
  }

  /** `work`: a unit, such as a transaction, whose objects are placed together. */
  allocate(classNumber: ClassNumber, work: object): Awaitable<Oid> {
    const stripe = this.stripeOf(work)
    const page = this.pages.get(pageNumber(classNumber, stripe))
    if (page !== undefined && page.nextSlot <= slotMax) return `${page.prefix}${page.nextSlot++}` as Oid
    return this.allocateFromNewPage(classNumber, stripe)
  }

  /** The containers that this process has used or looked up. */
  cached(): Container[] {
    return [...this.classes].map(([key, classNumber]) => {
      return { database: Math.floor(key / 65_536), container: key % 65_536, classNumber }
    })
  }

  /** The class of the objects in an OID's container, or undefined if there is no such container. */
  classOf(oid: Oid, snapshot: Snapshot): Awaitable<ClassNumber | undefined> {
    const container = containerNumberOf(oid)
    return this.classes.get(container) ?? this.readClass(container, snapshot)
  }

  private readClass(container: number, snapshot: Snapshot): Awaitable<ClassNumber | undefined> {
    const key = containerKey(container >>> 16, container & 0xffff)
    const found = snapshot.view(key, (value) => readClassNumber(value))
    const remember = (classNumber: ClassNumber | undefined): ClassNumber | undefined => {
      if (classNumber !== undefined) this.classes.set(container, classNumber)
      return classNumber
    }
    return found instanceof Promise ? found.then(remember) : remember(found)
  }

  private stripeOf(work: object): number {
    if (this.stripes.length === 1) return this.stripes[0] as number
    let assignment = this.assignments.get(work)
    if (assignment === undefined || assignment.left === 0) {
      assignment = { stripe: this.stripes[this.nextStripe++ % this.stripes.length] as number, left: objectsTogetherMax }
      this.assignments.set(work, assignment)
    }
    assignment.left--
    return assignment.stripe
  }

  private async allocateFromNewPage(classNumber: ClassNumber, stripe: number): Promise<Oid> {
    const name = pageNumber(classNumber, stripe)
    for (;;) {
      let lease = this.leases.get(name)
      if (lease === undefined) {
        lease = this.leasePage(classNumber, stripe).finally(() => this.leases.delete(name))
        this.leases.set(name, lease)
      }
      const page = await lease
      if (page.nextSlot <= slotMax) return `${page.prefix}${page.nextSlot++}` as Oid
    }
  }

  private async leasePage(classNumber: ClassNumber, stripe: number): Promise<OpenPage> {
    for (;;) {
      const nextOf = (snapshot: Snapshot) => snapshot.view(nextContainerKey, (value) => Buffer.from(value))
      const find = async (snapshot: Snapshot) => {
        const row = await this.findOpenContainer(snapshot, classNumber, stripe)
        return { row, next: row === undefined ? await nextOf(snapshot) : undefined }
      }
      const { row, next } = await withSnapshot(this.store, find, { isNested: true })
      const leased = await this.commitLease(classNumber, stripe, row, next)
      if (leased === undefined) continue
      const page = { prefix: `${leased.database}-${leased.container}-${leased.page}-`, nextSlot: 1 }
      this.classes.set(leased.database * 65_536 + leased.container, classNumber)
      this.pages.set(pageNumber(classNumber, stripe), page)
      return page
    }
  }

  /** If it is unknown whether the lease was committed, the page is never used; only its slots are lost. */
  private async commitLease(
    classNumber: ClassNumber,
    stripe: number,
    row: ContainerRow | undefined,
    next: Buffer | undefined,
  ): Promise<{ database: number; container: number; page: number } | undefined> {
    try {
      return row === undefined ? await this.addContainer(classNumber, stripe, next) : await this.takePage(row)
    } catch (error) {
      throw withoutEffect(error)
    }
  }

  private async findOpenContainer(
    snapshot: Snapshot,
    classNumber: ClassNumber,
    stripe: number,
  ): Promise<ContainerRow | undefined> {
    for await (const batch of snapshot.scan(allContainers, decodeRow, { reverse: true })) {
      for (const row of batch) {
        if (row.classNumber === classNumber && row.stripe === stripe && row.nextPage <= pageMax) return row
      }
    }
    return undefined
  }

  private async takePage(
    row: ContainerRow,
  ): Promise<{ database: number; container: number; page: number } | undefined> {
    const key = containerKey(row.database, row.container)
    const outcome = await this.store.commit({
      isReservation: true,
      changes: [{ kind: 'put', key, value: encodeRow(row.classNumber, row.nextPage + 1, row.stripe) }],
      preconditions: [{ kind: 'revision', key, prefix: row.stored }],
    })
    return outcome.isCommitted ? { database: row.database, container: row.container, page: row.nextPage } : undefined
  }

  /** `next`: the stored row of the next container to assign. */
  private async addContainer(
    classNumber: ClassNumber,
    stripe: number,
    next: Buffer | undefined,
  ): Promise<{ database: number; container: number; page: number } | undefined> {
    const database = next?.readUInt16BE(0) ?? firstDatabase
    const container = next?.readUInt16BE(2) ?? firstContainer
    assert(database <= databaseMax, 'the federated database has containers left')
    const following = Buffer.alloc(4)
    const isLast = container === containerMax
    following.writeUInt16BE(isLast ? database + 1 : database, 0)
    following.writeUInt16BE(isLast ? firstContainer : container + 1, 2)
    const expected: Precondition =
      next === undefined
        ? { kind: 'absent', key: nextContainerKey }
        : { kind: 'revision', key: nextContainerKey, prefix: next }
    const outcome = await this.store.commit({
      isReservation: true,
      changes: [
        { kind: 'put', key: nextContainerKey, value: following },
        { kind: 'put', key: containerKey(database, container), value: encodeRow(classNumber, 2, stripe) },
      ],
      preconditions: [expected],
    })
    return outcome.isCommitted ? { database, container, page: 1 } : undefined
  }
}

/** A page from which OIDs were allocated. */
export interface UsedPage extends Container {
  readonly page: number
}

/** Changes that mark these pages as allocated and register their containers, for restoring objects of later commits. */
export async function containersWith(snapshot: Snapshot, used: Iterable<UsedPage>): Promise<Change[]> {
  const changes: Change[] = []
  const next = await snapshot.view(nextContainerKey, (value) => Buffer.from(value))
  let [nextDatabase, nextContainer] = [next?.readUInt16BE(0) ?? firstDatabase, next?.readUInt16BE(2) ?? firstContainer]
  for (const { database, container, page, classNumber } of used) {
    const key = containerKey(database, container)
    const row = await snapshot.view(key, (value) => decodeRow(key, value))
    if (row !== undefined && row.nextPage > page) continue
    changes.push({ kind: 'put', key, value: encodeRow(classNumber, page + 1, row?.stripe ?? 0) })
    const isPastNext = database > nextDatabase || (database === nextDatabase && container >= nextContainer)
    if (!isPastNext) continue
    nextDatabase = container === containerMax ? database + 1 : database
    nextContainer = container === containerMax ? firstContainer : container + 1
  }
  const value = Buffer.alloc(4)
  value.writeUInt16BE(nextDatabase, 0)
  value.writeUInt16BE(nextContainer, 2)
  changes.push({ kind: 'put', key: nextContainerKey, value })
  return changes
}

/** Combines the two into one number. */
function pageNumber(classNumber: ClassNumber, stripe: number): number {
  return classNumber * (stripes + 1) + stripe
}

/** The stripes of the first processes are distinct. */
function stripesOf(sessionNumber: number): number[] {
  const step = stripes / stripesOfProcess
  return Array.from({ length: stripesOfProcess }, (_, i) => 1 + ((sessionNumber + i * step) % stripes))
}

const rowBytes = 8

/** The stripe is omitted if 0, as in rows of stores without stripes. */
function encodeRow(classNumber: ClassNumber, nextPage: number, stripe: number): Buffer {
  const value = Buffer.alloc(stripe === 0 ? rowBytes : rowBytes + 1)
  value.writeUInt32BE(classNumber, 0)
  value.writeUInt32BE(nextPage, 4)
  if (stripe > 0) value.writeUInt8(stripe, rowBytes)
  return value
}

function decodeRow(key: Bytes, value: Bytes): ContainerRow {
  const keyBytes = Buffer.from(key)
  const stored = Buffer.from(value)
  return {
    database: keyBytes.readUInt16BE(1),
    container: keyBytes.readUInt16BE(3),
    classNumber: readClassNumber(stored),
    nextPage: stored.readUInt32BE(4),
    stripe: stored.length > rowBytes ? stored.readUInt8(rowBytes) : 0,
    stored,
  }
}

function readClassNumber(value: Bytes): ClassNumber {
  return Buffer.from(value.buffer, value.byteOffset, value.length).readUInt32BE(0) as ClassNumber
}
