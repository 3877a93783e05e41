/** Reads of large objects: one at a time, and which objects are known. */
import { describe, expect, it } from 'vitest'
import { isExpectedLarge, noteLongRecord, readAlone } from '../../src/objects/long-records.ts'
import { buildCatalog, emptyCatalogState } from '../../src/schema/build-catalog.ts'
import type { Catalog } from '../../src/schema/catalog.ts'
import type { Oid } from '../../src/types/oid.ts'

const large = '60001-3-1-1' as Oid
const megabyte = 1_048_576
const anyCatalog = (): Catalog => buildCatalog(emptyCatalogState(), new Uint8Array())
const catalog = anyCatalog()

describe('reads of large objects', () => {
  it('are of objects that were seen to be large', () => {
    expect(noteLongRecord(catalog, '60001-3-1-2' as Oid, 1_000)).toBe(false)
    expect(isExpectedLarge(catalog, '60001-3-1-2' as Oid)).toBe(false)
    expect(isExpectedLarge(catalog, large)).toBe(false)
    expect(noteLongRecord(catalog, large, megabyte)).toBe(true)
    expect(isExpectedLarge(catalog, large)).toBe(true)
  })

  it('are carried out one at a time, each in a turn of the event loop of its own, with one room for their copies', async () => {
    let [turn, isOver, underWay, most] = [0, false, 0, 0]
    const count = (): void => {
      turn++
      if (!isOver) setImmediate(count)
    }
    count()
    const turns: number[] = []
    const rooms = new Set<ArrayBufferLike>()
    const read = (i: number): Promise<string> =>
      readAlone(async (copyOf) => {
        turns.push(turn)
        most = Math.max(most, ++underWay)
        const copy = copyOf(Buffer.alloc(megabyte - i, 0x61 + i))
        rooms.add(copy.buffer)
        await new Promise(setImmediate)
        underWay--
        if (i === 1) throw new Error('that one')
        return `${copy.length} ${copy.toString('latin1', 0, 1)}`
      })
    const all = await Promise.allSettled(Array.from({ length: 5 }, (_, i) => read(i)))
    isOver = true
    expect(all.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
      '1048576 a',
      'Error: that one',
      '1048574 c',
      '1048573 d',
      '1048572 e',
    ])
    expect([new Set(turns).size, most, rooms.size]).toEqual([5, 1, 1])
  })

  it('are known of the last few thousand objects alone', () => {
    noteLongRecord(catalog, large, megabyte)
    for (let slot = 1; slot <= 4_096; slot++) noteLongRecord(catalog, `60002-4-1-${slot}` as Oid, megabyte)
    expect(isExpectedLarge(catalog, large)).toBe(false)
  })

  it('are not those of another federated database that has the same OID', () => {
    noteLongRecord(catalog, large, megabyte)
    expect(isExpectedLarge(catalog, large)).toBe(true)
    expect(isExpectedLarge(anyCatalog(), large)).toBe(false)
  })
})
