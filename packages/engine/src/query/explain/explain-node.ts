/** Plans as EXPLAIN shows them: operators, each over those from which its rows come. */
import { planInputsMax, planTextCharactersMax } from '../../limits.ts'

export interface ExplainNode {
  readonly operator: string
  /** What it does, by name: the index, the predicate, the key. */
  readonly details: Readonly<Record<string, unknown>>
  /** How many rows it was expected to find; undefined where that is not estimated, or only known when the statement runs. */
  estimated?: number
  /** An index that would help, if what was found bears it out. */
  hint?: IndexHint
  /** The access paths among which this one was chosen. */
  candidates?: readonly Candidate[]
  /** What it has looked at: objects, index entries or edges. Of operators that only take rows, those of their inputs. */
  examined: number
  returned: number
  readonly inputs: readonly ExplainNode[]
  /** Of a DELETE that was carried out: what was deleted and cleared with what it names. */
  follows?: object
  /** What it has written to disk because memory did not hold it. */
  spilled?: Spilled
  /** It only takes rows from others, and looks at nothing itself. */
  readonly takesRows?: boolean
  /** Of operators that ANALYZE measures apart from others; including what lies below. */
  measured?: Measures
}

export interface IndexHint {
  /** CREATE INDEX …, as a request would write it. */
  readonly statement: string
  /** How many objects it would have the statement read; undefined: those that are found. */
  readonly rows: number | undefined
  /** It is told before anything was found, too. */
  readonly isLikely: boolean
}

export interface Spilled {
  /** Sorted parts, without those that were merged of others. */
  runs: number
  /** Written in all. */
  bytes: number
}

/** What was measured of an operator, together with those from which its rows come. */
export interface Measures {
  ms: number
  /** Objects that were read by their OIDs. */
  objectsRead: number
  /** Link entries that were read. */
  linksRead: number
}

/** An access path that was considered. */
export interface Candidate {
  readonly plan: ExplainNode
  /** Undefined: another one was taken before it was estimated, or it depends on values that are only known at run time. */
  readonly estimated: number | undefined
  /** Counting ended there: it gives as many rows or more. */
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

/** Of an operator that only takes rows from others, and looks at nothing itself. */
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

/** What another run of the same plan has counted. */
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

/** `isAnalyzed`: with what was counted. */
export function describePlan(plan: ExplainNode, isAnalyzed: boolean): Record<string, unknown> {
  const { operator, details, estimated, candidates, hint, inputs } = plan
  return {
    operator,
    ...cutTexts(details),
    ...(estimated === undefined ? {} : { estimatedRows: estimated }),
    ...(candidates === undefined || candidates.length === 0 ? {} : { candidates: candidates.map(describeCandidate) }),
    ...(hint !== undefined && isBorneOut(hint, plan, isAnalyzed) ? { hint: hint.statement } : {}),
    ...(isAnalyzed ? countsOf(plan) : {}),
    ...plan.follows,
    ...(inputs.length === 0
      ? {}
      : { inputs: inputs.slice(0, planInputsMax).map((one) => describePlan(one, isAnalyzed)) }),
    ...(inputs.length <= planInputsMax ? {} : { inputsOmitted: inputs.length - planInputsMax }),
  }
}

/** An index that has the statement read this part of what it looks at is worth its writes. */
const hintShare = 8

function isBorneOut({ rows, isLikely }: IndexHint, { examined, returned }: ExplainNode, isAnalyzed: boolean): boolean {
  return isAnalyzed ? (rows ?? returned) * hintShare <= examined : isLikely
}

/** Long lists of values would come once more with each index that could answer the condition. */
function cutTexts(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).map(([name, detail]) => [name, cut(detail)]))
}

function cut(detail: unknown): unknown {
  if (Array.isArray(detail)) return detail.map(cut)
  const isLong = typeof detail === 'string' && detail.length > planTextCharactersMax
  return isLong ? `${detail.slice(0, planTextCharactersMax)}…` : detail
}

function countsOf({ takesRows, examined, returned, inputs, measured, spilled }: ExplainNode): Record<string, unknown> {
  const taken = inputs.at(-1)?.returned ?? 0
  return {
    examined: takesRows === true ? taken : examined,
    returned,
    ...(spilled === undefined ? {} : { spilledRuns: spilled.runs, spilledBytes: spilled.bytes }),
    ...(measured === undefined ? {} : describeMeasures(measured)),
  }
}

export function describeMeasures({ ms, objectsRead, linksRead }: Measures): Record<string, unknown> {
  return { objectsRead, linksRead, milliseconds: roundedMs(ms) }
}

/** To the microsecond. */
function roundedMs(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

function describeCandidate({ plan, estimated, isAtLeast, isChosen }: Candidate): Record<string, unknown> {
  return {
    ...describePlan(plan, false),
    ...(estimated === undefined ? {} : { estimatedRows: estimated }),
    ...(isAtLeast ? { isAtLeast } : {}),
    ...(isChosen ? { isChosen } : {}),
  }
}
