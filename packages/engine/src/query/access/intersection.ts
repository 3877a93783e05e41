/** Intersects two access paths, if reading entries of both costs less than reading the objects of one. */
import type { Oid } from '../../types/oid.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { OidAccess } from './access-path.ts'
import { OidSet } from './oid-set.ts'
import { OidBatch, type OidSource } from './oid-source.ts'

/** The cost of reading an object, in entries. */
const objectShare = 8
/** Below this number, objects are read without considering another access. */
const objectsMin = 256

interface Narrowing {
  readonly access: OidAccess
  readonly estimated: number
}

/** Finds the access that leaves the fewest objects of `narrowest`, if it saves work. `objects`: size of the class. For synchronous stores only. */
export async function intersectionOf(
  narrowest: Narrowing,
  accesses: readonly OidAccess[],
  objects: number,
  evaluation: EvaluationContext,
  context: StatementContext,
  note: (access: OidAccess, estimated: number, max: number) => void,
): Promise<Intersection | undefined> {
  const { access, estimated } = narrowest
  if (context.isRemote || estimated < objectsMin || access.source === undefined) return undefined
  // More entries than this would cost more than they can save.
  let max = Math.min(objects, estimated * objectShare)
  let found: OidAccess | undefined
  for (const other of accesses) {
    if (other.source === undefined || !areDisjoint(other, access)) continue
    const entries = await other.estimate(evaluation, context, max)
    note(other, entries, max)
    const left = (estimated * entries) / objects
    if (entries >= max || estimated + entries + left * objectShare >= estimated * objectShare) continue
    max = entries
    found = other
  }
  return found && new Intersection(access, found)
}

/** Whether they answer conditions on different attributes. */
function areDisjoint({ narrowedBy = [] }: OidAccess, other: OidAccess): boolean {
  return narrowedBy.length > 0 && narrowedBy.every((attribute) => other.narrowedBy?.includes(attribute) === false)
}

export class Intersection implements OidAccess {
  readonly rank = 0
  readonly isAtMostOne = false
  readonly conjunctsAnswered: number
  readonly mayRepeat: boolean
  readonly entries: string | undefined
  private readonly few: OidAccess
  private readonly many: OidAccess

  /** `few`: its OIDs are held in memory. */
  constructor(few: OidAccess, many: OidAccess) {
    this.few = few
    this.many = many
    this.conjunctsAnswered = few.conjunctsAnswered + many.conjunctsAnswered
    this.mayRepeat = many.mayRepeat
    this.entries = few.entries ?? many.entries
  }

  describe(className: string): ExplainNode {
    const inputs = [this.few, this.many].map((access) => access.describe(className))
    return explainNode('intersection', { class: className }, inputs)
  }

  estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number> {
    return this.few.estimate(evaluation, context, max)
  }

  async *oids(evaluation: EvaluationContext, context: StatementContext, plan: ExplainNode): AsyncGenerator<Oid[]> {
    const [fewNode, manyNode] = plan.inputs as [ExplainNode, ExplainNode]
    const fewOids = new Set<Oid>()
    for await (const oids of context.measured(this.few.oids(evaluation, context, fewNode), fewNode)) {
      fewNode.returned += oids.length
      context.hold(0, oids.length * oidBytes)
      for (const oid of oids) fewOids.add(oid)
    }
    for await (const oids of context.measured(this.many.oids(evaluation, context, manyNode), manyNode)) {
      manyNode.returned += oids.length
      plan.examined += oids.length
      const both = oids.filter((oid) => fewOids.has(oid))
      if (both.length > 0) yield both
    }
  }

  async source(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode | undefined,
  ): Promise<OidSource> {
    const [fewNode, manyNode] = plan?.inputs ?? []
    const few = await this.few.source?.(evaluation, context, fewNode)
    const many = await this.many.source?.(evaluation, context, manyNode)
    return few === undefined || many === undefined ? nothing : new IntersectedSource(few, many, context, plan)
  }
}

const oidBytes = 64
const nothing: OidSource = { next: () => false }

const oidsPerBatch = 4_096

class IntersectedSource implements OidSource {
  private readonly few: OidSource
  private readonly many: OidSource
  private readonly context: StatementContext
  private readonly plan: ExplainNode | undefined
  private readonly fewOids = new OidSet()
  private readonly candidates = new OidBatch(oidsPerBatch)
  private at = 0
  private isLoaded = false
  private hasMore = true

  constructor(few: OidSource, many: OidSource, context: StatementContext, plan: ExplainNode | undefined) {
    this.plan = plan
    this.few = few
    this.many = many
    this.context = context
  }

  /** A batch may be empty, so that the caller can yield before the next. */
  next(batch: OidBatch): boolean {
    const { candidates, fewOids } = this
    if (!this.isLoaded) {
      this.hold()
      return true
    }
    if (this.at === candidates.count) {
      if (!this.hasMore) return false
      candidates.count = 0
      this.at = 0
      this.hasMore = this.many.next(candidates)
      this.counted(1)
      if (this.plan !== undefined) this.plan.examined += candidates.count
    }
    while (this.at < candidates.count && !batch.isFull) {
      const nth = this.at++
      if (fewOids.has(candidates.highAt(nth), candidates.lowAt(nth))) batch.addOf(candidates, nth)
    }
    return this.hasMore || this.at < candidates.count
  }

  private counted(input: number): void {
    const node = this.plan?.inputs[input]
    if (node !== undefined) node.returned += this.candidates.count
  }

  private hold(): void {
    const { candidates, fewOids } = this
    const before = fewOids.count
    this.isLoaded = !this.few.next(candidates)
    for (let nth = 0; nth < candidates.count; nth++) fewOids.add(candidates.highAt(nth), candidates.lowAt(nth))
    this.counted(0)
    candidates.count = 0
    this.context.hold(0, (fewOids.count - before) * OidSet.bytesOfOne)
  }
}
