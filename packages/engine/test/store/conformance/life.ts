/** From opening to closing: released snapshots, closed stores, statistics, copies. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withBackup } from '../../../src/storage/with-backup.ts'
import { openLmdbStore } from '../../../src/store/lmdb/lmdb-store.ts'
import { bytes, commitChanges, commitOf, entriesIn, entriesOf, put, text, valueAt } from '../bytes.ts'
import type { Driver } from '../conformance.ts'
import { useStore } from './use-store.ts'

export function lifeRules(driver: Driver): void {
  describe('life', () => {
    it('a snapshot may be released twice and not be read afterwards', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, put('a', '1'), put('b', '2'))
        const snapshot = await store.snapshot()
        const other = await store.snapshot()
        const scan = snapshot.scan({}, text, { batch: 1 })[Symbol.asyncIterator]()
        expect((await scan.next()).value).toEqual(['a'])
        snapshot.release()
        snapshot.release()
        await expect((async () => snapshot.view(bytes('a'), text))()).rejects.toThrow('released')
        await expect((async () => snapshot.read([bytes('a')]))()).rejects.toThrow('released')
        await expect(entriesOf(snapshot)).rejects.toThrow('released')
        await expect(scan.next()).rejects.toThrow('released')
        expect(await valueAt(other, 'a')).toBe('1')
        other.release()
      }))

    it('a store closes after the commits under way, with snapshots open, and more than once', async () => {
      const store = await driver.open()
      const snapshot = await store.snapshot()
      const commits = Array.from({ length: 20 }, (_, number) => store.commit(commitOf([put(`k${number}`, '1')])))
      await Promise.all(commits.slice(0, 1))
      await Promise.all([...commits, store.close(), store.close()])
      await expect((async () => snapshot.view(bytes('k0'), text))()).rejects.toThrow('released')
      await expect(store.commit(commitOf([put('a', '1')]))).rejects.toThrow('closed')
      await expect((async () => store.snapshot())()).rejects.toThrow('closed')
      await expect(store.stats()).rejects.toThrow('closed')
      snapshot.release()
    })

    it.runIf(driver.reopen)('a store that is opened again holds what was committed', async () => {
      const first = await driver.open()
      await commitChanges(first, put('a', '1'), put('b', '2'))
      const again = await driver.reopen!(first)
      expect(await entriesIn(again)).toEqual(['a=1', 'b=2'])
      await commitChanges(again, put('c', '3'))
      expect(await entriesIn(again)).toEqual(['a=1', 'b=2', 'c=3'])
      await again.close()
    })

    it('statistics count entries and bytes and tell of the oldest snapshot', () =>
      useStore(driver, async (store) => {
        const empty = await store.stats()
        expect(empty.entries).toBe(0)
        expect(store.oldestSnapshotMs?.()).toBe(0)
        await commitChanges(store, put('a', '1'), put('b', 'x'.repeat(100_000)))
        const first = await store.snapshot()
        await new Promise((resolve) => setImmediate(resolve))
        const second = await store.snapshot()
        const filled = await store.stats()
        expect(filled.entries).toBe(2)
        expect(filled.bytes).toBeGreaterThanOrEqual(empty.bytes + 100_000)
        expect(store.oldestSnapshotMs?.()).toBeGreaterThan(0)
        first.release()
        expect(store.oldestSnapshotMs?.()).toBeGreaterThan(0)
        second.release()
        expect(store.oldestSnapshotMs?.()).toBe(0)
      }))

    it('snapshots that are held for too long are ended, and their readers told why', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, put('a', '1'))
        const told: string[] = []
        const usual = await store.snapshot({ watch: { onEnded: ({ type }) => void told.push(type) } })
        const long = await store.snapshot({ isLong: true })
        await usual.read([Buffer.from('a')])
        store.endOldSnapshots?.({ snapshotMsMax: 1_000_000, longSnapshotMsMax: 1_000_000 })
        expect(told).toEqual([])
        store.endOldSnapshots?.({ snapshotMsMax: 0, longSnapshotMsMax: 1_000_000 })
        expect(told).toEqual(['LimitExceeded'])
        await expect((async () => usual.read([Buffer.from('a')]))()).rejects.toMatchObject({
          type: 'LimitExceeded',
          message: expect.stringContaining('snapshotMsMax'),
        })
        await expect(
          usual
            .scan({}, () => 1)
            [Symbol.asyncIterator]()
            .next(),
        ).rejects.toMatchObject({
          type: 'LimitExceeded',
        })
        expect((await long.read([Buffer.from('a')])).values).toHaveLength(1)
        long.release()
        expect(store.oldestSnapshotMs?.()).toBe(0)
      }))

    it('a copy is a store of its own, as of one moment', () =>
      useStore(driver, async (store) => {
        const directory = await mkdtemp(join(tmpdir(), 'ashlar-copy.'))
        try {
          const keys = Array.from({ length: 2_500 }, (_, number) => `k${String(number).padStart(4, '0')}`)
          await commitChanges(store, ...keys.map((key) => put(key, 'old')))
          const copied = withBackup(store).backup(join(directory, 'made', 'by.copying'))
          await commitChanges(store, ...keys.map((key) => put(key, 'new')))
          await copied
          const copy = await openLmdbStore(join(directory, 'made', 'by.copying'))
          const entries = await entriesIn(copy)
          await copy.close()
          const age = entries[0]?.split('=')[1]
          expect(entries).toEqual(keys.map((key) => `${key}=${age}`))
        } finally {
          await rm(directory, { recursive: true })
        }
      }))

    it('a copy goes into no directory that holds something', () =>
      useStore(driver, async (store) => {
        const directory = await mkdtemp(join(tmpdir(), 'ashlar-copy.'))
        await writeFile(join(directory, 'something'), '')
        await expect(withBackup(store).backup(directory)).rejects.toThrow('not empty')
        await rm(directory, { recursive: true })
      }))
  })
}
