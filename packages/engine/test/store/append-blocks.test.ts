/** What several commits append, in one entry: made, taken apart, and walked through from any commit to any other. */
import { expect, it } from 'vitest'
import { keySpace } from '../../src/bytes/key-space.ts'
import { appendedKey, appendedPuts, appendSpace } from '../../src/store/append.ts'
import { AppendBlock, appendedValues, scanAppended } from '../../src/store/append-blocks.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Change } from '../../src/store/store.ts'
import { bytes, text, withSnapshot } from './bytes.ts'

const prefix = Buffer.of(appendSpace, 0, 0, 0, 0, 1)

function blockOf(last: number, ...values: readonly string[]): Change {
  const block = new AppendBlock(prefix, last - values.length, 1_000)
  for (const value of values) block.add(bytes(value))
  return { kind: 'put', key: block.key(), value: Buffer.from(block.value()) }
}

it('prefixes are of the space of the log', () => {
  expect(appendSpace).toBe(keySpace.log)
})

it('a block gives its values under the numbers of their commits', () => {
  const values = ['one', '', 'x'.repeat(300), 'last']
  const { key, value } = blockOf(2 ** 33 + 2, ...values) as Extract<Change, { kind: 'put' }>
  expect(appendedValues(key, value).map((one) => [one.number, one.part, text(one.value)])).toEqual(
    values.map((one, nth) => [2 ** 33 - 1 + nth, 0, one]),
  )
})

it('a value of its own stays what it is', () => {
  const key = appendedKey(prefix, 7, 3, 5)
  expect(appendedValues(key, bytes('alone'))).toEqual([{ number: 7, part: 3, value: bytes('alone') }])
})

it('a block takes what fits, and goes on where it was', () => {
  const block = new AppendBlock(prefix, 0, 20)
  expect(block.isEmpty).toBe(true)
  expect(block.hasRoomFor(Buffer.alloc(18))).toBe(true)
  expect(block.hasRoomFor(Buffer.alloc(19))).toBe(false)
  block.add(bytes('first'))
  const again = new AppendBlock(prefix, block.number, 20)
  again.restore(Buffer.from(block.value()))
  again.add(bytes('second'))
  expect(again.hasRoomFor(Buffer.alloc(4))).toBe(false)
  expect(appendedValues(again.key(), again.value()).map(({ number, value }) => [number, text(value)])).toEqual([
    [1, 'first'],
    [2, 'second'],
  ])
})

it('a block that does not hold its values whole is a fault', () => {
  const { key, value } = blockOf(2, 'one', 'two') as Extract<Change, { kind: 'put' }>
  expect(() => appendedValues(key, value.subarray(0, -1))).toThrow('holds its values whole')
})

it('a walk begins and ends at any commit, within a block, between blocks and with several values of one commit', async () => {
  const store = await openMemoryStore()
  const several = appendedPuts({ prefix, values: ['6a', '6b', '6c'].map(bytes) }, 6)
  await store.commit({
    changes: [blockOf(3, '1', '2', '3'), blockOf(5, '4', '5'), ...several, blockOf(9, '7', '8', '9')],
    preconditions: [],
  })
  const all = ['1', '2', '3', '4', '5', '6a', '6b', '6c', '7', '8', '9']
  await withSnapshot(store, async (snapshot) => {
    for (let first = 1; first <= 10; first++) {
      for (let last = 0; last <= 10; last++) {
        const found: string[] = []
        for await (const batch of scanAppended(snapshot, prefix, first, last))
          found.push(...batch.map(({ value }) => text(value)))
        expect(found).toEqual(all.filter((one) => Number(one[0]) >= first && Number(one[0]) <= last))
      }
    }
  })
  await store.close()
})
