/**
 * Writes objects of the class Item until it is told to stop, with small values (to 255) or large ones (to 399) as it is told: `W <oid> <value>` is acknowledged, `R <type>` refused. Asked
 * `names`, it answers `N <names of the attributes>`, as they are then.
 */
import { createInterface } from 'node:readline'
import { AshlarError } from '../../../src/errors.ts'
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { openStore } from '../../../src/storage/open-store.ts'

const fd = await FederatedDatabase.open({ alias: 'child', store: await openStore(process.argv[2] ?? '') })
const tell = (line: string): void => void process.stdout.write(`${line}\n`)
const names = async (): Promise<string[]> => {
  return (await fd.readClass('Item')).attributes.map(({ attributeName }) => attributeName)
}

let isStopping = false
let isSmall = false
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'stop') isStopping = true
  else if (line === 'small' || line === 'large') isSmall = line === 'small'
  else void names().then((known) => tell(`N ${known.join(' ')}`))
})

const oids: string[] = []
async function write(nth: number): Promise<void> {
  const value = (nth * 37) % (isSmall ? 256 : 400)
  const name = (await names()).find((known) => known.startsWith('value')) ?? ''
  try {
    const known = oids[nth % 50]
    if (known === undefined || nth % 3 === 0) {
      const oid = await fd.createObject('Item', { [name]: value })
      oids[nth % 50] = oid
      tell(`W ${oid} ${value}`)
    } else {
      await fd.updateObject(known, { [name]: value })
      tell(`W ${known} ${value}`)
    }
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error
    tell(`R ${error.type}`)
  }
}

tell('ready')
for (let nth = 0; !isStopping; nth++) await write(nth)
await fd.close()
tell('stopped')
process.exit(0)
