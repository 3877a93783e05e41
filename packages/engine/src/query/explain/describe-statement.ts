/** Describes the plan of a statement as EXPLAIN returns it: operators, nested statements and measurements. */
import type { Statement } from '../language/ast.ts'
import { excerpt } from '../language/query-error.ts'
import type { AnalyzedStatement } from './analysis.ts'
import { describeMeasures, describePlan, type Measures } from './explain-node.ts'
import type { StatementProbe } from './statement-probe.ts'

/** JSON object. */
export type DescribedPlan = Readonly<Record<string, unknown>>

/** Details that follow from the statement alone. */
export type DetailsOf = (statement: Statement, text: string) => DescribedPlan

/** Describes a statement that was planned, but not executed. */
export function describePlanned(probe: StatementProbe, text: string, detailsOf: DetailsOf): DescribedPlan {
  return { statement: excerpt(text, probe.statement), ...describe(probe, text, detailsOf) }
}

/** Describes a statement that was executed. */
export function describeAnalyzed(
  analyzed: AnalyzedStatement,
  text: string,
  detailsOf: DetailsOf,
  showsMemory: boolean,
): DescribedPlan {
  const { probe, heldBytesMax, changedBytesMax } = analyzed
  if (!showsMemory) return describePlanned(probe, text, detailsOf)
  const memory = { heldBytesMax, ...(changedBytesMax === 0 ? {} : { changedBytesMax }) }
  return { ...describePlanned(probe, text, detailsOf), ...memory }
}

function describe(probe: StatementProbe, text: string, detailsOf: DetailsOf): DescribedPlan {
  const { statement, loops, refusal, entriesCounted } = probe
  const isAnalyzed = probe.nowMs !== undefined
  const [plan, ...otherPlans] = probe.operators().map((operator) => describePlan(operator, isAnalyzed))
  const parts = [...probe.parts.values()].map((part) => ({
    statement: excerpt(text, part.statement),
    ...describe(part, text, detailsOf),
  }))
  const planDetails = plan ?? { operator: statement.kind }
  const within = parts.length === 0 ? {} : plan === undefined ? { inputs: parts } : { nested: parts }
  return {
    ...planDetails,
    ...detailsOf(statement, text),
    ...within,
    ...(otherPlans.length === 0 ? {} : { otherPlans }),
    ...(refusal === undefined ? {} : { notPlanned: refusal }),
    ...(loops === 1 ? {} : { loops }),
    ...(entriesCounted === 0 ? {} : { entriesCounted }),
    ...(isAnalyzed ? describeMeasures(measuresOf(probe)) : {}),
  }
}

/** Including nested statements. */
function measuresOf({ measured, parts }: StatementProbe): Measures {
  const total = { ...measured }
  for (const part of parts.values()) {
    const { objectsRead, linksRead } = measuresOf(part)
    total.objectsRead += objectsRead
    total.linksRead += linksRead
  }
  return total
}
