/** LMDB: an entry that is not as it was written is an error wherever it is read, and everything else goes on. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AshlarError } from '../../src/errors.ts'
import { EntryChecks } from '../../src/store/lmdb/entry-checks.ts'
import { alwaysOpenGate } from '../../src/store/lmdb/gate.ts'
import { type GroupCommit, openGroupCommit } from '../../src/store/lmdb/group-commit.ts'
import type { Environment } from '../../src/store/lmdb/lmdb-js.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Store } from '../../src/store/store.ts'
import { absent, bytes, commitOf, holds, present, put, revision } from './bytes.ts'
import { flipBit } from './damage.ts'
import { temporaryDirectory } from './temporary-stores.ts'

/** Three entries; the bytes sought, flipped in one bit, and the store opened again. */
async function damagedStore(sought: string, at: number, bit = 0): Promise<Store> {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  await store.commit(commitOf([put('key-a', 'value-a'), put('key-b', 'value-b'), put('key-c', 'value-c')]))
  await store.close()
  flipBit(directory, sought, { at, bit })
  return openLmdbStore(directory)
}

const corruption = { type: 'DataCorruption' }

describe('lmdb: a flipped bit in a value', () => {
  it('fails every way of reading it, and no other entry', async () => {
    const store = await damagedStore('value-b', 6)
    const snapshot = await store.snapshot()
    expect(() => snapshot.view(bytes('key-b'), String)).toThrow(expect.objectContaining(corruption))
    expect(() => snapshot.read([bytes('key-a'), bytes('key-b')])).toThrow(expect.objectContaining(corruption))
    expect(() => snapshot.read([], [{ from: bytes('key-b') }])).toThrow(expect.objectContaining(corruption))
    for (const keysOnly of [true, false]) {
      const scan = async () => {
        for await (const batch of snapshot.scan({}, String, { keysOnly })) expect(batch).toHaveLength(0)
      }
      await expect(scan()).rejects.toMatchObject(corruption)
    }
    expect(snapshot.view(bytes('key-a'), String)).toBe('value-a')
    expect(snapshot.view(bytes('key-c'), String)).toBe('value-c')
    snapshot.release()
    await store.close()
  })

  it('fails commits that expect something of it, which change nothing, and no others', async () => {
    const store = await damagedStore('value-b', 6)
    const range = holds('key-a', 'key-z', ['key-a', 'key-b', 'key-c'], 'key-a')
    const preconditions = [present('key-b'), absent('key-b'), revision('key-b', 'value'), range]
    const commits = preconditions.map((one) => store.commit(commitOf([put('key-a', 'changed')], [one])))
    const beside = store.commit(commitOf([put('key-d', 'value-d')], [present('key-a')]))
    const settled = await Promise.allSettled(commits)
    for (const one of settled) expect(one).toMatchObject({ status: 'rejected', reason: corruption })
    expect(await beside).toEqual({ isCommitted: true })
    const snapshot = await store.snapshot()
    expect(snapshot.view(bytes('key-a'), String)).toBe('value-a')
    snapshot.release()
    await store.close()
  })

  it('is mended by writing the entry again', async () => {
    const store = await damagedStore('value-b', 6)
    await store.commit(commitOf([put('key-b', 'again')]))
    const snapshot = await store.snapshot()
    expect(snapshot.view(bytes('key-b'), String)).toBe('again')
    snapshot.release()
    await store.close()
  })

  it('is told by a scan that asks for damage, which goes on behind it', async () => {
    const store = await damagedStore('value-b', 6)
    const snapshot = await store.snapshot()
    const damage: AshlarError[] = []
    const found: string[] = []
    for await (const batch of snapshot.scan({}, (_key, value) => String(Buffer.from(value)), {
      batch: 1,
      onDamage: (error) => damage.push(error),
    }))
      found.push(...batch)
    expect(found).toEqual(['value-a', 'value-c'])
    expect(damage.map(({ message }) => message)).toEqual([
      `The entry under key ${Buffer.from('key-b').toString('hex')} is damaged in the store: its checksum does not fit. Run 'ashlar verify' on the store, and restore a backup.`,
    ])
    snapshot.release()
    await store.close()
  })
})

