/** How far long work is: a bar with rate and time left on a terminal, a line now and then elsewhere; on standard error. */
import type { SingleBar } from 'cli-progress'

export interface ProgressOptions {
  /** What is counted, as `objects`. */
  readonly unit: string
  readonly isQuiet: boolean
  /** Where it is told; that of the process unless a test has another. */
  readonly stream?: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>
  /** Milliseconds; the clock unless a test has another. */
  readonly now?: () => number
}

/** Whether progress is not told: where a program reads JSON, all that it looks for on standard error is what has failed. */
export function hidesProgress(isQuiet: boolean, isJson: boolean): boolean {
  return isQuiet || (isJson && !process.stderr.isTTY)
}

/** Between lines where there is no terminal. */
const lineMs = 5_000

export class Progress {
  private readonly options: ProgressOptions
  private readonly stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>
  private readonly now: () => number
  private readonly started: number
  private bar: Promise<SingleBar> | undefined
  private shownAt: number
  private shown = 0
  private done = 0
  private total: number | undefined

  constructor(options: ProgressOptions) {
    this.options = options
    this.stream = options.stream ?? process.stderr
    this.now = options.now ?? (() => performance.now())
    this.started = this.now()
    this.shownAt = this.started
  }

  /** `total`: undefined where it is not known. */
  update(done: number, total?: number): void {
    this.done = done
    this.total = total
    if (this.options.isQuiet) return
    if (this.stream.isTTY) void this.showBar()
    else if (this.now() - this.shownAt >= lineMs) this.tellLine()
  }

  /** The bar is left as it is. Of work that took longer than from one line to the next, the last line tells all that was done. */
  stop(): void {
    const isLong = !this.options.isQuiet && !this.stream.isTTY && this.now() - this.started >= lineMs
    if (isLong && this.done > this.shown) this.tellLine()
    void this.bar?.then((bar) => bar.stop())
  }

  private async showBar(): Promise<void> {
    this.bar ??= this.startBar()
    const bar = await this.bar
    bar.update(this.done, { text: this.text() })
  }

  private text(): string {
    return barText({ done: this.done, total: this.total, unit: this.options.unit, rate: this.rate() })
  }

  private async startBar(): Promise<SingleBar> {
    const { SingleBar } = await import('cli-progress')
    const format = (_options: unknown, _values: unknown, { text }: { readonly text: string }): string => text
    const bar = new SingleBar({ format, stream: this.stream as NodeJS.WriteStream, hideCursor: true })
    // What there is of it is in the text: it has no length of its own where the total is not known.
    bar.start(Number.MAX_SAFE_INTEGER, 0, { text: this.text() })
    return bar
  }

  private tellLine(): void {
    this.shownAt = this.now()
    this.shown = this.done
    const rate = this.rate()
    const left =
      this.total === undefined || rate === 0 || this.done >= this.total
        ? ''
        : `, ${Math.ceil((this.total - this.done) / rate)} s left`
    const of = this.total === undefined ? '' : ` of ${this.total.toLocaleString('en')}`
    this.stream.write(`${this.done.toLocaleString('en')}${of} ${this.options.unit}, ${rateText(rate)}/s${left}\n`)
  }

  /** A second. */
  private rate(): number {
    const seconds = (this.now() - this.started) / 1_000
    return seconds === 0 ? 0 : this.done / seconds
  }
}

export interface BarState {
  readonly done: number
  readonly total: number | undefined
  readonly unit: string
  /** A second. */
  readonly rate: number
}

/** Cells of the bar. */
const barCells = 40

/** The line of a terminal; without a bar where the total is not known. */
export function barText({ done, total, unit, rate }: BarState): string {
  const [count, speed] = [done.toLocaleString('en'), `${rateText(rate)}/s`]
  if (total === undefined) return `${count} ${unit} · ${speed}`
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.floor(share * barCells)
  const bar = `[${'='.repeat(full)}${'-'.repeat(barCells - full)}] ${Math.floor(share * 100)} %`
  const left = share === 1 || rate === 0 ? '' : ` · ${durationText((total - done) / rate)} left`
  return `${bar} · ${count} of ${total.toLocaleString('en')} ${unit} · ${speed}${left}`
}

function durationText(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3_600).toLocaleString('en')} h ${Math.floor((whole % 3_600) / 60)} min`
}

function rateText(rate: number): string {
  return Math.round(rate).toLocaleString('en')
}
