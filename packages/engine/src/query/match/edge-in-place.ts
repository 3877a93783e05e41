/** Follows a pattern of one edge without allocating steps, edges or rows: OIDs are read in batches in place. For local stores and unused edges. */
import { readInt32 } from '../../bytes/read-number.ts'
import { linkHeaderBytes, linkKind, linkRange } from '../../records/link-keys.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import { noOid, type Oid, oidLength, writeOidBytes } from '../../types/oid.ts'
import { OidSet } from '../access/oid-set.ts'
import { OidBatch, restOf } from '../access/oid-source.ts'
import type { ReferenceAttribute } from '../bind/reference-attributes.ts'
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { directionOf } from './edge-ends.ts'
import type { EdgeStep } from './expansion.ts'
import { IncidentEdges, type Link } from './incident-edges.ts'
import { type MatchFlow, type NextVertex, yieldBeforeNext } from './match-operator.ts'
import { isDecidedAtEnd, mayRevisit } from './path-modes.ts'

const followedTypes: readonly string[] = ['reference', 'list', 'set']

/** Returns undefined if the edge itself is needed or cannot be found from the object. */
export function edgeInPlace(step: EdgeStep, flow: MatchFlow, node: ExplainNode): NextVertex | undefined {
  const { pattern, edge, to, farSearch, isToBound, ends, patterns } = step
  const { formats } = flow.context
  if (patterns.length > 1 || pattern.selection !== undefined || pattern.name !== undefined) return undefined
  if (pattern.mode === 'trail' || isDecidedAtEnd(pattern)) return undefined
  if (edge.min !== 1 || edge.max !== 1 || edge.name !== undefined || edge.edgeObject !== undefined) return undefined
  if (isToBound || farSearch !== undefined || ends !== undefined || to.narrowed.length > 0) return undefined
  const direction = directionOf(step)
  if (direction === 'either') return undefined
  const isFollowed = ({ attribute, edge: through, inverse, referencedClass }: ReferenceAttribute): boolean => {
    if (through !== undefined) return false
    if (direction === 'forward') return followedTypes.includes(attribute.spec.logicalType)
    const partner = inverse === null ? undefined : formats.of(referencedClass).attribute(inverse)
    return partner !== undefined && followedTypes.includes(partner.attribute.spec.logicalType)
  }
  return edge.attributes.every(isFollowed) ? new EdgeInPlace(step, flow, node) : undefined
}

const referencesPerBatch = 512
/** Non-qualifying objects between checks of the clock, less one; a bit mask. */
const clockCheckMask = 31

class EdgeInPlace implements NextVertex {
  readonly slot: number
  readonly conditions: readonly Evaluate[]
  private readonly step: EdgeStep
  private readonly node: ExplainNode
  private readonly context: StatementContext
  private readonly mayRevisit: boolean
  /** Slots of the vertices of the pattern that are already bound. */
  private readonly before: readonly number[]
  private readonly edges: IncidentEdges
  private readonly batch = new OidBatch(referencesPerBatch)
  private at = 0
  private passed = 0
  private view: ObjectView | undefined
  /** OIDs of the objects that must not be visited again. */
  private readonly visitedOids: Int32Array
  private links: readonly Link[] = []
  private linkAt = 0
  /** The unread rest of the current collection, in the store or in the record. */
  private rest: KeyRange | undefined
  private recordOids: readonly Oid[] = []
  private nextRecordOid = 0
  private isSet = false
  private hasLinkEntries = false
  private seen: OidSet | undefined

  constructor(step: EdgeStep, flow: MatchFlow, node: ExplainNode) {
    this.node = node
    const { to, predicates, pattern, toPosition, before } = step
    this.step = step
    this.slot = to.slot
    this.conditions = predicates.map(({ evaluate }) => evaluate)
    this.context = flow.context
    this.edges = new IncidentEdges(step, flow)
    this.mayRevisit = mayRevisit(pattern, toPosition)
    this.before = this.mayRevisit ? [] : before
    this.visitedOids = new Int32Array(2 * this.before.length)
  }

  begin(slots: readonly unknown[]): void {
    const view = slots[this.step.from.slot] as ObjectView
    this.view = view
    this.links = this.edges.linksAt(view, 0)
    this.linkAt = 0
    this.rest = undefined
    this.recordOids = []
    this.nextRecordOid = 0
    this.batch.count = 0
    this.at = 0
    const { before, visitedOids } = this
    for (let i = 0; i < before.length; i++) writeHalves(slots[before[i] as number] as ObjectView, visitedOids, 2 * i)
  }