describe('lmdb: a flipped bit in a key', () => {
  it('fails scans, also of keys alone, and reads of the key that is no longer found', async () => {
    // c becomes b: there seem to be two of it.
    const store = await damagedStore('key-c', 4)
    const snapshot = await store.snapshot()
    expect(() => snapshot.view(bytes('key-c'), String)).toThrow(expect.objectContaining(corruption))
    expect(() => snapshot.read([bytes('key-c')])).toThrow(expect.objectContaining(corruption))
    expect(snapshot.view(bytes('key-0'), String)).toBeUndefined()
    const scan = async () => {
      for await (const batch of snapshot.scan({}, String, { keysOnly: true })) expect(batch).toHaveLength(0)
    }
    await expect(scan()).rejects.toMatchObject(corruption)
    snapshot.release()
    await store.close()
  })

  it('fails ranges that it left, in both directions, whichever side it went to', async () => {
    // c becomes s, behind the range; key-a becomes iey-a, before it.
    for (const [sought, at, bit] of [
      ['key-c', 4, 4],
      ['key-a', 0, 1],
    ] as const) {
      const store = await damagedStore(sought, at, bit)
      const snapshot = await store.snapshot()
      const range = { from: bytes(sought), to: bytes(`${sought}~`) }
      for (const reverse of [false, true])
        expect(() => snapshot.read([], [{ ...range, reverse }])).toThrow(expect.objectContaining(corruption))
      snapshot.release()
      await store.close()
    }
  })

  it('fails scans where keys are out of order', async () => {
    // a becomes q, which is behind all others.
    const store = await damagedStore('key-a', 4)
    const snapshot = await store.snapshot()
    expect(() => snapshot.read([], [{}])).toThrow(expect.objectContaining(corruption))
    snapshot.release()
    await store.close()
  })
})

describe('lmdb: a damaged page', () => {
  const entries = 300
  const key = (number: number): string => `key-${String(number).padStart(3, '0')}`

  /** A store of several pages, of which the one of key 150 is neither branch nor leaf. */
  async function storeWithDamagedPage(): Promise<Store> {
    const directory = await temporaryDirectory()
    const store = await openLmdbStore(directory)
    await store.commit(commitOf(Array.from({ length: entries }, (_, number) => put(key(number), 'v'.repeat(100)))))
    await store.close()
    const path = join(directory, 'data.mdb')
    const file = readFileSync(path)
    const at = file.indexOf(`${key(150)}${'v'.repeat(100)}`)
    file.writeUInt16LE(0, at - (at % 4_096) + 18)
    writeFileSync(path, file)
    return openLmdbStore(directory)
  }

  it('whose entry LMDB refuses to write: nothing is acknowledged', async () => {
    const directory = await temporaryDirectory()
    const store = await openLmdbStore(directory)
    await store.commit(commitOf([put('key-a', 'value-a'), put('key-b', 'value-b')]))
    await store.close()
    // The flag of a node that holds a tree.
    flipBit(directory, 'key-avalue-a', { at: -4, bit: 1 })
    const again = await openLmdbStore(directory)
    const refused = again.commit(commitOf([put('key-a', 'changed')]))
    const beside = again.commit(commitOf([put('key-b', 'changed')]))
    await expect(refused).rejects.toThrow('LMDB refuses to write an entry')
    expect(await beside).toEqual({ isCommitted: true })
    await again.close()
  })

  it.each([
    ['puts', () => commitOf([put(key(150), 'again')])],
    ['deletes', () => commitOf([{ kind: 'delete', key: bytes(key(150)) }])],
    ['expects', () => commitOf([put(key(0), 'again')], [present(key(150))])],
  ])('fails the commit that %s something on it, and none that goes into the same group', async (_what, offending) => {
    const store = await storeWithDamagedPage()
    const innocent = (number: number): Promise<unknown> => store.commit(commitOf([put(key(number), 'changed')]))
    const before = [1, 2, 3].map(innocent)
    const offenders = [store.commit(offending()), store.commit(offending())]
    const behind = [290, 291, 292].map(innocent)
    const offended = [...(await Promise.allSettled(offenders))]
    for (const one of offended) expect(one).toMatchObject({ status: 'rejected', reason: corruption })
    for (const one of await Promise.all([...before, ...behind])) expect(one).toEqual({ isCommitted: true })
    const snapshot = await store.snapshot()
    for (const number of [1, 2, 3, 290, 291, 292]) expect(snapshot.view(bytes(key(number)), String)).toBe('changed')
    expect(snapshot.view(bytes(key(0)), String)).toBe('v'.repeat(100))
    snapshot.release()
    await store.close()
  })
})

