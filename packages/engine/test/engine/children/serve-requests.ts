/** Serves a federated database line by line: each request is answered by `ok` or the type of the error. */
import { createInterface } from 'node:readline'
import { AshlarError } from '../../../src/errors.ts'
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { openStore } from '../../../src/storage/open-store.ts'

const told: string[] = []
const fd = await FederatedDatabase.open({
  alias: 'child',
  store: await openStore(process.argv[2] ?? ''),
  onFormatChanged: (message) => told.push(message),
})
const attributes = [{ attributeName: 'name', logicalType: 'string' }]
await fd.defineClasses([{ className: 'Part', isReferenceable: true, attributes }], 'create')
const oid = await fd.createObject('Part', { name: 'first' })

const requests: Readonly<Record<string, () => unknown>> = {
  create: () => fd.createObject('Part', { name: 'another' }),
  read: () => fd.readObject(oid),
  define: () => fd.defineClasses([{ className: 'Other', isReferenceable: true, attributes: [] }], 'create'),
  verify: () => fd.verify(),
  async query() {
    for await (const chunk of (await fd.query({ text: 'FROM Part RETURN COUNT()' })).chunks) void chunk
  },
}

async function answer(line: string): Promise<string> {
  if (line === 'told') return JSON.stringify(told)
  try {
    await requests[line]?.()
    return 'ok'
  } catch (error) {
    if (error instanceof AshlarError) return error.type
    throw error
  }
}

process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'stop') break
  process.stdout.write(`${await answer(line)}\n`)
}
await fd.close()
process.exit(0)
