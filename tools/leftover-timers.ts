/** Ends the timers that a file of tests leaves behind: what it has not closed, as after a crash, would go on in the next file of the process. */
const started = new Set<WeakRef<NodeJS.Timeout>>()
let isWatching = false

/** From now on; what Node and vitest themselves have set is not seen. */
export function watchTimers(): void {
  if (isWatching) return
  isWatching = true
  globalThis.setTimeout = watched(globalThis.setTimeout)
  globalThis.setInterval = watched(globalThis.setInterval)
}

function watched<T extends (...given: never[]) => NodeJS.Timeout>(start: T): T {
  return new Proxy(start, {
    apply(target, self, given) {
      const timer: NodeJS.Timeout = Reflect.apply(target, self, given)
      started.add(new WeakRef(timer))
      return timer
    },
  })
}

export function endTimers(): void {
  for (const timer of started) clearTimeout(timer.deref())
  started.clear()
}
