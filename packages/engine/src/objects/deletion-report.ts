/** The effects of a deletion by attribute, as the reply of a dry run (contract 10.4). */
import { inParts } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { ChangeGuard } from '../write/change-guard.ts'
import { type ObjectState, objectBatchSize } from '../write/working-set.ts'
import { nameOf } from './delete-restricted.ts'
import type { DeletionRule } from './deletion-rules.ts'

export interface DeletionCount {
  /** The class that declares the attribute; for an object deleted by request, its class. Null if hidden from the caller. */
  readonly className: string | null
  /** The attribute that causes the deletion or is cleared; null for objects deleted by request. */
  readonly attributeName: string | null
  /** Missing if hidden from the caller. */
  readonly count?: number
}

export interface DeletionReport {
  readonly deleted: readonly DeletionCount[]
  readonly cleared: readonly DeletionCount[]
}

/** The deletions and cleared references to report. */
export interface ReportedDeletions {
  deleted(): Iterable<{ readonly state: ObjectState; readonly rule: DeletionRule | undefined }>
  readonly clearedSources: ReadonlyMap<DeletionRule, readonly Oid[]>
}

interface Counted {
  readonly className: string
  readonly rule: DeletionRule | undefined
  readonly oids: readonly Oid[]
}

/** For hidden objects, the report says only that they exist. */
export async function reportDeletions(
  deletions: ReportedDeletions,
  guard: ChangeGuard | undefined,
): Promise<DeletionReport> {
  const deleted = new Map<unknown, Counted & { readonly oids: Oid[] }>()
  for (const { state, rule } of deletions.deleted()) {
    const key = rule ?? state.format
    const existing = deleted.get(key)
    if (existing !== undefined) existing.oids.push(state.oid)
    else deleted.set(key, { className: (rule?.cls ?? state.format.cls).name, rule, oids: [state.oid] })
  }
  const cleared = [...deletions.clearedSources].map(([rule, oids]): Counted => {
    return { className: rule.cls.name, rule, oids }
  })
  return { deleted: await countsOf([...deleted.values()], guard), cleared: await countsOf(cleared, guard) }
}

async function countsOf(all: readonly Counted[], guard: ChangeGuard | undefined): Promise<DeletionCount[]> {
  const counts: DeletionCount[] = []
  let isAnyHidden = false
  for (const { className, rule, oids } of all) {
    const attributeName = rule?.attribute.name ?? null
    const isRuleVisible = rule === undefined || nameOf(rule, guard).className !== undefined
    const count = isRuleVisible ? await seenAmong(oids, guard) : 0
    if (count < oids.length) isAnyHidden = true
    if (count > 0) counts.push({ className, attributeName, count })
  }
  return isAnyHidden ? [...counts, { className: null, attributeName: null }] : counts
}

async function seenAmong(oids: readonly Oid[], guard: ChangeGuard | undefined): Promise<number> {
  if (guard === undefined) return oids.length
  let hidden = 0
  await inParts(oids, objectBatchSize, async (part) => {
    const unseen = await guard.hiddenAmong(part)
    for (const oid of part) if (unseen.has(oid)) hidden++
  })
  return oids.length - hidden
}
