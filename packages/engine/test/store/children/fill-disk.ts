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
/** Of the last eight: whether each was acknowledged. A busy machine divides them into several groups, of which one fails. */
let answers: boolean[] = []
while (failure === '') {
  const group = Array.from({ length: 8 }, (_, member) => commit(`${acknowledged}/${member}`, 50_000))
  const settled = await Promise.allSettled(group)
  const rejected = settled.find((one) => one.status === 'rejected')
  answers = settled.map(({ status }) => status === 'fulfilled')
  if (rejected === undefined) acknowledged += 1
  else failure = String(rejected.reason)
}
const small = await commit('small', 10)
const snapshot = await store.snapshot()
const there: boolean[] = []
for (const member of answers.keys()) {
  const length = await snapshot.view(Buffer.from(`${acknowledged}/${member}`), (value) => value.length)
  there.push(length === 50_000)
}
const last = await snapshot.view(Buffer.from(`${acknowledged - 1}/7`), (value) => value.length)
const kept = await snapshot.view(Buffer.from('small'), (value) => value.length)
snapshot.release()
await store.close()
process.stdout.write(`${JSON.stringify({ acknowledged, failure, small, answers, there, last, kept })}\n`)
