/** Draws numbers of a sequence, several at a time, and tells of each when it was asked for, when it was replied, and which it is. */
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { openStore } from '../../../src/storage/open-store.ts'
import { rowValues } from '../../row-texts.ts'

const [address = '', callers = '', draws = ''] = process.argv.slice(2)
const fd = await FederatedDatabase.open({ alias: 'child', store: await openStore(address) })

/** The clock is one for all processes of the machine. */
async function draw(): Promise<void> {
  for (let nth = 0; nth < Number(draws); nth++) {
    const asked = process.hrtime.bigint()
    const [number] = await rowValues(await fd.query({ text: "SHOW NEXT('s')" }))
    process.stdout.write(`${asked} ${process.hrtime.bigint()} ${number}\n`)
  }
}

process.stdout.write('ready\n')
await Promise.all(Array.from({ length: Number(callers) }, draw))
await fd.close()
process.exit(0)
