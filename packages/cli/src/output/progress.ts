/** Shows the progress of long work on standard error: a bar with rate and time left on a terminal, a line every few seconds elsewhere. */

import type { ResultOptions } from './print-result.ts'
import { numberText } from './texts.ts'

type ProgressStream = Pick<NodeJS.WriteStream, 'isTTY' | 'write'> & { readonly columns?: number }

export interface ProgressOptions {
  /** The counted unit, such as `objects`. */
  readonly unit: string
  readonly isQuiet: boolean
  /** Standard error by default. */
  readonly stream?: ProgressStream
  /** Milliseconds, from the clock of the process by default. */
  readonly now?: () => number
}

/** Returns true if progress is not shown: a program that reads JSON expects only errors on standard error. */
export function hidesProgress(isQuiet: boolean, isJson: boolean): boolean {
  return isQuiet || (isJson && !process.stderr.isTTY)
}

/** Interval of lines, without a terminal. */
const lineMs = 5_000
/** Interval at which the bar is drawn. */
const barMs = 100

export class ProgressLine {
  private readonly options: ProgressOptions
  private readonly stream: ProgressStream
  private readonly now: () => number
  private readonly started: number
  private hasBar = false
  private printedAt: number
  private printed = 0
  private done = 0
  private total: number | undefined

  constructor(options: ProgressOptions) {
    this.options = options
    this.stream = options.stream ?? process.stderr
    this.now = options.now ?? (() => performance.now())
    this.started = this.now()
    this.printedAt = this.started
  }

  /** `total`: undefined if unknown. */
  update(done: number, total?: number): void {
    this.done = done
    this.total = total
    if (this.options.isQuiet) return
    const sinceMs = this.now() - this.printedAt
    if (!this.stream.isTTY && sinceMs >= lineMs) this.writeLine()
    else if (this.stream.isTTY && (!this.hasBar || sinceMs >= barMs)) this.drawBar()
  }

  /** Leaves the bar on the screen. If the work took longer than the interval of lines, prints a last line with the final count. */
  stop(): void {
    if (this.hasBar) {
      this.drawBar()
      this.stream.write('\n')
      this.hasBar = false
    }
    const isLong = !this.options.isQuiet && !this.stream.isTTY && this.now() - this.started >= lineMs
    if (isLong && this.done > this.printed) this.writeLine()
  }

  private drawBar(): void {
    this.hasBar = true
    this.printedAt = this.now()
    const text = barText({ done: this.done, total: this.total, unit: this.options.unit, rate: this.rate() })
    // A bar that wraps could not be overwritten.
    this.stream.write(`\r${text.slice(0, (this.stream.columns || 80) - 1)}\x1b[K`)
  }

  private writeLine(): void {
    this.printedAt = this.now()
    this.printed = this.done
    const rate = this.rate()
    const left =
      this.total === undefined || rate === 0 || this.done >= this.total
        ? ''
        : `, ${Math.ceil((this.total - this.done) / rate)} s left`
    const of = this.total === undefined ? '' : ` of ${numberText(this.total)}`
    this.stream.write(`${numberText(this.done)}${of} ${this.options.unit}, ${numberText(Math.round(rate))}/s${left}\n`)
  }

  private rate(): number {
    const seconds = (this.now() - this.started) / 1_000
    return seconds === 0 ? 0 : this.done / seconds
  }
}

export interface BarState {
  readonly done: number
  readonly total: number | undefined
  readonly unit: string
  /** Per second. */
  readonly rate: number
}

const barCells = 40

/** Returns the line for a terminal, without a bar if the total is unknown. */
export function barText({ done, total, unit, rate }: BarState): string {
  const [count, speed] = [numberText(done), `${numberText(Math.round(rate))}/s`]
  if (total === undefined) return `${count} ${unit} · ${speed}`
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.floor(share * barCells)
  const bar = `[${'='.repeat(full)}${'-'.repeat(barCells - full)}] ${Math.floor(share * 100)} %`
  const left = share === 1 || rate === 0 ? '' : ` · ${durationText((total - done) / rate)} left`
  return `${bar} · ${count} of ${numberText(total)} ${unit} · ${speed}${left}`
}

function durationText(seconds: number): string {
  const total = Math.ceil(seconds)
  if (total < 60) return `${total} s`
  if (total < 3_600) return `${Math.floor(total / 60)} min ${total % 60} s`
  return `${numberText(Math.floor(total / 3_600))} h ${Math.floor((total % 3_600) / 60)} min`
}

const units: Readonly<Record<string, string>> = {
  writing: 'entries written',
  verifying: 'bytes verified',
  checking: 'bytes checked',
  restoring: 'entries restored',
  comparing: 'entries compared',
  replaying: 'commits replayed',
  indexing: 'objects indexed',
  copying: 'entries copied',
  reading: 'objects read',
  creating: 'objects created',
  filling: 'objects filled',
  looking: 'entries checked',
}

export class StepProgress {
  private readonly options: Omit<ProgressOptions, 'unit'>
  private step: string | undefined
  private bar: ProgressLine | undefined

  constructor(options: Omit<ProgressOptions, 'unit'>) {
    this.options = options
  }

  readonly update = (step: string, done: number, total?: number): void => {
    if (step !== this.step) {
      this.stop()
      this.step = step
      this.bar = new ProgressLine({ ...this.options, unit: units[step] ?? step })
    }
    this.bar?.update(done, total)
  }

  stop(): void {
    this.bar?.stop()
    this.bar = undefined
  }
}

/** Shows the progress of `work` until it ends or fails. */
export async function withProgress<T>(
  { json, quiet }: ResultOptions,
  work: (onProgress: StepProgress['update']) => Promise<T>,
): Promise<T> {
  const progress = new StepProgress({ isQuiet: hidesProgress(quiet === true, json === true) })
  try {
    return await work(progress.update)
  } finally {
    progress.stop()
  }
}
