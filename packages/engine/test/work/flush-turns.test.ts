/** Turns that others get while the commit of a statement is put together, and before what it has changed is read. */
import { afterEach, expect, it, vi } from 'vitest'
import { ByteWriter } from '../../src/bytes/byte-writer.ts'
import { OwnWrites } from '../../src/transaction/own-writes.ts'
import { classOf, index, toMany, toOne, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

it('others have their turn while records and index entries of many objects are made', () =>
  withFd([classOf('Part', { code: 'integer', name: 'string' })], async (fd) => {
    await fd.createIndex(index('byCode', 'Part', true, 'code'))
    await fd.createIndex(index('byName', 'Part', false, 'name'))
    const requests = Array.from({ length: 2_000 }, (_, i) => ({ class: 'Part', attributes: { code: i, name: `${i}` } }))
    await fd.createObjects(requests)
    // Each look at the clock is a millisecond later: one in a hundred objects, for each of three passes.
    const turns = await turnsDuring(async () => {
      const { chunks } = await fd.query({
        text: "UPDATE Part SET code TO code + 2000 SET name TO 'x' RETURN COUNT() AS n",
      })
      for await (const _ of chunks);
    })
    expect(turns).toBeGreaterThan(20)
  }))

/** How many writes are sorted while `act` runs, and at most between two turns of others; each look at the clock is a millisecond after the one before. */
async function sortedDuring(act: () => Promise<unknown>): Promise<{ readonly all: number; readonly runToEnd: number }> {
  let [all, runToEnd, sorted] = [0, 0, 0]
  const { with: original } = OwnWrites.prototype
  vi.spyOn(OwnWrites.prototype, 'with').mockImplementation(function (this: OwnWrites, change) {
    all += 1
    sorted += 1
    runToEnd = Math.max(runToEnd, sorted)
    return original.call(this, change)
  })
  let isOver = false
  const begin = (): void => {
    sorted = 0
    if (!isOver) setImmediate(begin)
  }
  begin()
  await turnsDuring(act)
  isOver = true
  vi.restoreAllMocks()
  return { all, runToEnd }
}

it('others have their turn while the changes of a statement are sorted for the next, or for its reply', () =>
  withFd([classOf('Part', { code: 'integer' })], async (fd) => {
    await fd.createObjects(Array.from({ length: 3_000 }, (_, i) => ({ class: 'Part', attributes: { code: i } })))
    for (const text of [
      'UPDATE Part SET code TO code + 1 RETURN COUNT() AS n',
      'DELETE Part; FROM Part RETURN COUNT() AS n',
    ]) {
      const { all, runToEnd } = await sortedDuring(async () => {
        const { chunks } = await fd.query({ text })
        for await (const _ of chunks);
      })
      expect(all).toBeGreaterThanOrEqual(3_000)
      // Of 64 each look at the clock, which is a millisecond later here.
      expect(runToEnd).toBeLessThan(1_000)
    }
  }))

it('others have their turn while what is taken out of a long list is sorted for what is added', () => {
  const classes = [classOf('Part', { hub: toOne('Hub', 'parts') }), classOf('Hub', { parts: toMany('Part', 'hub') })]
  return withFd(classes, async (fd) => {
    const parts = await fd.createObjects(Array.from({ length: 5_000 }, () => ({ class: 'Part', attributes: {} })))
    const [before, after] = [parts.slice(0, 2_500), parts.slice(2_500)]
    const [oid = ''] = await fd.createObjects([{ class: 'Hub', attributes: { parts: before } }])
    const { all, runToEnd } = await sortedDuring(() => fd.updateObject(oid, { parts: after }))
    expect(all).toBeGreaterThanOrEqual(2_500)
    expect(runToEnd).toBeLessThan(1_000)
  })
})

it('others have their turn between objects that one statement changes in many places', () => {
  const values = { logicalType: 'list', elementSpecification: { logicalType: 'integer' } }
  return withFd([classOf('Part', { values })], async (fd) => {
    const attributes = { values: Array.from({ length: 50 }, (_, i) => i) }
    await fd.createObjects(Array.from({ length: 100 }, () => ({ class: 'Part', attributes })))
    const assignments = Array.from({ length: 50 }, (_, i) => `values[${i}] TO ${i + 1}`)
    const ofOne = await turnsDuring(() => run('UPDATE Part SET values[0] TO 1 RETURN COUNT()'))
    const ofMany = await turnsDuring(() => run(`UPDATE Part SET ${assignments.join()} RETURN COUNT()`))
    // Each look at the clock is a millisecond later: one between any two of the hundred objects.
    expect(Math.min(ofOne, ofMany)).toBeGreaterThan(20)

    async function run(text: string): Promise<void> {
      const { chunks } = await fd.query({ text })
      for await (const _ of chunks);
    }
  })
})

it('others have their turn between few objects that are large, while their records are made', () =>
  withFd([classOf('Part', { text: 'string' })], async (fd) => {
    await fd.createIndex(index('byText', 'Part', false, 'text'))
    const textBytes = 2 ** 17
    let [made, longest] = [0, 0]
    const { takeBytes } = ByteWriter.prototype
    const making = vi.spyOn(ByteWriter.prototype, 'takeBytes').mockImplementation(function (this: ByteWriter) {
      made += this.length
      longest = Math.max(longest, made)
      return takeBytes.call(this)
    })
    let isOver = false
    const begin = (): void => {
      made = 0
      if (!isOver) setImmediate(begin)
    }
    begin()
    await turnsDuring(() => {
      return fd.createObjects(
        Array.from({ length: 60 }, () => ({ class: 'Part', attributes: { text: 'x'.repeat(textBytes) } })),
      )
    })
    isOver = true
    expect(making.mock.calls.length).toBeGreaterThanOrEqual(60)
    making.mockRestore()
    // A look at the clock for each, of which some are a slice.
    expect(longest).toBeGreaterThanOrEqual(textBytes)
    expect(longest).toBeLessThan(10 * textBytes)
  }))
