/** Child: commits until the storage fails (its files are bounded from outside), then proves that it lives, and prints how. */
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'

const store = await openLmdbStore(process.argv[2] ?? '')

async function commit(name: string, bytes: number): Promise<boolean> {
  const value = Buffer.alloc(bytes, 1)
  const outcome = await store.commit({ changes: [{ kind: 'put', key: Buffer.from(name), value }], preconditions: [] })
  return outcome.isCommitted
}

let acknowledged = 0
let failure = ''
while (failure === '') {
  const group = Array.from({ length: 8 }, (_, member) => commit(`${acknowledged}/${member}`, 50_000))
  const settled = await Promise.allSettled(group)
  const rejected = settled.find((one) => one.status === 'rejected')
  if (rejected === undefined) acknowledged += 1
  else failure = String(rejected.reason)
  if (rejected !== undefined && settled.some((one) => one.status === 'fulfilled')) failure = 'half a group failed'
}
const small = await commit('small', 10)
const snapshot = await store.snapshot()
const failed = await snapshot.view(Buffer.from(`${acknowledged}/0`), (value) => value.length)
const last = await snapshot.view(Buffer.from(`${acknowledged - 1}/7`), (value) => value.length)
const kept = await snapshot.view(Buffer.from('small'), (value) => value.length)
snapshot.release()
await store.close()
process.stdout.write(`${JSON.stringify({ acknowledged, failure, small, failed: failed ?? null, last, kept })}\n`)
