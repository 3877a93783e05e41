/**
 * The objects that edges lead to from one object, each once, where nothing asks for the edges by which they are reached: breadth first, by the bytes
 * of OIDs alone. Each record is read once, and only of objects that may be an end something is kept.
 */
import { keySpace } from '../../bytes/key-space.ts'
import { readInt32 } from '../../bytes/read-number.ts'
import { assert } from '../../errors.ts'
import type { AttributeFormat, ClassFormat } from '../../records/class-format.ts'
import { linkHeaderBytes, linkKind, linkRange } from '../../records/link-keys.ts'
import { objectKeyBytes, objectKeyHeaderBytes } from '../../records/object-key.ts'
import type { Bytes, KeyRange, Snapshot } from '../../store/store.ts'
import { noOid, type Oid, oidFromBytes, oidLength, writeOidBytes } from '../../types/oid.ts'
import type { ClassNumber } from '../../types/type-spec.ts'
import { OidSet } from '../access/oid-set.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { Expansion } from './expansion.ts'
import { mayBeMetAgain } from './path-modes.ts'

/** Objects, and edges of a list, after which others have their turn if it is time. */
const objectsBetweenTurns = 16
const edgesAtOnce = 2_048
const viewsAtOnce = 256

const followedTypes: readonly string[] = ['reference', 'list', 'set']

/** Whether the ends of the pattern's paths can be found so: one path to each is enough, and nobody sees its edges. */
export function isOfReached(expansion: Expansion): boolean {
  const { pattern, edge, edges, context, isToBound, far, ends, toPosition } = expansion
  const { selection, name } = pattern
  if (context.isRemote || context.snapshot.visit === undefined) return false
  if (selection?.kind !== 'any' && selection?.kind !== 'anyShortest') return false
  if (name !== undefined || edge.name !== undefined || edge.edgeObject !== undefined) return false
  if (edges.direction !== 'forward' || edge.min !== 1 || edge.max < 2) return false
  if (isToBound || far !== undefined || ends !== undefined || mayBeMetAgain(pattern, toPosition)) return false
  return edge.attributes.every(({ attribute, edge: through }) => {
    return through === undefined && followedTypes.includes(attribute.spec.logicalType)
  })
}

export class ReachableObjects {
  private readonly expansion: Expansion
  private readonly numbers: ReadonlySet<number>
  private readonly outgoing = new Map<ClassNumber, readonly AttributeFormat[]>()
  private readonly met = new OidSet()
  private readonly key = Buffer.allocUnsafe(objectKeyBytes)
  private readonly oidBytes = Buffer.allocUnsafe(oidLength)
  private charged = 0
  private followed = 0
  /** Of the object at hand. */
  private isEnd = false
  private mayGoOn = false
  private format: ClassFormat | undefined
  private view: ObjectView | undefined

  constructor(expansion: Expansion) {
    this.expansion = expansion
    this.numbers = new Set(expansion.edge.attributes.map(({ attribute }) => attribute.number))
    this.key[0] = keySpace.object
  }

