/** Plan tree of EXPLAIN: operators with the operators that produce their input rows. */
import { planInputsMax, planTextCharactersMax } from '../../limits.ts'

export interface ExplainNode {
  readonly operator: string
  /** Named properties: the index, the predicate, the key. */
  readonly details: Readonly<Record<string, unknown>>
  /** Estimated number of rows; undefined where it is not estimated, or only known at run time. */
  estimated?: number
  /** An index that would help, if the counts confirm it. */
  hint?: IndexHint
  /** The access paths that were considered. */
  candidates?: readonly ConsideredPath[]
  /** Objects, index entries or edges that were examined. For operators that only consume rows: the rows of their inputs. */
  examined: number
  returned: number
  readonly inputs: readonly ExplainNode[]
  /** For a DELETE that was executed: what was deleted and cleared beside the objects that it names. */
  follows?: object
  /** Data written to disk because memory was short. */
  spilled?: Spilled
  /** The operator only consumes rows of its inputs. */
  readonly takesRows?: boolean
  /** For operators that ANALYZE measures separately; includes their inputs. */
  measured?: Measures
}

export interface IndexHint {
  /** CREATE INDEX …, as a request would contain it. */
  readonly statement: string
  /** Number of objects that the statement would read with the index; undefined: the number returned. */
  readonly rows: number | undefined
  /** The hint is also given without measurements. */
  readonly isLikely: boolean
}

export interface Spilled {
  /** Sorted runs, not counting merged runs. */
  runs: number
  /** Total bytes written. */
  bytes: number
}

/** Measurements of an operator including its inputs. */
export interface Measures {
  ms: number
  objectsRead: number
  linksRead: number
}

/** An access path that was considered. */
export interface ConsideredPath {
  readonly plan: ExplainNode
  /** Undefined where another path was chosen before this one was estimated, or where it depends on run-time values. */
  readonly estimated: number | undefined
  /** The estimate is a lower bound, at which counting stopped. */
  readonly isAtLeast: boolean
  readonly isChosen: boolean
}

export function explainNode(
  operator: string,
  details: Readonly<Record<string, unknown>> = {},
  inputs: readonly ExplainNode[] = [],
): ExplainNode {
  return { operator, details, inputs, examined: 0, returned: 0 }
}

/** Plan of an operator that only consumes rows of its inputs. */
export function rowOperatorPlan(
  operator: string,
  details: Readonly<Record<string, unknown>>,
  inputs: readonly ExplainNode[],
): ExplainNode {
  return { ...explainNode(operator, details, inputs), takesRows: true }
}

export function newMeasures(): Measures {
  return { ms: 0, objectsRead: 0, linksRead: 0 }
}

/** Adds the counts of another run of the same plan. */
export function addCounts(to: ExplainNode, from: ExplainNode): void {
  to.examined += from.examined
  to.returned += from.returned
  if (from.spilled !== undefined) addSpilled(to, from.spilled.runs, from.spilled.bytes)
  if (from.measured !== undefined) {
    to.measured ??= newMeasures()
    addMeasures(to.measured, from.measured)
  }
  for (const [i, input] of to.inputs.entries()) {
    const other = from.inputs[i]
    if (other !== undefined) addCounts(input, other)
  }
}

export function addSpilled(to: ExplainNode, runs: number, bytes: number): void {
  to.spilled ??= { runs: 0, bytes: 0 }
  to.spilled.runs += runs
  to.spilled.bytes += bytes
}

function addMeasures(to: Measures, from: Measures): void {
  to.ms += from.ms
  to.objectsRead += from.objectsRead
  to.linksRead += from.linksRead
}

/** `isAnalyzed`: includes measurements. */
export function describePlan(plan: ExplainNode, isAnalyzed: boolean): Record<string, unknown> {
  const { operator, details, estimated, candidates, hint, inputs } = plan
  return {
    operator,
    ...shortenTexts(details),
    ...(estimated === undefined ? {} : { estimatedRows: estimated }),
    ...(candidates === undefined || candidates.length === 0 ? {} : { candidates: candidates.map(describeCandidate) }),
    ...(hint !== undefined && isConfirmed(hint, plan, isAnalyzed) ? { hint: hint.statement } : {}),
    ...(isAnalyzed ? countsOf(plan) : {}),
    ...plan.follows,
    ...(inputs.length === 0
      ? {}
      : { inputs: inputs.slice(0, planInputsMax).map((one) => describePlan(one, isAnalyzed)) }),
    ...(inputs.length <= planInputsMax ? {} : { inputsOmitted: inputs.length - planInputsMax }),
  }
}

/** A hint is given if the index reduces the examined objects to at most 1/8. */
const hintReductionMin = 8

function isConfirmed({ rows, isLikely }: IndexHint, { examined, returned }: ExplainNode, isAnalyzed: boolean): boolean {
  return isAnalyzed ? (rows ?? returned) * hintReductionMin <= examined : isLikely
}

/** Shortens texts: long lists of values would be repeated for each candidate index. */
function shortenTexts(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).map(([name, detail]) => [name, shortened(detail)]))
}

function shortened(detail: unknown): unknown {
  if (Array.isArray(detail)) return detail.map(shortened)
  const isLong = typeof detail === 'string' && detail.length > planTextCharactersMax
  return isLong ? `${detail.slice(0, planTextCharactersMax)}…` : detail
}

function countsOf({ takesRows, examined, returned, inputs, measured, spilled }: ExplainNode): Record<string, unknown> {
  const inputRows = inputs.at(-1)?.returned ?? 0
  return {
    examined: takesRows === true ? inputRows : examined,
    returned,
    ...(spilled === undefined ? {} : { spilledRuns: spilled.runs, spilledBytes: spilled.bytes }),
    ...(measured === undefined ? {} : describeMeasures(measured)),
  }
}

export function describeMeasures({ ms, objectsRead, linksRead }: Measures): Record<string, unknown> {
  return { objectsRead, linksRead, milliseconds: roundedMs(ms) }
}

/** Rounds to microseconds. */
function roundedMs(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

function describeCandidate({ plan, estimated, isAtLeast, isChosen }: ConsideredPath): Record<string, unknown> {
  return {
    ...describePlan(plan, false),
    ...(estimated === undefined ? {} : { estimatedRows: estimated }),
    ...(isAtLeast ? { isAtLeast } : {}),
    ...(isChosen ? { isChosen } : {}),
  }
}
