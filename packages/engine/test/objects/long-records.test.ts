/** Reads of large objects: who waits for a turn, and which objects are known. */
import { describe, expect, it } from 'vitest'
import { noteLongRecord, turnToRead } from '../../src/objects/long-records.ts'
import { buildCatalog, emptyCatalogState } from '../../src/schema/build-catalog.ts'
import type { Catalog } from '../../src/schema/catalog.ts'
import type { Oid } from '../../src/types/oid.ts'

const large = '60001-3-1-1' as Oid
const megabyte = 1_048_576
const anyCatalog = (): Catalog => buildCatalog(emptyCatalogState(), new Uint8Array())
const catalog = anyCatalog()

describe('reads of large objects', () => {
  it('wait for a turn of the event loop each, once the object is known to be large', async () => {
    noteLongRecord(catalog, '60001-3-1-2' as Oid, 1_000)
    expect(turnToRead(catalog, '60001-3-1-2' as Oid)).toBeUndefined()
    expect(turnToRead(catalog, large)).toBeUndefined()
    noteLongRecord(catalog, large, megabyte)
    let turn = 0
    let isOver = false
    const count = (): void => {
      turn++
      if (!isOver) setImmediate(count)
    }
    count()
    const turns: number[] = []
    await Promise.all(Array.from({ length: 5 }, () => turnToRead(catalog, large)?.then(() => turns.push(turn))))
    isOver = true
    expect(new Set(turns).size).toBe(5)
  })

  it('are known of the last few thousand objects alone', () => {
    noteLongRecord(catalog, large, megabyte)
    for (let slot = 1; slot <= 4_096; slot++) noteLongRecord(catalog, `60002-4-1-${slot}` as Oid, megabyte)
    expect(turnToRead(catalog, large)).toBeUndefined()
  })

  it('are not those of another federated database that has the same OID', () => {
    noteLongRecord(catalog, large, megabyte)
    expect(turnToRead(catalog, large)).toBeDefined()
    expect(turnToRead(anyCatalog(), large)).toBeUndefined()
  })
})
