/**
 * Child: opens the store in a directory, as another user where one is given, prints its number of entries or why it cannot be
 * opened, and leaves it open until its input ends.
 */
import { once } from 'node:events'
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'

const [directory = '', user = '', how = ''] = process.argv.slice(2)
if (user !== '') {
  process.setgroups?.([])
  process.setgid?.(Number(user))
  process.setuid?.(Number(user))
}
try {
  const store = await openLmdbStore(directory, { isReadOnly: how === 'read' })
  process.stdout.write(`${(await store.stats()).entries}\n`)
  process.stdin.resume()
  await once(process.stdin, 'end')
  await store.close()
} catch (error) {
  process.stdout.write(`${error}\n`)
}
