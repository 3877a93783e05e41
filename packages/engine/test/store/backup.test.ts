/** Backups of LMDB: half of one is never taken for a store, nor the directory of one that was stopped for an empty store. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { makeBackup } from '../../src/store/lmdb/make-backup.ts'
import { checkStore } from '../../src/verify/check-store.ts'
import { commitOf, entriesIn, put } from './bytes.ts'
import { startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const backUp = new URL('./children/back-up.ts', import.meta.url)
const isWindows = process.platform === 'win32'

/** Of 4 MB. */
async function filledStore(): Promise<string> {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  await store.commit(commitOf(Array.from({ length: 4 }, (_, i) => put(`key-${i}`, 'x'.repeat(1_000_000)))))
  await store.close()
  return directory
}

async function expectRefused(directory: string): Promise<void> {
  const before = readdirSync(directory)
  const sentence = 'a backup into it is not finished; delete that directory, and make the backup again'
  await expect(openLmdbStore(directory)).rejects.toThrow(`The LMDB store in ${directory} cannot be opened: ${sentence}`)
  await expect(openLmdbStore(directory, { isReadOnly: true })).rejects.toThrow(sentence)
  await expect(checkStore(`lmdb:${directory}`)).rejects.toThrow(
    `The LMDB store in ${directory} cannot be checked: ${sentence}`,
  )
  expect(readdirSync(directory)).toEqual(before)
}

describe('a backup of LMDB', () => {
  it('that was killed is refused by whoever opens it, and by the next backup', async () => {
    const [directory, to] = [await filledStore(), join(await temporaryDirectory(), 'made', 'backup')]
    const { signal } = await startChild(backUp, [directory, to, 'killed']).ended
    expect(signal).toBe('SIGKILL')
    expect(readdirSync(to)).toEqual(['backup.unfinished'])
    await expectRefused(to)
    const store = await openLmdbStore(directory)
    onTestFinished(() => store.close())
    await expect(store.backup(to)).rejects.toThrow('was not finished; where none is under way, delete that directory')
    rmSync(to, { recursive: true })
    await store.backup(to)
    expect(readdirSync(to)).toEqual(['data.mdb'])
    expect((await checkStore(`lmdb:${to}`)).file).toMatchObject({ entries: 4, problems: [] })
  })

  it('that was killed while its file was given its name is refused too', async () => {
    const to = await temporaryDirectory()
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const backup = makeBackup(to, async (into) => {
      writeFileSync(join(into, 'data.mdb'), 'whole')
      await held
    })
    // As after a rename whose end was not seen.
    writeFileSync(join(to, 'data.mdb'), 'whole')
    await expectRefused(to)
    release()
    await backup
  })

  it.skipIf(isWindows)('that finds the disk full says so, leaves nothing that fills it, and is refused', async () => {
    const [directory, to] = [await filledStore(), await temporaryDirectory()]
    // Files may not grow beyond 2 MiB, and the signal that would end the process is ignored.
    const child = startChild(backUp, [directory, to], `trap '' XFSZ; ulimit -f 2048`)
    const { value } = await child.lines.next()
    expect(value).toMatch(new RegExp(`^The backup into ${to} is not finished: .*(full|large|space)`, 'i'))
    await child.ended
    expect(readdirSync(to, { recursive: true })).toEqual(['backup.unfinished'])
    await expectRefused(to)
  })

  it('keeps others out of its directory while it is made, and begins in none that is being opened', async () => {
    const [directory, to, opened] = [await filledStore(), await temporaryDirectory(), await temporaryDirectory()]
    const store = await openLmdbStore(directory)
    onTestFinished(() => store.close())
    const backup = store.backup(to)
    await expect(store.backup(to)).rejects.toThrow(`A backup into ${to} is under way`)
    await backup
    expect(existsSync(join(to, 'backup.unfinished'))).toBe(false)
    const copy = await openLmdbStore(to)
    expect((await entriesIn(copy)).length).toBe(4)
    await copy.close()
    const opening = openLmdbStore(opened)
    await expect(store.backup(opened)).rejects.toThrow(`The backup directory ${opened} is not empty.`)
    await (await opening).close()
  })
})
