/** Reads of large objects: who waits for a turn, and which objects are known. */
import { describe, expect, it } from 'vitest'
import { noteLongRecord, turnToRead } from '../../src/objects/long-records.ts'
import type { Oid } from '../../src/types/oid.ts'

// Of a database that no other test of this process has: what is known is known of all of them.
const large = '60001-3-1-1' as Oid
const megabyte = 1_048_576

describe('reads of large objects', () => {
  it('wait for a turn of the event loop each, once the object is known to be large', async () => {
    noteLongRecord('60001-3-1-2' as Oid, 1_000)
    expect(turnToRead('60001-3-1-2' as Oid)).toBeUndefined()
    expect(turnToRead(large)).toBeUndefined()
    noteLongRecord(large, megabyte)
    let turn = 0
    let isOver = false
    const count = (): void => {
      turn++
      if (!isOver) setImmediate(count)
    }
    count()
    const turns: number[] = []
    await Promise.all(Array.from({ length: 5 }, () => turnToRead(large)?.then(() => turns.push(turn))))
    isOver = true
    expect(new Set(turns).size).toBe(5)
  })

  it('are known of the last few thousand objects alone', () => {
    noteLongRecord(large, megabyte)
    for (let slot = 1; slot <= 4_096; slot++) noteLongRecord(`60002-4-1-${slot}` as Oid, megabyte)
    expect(turnToRead(large)).toBeUndefined()
  })
})
