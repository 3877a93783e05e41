/** What EXPLAIN notes of one statement: its operators with what they have counted, and the statements within it. */
import type { Statement } from '../language/ast.ts'
import { addCounts, type ExplainNode, type Measures, newMeasures } from './explain-node.ts'

/** What a context that the statement reads with has counted. */
export interface ReadCounts {
  readonly reader: { readonly objectsRead: number; readonly linksRead: number }
  readonly entriesCounted: number
}

export class StatementProbe {
  readonly statement: Statement
  /** Undefined where the statement is planned and not carried out; else the time, without others' turns. */
  readonly nowMs: (() => number) | undefined
  /** Nested statements and those of a body, in the order in which they were met. */
  readonly parts = new Map<Statement, StatementProbe>()
  /** Time includes the parts; objects and links do not. */
  readonly measured: Measures = newMeasures()
  /** How often it was carried out. */
  loops = 0
  /** Index and link entries that were counted to choose access paths. */
  entriesCounted = 0
  /** Why there is no plan. */
  refusal: string | undefined
  /** The operator from which the reply's rows come, so far. */
  root: ExplainNode | undefined
  /** By shape: the access path may be another one each time that the statement is carried out. */
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

  /** It was planned, or carried out, once. */
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
    const known = this.plans.get(shape)
    if (known === undefined) this.plans.set(shape, root)
    else addCounts(known, root)
  }

  /** One, where the statement has a plan; several where it was carried out in several ways. */
  operators(): readonly ExplainNode[] {
    return [...this.plans.values()]
  }
}

/** The operators and what they do, without what was counted. No text yet: a text within a text within a text has its quotes doubled each time. */
function shapeOf({ operator, details, inputs }: ExplainNode): readonly unknown[] {
  return [operator, details, inputs.map(shapeOf)]
}
