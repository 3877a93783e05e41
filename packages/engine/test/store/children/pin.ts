/** Child: opens the store in a directory, begins a read that it never ends, says so, and waits to be killed. */
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'

const store = await openLmdbStore(process.argv[2] ?? '')
const snapshot = await store.snapshot()
await snapshot.view(Buffer.from('count'), (value) => value.length)
process.stdout.write('reads\n')
process.stdin.resume()
