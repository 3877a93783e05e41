/** Limits how many tasks run concurrently; the rest wait in order. */
import type { Awaitable } from './store.ts'

export class Semaphore {
  private running = 0
  private readonly runningMax: number
  private readonly waiting: (() => void)[] = []

  constructor(runningMax: number) {
    this.runningMax = runningMax
  }

  async run<T>(task: () => Awaitable<T>): Promise<T> {
    if (this.running < this.runningMax) this.running++
    else await new Promise<void>((begin) => this.waiting.push(begin))
    try {
      return await task()
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.running--
      else next()
    }
  }
}
