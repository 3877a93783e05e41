/** LMDB: a process ends in the middle of a commit, however it comes to its end, and keeps nobody else from committing. */
import { expect, it } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { commitOf, put } from './bytes.ts'
import { startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const exitInCommit = new URL('./children/exit-in-commit.ts', import.meta.url)
const holdWrites = new URL('./children/hold-writes.ts', import.meta.url)

it('by process.exit while it holds the lock of writers: the next commit of another goes through', async () => {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  const child = startChild(exitInCommit, [directory, 'holding', 'exit'])
  expect((await child.lines.next()).value).toBe('open')
  child.process.stdin.write('\n')
  expect((await child.ended).errors).toContain('a commit to an LMDB store was under way')
  expect(await store.commit(commitOf([put('after', '1')]))).toEqual({ isCommitted: true })
  expect((await store.stats()).entries).toBe(1)
  await store.close()
})

it('by an exception while it waits for a process that was stopped in its commit: the exception is told', async () => {
  const directory = await temporaryDirectory()
  const holder = startChild(holdWrites, [directory])
  expect((await holder.lines.next()).value).toBe('open')
  const child = startChild(exitInCommit, [directory, 'waiting', 'throws'])
  expect((await child.lines.next()).value).toBe('open')
  holder.process.stdin.write('\n')
  expect((await holder.lines.next()).value).toBe('holds')
  child.process.stdin.write('\n')
  const { errors } = await child.ended
  expect(errors).toContain('broken on purpose')
  expect(errors).toContain('a commit to an LMDB store was under way')
})
