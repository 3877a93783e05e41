/**
 * Loaded into each process of a measured server (`--import`): tells how long its event loop was held. On a machine that is shared, a wait
 * may be the machine's; so the time during which the thread waited for a processor is told beside it, and that during which it had one, with what of it was
 * the collection of garbage.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'

const everyMs = 4
const toldMs = 15
/** After which collections within a hold have been told of. */
const afterMs = 50
const file = process.env.STALLS_HOLDS
const schedule = `/proc/self/task/${process.pid}/schedstat`

/** Milliseconds for which the main thread ran, and for which it was ready to run while others ran. */
function cpuTimes() {
  const [ran, waited] = readFileSync(schedule, 'latin1').split(' ')
  return { ran: Number(ran) / 1e6, waited: Number(waited) / 1e6 }
}

if (file !== undefined) {
  /** @type {{ from: number, to: number }[]} */
  const collections = []
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      collections.push({ from: startTime, to: startTime + duration })
    if (collections.length > 1_000) collections.splice(0, 500)
  }).observe({ entryTypes: ['gc'] })
  /** @type {(from: number, to: number) => number} */
  const collected = (from, to) =>
    collections.reduce((sum, one) => sum + Math.max(0, Math.min(to, one.to) - Math.max(from, one.from)), 0)
  let last = performance.now()
  let before = cpuTimes()
  setInterval(() => {
    const now = performance.now()
    const times = cpuTimes()
    const held = now - last - everyMs
    if (held > toldMs) {
      const [from, at] = [last, Date.now()]
      const own = held - (times.waited - before.waited)
      const cpu = times.ran - before.ran
      setTimeout(() => {
        appendFileSync(file, `${JSON.stringify({ at, held, own, cpu, gc: collected(from, now) })}\n`)
      }, afterMs).unref()
    }
    last = now
    before = times
  }, everyMs).unref()
}
