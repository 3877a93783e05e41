/** How many statements of a kind are sent at once: whoever comes meanwhile goes together in the next one. */

/** Statements that take a fraction of it are slow; one that takes longer holds up no others. */
const stalledMs = 250

export class StatementSlots {
  /** Those that others wait for. */
  underWay = 0
  private readonly stalledMax: number
  private stalled = 0
  private generation = 0
  private answered = 0
  private timer: NodeJS.Timeout | undefined

  /** `stalledMax`: how many may be sent beside those that are under way because these are not answered. */
  constructor(stalledMax: number) {
    this.stalledMax = stalledMax
  }

  async run<T>(statement: () => Promise<T>): Promise<T> {
    const { generation } = this
    this.underWay++
    try {
      return await statement()
    } finally {
      this.answered++
      if (generation === this.generation) this.underWay--
      else this.stalled--
    }
  }

  /** For as long as somebody waits: `goOn` is called from time to time, with the slots free if nothing has been answered meanwhile. */
  whileWaiting(goOn: () => void): void {
    if (this.timer !== undefined) return
    const { answered } = this
    this.timer = setTimeout(() => {
      this.timer = undefined
      if (answered === this.answered && this.stalled < this.stalledMax) {
        this.stalled += this.underWay
        this.underWay = 0
        this.generation++
      }
      goOn()
    }, stalledMs)
  }
}
