/** LMDB: files that are not those of a sound store are told in one sentence at the start, and when they go while it is open. */
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { EntryChecks } from '../../src/store/lmdb/entry-checks.ts'
import { alwaysOpenGate, openGate } from '../../src/store/lmdb/gate.ts'
import { openGroupCommit } from '../../src/store/lmdb/group-commit.ts'
import { processDirectory } from '../../src/store/lmdb/live-processes.ts'
import type { Environment } from '../../src/store/lmdb/lmdb-js.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { OpenedFiles } from '../../src/store/lmdb/opened-files.ts'
import type { Store } from '../../src/store/store.ts'
import { commitOf, put } from './bytes.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const pageBytes = 4_096

async function closedStore(): Promise<{ directory: string; data: string }> {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  for (let round = 0; round < 3; round++)
    await store.commit(commitOf([put(`key-${round}`, 'x'.repeat(9_000)), put('count', String(round))]))
  await store.close()
  return { directory, data: join(directory, 'data.mdb') }
}

function patch(path: string, change: (file: Buffer) => void): void {
  const file = readFileSync(path)
  change(file)
  writeFileSync(path, file)
}

function flip(file: Buffer, at: number, bit: number): void {
  file.writeUInt8(file.readUInt8(at) ^ (1 << bit), at)
}

/** Where the meta page begins that LMDB reads. */
function newerMeta(file: Buffer): number {
  return file.readUInt32LE(152) > file.readUInt32LE(pageBytes + 152) ? 0 : pageBytes
}

/** Where the bytes stand in the list of databases. */
function listPlace(file: Buffer, sought: string): number {
  return file.indexOf(sought, file.readUInt32LE(newerMeta(file) + 136) * pageBytes)
}

describe('lmdb: a store is not opened', () => {
  const harms: readonly [string, (data: string, directory: string) => void, string][] = [
    ['whose file is empty', (data) => truncateSync(data, 0), 'data.mdb is empty, though there was a store'],
    [
      'whose file is empty, and whose lock file is gone',
      (data, directory) => {
        truncateSync(data, 0)
        rmSync(join(directory, 'lock.mdb'))
      },
      'data.mdb is empty, though there was a store',
    ],
    ['whose file is missing', (data) => rmSync(data), 'data.mdb is missing, though there was a store'],
    [
      'whose file and lock file are missing',
      (data, directory) => {
        rmSync(data)
        rmSync(join(directory, 'lock.mdb'))
      },
      'data.mdb is missing, though there was a store',
    ],
    [
      'whose lock file is a directory',
      (_data, directory) => {
        rmSync(join(directory, 'lock.mdb'))
        mkdirSync(join(directory, 'lock.mdb'))
      },
      'lock.mdb is not a file; it is only the lock table of LMDB: remove it',
    ],
    [
      'whose lock file cannot be opened',
      (_data, directory) => {
        rmSync(join(directory, 'lock.mdb'))
        symlinkSync(join(directory, 'gone', 'lock.mdb'), join(directory, 'lock.mdb'))
      },
      'lock.mdb cannot be opened (ENOENT); it is only the lock table of LMDB: remove it',
    ],
    ['whose file is cut', (data) => truncateSync(data, 4 * pageBytes), 'data.mdb is cut: it has 16384 bytes of'],
    ['whose file is cut within its first page', (data) => truncateSync(data, 100), 'the file is cut: it has 100 bytes'],
    [
      'whose file is another program’s',
      (data) => writeFileSync(data, Buffer.alloc(20 * pageBytes, 'SQLite format 3\0')),
      'data.mdb: it is not a file of LMDB',
    ],
    [
      'whose file is of a newer format',
      (data) =>
        patch(data, (file) => {
          file.writeUInt32LE(3, 28)
          file.writeUInt32LE(3, pageBytes + 28)
        }),
      'is of data format 3, and this version of Ashlar reads 2',
    ],
    [
      'whose page size is none',
      (data) => patch(data, (file) => file.writeUInt32LE(5_000, 48)),
      'meta page 0 tells a page size of 5000 bytes, which is not possible',
    ],
    [
      'one of whose meta pages is damaged',
      (data) => patch(data, (file) => file.writeUInt8(0, pageBytes + 24)),
      'data.mdb: meta page 1 is damaged',
    ],
    [
      'whose last transaction has another number',
      (data) => patch(data, (file) => file.writeUInt8(file.readUInt8(152) ^ 0x20, 152)),
      'which do not follow each other',
    ],
    [
      'whose root lies outside of the file',
      (data) =>
        patch(data, (file) => {
          file.writeUInt32LE(70_000, 136)
          file.writeUInt32LE(70_000, pageBytes + 136)
        }),
      'meta page 0 leads to pages that do not exist',
    ],
    [
      'whose list of databases is of keys that are read backwards',
      (data) => patch(data, (file) => flip(file, newerMeta(file) + 100, 1)),
      'has flags 2, and should have 0',
    ],
    [
      'whose list of databases has another depth than its root',
      (data) => patch(data, (file) => flip(file, newerMeta(file) + 102, 1)),
      'has a header whose counts cannot be',
    ],
    ['whose list of free pages is of other keys', (data) => patch(data, (file) => flip(file, 52, 2)), 'has flags 12'],
    [
      'whose entries go by another name',
      (data) => patch(data, (file) => flip(file, listPlace(file, 'entries.v2') + 9, 2)),
      'the list of databases does not name that of the entries and nothing else',
    ],
    [
      'whose marker goes by another name',
      (data) => patch(data, (file) => flip(file, listPlace(file, 'entries\0The'), 2)),
      'does not name that of the entries and nothing else',
    ],
    [
      'whose marker has changed',
      (data) => patch(data, (file) => flip(file, listPlace(file, 'The entries of this store') + 3, 0)),
      'does not name that of the entries and nothing else',
    ],
    [
      'whose entries are taken for a value',
      (data) => patch(data, (file) => flip(file, listPlace(file, 'entries.v2') - 4, 1)),
      'does not name that of the entries and nothing else',
    ],
    [
      'whose entries have keys that are read backwards',
      (data) => patch(data, (file) => flip(file, listPlace(file, 'entries.v2') + 11 + 4, 1)),
      'database entries.v2 has flags 2, and should have 0',
    ],
    [
      'whose entries have other counts than pages',
      (data) => patch(data, (file) => flip(file, listPlace(file, 'entries.v2') + 11 + 18, 7)),
      'database entries.v2 has a header whose counts cannot be',
    ],
    [
      'whose list of databases is empty',
      (data) =>
        patch(data, (file) =>
          file
            .fill(0, newerMeta(file) + 102, newerMeta(file) + 136)
            .fill(255, newerMeta(file) + 136, newerMeta(file) + 144),
        ),
      'does not name that of the entries and nothing else',
    ],
    [
      'whose file is a directory',
      (data) => {
        rmSync(data)
        mkdirSync(data)
      },
      'data.mdb is not a file',
    ],
  ]
  it.each(harms)('%s', async (_name, harm, sentence) => {
    const { directory, data } = await closedStore()
    harm(data, directory)
    const error = await openLmdbStore(directory).then(
      async (store) => {
        await store.close()
        return new Error('it was opened')
      },
      (failure: Error) => failure,
    )
    expect(error.message).toContain(`The LMDB store in ${directory} cannot be opened: `)
    expect(error.message).toContain(sentence)
    expect(error.message).not.toContain('\n')
  })

  it('but is made where a first start was killed before there was one', async () => {
    const directory = await temporaryDirectory()
    openGate(processDirectory(directory)).close()
    writeFileSync(join(directory, 'lock.mdb'), '')
    const store = await openLmdbStore(directory)
    expect(await store.commit(commitOf([put('kept', '1')]))).toEqual({ isCommitted: true })
    await store.close()
  })

  it('which is a file', async () => {
    const file = join(await temporaryDirectory(), 'file')
    writeFileSync(file, '')
    await expect(openLmdbStore(file)).rejects.toThrow('it is a file, and a store is a directory')
  })

  it.skipIf(process.getuid?.() === 0 || process.platform === 'win32')('without permission', async () => {
    const { directory, data } = await closedStore()
    chmodSync(data, 0o400)
    await expect(openLmdbStore(directory)).rejects.toThrow('may not be read and written by the user who runs Ashlar')
  })
})

