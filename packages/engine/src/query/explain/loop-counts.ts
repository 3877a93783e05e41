/** Row counts of operators that are fused into one loop. */
import type { ExplainNode } from './explain-node.ts'

export class LoopCounts {
  /** The access path at the bottom of the plan. */
  readonly source: ExplainNode
  readonly filter: ExplainNode | undefined
  /** Operators that return the rows of the reply. */
  private readonly above: readonly ExplainNode[]

  /** `root`: root of the plan, in which each operator has one input. */
  constructor(root: ExplainNode) {
    const chain = [root]
    for (let [node] = root.inputs; node?.takesRows === true; [node] = node.inputs) chain.push(node)
    const [below] = (chain.at(-1) as ExplainNode).inputs
    const isFilter = below?.operator === 'filter'
    this.filter = isFilter ? below : undefined
    this.source = (isFilter ? below.inputs[0] : below) as ExplainNode
    this.above = chain
  }

  wrote(rows: number): void {
    for (const node of this.above) node.returned += rows
  }
}
