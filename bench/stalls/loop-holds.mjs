/**
 * Loaded into each process of a measured server (`--import`): tells how long its event loop was held. On a machine that is shared, a wait
 * may be the machine's; so the time during which the thread waited for a processor is told beside it.
 */
import { appendFileSync, readFileSync } from 'node:fs'

const everyMs = 4
const toldMs = 15
const file = process.env.STALLS_HOLDS
const schedule = `/proc/self/task/${process.pid}/schedstat`

/** Milliseconds for which the main thread was ready to run, and others ran. */
function waitedForCpuMs() {
  return Number(readFileSync(schedule, 'latin1').split(' ')[1]) / 1e6
}

if (file !== undefined) {
  let last = performance.now()
  let waited = waitedForCpuMs()
  setInterval(() => {
    const now = performance.now()
    const waitedNow = waitedForCpuMs()
    const held = now - last - everyMs
    if (held > toldMs)
      appendFileSync(file, `${JSON.stringify({ at: Date.now(), held, own: held - (waitedNow - waited) })}\n`)
    last = now
    waited = waitedNow
  }, everyMs).unref()
}
