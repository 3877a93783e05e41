/** Child: creates an object once, and is killed just before or just after the commit that has the receipt. */
import { keySpace } from '../../../src/bytes/key-space.ts'
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { openStore } from '../../../src/storage/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { createPart } from '../create-part.ts'

const [address = '', moment] = process.argv.slice(2)
const store = await openStore(address)

const killing: Store = {
  ...store,
  async commit(commit) {
    const isReceipt = [...commit.changes].some(({ key }) => key[0] === keySpace.receipt)
    if (isReceipt && moment === 'before') process.kill(process.pid, 'SIGKILL')
    const outcome = await store.commit(commit)
    if (isReceipt && moment === 'after') process.kill(process.pid, 'SIGKILL')
    return outcome
  },
}

await createPart(await FederatedDatabase.open({ alias: 'child', store: killing }), 'key')