  next(): ObjectView | undefined | typeof yieldBeforeNext {
    const { batch, context } = this
    for (;;) {
      while (this.at < batch.count) {
        const view = this.objectAt(this.at++)
        if (view !== undefined) return view
        if ((++this.passed & clockCheckMask) === 0 && context.isYieldDue) return yieldBeforeNext
      }
      if (this.rest !== undefined || this.nextRecordOid < this.recordOids.length) {
        this.fill()
        return yieldBeforeNext
      }
      const link = this.links[this.linkAt++]
      if (link === undefined) return undefined
      this.follow(link)
    }
  }

  private objectAt(nth: number): ObjectView | undefined {
    const { batch, context, step } = this
    if (!this.mayRevisit && this.isVisited(batch.highAt(nth), batch.lowAt(nth))) return undefined
    const { reader } = context
    const { bytes } = batch
    const at = nth * oidLength
    // Objects behind the first edge of a row are rarely shared with other rows, so they are not cached.
    const isCached = !this.hasLinkEntries || step.before.length > 1
    const view = isCached ? reader.objectAt(bytes, at) : reader.objectOnceAt(bytes, at)
    const cls = view?.format?.cls
    if (cls === undefined) return undefined
    const { to } = step
    return to.cls === null || cls.isOrInherits(to.cls.number) ? view : undefined
  }

  private isVisited(high: number, low: number): boolean {
    const { visitedOids } = this
    for (let i = 0; i < visitedOids.length; i += 2)
      if (visitedOids[i] === high && visitedOids[i + 1] === low) return true
    return false
  }

  private follow({ attribute, isForward, reference }: Link): void {
    if (attribute === undefined) return
    const { batch } = this
    const view = this.view as ObjectView
    batch.count = 0
    this.at = 0
    const { index, linkStorage } = attribute
    this.hasLinkEntries = linkStorage !== undefined
    const isCollection = attribute.attribute.spec.logicalType !== 'reference'
    // Links with an inverse contain each object once.
    const mayRepeat = isForward && reference.inverse === null
    this.seen = mayRepeat && isCollection ? new OidSet() : undefined
    if (linkStorage !== undefined) {
      this.isSet = linkStorage === 'set'
      const kind = this.isSet ? linkKind.target : linkKind.position
      this.rest = linkRange(view.oid, attribute.attribute.number, kind)
      return
    }
    const at = isCollection ? -1 : view.locateReference(index)
    if (at < 0) {
      const value = view.value(index)
      this.recordOids = Array.isArray(value) ? value : value === null ? [] : [value as Oid]
      this.nextRecordOid = 0
      return
    }
    if (readInt32(view.record, at) === 0 && readInt32(view.record, at + 4) === 0) return
    batch.addFrom(view.record, at)
    this.node.examined++
    this.context.expand(1)
  }

  private fill(): void {
    const { batch, context } = this
    batch.count = 0
    this.at = 0
    if (this.rest === undefined) this.fillFromRecord()
    else {
      const last = context.snapshot.visit?.(this.rest, false, this.take)
      this.rest = last && restOf(this.rest, last, false)
      context.reader.linksRead += batch.count
    }
    // Throws LimitExceeded.
    this.node.examined += batch.count
    context.expand(batch.count)
  }

  private readonly take = (key: Bytes, value: Bytes): boolean => {
    return this.isSet ? this.add(key, linkHeaderBytes) : this.add(value, 0)
  }

  private add(bytes: Bytes, at: number): boolean {
    const [high, low] = [readInt32(bytes, at), readInt32(bytes, at + 4)]
    if ((high === 0 && low === 0) || this.seen?.add(high, low) === false) return true
    return this.batch.addFrom(bytes, at)
  }

  private fillFromRecord(): void {
    const { recordOids, batch } = this
    while (this.nextRecordOid < recordOids.length && !batch.isFull) {
      const oid = recordOids[this.nextRecordOid++] as Oid
      if (oid === noOid) continue
      writeOidBytes(oid, oidBytes, 0)
      this.add(oidBytes, 0)
    }
  }
}

const oidBytes = Buffer.allocUnsafe(oidLength)

function writeHalves(view: ObjectView, to: Int32Array, at: number): void {
  if (view.key === undefined) writeOidBytes(view.oid, oidBytes, 0)
  const [bytes, from] = view.key === undefined ? [oidBytes, 0] : [view.key, 1]
  to[at] = readInt32(bytes, from)
  to[at + 1] = readInt32(bytes, from + 4)
}
