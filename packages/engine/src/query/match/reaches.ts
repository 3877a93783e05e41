/** What bounds the walks of one run of an edge pattern: what can still reach their end, or one of the few that they may have. */

import type { Oid } from '../../types/oid.ts'
import { objectRows } from '../access/object-rows.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { isFoundFromFarEnd, turned } from './edge-ends.ts'
import type { EdgeStep } from './expansion.ts'
import type { MatchFlow } from './match-operator.ts'
import type { MatchRow } from './match-row.ts'
import { Reach, type WayBack, wayBackOf } from './reach.ts'

/** Ends of rows of which so much is kept: rows that come later may have them again. */
const endsKept = 16

/** Whether walks can be bounded: there are several edges to them, which are found from the end that they have or may have. */
export function isBounded(step: EdgeStep): boolean {
  const { edge, isToBound, ends } = step
  return edge.max > 1 && (isToBound || ends !== undefined) && isFoundFromFarEnd(step)
}

/** For EXPLAIN: the vertex that walks have to be able to reach. */
export function boundDetails(step: EdgeStep): Readonly<Record<string, unknown>> {
  return isBounded(step) ? { boundedFrom: step.to.name ?? null } : {}
}

export class Reaches {
  private readonly step: EdgeStep
  private readonly flow: MatchFlow
  private readonly way: WayBack
  private readonly ofEnds = new Map<Oid, Reach>()
  private ofAll: Reach | undefined

  constructor(step: EdgeStep, flow: MatchFlow) {
    this.step = step
    this.flow = flow
    this.way = wayBackOf(turned(step, step.from), flow)
  }

  /** For the walks of the row. */
  async of(row: MatchRow): Promise<Reach> {
    const { isToBound, to, ends } = this.step
    if (!isToBound) {
      const { evaluation, context } = this.flow
      if (this.ofAll === undefined && ends !== undefined)
        this.ofAll = new Reach(this.way, objectRows(to.objects, ends, evaluation, context, undefined).rows)
      return this.ofAll as Reach
    }
    const end = row.slots[to.slot] as ObjectView
    const known = this.ofEnds.get(end.oid)
    if (known !== undefined) return known
    for (const [oid, reach] of this.ofEnds) {
      if (this.ofEnds.size < endsKept) break
      this.ofEnds.delete(oid)
      await reach.close()
    }
    const reach = new Reach(this.way, once(end))
    this.ofEnds.set(end.oid, reach)
    return reach
  }

  /** When no more rows are taken. */
  async close(): Promise<void> {
    for (const reach of this.ofEnds.values()) await reach.close()
    await this.ofAll?.close()
  }
}

async function* once(view: ObjectView): AsyncGenerator<readonly ObjectView[]> {
  yield [view]
}
