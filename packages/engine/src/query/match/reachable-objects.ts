/** The distinct objects reachable from an object if the edges are unused: breadth first over the bytes of OIDs, with each record read once. */
import { keySpace } from '../../bytes/key-space.ts'
import { readInt32 } from '../../bytes/read-number.ts'
import { assert } from '../../errors.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import { linkHeaderBytes, linkKind, linkRange } from '../../records/link-keys.ts'
import { objectKeyBytes, objectKeyHeaderBytes } from '../../records/object-key.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import { noOid, type Oid, oidFromBytes, oidLength, writeOidBytes } from '../../types/oid.ts'
import { OidSet } from '../access/oid-set.ts'
import { restOf } from '../access/oid-source.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { Expansion } from './expansion.ts'
import { mayRevisit } from './path-modes.ts'

/** Objects, and edges of a list, between checks of the clock. */
const objectsPerYield = 16
const edgesPerBatch = 2_048
const endsPerBatch = 256

const followedTypes: readonly string[] = ['reference', 'list', 'set']

/** Whether the pattern allows this search: one path to each end is enough, and its edges are unused. */
export function isReachability(expansion: Expansion): boolean {
  const { pattern, edge, edges, context, isToBound, farSearch, ends, toPosition } = expansion
  const { selection, name } = pattern
  if (context.isRemote || context.snapshot.visit === undefined) return false
  if (selection?.kind !== 'any' && selection?.kind !== 'anyShortest') return false
  if (name !== undefined || edge.name !== undefined || edge.edgeObject !== undefined) return false
  if (edges.direction !== 'forward' || edge.min !== 1 || edge.max < 2) return false
  if (isToBound || farSearch !== undefined || ends !== undefined || mayRevisit(pattern, toPosition)) return false
  return edge.attributes.every(({ attribute, edge: through }) => {
    return through === undefined && followedTypes.includes(attribute.spec.logicalType)
  })
}

export class ReachableObjects {
  private readonly expansion: Expansion
  /** Numbered in the order of visits, so objects of one distance are contiguous. */
  private readonly visited = new OidSet()
  private readonly key = Buffer.allocUnsafe(objectKeyBytes)
  private charged = 0
  private followed = 0
  private distance = 0
  private end: ObjectView | undefined
  private lists: AttributeFormat[] = []

  constructor(expansion: Expansion) {
    this.expansion = expansion
    this.key[0] = keySpace.object
  }

  /** Yields the objects of the class of the end, nearest first. */
  async *from(start: ObjectView): AsyncGenerator<readonly ObjectView[]> {
    const { visited } = this
    const { context } = this.expansion
    this.reach(start.oid)
    this.followed = 0
    let ends: ObjectView[] = []
    for (let number = 0, levelEnd = 1; number < visited.count; number++) {
      if (number === levelEnd) {
        this.distance++
        levelEnd = visited.count
      }
      this.expand(number)
      for (const { attribute, linkStorage } of this.lists) {
        const isSet = linkStorage === 'set'
        const owner = oidFromBytes(this.key, objectKeyHeaderBytes)
        const all = linkRange(owner, attribute.number, isSet ? linkKind.target : linkKind.position)
        for (let rest = this.followList(all, isSet); rest !== undefined; rest = this.followList(rest, isSet)) {
          this.note()
          const pause = context.yieldIfDue()
          if (pause !== undefined) await pause
        }
      }
      if (this.end !== undefined) ends.push(this.end)
      if (ends.length === endsPerBatch) {
        yield ends
        ends = []
      }
      if (number % objectsPerYield > 0) continue
      this.note()
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    this.note()
    if (ends.length > 0) yield ends
  }

  /** May be called more than once. */
  release(): void {
    this.expansion.context.hold(-this.charged, -this.charged * OidSet.bytesOfOne)
    this.charged = 0
  }

  /** Reads an object, and follows the references in its record. */
  private expand(number: number): void {
    const { visited, key } = this
    const { snapshot, reader } = this.expansion.context
    key.writeInt32BE(visited.highAt(number), objectKeyHeaderBytes)
    key.writeInt32BE(visited.lowAt(number), objectKeyHeaderBytes + 4)
    this.end = undefined
    this.lists = []
    const read = snapshot.view(key, this.take)
    assert(!(read instanceof Promise), 'a store whose reads are immediate answers at once')
    reader.objectsRead++
  }

  /** The record is borrowed. */
  private readonly take = (record: Bytes): true => {
    const { to, edge, edges, context } = this.expansion
    const borrowed = context.reader.view(undefined, this.key, record)
    const { format } = borrowed
    if (format === undefined) return true
    const isEnd = this.distance > 0 && (to.cls === null || format.cls.isOrInherits(to.cls.number))
    if (isEnd) this.end = borrowed.copy()
    if (this.distance === edge.max) return true
    this.lists = []
    for (const link of edges.linksAt(borrowed, this.distance)) {
      const { attribute, index, linkStorage } = link.attribute as AttributeFormat
      if (linkStorage !== undefined) {
        this.lists.push(link.attribute as AttributeFormat)
        continue
      }
      const at = attribute.spec.logicalType === 'reference' ? borrowed.locateReference(index) : -1
      if (at >= 0) this.reachAt(record, at)
      else {
        const references = borrowed.value(index)
        for (const oid of Array.isArray(references) ? references : [references])
          if (oid !== null && oid !== noOid) this.reach(oid as Oid)
      }
    }
    return true
  }

  /** Follows a batch of the edges in the range; returns the rest of the range. */
  private followList(range: KeyRange, isSet: boolean): KeyRange | undefined {
    const { snapshot, reader } = this.expansion.context
    let count = 0
    const last = snapshot.visit?.(range, false, (key, value) => {
      this.reachAt(isSet ? key : value, isSet ? linkHeaderBytes : 0)
      return ++count < edgesPerBatch
    })
    reader.linksRead += count
    return last && restOf(range, last, false)
  }

  private reach(oid: Oid): void {
    writeOidBytes(oid, oidBytes, 0)
    this.reachAt(oidBytes, 0)
  }

  private reachAt(bytes: Bytes, at: number): void {
    const high = readInt32(bytes, at)
    const low = readInt32(bytes, at + 4)
    if (high === 0 && low === 0) return
    this.followed++
    this.visited.add(high, low)
  }

  /** Throws LimitExceeded and ServerBusy. */
  private note(): void {
    const { context, operator } = this.expansion
    const more = this.visited.count - this.charged
    context.hold(more, more * OidSet.bytesOfOne)
    this.charged += more
    operator.examined += this.followed
    context.expand(this.followed)
    this.followed = 0
  }
}

const oidBytes = Buffer.allocUnsafe(oidLength)
