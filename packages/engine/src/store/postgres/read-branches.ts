/**
 * The connections of one read transaction. On one node there is one. If the table is distributed, only the data of one placement shows one point in
 * time, so each placement is read over one connection for the whole transaction; different placements may be read concurrently over several.
 */
import type { PoolClient } from 'pg'

/** Connections of one transaction, including the first. */
const branchesMax = 4
/** Statements that must wait on every existing connection before another is requested. */
const waitingMin = 2

interface Branch {
  readonly client: () => Promise<PoolClient>
  /** Statements sent and not answered. */
  waiting: number
}

export class ReadBranches {
  private readonly main: Branch
  private readonly further: Branch[] = []
  private readonly begin: () => Promise<PoolClient> | undefined
  private readonly byPlacement = new Map<number, Branch>()
  /** Whether the main connection has read unknown placements; from then on it reads all placements not assigned to other connections. */
  private isMainBroad = false

  /** `main` returns the first connection; `begin` returns a further one with a transaction begun, or undefined if none is available. */
  constructor(main: () => Promise<PoolClient>, begin: () => Promise<PoolClient> | undefined) {
    this.main = { client: main, waiting: 0 }
    this.begin = begin
  }

  /** `placement`: the only one that is read; undefined if there may be several, none of which is read over another connection. */
  async run<T>(placement: number | undefined, use: (client: PoolClient) => Promise<T>): Promise<T> {
    const branch = this.branchOf(placement)
    branch.waiting++
    try {
      return await use(await branch.client())
    } finally {
      branch.waiting--
    }
  }

  /** The first placement between two (or the last, in reverse) that is read over further connections. */
  readElsewhere(first: number, last: number, isReverse: boolean): number | undefined {
    let found: number | undefined
    for (const [placement, branch] of this.byPlacement) {
      if (branch === this.main || placement < first || placement > last) continue
      if (found === undefined || placement < found !== isReverse) found = placement
    }
    return found
  }

  /** Removes and returns the further connections. */
  takeFurther(): Promise<PoolClient>[] {
    const clients = this.further.map(({ client }) => client())
    this.further.length = 0
    this.byPlacement.clear()
    return clients
  }

  private branchOf(placement: number | undefined): Branch {
    if (placement === undefined) {
      this.isMainBroad = true
      return this.main
    }
    let branch = this.byPlacement.get(placement)
    if (branch === undefined) {
      branch = this.isMainBroad ? this.main : this.leastBusy()
      this.byPlacement.set(placement, branch)
    }
    return branch
  }

  private leastBusy(): Branch {
    let best = this.main
    for (const branch of this.further) if (branch.waiting < best.waiting) best = branch
    if (best.waiting < waitingMin || this.further.length + 1 >= branchesMax) return best
    const client = this.begin()
    if (client === undefined) return best
    const branch = { client: () => client, waiting: 0 }
    this.further.push(branch)
    return branch
  }
}
