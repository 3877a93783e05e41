/** Measurements of one statement for EXPLAIN: its operators with their counts, and its nested statements. */
import type { Statement } from '../language/ast.ts'
import { addCounts, type ExplainNode, type Measures, newMeasures } from './explain-node.ts'

/** Read counters of a context that the statement reads with. */
export interface ReadCounts {
  readonly reader: { readonly objectsRead: number; readonly linksRead: number }
  readonly entriesCounted: number
}

export class StatementProbe {
  readonly statement: Statement
  /** Undefined where the statement is only planned; else a clock that excludes time spent yielding. */
  readonly nowMs: (() => number) | undefined
  /** Nested statements and statements of a body, in order of first execution. */
  readonly parts = new Map<Statement, StatementProbe>()
  /** Time includes the parts; objects and links do not. */
  readonly measured: Measures = newMeasures()
  /** Number of executions. */
  loops = 0
  /** Index and link entries that were counted to choose access paths. */
  entriesCounted = 0
  /** Reason why there is no plan. */
  refusal: string | undefined
  /** Operator that produces the rows of the reply so far. */
  root: ExplainNode | undefined
  /** By shape: each execution may choose another access path. */
  private readonly plans = new Map<string, ExplainNode>()
  private contexts: ReadCounts[] = []

  constructor(statement: Statement, nowMs?: () => number) {
    this.statement = statement
    this.nowMs = nowMs
  }

  part(statement: Statement): StatementProbe {
    let part = this.parts.get(statement)
    if (part === undefined) {
      part = new StatementProbe(statement, this.nowMs)
      this.parts.set(statement, part)
    }
    return part
  }

  reads(context: ReadCounts): void {
    this.contexts.push(context)
  }

  /** Called after each planning or execution. */
  ended(): void {
    this.loops++
    for (const { reader, entriesCounted } of this.contexts) {
      this.measured.objectsRead += reader.objectsRead
      this.measured.linksRead += reader.linksRead
      this.entriesCounted += entriesCounted
    }
    this.contexts = []
    const { root } = this
    this.root = undefined
    if (root === undefined) return
    const shape = JSON.stringify(shapeOf(root))
    const existing = this.plans.get(shape)
    if (existing === undefined) this.plans.set(shape, root)
    else addCounts(existing, root)
  }

  /** One plan, or several where executions used different ones. */
  operators(): readonly ExplainNode[] {
    return [...this.plans.values()]
  }
}

/** Operators and details without counts. Not serialized here: nested serialization would double quotes at each level. */
function shapeOf({ operator, details, inputs }: ExplainNode): readonly unknown[] {
  return [operator, details, inputs.map(shapeOf)]
}
