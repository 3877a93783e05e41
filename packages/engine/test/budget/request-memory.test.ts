/** What a request holds, by its parts, and the room that it takes among all requests; and the clock of its work. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MemoryPool } from '../../src/budget/memory-pool.ts'
import { RequestMemory } from '../../src/budget/request-memory.ts'
import { WorkClock } from '../../src/budget/work-clock.ts'

const megabyte = 2 ** 20

describe('the memory of a request', () => {
  const limits = { statementBytesMax: 1_000, transactionBytesMax: 2_000, statementsBytesMax: 100 * megabyte }

  it('is bounded in all parts together, to the byte', () => {
    const memory = new RequestMemory(new MemoryPool(), limits)
    memory.chargeRequest(300)
    memory.chargeStatement(300)
    memory.chargeRow(400)
    expect(() => memory.chargeRow(1)).toThrow(/1000 bytes \(statementBytesMax\)/)
    memory.endRow()
    memory.chargeStatement(400)
    expect(() => memory.chargeStatement(1)).toThrow(/statementBytesMax/)
    memory.resetStatement(100)
    memory.chargeRequest(600)
    expect(() => memory.chargeRequest(1)).toThrow(/statementBytesMax/)
    memory.releaseAllBut(1_000)
    expect(() => memory.chargeRow(1)).toThrow(/statementBytesMax/)
  })

  it('has a bound of its own for the transaction', () => {
    const memory = new RequestMemory(new MemoryPool(), limits)
    memory.chargeStatement(1_000)
    memory.chargeLoaded(500)
    memory.chargeChange(1_500)
    expect(() => memory.chargeChange(1)).toThrow(/2000 bytes in memory until the commit \(transactionBytesMax\)/)
    expect(() => memory.chargeRow(1)).toThrow(/statementBytesMax/)
    memory.resetStatement(0)
    memory.chargeLoaded(499)
    expect(() => memory.chargeLoaded(1_000)).toThrow(/transactionBytesMax/)
    memory.releaseAllBut(0)
    memory.chargeChange(2_000)
    memory.chargeStatement(1_000)
  })

  it('takes room among all requests in steps, keeps it, and gives it back once', () => {
    const pool = new MemoryPool()
    const wide = { ...limits, statementBytesMax: 50 * megabyte, transactionBytesMax: 50 * megabyte }
    const one = new RequestMemory(pool, { ...wide, statementsBytesMax: 20 * megabyte })
    one.chargeStatement(megabyte)
    expect(pool.bytes).toBe(0)
    one.chargeStatement(1)
    expect(pool.bytes).toBe(4 * megabyte)
    one.chargeChange(7 * megabyte)
    expect(pool.bytes).toBe(12 * megabyte)
    one.releaseAllBut(0)
    expect(pool.bytes).toBe(12 * megabyte)
    const other = new RequestMemory(pool, { ...wide, statementsBytesMax: 20 * megabyte })
    other.chargeRow(8 * megabyte)
    expect(() => other.chargeRow(1)).toThrow(/20971520 bytes \(statementsBytesMax\)/)
    one.release()
    one.release()
    expect(pool.bytes).toBe(8 * megabyte)
    other.chargeRow(1)
    other.release()
    expect(pool.bytes).toBe(0)
  })
})

describe('the clock of the work', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('does not count the time in which it is stopped', () => {
    const clock = new WorkClock(1_000)
    vi.advanceTimersByTime(900)
    clock.stop()
    vi.advanceTimersByTime(100_000)
    expect(clock.isOver).toBe(false)
    clock.stop()
    clock.resume()
    clock.resume()
    vi.advanceTimersByTime(100)
    expect(clock.isOver).toBe(false)
    vi.advanceTimersByTime(1)
    expect(clock.isOver).toBe(true)
    expect(clock.restarted().isOver).toBe(false)
  })

  it('tells when requests begin to hold much together, and when they no longer do', () => {
    const told: boolean[] = []
    const pool = new MemoryPool((isMuch) => told.push(isMuch))
    pool.take(60 * megabyte, 100 * megabyte)
    expect(told).toEqual([])
    pool.take(8 * megabyte, 100 * megabyte)
    pool.take(8 * megabyte, 100 * megabyte)
    expect(told).toEqual([true])
    pool.giveBack(30 * megabyte)
    expect(told).toEqual([true, false])
  })
})
