/** Child: opens the store in a directory; at the first line it begins a commit, says so, and never ends it: as a process that was stopped. */
import { once } from 'node:events'
import { openEnvironment } from '../../../src/store/lmdb/open-environment.ts'

const opened = await openEnvironment(process.argv[2] ?? '', false)
process.stdout.write('open\n')
await once(process.stdin, 'data')
process.stdin.pause()
await opened.environment.childTransaction(() => {
  process.stdout.write('holds\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
