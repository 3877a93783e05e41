/** Child: compacts a store, and is killed after the step that is named; prints the report. */
import { compactLmdbStore } from '../../../src/store/lmdb/compact.ts'

const [directory = '', killedAfter = ''] = process.argv.slice(2)
try {
  const report = await compactLmdbStore(directory, {
    signal: new AbortController().signal,
    onStep(step) {
      if (step === killedAfter) process.kill(process.pid, 'SIGKILL')
    },
  })
  process.stdout.write(`${JSON.stringify(report)}\n`)
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`)
}
