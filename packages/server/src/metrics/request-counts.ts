/** Counts of requests: one handle per operation avoids lookups by name while requests are served. */
import { problemTypes } from '../errors/server-errors.ts'

/** Bucket bounds of the histogram of request durations. */
export const durationSeconds: readonly number[] = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60,
]

const boundsMs = durationSeconds.map((seconds) => seconds * 1_000)

export class OperationCounts {
  /** Method and path, without values. */
  readonly operation: string
  /** Starts the count of faults at 0: Prometheus sees no increase in a counter that first appears as 1, and would not alert. */
  readonly byStatus = new Map<number, { count: number }>([[500, { count: 0 }]])
  /** Counts by bounds of `durationSeconds`; the last is for longer requests. */
  readonly byDuration: number[] = new Array(durationSeconds.length + 1).fill(0)
  sumMs = 0

  constructor(operation: string) {
    this.operation = operation
  }

  /** Call when the reply was sent, or the client has disconnected. */
  ended(status: number, ms: number): void {
    const counter = this.byStatus.get(status) ?? { count: 0 }
    counter.count++
    this.byStatus.set(status, counter)
    this.sumMs += ms
    let place = 0
    while (place < boundsMs.length && ms > (boundsMs[place] as number)) place++
    this.byDuration[place]!++
  }
}

export class RequestCounts {
  /** Health checks, the reference, and unknown paths. */
  readonly others = new OperationCounts('other')
  /** Error replies by type; all types of the catalogue start at 0, as in `byStatus`. */
  readonly errors = new Map<string, number>(problemTypes.map((type) => [type, 0]))
  private readonly operations: OperationCounts[] = [this.others]

  of(operation: { readonly method: string; readonly path: string }): OperationCounts {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    const counts = new OperationCounts(`${operation.method} ${path}`)
    this.operations.push(counts)
    return counts
  }

  failed(type: string): void {
    this.errors.set(type, (this.errors.get(type) ?? 0) + 1)
  }

  all(): readonly OperationCounts[] {
    return this.operations
  }
}
