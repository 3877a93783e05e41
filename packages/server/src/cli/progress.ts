/** How far long work is: a bar with rate and time left on a terminal, a line now and then elsewhere; on standard error. */
import type { SingleBar } from 'cli-progress'

export interface ProgressOptions {
  /** What is counted, as `objects`. */
  readonly unit: string
  readonly isQuiet: boolean
  /** Where it is told; that of the process unless a test has another. */
  readonly stream?: NodeJS.WriteStream
}

/** Between lines where there is no terminal. */
const lineMs = 5_000

export class Progress {
  private readonly options: ProgressOptions
  private readonly stream: NodeJS.WriteStream
  private readonly started = performance.now()
  private bar: Promise<SingleBar> | undefined
  private shownAt = performance.now()
  private done = 0
  private total: number | undefined

  constructor(options: ProgressOptions) {
    this.options = options
    this.stream = options.stream ?? process.stderr
  }

  /** `total`: undefined where it is not known. */
  update(done: number, total?: number): void {
    this.done = done
    this.total = total
    if (this.options.isQuiet) return
    if (this.stream.isTTY) void this.showBar()
    else if (performance.now() - this.shownAt >= lineMs) this.tellLine()
  }

  /** The bar is left as it is. */
  stop(): void {
    void this.bar?.then((bar) => bar.stop())
  }

  private async showBar(): Promise<void> {
    this.bar ??= this.startBar()
    const bar = await this.bar
    bar.setTotal(this.total ?? this.done)
    bar.update(this.done, { rate: rateText(this.rate()) })
  }

  private async startBar(): Promise<SingleBar> {
    const { SingleBar } = await import('cli-progress')
    const counts = `{value}/{total} ${this.options.unit} · {rate}/s · {eta_formatted} left`
    const bar = new SingleBar({ format: `[{bar}] {percentage} % · ${counts}`, stream: this.stream, hideCursor: true })
    bar.start(this.total ?? this.done, this.done, { rate: '0' })
    return bar
  }

  private tellLine(): void {
    this.shownAt = performance.now()
    const rate = this.rate()
    const left = this.total === undefined || rate === 0 ? '' : `, ${Math.ceil((this.total - this.done) / rate)} s left`
    const of = this.total === undefined ? '' : ` of ${this.total.toLocaleString('en')}`
    this.stream.write(`${this.done.toLocaleString('en')}${of} ${this.options.unit}, ${rateText(rate)}/s${left}\n`)
  }

  /** A second. */
  private rate(): number {
    const seconds = (performance.now() - this.started) / 1_000
    return seconds === 0 ? 0 : this.done / seconds
  }
}

function rateText(rate: number): string {
  return Math.round(rate).toLocaleString('en')
}
