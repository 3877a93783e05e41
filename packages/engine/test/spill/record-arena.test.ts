/** Records that wait to be a run: their order, what is written of equal keys, and what they take. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RecordArena } from '../../src/spill/record-arena.ts'
import { RequestSpace } from '../../src/spill/request-space.ts'
import { SortedRuns } from '../../src/spill/sorted-runs.ts'
import { TemporarySpace } from '../../src/spill/temporary-space.ts'
import { runs } from '../bytes/property-runs.ts'

interface Entry {
  readonly key: Buffer
  readonly order: number
  readonly value: string
  readonly rest: string
}

const limits = { statementDiskBytesMax: 2 ** 30, statementsDiskBytesMax: 2 ** 30 }
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'record-arena-'))
})

afterAll(() => rm(directory, { recursive: true }))

function fill(arena: RecordArena, entries: readonly Entry[]): void {
  for (const { key, order, value, rest } of entries) {
    const to = arena.begin(Buffer.concat([key, Buffer.from('behind')]), key.length, order)
    to.writeBytes(Buffer.from(value))
    arena.endValue()
    to.writeBytes(Buffer.from(rest))
    arena.end()
  }
}

async function written(
  arena: RecordArena,
  ofEqualKeys: Parameters<RecordArena['write']>[1],
): Promise<readonly (readonly [key: string, order: number, content: string])[]> {
  const sorted = new SortedRuns(
    new RequestSpace(new TemporarySpace(directory), limits),
    { blockBytes: 4_096, fanIn: 4 },
    () => undefined,
  )
  try {
    await sorted.add((writer) => arena.write(writer, ofEqualKeys, () => undefined))
    const merged = await sorted.merged()
    const all: (readonly [string, number, string])[] = []
    for (let at = merged.current; at !== undefined; at = merged.current) {
      const { bytes, keyStart, keyEnd, end, order } = at
      all.push([bytes.toString('hex', keyStart, keyEnd), order, bytes.toString('utf8', keyEnd, end)])
      await merged.advance()
    }
    return all
  } finally {
    await sorted.close()
  }
}

const key = fc.oneof(
  fc.uint8Array({ maxLength: 3 }),
  // They differ behind what is compared without a call, and some are the beginnings of others.
  fc.tuple(fc.integer({ min: 20, max: 40 }), fc.uint8Array({ maxLength: 2 })).map(([same, end]) => {
    return Uint8Array.from([...new Array<number>(same).fill(255), ...end])
  }),
)
const entries = fc
  .array(fc.record({ key, value: fc.string(), rest: fc.string(), isLate: fc.boolean() }), { maxLength: 60 })
  .map((all) => {
    return all.map((one, i): Entry => {
      return { ...one, key: Buffer.from(one.key), order: one.isLate ? 2 ** 40 + i : i }
    })
  })

const inOrder = (one: Entry, other: Entry): number => Buffer.compare(one.key, other.key) || one.order - other.order

describe('records that are going to be a run', () => {
  it('are written in the order of their keys and numbers, of equal keys what is asked for', async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (all) => {
        let held = 0
        const arena = new RecordArena(2 ** 20, (bytes) => {
          held += bytes
        })
        const sorted = [...all].sort(inOrder)
        const isFirst = (at: number): boolean => at === 0 || !sorted[at]?.key.equals(sorted[at - 1]?.key as Buffer)
        const told = ({ key, order, value, rest }: Entry) => [key.toString('hex'), order, value + rest] as const
        // The room of one run is that of the next.
        for (let round = 0; round < 2; round++) {
          fill(arena, all)
          expect(arena.count).toBe(all.length)
          expect(arena.bytes).toBeLessThanOrEqual(held)
          expect(await written(arena, 'all')).toEqual(sorted.map(told))
          expect(await written(arena, 'first')).toEqual(sorted.filter((_one, at) => isFirst(at)).map(told))
          expect(await written(arena, { others: Buffer.from('short') })).toEqual(
            sorted.map((one, at) => told(isFirst(at) ? one : { ...one, value: 'short' })),
          )
          arena.clear()
          expect(arena.bytes).toBe(0)
        }
        arena.release()
        expect(held).toBe(0)
      }),
      runs(100),
    )
  })

  it('are full before they would take more than they may, and let go of what a long one took', () => {
    let [held, most] = [0, 0]
    const arena = new RecordArena(2 ** 16, (bytes) => {
      held += bytes
      most = Math.max(most, held)
    })
    const one = { key: Buffer.from('key'), order: 0, value: 'v'.repeat(100), rest: '' }
    while (!arena.isFull) fill(arena, [one])
    expect(arena.count).toBeGreaterThan(400)
    expect(most).toBeLessThan(2 ** 17)
    fill(arena, [{ ...one, value: 'v'.repeat(2 ** 18) }])
    expect(held).toBeGreaterThan(2 ** 18)
    arena.clear()
    expect(held).toBe(0)
  })
})
