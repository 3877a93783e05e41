/** Child: increments one counter a number of times, expecting the revision it read, and prints how often it had to try. */
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'

const [directory = '', increments = '0'] = process.argv.slice(2)
const store = await openLmdbStore(directory)
const key = Buffer.from('count')
let tries = 0

async function increment(): Promise<void> {
  for (;;) {
    tries += 1
    const snapshot = await store.snapshot()
    const before = (await snapshot.view(key, (value) => Buffer.from(value)))!
    snapshot.release()
    const outcome = await store.commit({
      changes: [{ kind: 'put', key, value: Buffer.from(`${Number.parseInt(before.toString(), 10) + 1};`) }],
      preconditions: [{ kind: 'revision', key, prefix: before }],
    })
    if (outcome.isCommitted) return
  }
}

async function write(): Promise<void> {
  for (let done = 0; done < Number(increments); done += 1) await increment()
}

await Promise.all([write(), write()])
await store.close()
process.stdout.write(`${tries}\n`)
