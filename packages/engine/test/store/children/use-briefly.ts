/**
 * Child: for each line `<directory> <key>` opens the store there, commits the key, closes it, and prints `done`, or what failed;
 * with `<directory> <key> keep` it leaves it open. Ends with its input.
 */
import { createInterface } from 'node:readline'
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'

process.on('exit', () => process.stdout.write('exits\n'))

async function use(directory: string, key: string, isKept: boolean): Promise<void> {
  const store = await openLmdbStore(directory)
  await store.commit({
    changes: [{ kind: 'put', key: Buffer.from(key), value: Buffer.from('1') }],
    preconditions: [{ kind: 'absent', key: Buffer.from(key) }],
  })
  if (!isKept) await store.close()
}

for await (const line of createInterface({ input: process.stdin })) {
  const [directory = '', key = '', kept] = line.split(' ')
  try {
    await use(directory, key, kept === 'keep')
    process.stdout.write('done\n')
  } catch (error) {
    process.stdout.write(`failed: ${error}\n`)
  }
}
