/** Index builds whose last commit gets no answer: the reply is what is stored, and never that of an index that is not there. */
import { describe, expect, it } from 'vitest'
import { keySpace } from '../../src/bytes/key-space.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { AlreadyDone } from '../../src/receipts/receipt.ts'
import type { Commit, Store } from '../../src/store/store.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { createPart, part } from './create-part.ts'

/** The first commit that writes a receipt gets no answer; whether it is made is told by `isMade`. */
function losingOneAnswer(store: Store, isMade: boolean): Store {
  let isLost = false
  const commit = async (given: Commit): ReturnType<Store['commit']> => {
    if (isLost || ![...given.changes].some(({ key }) => key[0] === keySpace.receipt)) return store.commit(given)
    isLost = true
    if (isMade) await store.commit(given)
    throw new AshlarError('OutcomeUnknown', 'The connection broke.')
  }
  return { ...store, commit, close: () => store.close() }
}

async function openLosing(isMade: boolean): Promise<FederatedDatabase> {
  const store = await openStoreOfRun()
  const first = await FederatedDatabase.open({ alias: 'first', store: { ...store, close: async () => undefined } })
  await first.defineClasses([part], 'createOrExtend')
  await first.createObject('Part', { code: 1 })
  await first.close()
  return FederatedDatabase.open({ alias: 'test', store: losingOneAnswer(store, isMade) })
}

const request = { caller: '', key: 'key', fingerprint: Buffer.alloc(32, 1) }
const body = { name: 'byCode', indexedClass: 'Part', isUnique: false, keyAttributes: [{ attributeName: 'code' }] }
const works: readonly [string, (fd: FederatedDatabase) => Promise<unknown>][] = [
  ['POST /v1/index', (fd) => fd.createIndex(body, { once: { request, replyOf: ({ name }) => Buffer.from(name) } })],
  [
    'CREATE INDEX',
    async (fd) => {
      const query = 'CREATE INDEX byCode ON Part (code)'
      return fd.query({
        text: query,
        once: { request, replyOf: (rows) => Buffer.concat(rows.map(({ bytes }) => bytes)) },
      })
    },
  ],
]

async function indexNames(fd: FederatedDatabase): Promise<string[]> {
  return (await fd.listIndexes()).map(({ name }) => name)
}

for (const [name, work] of works) {
  describe(`${name}, whose last commit gets no answer`, () => {
    it('is done where the commit was made', async () => {
      const fd = await openLosing(true)
      await work(fd)
      expect(await indexNames(fd)).toEqual(['byCode'])
      await expect(work(fd)).rejects.toBeInstanceOf(AlreadyDone)
      expect((await fd.verify()).problems).toEqual([])
      await fd.close()
    })

    it('leaves nothing where it was not, and can be sent again', async () => {
      const fd = await openLosing(false)
      await expect(work(fd)).rejects.toMatchObject({ type: 'StoreUnavailable' })
      expect(await indexNames(fd)).toEqual([])
      await work(fd)
      expect(await indexNames(fd)).toEqual(['byCode'])
      await fd.close()
    })
  })
}

describe('CREATE INDEX that is sent again', () => {
  it('gets its reply also after its class was renamed or deleted', async () => {
    const store = await openStoreOfRun()
    const fd = await FederatedDatabase.open({ alias: 'test', store })
    await fd.defineClasses([part], 'createOrExtend')
    const [, work] = works[1]!
    await work(fd)
    await fd.alterClass('Part', { classRename: 'Piece' })
    await expect(work(fd)).rejects.toBeInstanceOf(AlreadyDone)
    await fd.deleteIndex('byCode')
    await fd.deleteClass('Piece')
    await expect(work(fd)).rejects.toBeInstanceOf(AlreadyDone)
    await fd.close()
  })

  it('leaves no snapshot open where the catalog cannot be read', async () => {
    const store = await openStoreOfRun()
    let isBroken = false
    let open = 0
    const snapshot = async (
      ...given: Parameters<Store['snapshot']>
    ): Promise<Awaited<ReturnType<Store['snapshot']>>> => {
      const real = await store.snapshot(...given)
      open++
      const fail = (): never => {
        throw new AshlarError('StoreUnavailable', 'The connection broke.')
      }
      return {
        view: (key, use) => (isBroken ? fail() : real.view(key, use)),
        read: (keys, ranges) => (isBroken ? fail() : real.read(keys, ranges)),
        scan: (range, use, options) => real.scan(range, use, options),
        release: () => {
          open--
          real.release()
        },
      }
    }
    const fd = await FederatedDatabase.open({
      alias: 'test',
      store: { ...store, snapshot, close: () => store.close() },
    })
    await fd.defineClasses([part], 'createOrExtend')
    await createPart(fd, 'part')
    const before = open
    isBroken = true
    await expect(fd.query({ text: 'CREATE INDEX byCode ON Part (code)' })).rejects.toMatchObject({
      type: 'StoreUnavailable',
    })
    expect(open).toBe(before)
    isBroken = false
    await fd.close()
  })
})
