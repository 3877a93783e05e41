/** How long a piece of work takes, and for how long at most it keeps others from the event loop. */
import { readFileSync } from 'node:fs'

export interface Stretch {
  readonly ms: number
  /** The longest time between two turns of the event loop meanwhile. */
  readonly longestMs: number
  /** The most that the thread ran between two turns: the rest of the time it waited for a processor. Where the system does not tell, NaN. */
  readonly longestCpuMs: number
}

export async function stretchOf(work: () => Promise<unknown>): Promise<Stretch> {
  let [isOver, longest, longestCpu, last, lastCpu] = [false, 0, 0, performance.now(), cpuMs()]
  const look = (): void => {
    const [now, cpu] = [performance.now(), cpuMs()]
    longest = Math.max(longest, now - last)
    longestCpu = Math.max(longestCpu, cpu - lastCpu)
    last = now
    lastCpu = cpu
  }
  const lookAgain = (): void => {
    look()
    if (!isOver) setImmediate(lookAgain)
  }
  setImmediate(lookAgain)
  const start = performance.now()
  await work()
  isOver = true
  look()
  return { ms: last - start, longestMs: longest, longestCpuMs: longestCpu }
}

/** Of the main thread, which has the number of its process. */
function cpuMs(): number {
  try {
    const [ran] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ', 1)
    return Number(ran) / 1e6
  } catch {
    return Number.NaN
  }
}
