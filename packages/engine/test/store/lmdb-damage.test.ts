/** LMDB: an entry that is not as it was written is an error wherever it is read, and everything else goes on. */
import { describe, expect, it } from 'vitest'
import type { AshlarError } from '../../src/errors.ts'
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
    const expectations = [present('key-b'), absent('key-b'), revision('key-b', 'value'), range]
    const commits = expectations.map((one) => store.commit(commitOf([put('key-a', 'changed')], [one])))
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
