/** How long a piece of work takes, and for how long at most it keeps others from the event loop. */
export interface Stretch {
  readonly ms: number
  /** The longest time between two turns of the event loop meanwhile. */
  readonly longestMs: number
}

export async function stretchOf(work: () => Promise<unknown>): Promise<Stretch> {
  let [isOver, longest, last] = [false, 0, performance.now()]
  const look = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  const start = performance.now()
  await work()
  isOver = true
  const end = performance.now()
  return { ms: end - start, longestMs: Math.max(longest, end - last) }
}
