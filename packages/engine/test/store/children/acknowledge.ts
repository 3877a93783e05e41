/** Child: commits pairs without end, several at once, and prints the number of each that was acknowledged. */
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'

const [directory = '', firstNumber = '0', writers = '1'] = process.argv.slice(2)
const store = await openLmdbStore(directory)
let next = Number(firstNumber)

async function write(): Promise<void> {
  for (;;) {
    const number = next++
    const name = String(number).padStart(9, '0')
    await store.commit({
      changes: ['first', 'second', 'third'].map((part) => ({
        kind: 'put' as const,
        key: Buffer.from(`${part}/${name}`),
        value: Buffer.alloc(200 + (number % 7) * 600, number),
      })),
      preconditions: [{ kind: 'absent', key: Buffer.from(`first/${name}`) }],
    })
    process.stdout.write(`${number}\n`)
  }
}

await Promise.all(Array.from({ length: Number(writers) }, write))
