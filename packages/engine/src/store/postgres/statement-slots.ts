/** Limits how many statements of a kind are sent concurrently, so that requests made meanwhile share the next one. */

/** A statement that runs longer no longer occupies a slot. */
const stalledMs = 250

export class StatementSlots {
  active = 0
  private readonly stalledMax: number
  private stalled = 0
  private generation = 0
  private answered = 0
  private timer: NodeJS.Timeout | undefined

  /** `stalledMax`: how many unanswered statements may run without a slot. */
  constructor(stalledMax: number) {
    this.stalledMax = stalledMax
  }

  async run<T>(statement: () => Promise<T>): Promise<T> {
    const { generation } = this
    this.active++
    try {
      return await statement()
    } finally {
      this.answered++
      if (generation === this.generation) this.active--
      else this.stalled--
    }
  }

  /** While requests wait: calls `retry` after a while, with the slots freed if no statement was answered meanwhile. */
  whileWaiting(retry: () => void): void {
    if (this.timer !== undefined) return
    const { answered } = this
    this.timer = setTimeout(() => {
      this.timer = undefined
      if (answered === this.answered && this.stalled < this.stalledMax) {
        this.stalled += this.active
        this.active = 0
        this.generation++
      }
      retry()
    }, stalledMs)
  }
}
