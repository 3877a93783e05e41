/** The plan of a statement as EXPLAIN replies it: operators, nested statements, and what was measured. */
import type { Statement } from '../language/ast.ts'
import { shownPart } from '../language/query-error.ts'
import type { AnalyzedStatement } from './analysis.ts'
import { describeMeasures, describePlan, type Measures } from './explain-node.ts'
import type { StatementProbe } from './statement-probe.ts'

/** JSON. */
export type DescribedPlan = Readonly<Record<string, unknown>>

/** What is seen from a statement alone. */
export type DetailsOf = (statement: Statement, text: string) => DescribedPlan

/** A statement that was planned, and not carried out. */
export function describePlanned(probe: StatementProbe, text: string, detailsOf: DetailsOf): DescribedPlan {
  return { statement: shownPart(text, probe.statement), ...describe(probe, text, detailsOf) }
}

/** A statement that was carried out. */
export function describeAnalyzed(
  analyzed: AnalyzedStatement,
  text: string,
  detailsOf: DetailsOf,
  isMemoryTold: boolean,
): DescribedPlan {
  const { probe, heldBytesMax, changedBytesMax } = analyzed
  if (!isMemoryTold) return describePlanned(probe, text, detailsOf)
  const memory = { heldBytesMax, ...(changedBytesMax === 0 ? {} : { changedBytesMax }) }
  return { ...describePlanned(probe, text, detailsOf), ...memory }
}

function describe(probe: StatementProbe, text: string, detailsOf: DetailsOf): DescribedPlan {
  const { statement, loops, refusal, entriesCounted } = probe
  const isAnalyzed = probe.nowMs !== undefined
  const [plan, ...others] = probe.operators().map((operator) => describePlan(operator, isAnalyzed))
  const parts = [...probe.parts.values()].map((part) => ({
    statement: shownPart(text, part.statement),
    ...describe(part, text, detailsOf),
  }))
  const own = plan ?? { operator: statement.kind }
  const within = parts.length === 0 ? {} : plan === undefined ? { inputs: parts } : { nested: parts }
  return {
    ...own,
    ...detailsOf(statement, text),
    ...within,
    ...(others.length === 0 ? {} : { otherPlans: others }),
    ...(refusal === undefined ? {} : { notPlanned: refusal }),
    ...(loops === 1 ? {} : { loops }),
    ...(entriesCounted === 0 ? {} : { entriesCounted }),
    ...(isAnalyzed ? describeMeasures(measuresOf(probe)) : {}),
  }
}

/** With all that lies within. */
function measuresOf({ measured, parts }: StatementProbe): Measures {
  const total = { ...measured }
  for (const part of parts.values()) {
    const { objectsRead, linksRead } = measuresOf(part)
    total.objectsRead += objectsRead
    total.linksRead += linksRead
  }
  return total
}