describe('lmdb: damage that a group of commits meets', () => {
  const corrupted = (): Error => Object.assign(new Error('MDB_CORRUPTED'), { code: -30_796 })

  /** Counts how often each key was put; `failsCommit`: whether the transaction that put these keys cannot be committed. */
  function fakeGroup(isDamaged: (key: string) => boolean, failsCommit: (keys: readonly string[]) => boolean) {
    const puts = new Map<string, number>()
    let transactions = 0
    let inTransaction: string[] = []
    const environment = {
      async childTransaction(action: () => unknown) {
        transactions++
        inTransaction = []
        const outcomes = action()
        if (!failsCommit(inTransaction)) return outcomes
        const commitError = Promise.reject(corrupted())
        commitError.catch(() => undefined)
        throw Object.assign(new Error('Commit failed'), { commitError })
      },
      getWriteTxnId: () => 1,
      env: { info: () => ({ lastTxnId: 0 }) },
      put(key: Uint8Array) {
        const name = String(key)
        puts.set(name, (puts.get(name) ?? 0) + 1)
        if (isDamaged(name)) throw corrupted()
        inTransaction.push(name)
      },
    } as unknown as Environment
    const group = openGroupCommit({
      environment,
      gate: alwaysOpenGate,
      files: { check: () => undefined, checkWritten: () => undefined },
      location: 'nowhere',
      checks: new EntryChecks('checked'),
    })
    return { group, puts, transactions: () => transactions }
  }

  async function fates(group: GroupCommit, names: readonly string[]): Promise<string[]> {
    const settled = await Promise.allSettled(names.map((name) => group.commit(commitOf([put(name, '')]))))
    await group.close()
    return settled.map((one) => (one.status === 'fulfilled' ? 'kept' : one.reason.type))
  }

  const names = Array.from({ length: 60 }, (_, number) => `${number}`)

  it('is that of those commits alone that meet it, and each is applied twice at most', async () => {
    const isDamaged = (name: string): boolean => Number(name) % 7 === 3
    const { group, puts, transactions } = fakeGroup(isDamaged, () => false)
    expect(await fates(group, names)).toEqual(names.map((name) => (isDamaged(name) ? 'DataCorruption' : 'kept')))
    expect(Math.max(...puts.values())).toBe(2)
    // One that fails and one before it for each, and the rest.
    expect(transactions()).toBeLessThanOrEqual(2 * names.filter(isDamaged).length + 2)
  })

  it('in the commit of the transaction: each is applied by itself', async () => {
    const { group, puts } = fakeGroup(
      () => false,
      (keys) => keys.includes('17'),
    )
    expect(await fates(group, names)).toEqual(names.map((name) => (name === '17' ? 'DataCorruption' : 'kept')))
    expect(Math.max(...puts.values())).toBe(2)
  })

  it('everywhere: each is answered', async () => {
    const { group, puts } = fakeGroup(
      (name) => Number(name) > 30,
      () => true,
    )
    expect(await fates(group, names)).toEqual(names.map(() => 'DataCorruption'))
    expect(Math.max(...puts.values())).toBeLessThanOrEqual(3)
  })
})