// Windows keeps open files from being deleted.
describe.skipIf(process.platform === 'win32')('lmdb: files that go while the store is open', () => {
  const stores: Store[] = []
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
  })

  async function openStore(): Promise<{ store: Store; data: string }> {
    const { directory, data } = await closedStore()
    const store = await openLmdbStore(directory)
    stores.push(store)
    return { store, data }
  }

  it('deleted: commits fail and say so, and nothing is acknowledged', async () => {
    const { store, data } = await openStore()
    expect(store.problem?.()).toBeUndefined()
    rmSync(data)
    expect(store.problem?.()?.message).toContain('data.mdb is no longer there')
    await expect(store.commit(commitOf([put('lost', '1')]))).rejects.toMatchObject({
      type: 'StoreUnavailable',
      message: expect.stringContaining(
        'is no longer there: it was moved, deleted or replaced while the store was open. Put it back, or stop the server',
      ),
    })
  })

  it('replaced by another, and put back: commits fail only in between', async () => {
    const { store, data } = await openStore()
    const kept = readFileSync(data)
    renameSync(data, `${data}.aside`)
    writeFileSync(data, kept)
    expect(store.problem?.()?.message).toContain('is not the file that was opened')
    await expect(store.commit(commitOf([put('lost', '1')]))).rejects.toMatchObject({ type: 'StoreUnavailable' })
    renameSync(`${data}.aside`, data)
    expect(store.problem?.()).toBeUndefined()
    expect(await store.commit(commitOf([put('kept', '1')]))).toEqual({ isCommitted: true })
  })

  it('deleted while a commit is written: it is not known whether the change was kept', async () => {
    const { directory, data } = await closedStore()
    const environment = {
      async childTransaction(action: () => unknown) {
        const outcomes = action()
        rmSync(data)
        return outcomes
      },
      getWriteTxnId: () => 1,
      env: { info: () => ({ lastTxnId: 0 }) },
      put: () => true,
    } as unknown as Environment
    const group = openGroupCommit({
      environment,
      gate: alwaysOpenGate,
      files: new OpenedFiles(directory, alwaysOpenGate),
      location: directory,
      checks: new EntryChecks('checked'),
    })
    await expect(group.commit(commitOf([put('lost', '1')]))).rejects.toMatchObject({ type: 'OutcomeUnknown' })
    await group.close()
  })
})
