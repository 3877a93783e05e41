/** Child: for each line read commits the next number and prints it once it is acknowledged; ends with its input. */
import { createInterface } from 'node:readline'
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'

const store = await openLmdbStore(process.argv[2] ?? '')
let count = 0
for await (const _ of createInterface({ input: process.stdin })) {
  count += 1
  await store.commit({
    changes: [{ kind: 'put', key: Buffer.from('count'), value: Buffer.from(String(count)) }],
    preconditions: [],
  })
  process.stdout.write(`${count}\n`)
}
await store.close()
