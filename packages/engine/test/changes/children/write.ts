/** Child: creates, counts up and deletes objects without end, by several writers at once, and prints what was acknowledged. */
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { openStore } from '../../../src/storage/open-store.ts'

const [address = '', writers = '1', seed = '0'] = process.argv.slice(2)
const fd = await FederatedDatabase.open({ alias: 'writer', store: await openStore(address) })
let made = 0

async function write(): Promise<void> {
  const own: string[] = []
  for (;;) {
    const kind = made % 5
    const key = `${seed}-${process.pid}-${++made}`
    if (kind === 4 && own.length > 3) {
      const oid = own.shift() as string
      await fd.deleteObject(oid)
      process.stdout.write(`D ${oid}\n`)
    } else if (kind === 3) {
      // All processes count the same objects up.
      const { chunks } = await fd.query({ text: `UPDATE Hub WHERE name = 'h${made % 3}' SET count TO count + 1` })
      for await (const _ of chunks);
      process.stdout.write(`U h${made % 3}\n`)
    } else {
      const oid = await fd.createObject('Item', { key })
      own.push(oid)
      process.stdout.write(`C ${oid} ${key}\n`)
    }
  }
}

await Promise.all(Array.from({ length: Number(writers) }, write))
