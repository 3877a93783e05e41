/** Child: backs the store in a directory up into another; killed amid that by itself where it is told so, else it prints what came of it. */
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'

const [directory = '', to = '', how = ''] = process.argv.slice(2)
const store = await openLmdbStore(directory)
const backup = store.backup(to)
// The file is given its name in a later turn, which there is none of.
if (how === 'killed') process.kill(process.pid, 'SIGKILL')
process.stdout.write(
  `${await backup.then(
    () => 'done',
    (error: Error) => error.message,
  )}\n`,
)
await store.close()
