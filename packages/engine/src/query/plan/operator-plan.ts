/** Plans as EXPLAIN shows them: operators, each over those from which its rows come. */

export interface OperatorPlan {
  readonly operator: string
  /** What it does, by name: the index, the predicate, the key. */
  readonly details: Readonly<Record<string, unknown>>
  /** Objects, index entries or rows that it looked at: estimated before, counted by ANALYZE. */
  estimated?: number
  examined: number
  returned: number
  readonly inputs: readonly OperatorPlan[]
}

export function operatorPlan(
  operator: string,
  details: Readonly<Record<string, unknown>> = {},
  inputs: readonly OperatorPlan[] = [],
): OperatorPlan {
  return { operator, details, inputs, examined: 0, returned: 0 }
}

/** What another run of the same plan has counted. */
export function addCounts(to: OperatorPlan, from: OperatorPlan): void {
  to.examined += from.examined
  to.returned += from.returned
  for (const [i, input] of to.inputs.entries()) {
    const other = from.inputs[i]
    if (other !== undefined) addCounts(input, other)
  }
}

/** `isAnalyzed`: with what was counted. */
export function describePlan(plan: OperatorPlan, isAnalyzed: boolean): Record<string, unknown> {
  const { operator, details, estimated, examined, returned, inputs } = plan
  return {
    operator,
    ...details,
    ...(estimated === undefined ? {} : { estimatedRows: estimated }),
    ...(isAnalyzed ? { examined, returned } : {}),
    ...(inputs.length === 0 ? {} : { inputs: inputs.map((input) => describePlan(input, isAnalyzed)) }),
  }
}
