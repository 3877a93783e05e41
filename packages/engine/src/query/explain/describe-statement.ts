/** The plan of a statement as EXPLAIN replies it: operators, nested statements, and what was measured. */
import type { SchemaChange, Span, Statement } from '../language/ast.ts'
import { truncateForMessage } from '../language/query-error.ts'
import type { AnalyzedStatement } from './analysis.ts'
import { describeMeasures, describePlan, type Measures } from './explain-node.ts'
import type { StatementProbe } from './statement-probe.ts'

/** JSON. */
export type DescribedPlan = Readonly<Record<string, unknown>>

/** A statement that was planned, and not carried out. */
export function describePlanned(probe: StatementProbe, text: string): DescribedPlan {
  return { statement: piece(probe.statement, text), ...describe(probe, text) }
}

/** A statement that was carried out. */
export function describeAnalyzed(analyzed: AnalyzedStatement, text: string): DescribedPlan {
  const { probe, heldBytesMax, changedBytesMax } = analyzed
  const memory = { heldBytesMax, ...(changedBytesMax === 0 ? {} : { changedBytesMax }) }
  return { ...describePlanned(probe, text), ...memory }
}

function describe(probe: StatementProbe, text: string): DescribedPlan {
  const { statement, loops, refusal, entriesCounted } = probe
  const isAnalyzed = probe.nowMs !== undefined
  const [plan, ...others] = probe.operators().map((operator) => describePlan(operator, isAnalyzed))
  const parts = [...probe.parts.values()].map((part) => ({
    statement: piece(part.statement, text),
    ...describe(part, text),
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

function piece({ start, end }: Span, text: string): string {
  return truncateForMessage(text.slice(start, end))
}

/** What is seen from the statement alone. */
function detailsOf(statement: Statement, text: string): DescribedPlan {
  switch (statement.kind) {
    case 'create':
      return { class: statement.className.text }
    case 'upsert':
      return { class: statement.className.text, on: statement.on.map(({ text: attribute }) => attribute) }
    case 'let':
      return { variable: statement.name }
    case 'forEach':
      return { variable: statement.name, elements: piece(statement.elements, text) }
    case 'if':
      return { condition: piece(statement.condition, text) }
    case 'schema':
      return { changes: statement.changes.map((change) => changeText(change)) }
    case 'createIndex': {
      const { name, isUnique, className, attributes } = statement
      return {
        index: name.text,
        isUnique,
        class: className.text,
        attributes: attributes.map((attribute) => attribute.text),
      }
    }
    case 'dropIndex':
      return { index: statement.name }
    default:
      return {}
  }
}

function changeText(change: SchemaChange): string {
  switch (change.kind) {
    case 'createClass':
      return `CREATE CLASS ${change.className.text}`
    case 'alterClass':
      return `ALTER CLASS ${change.className.text}`
    case 'renameClass':
      return `RENAME CLASS ${change.className.text} TO ${change.newName.text}`
    case 'dropClass':
      return `DROP CLASS ${change.className.text}`
  }
}
