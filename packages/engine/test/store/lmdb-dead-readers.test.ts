/** LMDB: a process that is killed while it reads does not make the file of those that go on grow. */
import { afterEach, expect, it, vi } from 'vitest'
import { deadReadersMs } from '../../src/limits.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Store } from '../../src/store/store.ts'
import { commitChanges, put } from './bytes.ts'
import { startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const pageBytes = 4_096
const commits = 60

afterEach(() => vi.restoreAllMocks())

/** By how many pages the file grows while one entry is written again and again. */
async function growth(store: Store): Promise<number> {
  const { bytes: before } = await store.stats()
  for (let round = 0; round < commits; round++) await commitChanges(store, put('count', String(round)))
  const { bytes: after } = await store.stats()
  return (after - before) / pageBytes
}

it('pages that only a killed reader might have read are used again, without an opening', async () => {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  await commitChanges(store, put('count', '0'))
  const child = startChild(new URL('./children/pin.ts', import.meta.url), [directory])
  expect((await child.lines.next()).value).toBe('reads')
  const now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now)
  expect(await growth(store)).toBeGreaterThan(commits)
  clock.mockReturnValue(now + 2 * deadReadersMs)
  // A reader that lives keeps its pages.
  expect(await growth(store)).toBeGreaterThan(commits)
  child.process.kill('SIGKILL')
  await child.ended
  clock.mockReturnValue(now + 4 * deadReadersMs)
  expect(await growth(store)).toBeLessThan(10)
  await store.close()
})
