/** What a check of a history finds, by name. */

export type AnomalyName =
  | 'G0'
  | 'G1a'
  | 'G1b'
  | 'G1c'
  | 'G-single'
  | 'G2-item'
  | 'G2'
  | 'G0-realtime'
  | 'G1c-realtime'
  | 'G-single-realtime'
  | 'G2-item-realtime'
  | 'G2-realtime'
  | 'lost update'
  | 'lost write'
  | 'duplicate append'
  | 'aborted write is there'
  | 'stale read'
  | 'incompatible orders'
  | 'unknown value'
  | 'internal'

export interface Anomaly {
  readonly name: AnomalyName
  /** Readable, in a few lines. */
  readonly text: string
}

/** All are counted; only the first of each name are described, since a broken store has thousands. */
const describedMax = 20

export class Findings {
  readonly counts = new Map<AnomalyName, number>()
  readonly anomalies: Anomaly[] = []
  /** False where there are so many cycles that not all are counted. */
  isComplete = true

  add(name: AnomalyName, describe: () => string): void {
    const count = (this.counts.get(name) ?? 0) + 1
    this.counts.set(name, count)
    if (count <= describedMax) this.anomalies.push({ name, text: describe() })
  }

  /** Adds those of another part of the same run. */
  include(other: Findings): void {
    this.isComplete &&= other.isComplete
    for (const [name, count] of other.counts) this.counts.set(name, (this.counts.get(name) ?? 0) + count)
    for (const anomaly of other.anomalies) {
      if (this.anomalies.filter(({ name }) => name === anomaly.name).length < describedMax) this.anomalies.push(anomaly)
    }
  }

  get names(): AnomalyName[] {
    return [...this.counts.keys()].sort()
  }
}
