/**
 * One of several processes on one federated database: it opens it, tells `ready`, and waits for a line. Then `clients` at once
 * do `operations` each. What is about to be done and what was acknowledged is told, line by line: `c <key> <hub>` and
 * `C <key> <oid>` of a creation, `i <hub>` and `I <hub>` of an increment, `d <oid>` and `D <oid>` of a deletion, `U <key>` of
 * a key that was taken.
 */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { AshlarError } from '../../../src/errors.ts'
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { openStore } from '../../../src/storage/open-store.ts'

const [address = '', name = '', clients = '0', operations = '0', ...hubs] = process.argv.slice(2)
// On a busy machine a statement may wait long for all the others; how long is not what is tested.
const limits = { statementMsMax: 3_600_000 }
const fd = await FederatedDatabase.open({ alias: 'shared', store: await openStore(address), limits })

const outOfReach = new Set(['StoreUnavailable', 'OutcomeUnknown'])

/** Whoever reads may be busy for a while: then the pipe is full. */
function tell(...words: string[]): void {
  const line = Buffer.from(`${words.join(' ')}\n`)
  for (let written = 0; written < line.length; ) {
    try {
      written += writeSync(1, line, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

async function create(key: string, hub: string): Promise<string | undefined> {
  tell('c', key, hub)
  try {
    const oid = await fd.createObject('Item', { key, hub })
    tell('C', key, oid)
    return oid
  } catch (error) {
    if (!(error instanceof AshlarError && error.type === 'UniqueViolation')) throw error
    tell('U', key)
    return undefined
  }
}

async function increment(hub: string): Promise<void> {
  tell('i', hub)
  const { chunks } = await fd.query({
    text: 'UPDATE Hub WHERE name = $hub SET count TO count + 1',
    parameters: { hub },
  })
  for await (const chunk of chunks) void chunk
  tell('I', hub)
}

async function work(client: number): Promise<void> {
  let last: string | undefined
  for (let nth = 0; nth < Number(operations); nth++) {
    const hub = hubs[(nth * 7 + client) % hubs.length] ?? ''
    try {
      if (nth % 5 === 4) await increment(hub)
      else if (nth % 5 === 3 && last !== undefined) {
        // Should it not become known whether it is deleted, it is not deleted again.
        const oid = last
        last = undefined
        tell('d', oid)
        await fd.deleteObject(oid)
        tell('D', oid)
      } else if (nth % 5 === 2) await create(`shared-${(nth * 13 + client) % 97}`, hub)
      else last = await create(`${name}-${client}-${nth}`, hub)
    } catch (error) {
      // The database was out of reach for too long: what became of the operation is not known.
      if (!(error instanceof AshlarError && outOfReach.has(error.type))) throw error
    }
  }
}

tell('ready')
// All begin at once, so that none has ended before another has opened the database.
await once(process.stdin, 'data')
process.stdin.destroy()
await Promise.all(Array.from({ length: Number(clients) }, (_, client) => work(client)))
await fd.close()
tell('done')
