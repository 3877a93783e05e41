/** Child: adds a check to class Item, in the background if it is told so, and is killed when stored objects have been held against it, before the commit that completes the change. */
import { catalogVersionKey } from '../../../src/bytes/key-space.ts'
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { openStore } from '../../../src/storage/open-store.ts'
import type { Store } from '../../../src/store/store.ts'

const store = await openStore(process.argv[2] ?? '')
let changes = 0

const killing: Store = {
  ...store,
  async commit(commit) {
    const isOfCatalog = [...commit.changes].some(({ key }) => Buffer.compare(key, catalogVersionKey) === 0)
    if (isOfCatalog && ++changes === 2) process.kill(process.pid, 'SIGKILL')
    return store.commit(commit)
  },
}

const fd = await FederatedDatabase.open({ alias: 'child', store: killing })
const change = { classFields: { checks: [{ name: 'small', expression: 'n < 10' }] } }
await (process.argv[3] === 'background' ? fd.startAlteration('Item', change) : fd.alterClass('Item', change))