  /** Those of the class of the end, the nearest first. */
  async *from(start: ObjectView): AsyncGenerator<readonly ObjectView[]> {
    const { context, edge } = this.expansion
    const { met } = this
    this.meet(start.oid)
    this.followed = 0
    let views: ObjectView[] = []
    let endOfLevel = 1
    for (let number = 0, length = 0; number < met.count; number++) {
      if (number === endOfLevel) {
        length++
        endOfLevel = met.count
      }
      this.isEnd = length > 0
      this.mayGoOn = length < edge.max
      const wait = this.look(number)
      if (wait !== undefined) await wait
      if (this.view !== undefined) views.push(this.view)
      if (views.length === viewsAtOnce) {
        yield views
        views = []
      }
      if (number % objectsBetweenTurns > 0) continue
      this.note()
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    this.note()
    if (views.length > 0) yield views
  }

  /** When they are no longer needed. May be called again. */
  release(): void {
    this.expansion.context.hold(-this.charged, -this.charged * OidSet.bytesOfOne)
    this.charged = 0
  }

  /** Reads an object, and meets what it refers to. */
  private look(number: number): Promise<void> | undefined {
    const { met, key, expansion } = this
    const { snapshot, reader } = expansion.context
    key.writeInt32BE(met.highAt(number), objectKeyHeaderBytes)
    key.writeInt32BE(met.lowAt(number), objectKeyHeaderBytes + 4)
    this.view = undefined
    this.format = undefined
    const read = snapshot.view(key, this.take)
    assert(!(read instanceof Promise), 'a store whose reads are immediate answers at once')
    reader.objectsRead++
    const { format } = this
    return format === undefined || !this.mayGoOn ? undefined : this.followLists(format, snapshot)
  }

  /** The record is borrowed. */
  private readonly take = (record: Bytes): true => {
    const { to, context } = this.expansion
    const borrowed = context.reader.view(undefined, this.key, record)
    const { format } = borrowed
    if (format === undefined) return true
    this.format = format
    if (this.isEnd && (to.cls === null || format.cls.isOrInherits(to.cls.number))) this.view = borrowed.copy()
    if (!this.mayGoOn) return true
    for (const attribute of this.outgoingOf(format)) {
      if (attribute.linkStorage !== undefined) continue
      const at = borrowed.locateReference(attribute.index)
      if (at >= 0 && attribute.attribute.spec.logicalType === 'reference') this.meetAt(record, at)
      else this.meetAll(borrowed.value(attribute.index))
    }
    return true
  }

  private followLists(format: ClassFormat, snapshot: Snapshot): Promise<void> | undefined {
    const lists = this.outgoingOf(format).filter(({ linkStorage }) => linkStorage !== undefined)
    if (lists.length === 0) return undefined
    const owner = oidFromBytes(this.key, objectKeyHeaderBytes)
    return this.followFrom(lists, 0, undefined, owner, snapshot)
  }

  /** `rest`: of the first list, where a part of it was followed. */
  private followFrom(
    lists: readonly AttributeFormat[],
    first: number,
    rest: KeyRange | undefined,
    owner: Oid,
    snapshot: Snapshot,
  ): Promise<void> | undefined {
    for (let i = first, range = rest; i < lists.length; i++, range = undefined) {
      const { attribute, linkStorage } = lists[i] as AttributeFormat
      const isSet = linkStorage === 'set'
      const all = range ?? linkRange(owner, attribute.number, isSet ? linkKind.target : linkKind.position)
      let count = 0
      const last = snapshot.visit?.(all, false, (key, value) => {
        this.meetAt(isSet ? key : value, isSet ? linkHeaderBytes : 0)
        return ++count < edgesAtOnce
      })
      this.expansion.context.reader.linksRead += count
      if (last === undefined) continue
      const next = { ...all, from: Buffer.concat([last, Buffer.of(0)]) }
      this.note()
      const pause = this.expansion.context.yieldIfDue() ?? Promise.resolve()
      return pause.then(() => this.followFrom(lists, i, next, owner, snapshot))
    }
    return undefined
  }

  private outgoingOf(format: ClassFormat): readonly AttributeFormat[] {
    let found = this.outgoing.get(format.cls.number)
    if (found === undefined) {
      found = format.attributes.filter(({ attribute }) => this.numbers.has(attribute.number))
      this.outgoing.set(format.cls.number, found)
    }
    return found
  }

  /** What a reference, or a collection of them, in a record names. */
  private meetAll(held: unknown): void {
    for (const oid of Array.isArray(held) ? held : [held]) if (oid !== null && oid !== noOid) this.meet(oid as Oid)
  }

  private meet(oid: Oid): void {
    writeOidBytes(oid, this.oidBytes, 0)
    this.meetAt(this.oidBytes, 0)
  }

  private meetAt(bytes: Bytes, at: number): void {
    const high = readInt32(bytes, at)
    const low = readInt32(bytes, at + 4)
    if (high === 0 && low === 0) return
    this.followed++
    this.met.add(high, low)
  }

  /** Throws LimitExceeded and ServerBusy. */
  private note(): void {
    const { context, operator } = this.expansion
    const more = this.met.count - this.charged
    context.hold(more, more * OidSet.bytesOfOne)
    this.charged += more
    operator.examined += this.followed
    context.expand(this.followed)
    this.followed = 0
  }
}
