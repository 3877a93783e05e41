/** Sorted runs on disk: their order, their levels, what they take, and what is left of them. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RequestSpace } from '../../src/spill/request-space.ts'
import { runSizes, SortedRuns } from '../../src/spill/sorted-runs.ts'
import { TemporarySpace } from '../../src/spill/temporary-space.ts'
import { runs as runsOf } from '../bytes/property-runs.ts'

interface Entry {
  readonly key: string
  readonly order: number
  readonly content: string
}

const wide = { statementDiskBytesMax: 2 ** 30, statementsDiskBytesMax: 2 ** 30 }
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sorted-runs-'))
})

afterAll(() => rm(directory, { recursive: true }))

async function addRun(runs: SortedRuns, entries: readonly Entry[]): Promise<void> {
  await runs.add(async (writer) => {
    for (const { key, order, content } of entries) {
      writer.begin(Buffer.from(key), order).writeBytes(Buffer.from(content))
      writer.end()
      if (writer.isFull) await writer.flush()
    }
  })
}

async function readAll(runs: SortedRuns): Promise<Entry[]> {
  const merged = await runs.merged()
  const entries: Entry[] = []
  for (let at = merged.current; at !== undefined; at = merged.current) {
    const { bytes, keyStart, keyEnd, end, order } = at
    entries.push({ key: bytes.toString('utf8', keyStart, keyEnd), order, content: bytes.toString('utf8', keyEnd, end) })
    await merged.advance()
  }
  return entries
}

const inOrder = (one: Entry, other: Entry): number =>
  Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)) || one.order - other.order

describe('sorted runs', () => {
  it('are merged to one order, whatever their number and the size of their records', async () => {
    const record = fc.record({ key: fc.string({ maxLength: 3 }), size: fc.constantFrom(0, 1, 30, 5_000, 20_000) })
    const many = fc.array(fc.array(record, { minLength: 1, maxLength: 12 }), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(many, async (parts) => {
        const space = new TemporarySpace(directory)
        const runs = new SortedRuns(new RequestSpace(space, wide), { blockBytes: 4_096, fanIn: 4 }, () => undefined)
        let order = 0
        const all: Entry[] = []
        for (const part of parts) {
          const entries = part
            .map(({ key, size }) => ({ key, order: order++, content: 'x'.repeat(size) }))
            .sort(inOrder)
          all.push(...entries)
          await addRun(runs, entries)
        }
        expect(runs.count).toBe(parts.length)
        expect(await readAll(runs)).toEqual(all.sort(inOrder))
        // Once more: they stay until they are closed.
        expect(await readAll(runs)).toHaveLength(all.length)
        await runs.mergeAll()
        expect(await readAll(runs)).toEqual(all)
        await runs.close()
        expect(space.bytes).toBe(0)
        expect(await readdir(directory)).toEqual([])
      }),
      runsOf(40),
    )
  })

  it('are read by several at the same time, who merge them once', async () => {
    const runs = new SortedRuns(
      new RequestSpace(new TemporarySpace(directory), wide),
      { blockBytes: 4_096, fanIn: 4 },
      () => undefined,
    )
    const all = Array.from({ length: 90 }, (_, i) => ({ key: `${i % 7}`, order: i, content: 'x'.repeat(500) }))
    for (let at = 0; at < all.length; at += 5) await addRun(runs, all.slice(at, at + 5).sort(inOrder))
    const read = await Promise.all([readAll(runs), readAll(runs), readAll(runs)])
    for (const one of read) expect(one).toEqual(all.toSorted(inOrder))
    await runs.close()
  })

  it('of many levels take less than three times what they hold', async () => {
    const space = new TemporarySpace(directory)
    const request = new RequestSpace(space, wide)
    const runs = new SortedRuns(request, { blockBytes: 4_096, fanIn: 4 }, () => undefined)
    let [held, most] = [0, 0]
    for (let run = 0; run < 200; run++) {
      const entries = Array.from({ length: 10 }, (_, i) => ({
        key: `${i}`,
        order: run * 10 + i,
        content: 'x'.repeat(200),
      }))
      await addRun(runs, entries)
      held += 10 * (16 + 1 + 200)
      most = Math.max(most, request.bytes / held)
    }
    expect(await readAll(runs)).toHaveLength(2_000)
    expect(most).toBeLessThan(3)
    await runs.close()
    expect(request.bytes).toBe(0)
  })

  it('of long records are merged a few at a time: what is read of them at once takes no more than the blocks do', async () => {
    const space = new TemporarySpace(directory)
    const runs = new SortedRuns(new RequestSpace(space, wide), { blockBytes: 4_096, fanIn: 8 }, () => undefined)
    const all = Array.from({ length: 20 }, (_, i) => ({ key: `${i % 7}`, order: i, content: 'x'.repeat(10_000) }))
    for (const entry of all) await addRun(runs, [entry])
    const merged = await runs.merged()
    expect(merged.bytesMax).toBeGreaterThanOrEqual(10_000)
    expect(merged.bytesMax).toBeLessThanOrEqual(8 * 4_096)
    expect(await readAll(runs)).toEqual(all.toSorted(inOrder))
    // Two are merged even if each takes more than all blocks.
    const longer = new SortedRuns(new RequestSpace(space, wide), { blockBytes: 4_096, fanIn: 8 }, () => undefined)
    for (const entry of all.slice(0, 5)) await addRun(longer, [{ ...entry, content: 'x'.repeat(40_000) }])
    expect((await longer.merged()).bytesMax).toBeLessThanOrEqual(2 * 40_100)
    expect(await readAll(longer)).toHaveLength(5)
    for (const one of [runs, longer]) await one.close()
    expect(space.bytes).toBe(0)
  })

  it('give others their turn, and end where a statement does', async () => {
    let turns = 0
    const turn = (): Promise<void> | undefined => {
      if (++turns > 5) throw new Error('cancelled')
      return Promise.resolve()
    }
    const space = new TemporarySpace(directory)
    const runs = new SortedRuns(new RequestSpace(space, wide), { blockBytes: 4_096, fanIn: 4 }, turn)
    const entries = Array.from({ length: 60 }, (_, i) => ({ key: '', order: i, content: '' }))
    for (let run = 0; run < 3; run++) await addRun(runs, entries)
    await expect(addRun(runs, entries)).rejects.toThrow('cancelled')
    await runs.close()
    expect(space.bytes).toBe(0)
  })

  it('take an eighth of the memory of a statement for their blocks, as far as that is enough', () => {
    expect(runSizes(256 * 2 ** 20)).toEqual({ blockBytes: 2 ** 18, fanIn: 32 })
    expect(runSizes(16 * 2 ** 20)).toEqual({ blockBytes: 2 ** 16, fanIn: 32 })
    expect(runSizes(2 ** 17)).toEqual({ blockBytes: 4_096, fanIn: 4 })
    expect(runSizes(1)).toEqual({ blockBytes: 4_096, fanIn: 4 })
  })
})
