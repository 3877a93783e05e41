/** Intersects two access paths, if reading entries of both costs less than reading the objects of one. */
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import { inputOf, type OidAccess } from './access-path.ts'
import type { OidBatches } from './oid-batch.ts'
import { OidSet } from './oid-set.ts'

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
  if (context.isRemote || estimated < objectsMin) return undefined
  // More entries than this would cost more than they can save.
  let max = Math.min(objects, estimated * objectShare)
  let found: OidAccess | undefined
  for (const other of accesses) {
    if (!areDisjoint(other, access)) continue
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

  async *oids(evaluation: EvaluationContext, context: StatementContext, plan: ExplainNode, size?: number): OidBatches {
    const [fewNode, manyNode] = [inputOf(plan, 0), inputOf(plan, 1)]
    const fewOids = new OidSet()
    for await (const oids of context.measured(this.few.oids(evaluation, context, fewNode), fewNode)) {
      fewNode.returned += oids.count
      const before = fewOids.count
      for (let nth = 0; nth < oids.count; nth++) fewOids.add(oids.highAt(nth), oids.lowAt(nth))
      context.hold(0, (fewOids.count - before) * OidSet.bytesOfOne)
      await context.yieldIfDue()
    }
    for await (const oids of context.measured(this.many.oids(evaluation, context, manyNode, size), manyNode)) {
      manyNode.returned += oids.count
      plan.examined += oids.count
      oids.retain((high, low) => fewOids.has(high, low))
      yield oids
    }
  }
}
