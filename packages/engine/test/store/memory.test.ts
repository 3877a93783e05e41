/** The store in memory keeps the promises of a store. */
import { describe, expect, it } from 'vitest'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Bytes } from '../../src/store/store.ts'
import { bytes, commitChanges, put, text, withSnapshot } from './bytes.ts'
import { storeConformance } from './conformance.ts'

storeConformance('memory', { open: openMemoryStore, isInOrder: true })

describe('memory: borrowed bytes', () => {
  it('are overwritten after the callback of a view and of a scan', async () => {
    const store = await openMemoryStore()
    await commitChanges(store, put('a', 'secret'))
    await withSnapshot(store, async (snapshot) => {
      const kept: Bytes[] = []
      await snapshot.view(bytes('a'), (value) => kept.push(value))
      for await (const batch of snapshot.scan({}, (key, value) => kept.push(key, value))) expect(batch).toEqual([3])
      expect(kept.map(text)).toEqual(['\xdd'.repeat(6), '\xdd', '\xdd'.repeat(6)])
      expect(await snapshot.view(bytes('a'), text)).toBe('secret')
    })
    await store.close()
  })

  it('are overwritten by the next read, even within the callback', async () => {
    const store = await openMemoryStore()
    await commitChanges(store, put('a', 'first'), put('b', 'other'))
    await withSnapshot(store, async (snapshot) => {
      const seen = await snapshot.view(bytes('a'), (value) => {
        const before = text(value)
        snapshot.view(bytes('b'), text)
        return [before, text(value)]
      })
      expect(seen).toEqual(['first', '\xdd'.repeat(5)])
    })
    await store.close()
  })
})
