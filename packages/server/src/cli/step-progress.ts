/** How far work of several steps is: a bar, or lines, for each of them. */
import { hidesProgress, Progress, type ProgressOptions } from './progress.ts'
import type { ResultOptions } from './tell-result.ts'

/** What is counted in a step. */
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
  private shown: Progress | undefined

  constructor(options: Omit<ProgressOptions, 'unit'>) {
    this.options = options
  }

  readonly update = (step: string, done: number, total?: number): void => {
    if (step !== this.step) {
      this.stop()
      this.step = step
      this.shown = new Progress({ ...this.options, unit: units[step] ?? step })
    }
    this.shown?.update(done, total)
  }

  stop(): void {
    this.shown?.stop()
    this.shown = undefined
  }
}

/** Shows how far `work` is, until it has ended or failed. */
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
