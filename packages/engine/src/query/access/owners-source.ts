/** The objects that refer to given ones, for a synchronous store: their OIDs from links or index entries, one target after the other. */
import { readInt32 } from '../../bytes/read-number.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { OidSet } from './oid-set.ts'
import { OidBatch, type OidSource, restOf } from './oid-source.ts'

/** The entries with the OIDs of an object's owners, or its only owner; undefined if there is none. */
export type Owners = KeyRange | Oid | undefined

export interface OwnersPlan {
  ownersOf(target: Oid): Owners
  /** Whether the OID is in the key or in the value. */
  readonly isInKey: boolean
  readonly at: number
  readonly mayQualify: ((key: Bytes) => boolean) | undefined
}

/** The maximum numbers of entries passed over and of target objects per batch. */
const passedMax = 1_024
const objectsMax = 256

export class OwnersSource implements OidSource {
  private readonly targets: OidSource
  private readonly plan: OwnersPlan
  private readonly context: StatementContext
  private readonly targetBatch = new OidBatch(objectsMax)
  private targetAt = 0
  private hasMoreTargets = true
  /** The rest of the owners of the current target. */
  private rest: KeyRange | undefined
  private readonly seen: OidSet | undefined
  private passed = 0
  private examined = 0
  private readonly explained: ExplainNode | undefined

  /** `mayRepeat`: an owner may refer to several targets, or a target may repeat. */
  constructor(
    targets: OidSource,
    plan: OwnersPlan,
    mayRepeat: boolean,
    context: StatementContext,
    explained: ExplainNode | undefined,
  ) {
    this.explained = explained
    this.targets = targets
    this.plan = plan
    this.seen = mayRepeat ? new OidSet() : undefined
    this.context = context
  }

  next(batch: OidBatch): boolean {
    const { context, seen } = this
    const before = seen?.count ?? 0
    this.passed = 0
    const take = (key: Bytes, value: Bytes): boolean => this.takeEntry(key, value, batch)
    for (let objects = 0; !batch.isFull && this.passed < passedMax && objects < objectsMax; ) {
      const range = this.rest ?? this.nextOwners()
      objects++
      if (range === undefined) {
        if (this.isAtEnd) break
      } else if (typeof range === 'string') this.takeText(range, batch)
      else {
        const last = context.snapshot.visit?.(range, false, take)
        this.rest = last && restOf(range, last, false)
      }
    }
    if (this.explained !== undefined) this.explained.examined += this.examined
    this.examined = 0
    if (seen !== undefined) context.hold(0, (seen.count - before) * OidSet.bytesOfOne)
    return !this.isAtEnd
  }

  private get isAtEnd(): boolean {
    return this.rest === undefined && this.targetAt === this.targetBatch.count && !this.hasMoreTargets
  }

  private nextOwners(): Owners {
    const { targetBatch } = this
    if (this.targetAt === targetBatch.count) {
      if (!this.hasMoreTargets) return undefined
      targetBatch.count = 0
      this.targetAt = 0
      this.hasMoreTargets = this.targets.next(targetBatch)
      const found = this.explained?.inputs[0]
      if (found !== undefined) found.returned += targetBatch.count
      if (targetBatch.count === 0) return undefined
    }
    return this.plan.ownersOf(targetBatch.oidAt(this.targetAt++))
  }

  private takeEntry(key: Bytes, value: Bytes, batch: OidBatch): boolean {
    this.examined++
    const { isInKey, at, mayQualify } = this.plan
    const bytes = isInKey ? key : value
    const isNew = this.seen?.add(readInt32(bytes, at), readInt32(bytes, at + 4)) !== false
    if (isNew && (mayQualify === undefined || mayQualify(key))) return batch.addFrom(bytes, at)
    return ++this.passed < passedMax
  }

  private takeText(oid: Oid, batch: OidBatch): void {
    this.examined++
    if (oid === noOid) return
    batch.addText(oid)
    const nth = batch.count - 1
    if (this.seen?.add(batch.highAt(nth), batch.lowAt(nth)) === false) batch.count--
  }
}

export class ChainedSource implements OidSource {
  private readonly sources: readonly OidSource[]
  private at = 0

  constructor(sources: readonly OidSource[]) {
    this.sources = sources
  }

  next(batch: OidBatch): boolean {
    if (this.sources[this.at]?.next(batch) === false) this.at++
    return this.at < this.sources.length
  }
}
