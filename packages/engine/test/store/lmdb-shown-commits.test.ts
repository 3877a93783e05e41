/** LMDB: what a killed process has committed is shown by every process from the first read on, and nobody shows less than the file holds. */
import { rmSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openGate } from '../../src/store/lmdb/gate.ts'
import { processDirectory } from '../../src/store/lmdb/live-processes.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Store } from '../../src/store/store.ts'
import { commitChanges, put, valueIn } from './bytes.ts'
import { type Child, startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const commitHalf = new URL('./children/commit-half.ts', import.meta.url)
const countOnRequest = new URL('./children/count-on-request.ts', import.meta.url)
const openAs = new URL('./children/open-as.ts', import.meta.url)

async function nextLine(child: Child): Promise<string | undefined> {
  const { value } = await child.lines.next()
  return value
}

async function usedStore(): Promise<{ store: Store; directory: string }> {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  onTestFinished(() => store.close())
  await commitChanges(store, put('count', '0'))
  return { store, directory }
}

async function kill(child: Child): Promise<void> {
  child.process.kill('SIGKILL')
  await child.ended
}

describe('a commit of a process that is killed before it has ended it', () => {
  it('is shown by the next read of a process that neither writes nor opens the store', async () => {
    const { store, directory } = await usedStore()
    const child = startChild(commitHalf, [directory])
    expect(await nextLine(child)).toBe('half')
    // It has acknowledged nothing, and nobody waits for it.
    expect(await valueIn(store, 'half')).toBeUndefined()
    await kill(child)
    expect(await valueIn(store, 'half')).toBe('1')
    expect(await valueIn(store, 'next')).toBeUndefined()
    await commitChanges(store, put('count', '1'))
    expect(await valueIn(store, 'count')).toBe('1')
  })

  it('ends reads with StoreUnavailable, at once after the first, where the number cannot be raised', async () => {
    const { store, directory } = await usedStore()
    const child = startChild(commitHalf, [directory])
    expect(await nextLine(child)).toBe('half')
    // As another process that has begun a commit, and is suspended.
    const gate = openGate(processDirectory(directory))
    onTestFinished(() => gate.close())
    expect(await gate.enter(10_000)).toBe(true)
    await kill(child)
    for (let reads = 0; reads < 3; reads++)
      await expect(valueIn(store, 'half')).rejects.toMatchObject({ type: 'StoreUnavailable', isFatal: false })
    gate.leave()
    expect(await valueIn(store, 'half')).toBe('1')
  })
})

describe('a store whose lock table was removed or replaced while it is open', () => {
  const harms: readonly [string, (lock: string) => Promise<void>][] = [
    ['removed', (lock) => rm(lock)],
    [
      'replaced',
      async (lock) => {
        await rename(lock, `${lock}.moved`)
        await writeFile(lock, '')
      },
    ],
  ]
  it.each(harms)('is opened by no other process: %s', async (_how, harm) => {
    const { store, directory } = await usedStore()
    await harm(join(directory, 'lock.mdb'))
    const other = startChild(openAs, [directory])
    expect(await nextLine(other)).toContain(
      'its data.mdb or lock.mdb was deleted, moved or replaced while other processes',
    )
    expect(await valueIn(store, 'count')).toBe('0')
    await expect(commitChanges(store, put('count', '1'))).rejects.toMatchObject({ type: 'StoreUnavailable' })
  })

  it('shows nothing older than what others have committed, who could not be refused', async () => {
    const { store, directory } = await usedStore()
    for (const name of ['lock.mdb', 'processes']) rmSync(join(directory, name), { recursive: true })
    const other = startChild(countOnRequest, [directory])
    other.process.stdin.write('go\n')
    expect(await nextLine(other)).toBe('1')
    await expect(valueIn(store, 'count')).rejects.toMatchObject({ type: 'StoreUnavailable' })
  })
})
