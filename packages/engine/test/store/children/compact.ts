/**
 * Child: compacts a store, and is killed, or exits, after the step that is named; prints the report. One that would wait while it exits is
 * killed.
 */
import { compactLmdbStore } from '../../../src/store/lmdb/compact.ts'

const [directory = '', endedAfter = '', isExiting = ''] = process.argv.slice(2)
try {
  const report = await compactLmdbStore(directory, {
    signal: new AbortController().signal,
    onStep(step) {
      if (step !== endedAfter) return
      if (isExiting === '') process.kill(process.pid, 'SIGKILL')
      Atomics.wait = () => process.kill(process.pid, 'SIGKILL') as never
      process.exit(0)
    },
  })
  process.stdout.write(`${JSON.stringify(report)}\n`)
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`)
}
