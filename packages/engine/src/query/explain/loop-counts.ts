/** Row counts of operators that are fused into one loop. */
import type { ExplainNode } from './explain-node.ts'

interface LoopReads {
  /** All objects are scanned: the access path examines the objects themselves. */
  readonly isScan: boolean
  /** The access path counts the entries that it examines. */
  readonly countsEntries: boolean
  readonly reader: { objectsRead: number }
}

export class LoopCounts {
  /** The access path at the bottom of the plan. */
  readonly source: ExplainNode
  private readonly filter: ExplainNode | undefined
  /** Operators that return the rows of the reply. */
  private readonly above: readonly ExplainNode[]
  private readonly reads: LoopReads

  /** `root`: root of the plan, in which each operator has one input. */
  constructor(root: ExplainNode, reads: LoopReads) {
    const chain = [root]
    for (let [node] = root.inputs; node?.takesRows === true; [node] = node.inputs) chain.push(node)
    const [below] = (chain.at(-1) as ExplainNode).inputs
    const isFilter = below?.operator === 'filter'
    this.filter = isFilter ? below : undefined
    this.source = (isFilter ? below.inputs[0] : below) as ExplainNode
    this.above = chain
    this.reads = reads
  }

  looked(objects: number, qualified: number): void {
    const { isScan, countsEntries, reader } = this.reads
    if (isScan || !countsEntries) this.source.examined += objects
    if (!isScan) reader.objectsRead += objects
    this.source.returned += objects
    if (this.filter === undefined) return
    this.filter.examined += objects
    this.filter.returned += qualified
  }

  wrote(rows: number): void {
    for (const node of this.above) node.returned += rows
  }
}
